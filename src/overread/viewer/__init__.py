"""Pictures and clips as people look at them: enlarged, windowed, played frame by frame.

One script and one style without dependencies, for every page that shows pictures: the report, the
served page, a study's. The script makes one name, `viewer`; its head says what it takes. A page
that embeds them names them by their hashes in its policy: they use no inline handler, no inline
style, no network but the addresses they are given.
"""

from importlib.resources import files

__all__ = ["script", "style"]


def script() -> str:
    """The script's text."""
    return _asset("viewer.js")


def style() -> str:
    """The style's text. Colours follow the page's variables where it has them."""
    return _asset("viewer.css")


def _asset(name: str) -> str:
    return (files(__name__) / name).read_text(encoding="utf-8")
