"""Real files, where they are at hand: every one opens, or is refused with a clear line."""

from pathlib import Path

import pytest

from overread.case import BadInput, Picture, Resize, Source
from overread.imaging import pixels, render

DATA = Path(__file__).parents[3] / "shared" / "data"
FOLDERS = ("cxr", "bccd", "misc")
REFUSED = {".csv", ".md", ".mp4", ".gif"}

pytestmark = [
    pytest.mark.filterwarnings("error"),
    pytest.mark.skipif(not DATA.is_dir(), reason=f"no real files at {DATA}"),
]


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_image_renders_and_nothing_else_does(folder):
    names = [p.relative_to(DATA).as_posix() for p in (DATA / folder).rglob("*") if p.is_file()]
    assert names
    for name in names:
        picture = Picture(Source(str(DATA), name), (Resize(64, 64),))
        if Path(name).suffix in REFUSED or "waveform" in name:
            with pytest.raises(BadInput) as refusal:
                render(picture)
            assert str(refusal.value).startswith(f"{name}: ")
            assert "\n" not in str(refusal.value)
        else:
            assert pixels(render(picture)).std() > 1, name


def test_a_radiograph_stays_grey():
    name = sorted(p.name for p in (DATA / "cxr" / "images").glob("nih_*.jpg"))[0]
    found = pixels(render(Picture(Source(str(DATA / "cxr" / "images"), name), (Resize(224, 224),))))
    assert found.shape == (224, 224)
