"""The picture of the page that README and the documentation show.

    overread demo --out demo
    python -m tests.browser.picture demo/report.html docs/assets/page.png

The first screen at 1440 x 900, in 256 colours: below 300 kB. Of phantoms only.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

from PIL import Image
from tests.support.chromium import chromium

MOST = 300_000


def picture(page: Path) -> bytes:
    """The first screen of a page."""
    with chromium() as browser:
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        tab = context.new_page()
        tab.goto(page.resolve().as_uri())
        shot = tab.screenshot()
        context.close()
    made = io.BytesIO()
    with Image.open(io.BytesIO(shot)) as image:
        image.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(
            made, "PNG", optimize=True
        )
    return made.getvalue()


if __name__ == "__main__":
    found = picture(Path(sys.argv[1]))
    assert len(found) < MOST, f"{len(found)} bytes"
    Path(sys.argv[2]).write_bytes(found)
