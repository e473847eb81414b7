"""Whether a picture's licence lets new items be made of it.

M3CoTBench leaves out what has usage restrictions or is labelled "no derivatives" (3.1). A licence
is known by its SPDX or Creative Commons name. One that is not known is refused, unless somebody
says in `curate.toml` where its terms stand (`permitted`); one that forbids changes always is.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from overread.files import read_toml

NO_DERIVATIVES: Final = "no_derivatives"
UNKNOWN: Final = "licence_unknown"
MISSING: Final = "licence_missing"
_VERSION: Final = re.compile(r"[ /_-]*v?\d+(?:\.\d+)+")
# ND as a part of its own, as in CC-BY-NC-ND, "CC BY-ND 4.0", "by-nd" and "CCBYND4.0".
_ND: Final = re.compile(r"\bcc\b.*\bnd\b|\b(?:cc)?by[- ]?(?:nc[- ]?)?nd(?![a-z])")


def refused(licence: str, permitted: str = "") -> str:
    """Why nothing may be made of a picture under this licence; empty where something may.

    >>> refused("CC BY-NC-SA 4.0"), refused("CC-BY-NC-ND-4.0", "asked"), refused("house rules")
    ('', 'no_derivatives', 'licence_unknown')
    """
    text = licence.strip().lower()
    words = _bare(text)
    if _ND.search(text.replace("_", "-")) or any(w in words for w in _names()["no_derivatives"]):
        return NO_DERIVATIVES
    if permitted.strip():
        return ""
    if not words:
        return MISSING
    return "" if _named(text) in _names()["allowed"] else UNKNOWN


def _named(text: str) -> str:
    """A licence's name without address, version and ending.

    >>> _named("https://creativecommons.org/licenses/by-sa/4.0/"), _named("gpl-3.0-or-later")
    ('ccbysa', 'gpl')
    """
    address = re.search(r"creativecommons\.org/(licenses|publicdomain)/([a-z-]+)", text)
    if address:
        text = "cc0" if address[1] == "publicdomain" else f"cc-{address[2]}"
    text = re.sub(r"^creative commons", "cc", text)
    found = _bare(_VERSION.sub("-", text))
    for ending in _names()["endings"]:
        found = found.removesuffix(ending)
    return found


def _bare(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text)


@lru_cache(1)
def _names() -> dict[str, Any]:
    return read_toml(Path(__file__).with_suffix(".toml"))
