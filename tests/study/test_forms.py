"""Forms over pictures and clips of one's own."""

from __future__ import annotations

import pytest
from PIL import Image

from overread import runs
from overread.case import BadInput, Clip, Picture
from overread.study import Journal, open_study
from overread.study.forms import pictured
from support.clip_files import numbered

STUDY = """
name = "clips"
readers = ["anna", "ben"]
[[task]]
kind = "form"
table = "items.csv"
training = 0
repeat = 0
frames = 9
questions = [
  { name = "squeeze", text = "Does the {wall} move?" },
  { name = "where", text = "Where not?", kind = "several", options = ["apex", "base"], least = 1, where = ["squeeze", "no"] },
]
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    found = tmp_path_factory.mktemp("clips")
    (found / "beat.avi").write_bytes(numbered(30))
    (found / "still.avi").write_bytes(numbered(5))
    (found / "items.csv").write_text("case,image,wall\na,beat.avi,septum\nb,still.avi,apex\n")
    (found / "study.toml").write_text(STUDY)
    runs.study_new(found / "study.toml", found / "s")
    return found


def test_a_clip_is_played_in_frames_from_its_first_to_its_last(place):
    clip = pictured(place, "beat.avi", 9)
    assert isinstance(clip, Clip)
    assert (clip.frames[0], clip.frames[-1], len(clip.frames)) == (0, 29, 9)
    shown = [d.pictures[0] for d in open_study(place / "s").displays.values()]
    assert {one.frames for one in shown} == {9, 5}
    assert len({(one.width, one.height) for one in shown}) == 1
    assert isinstance(pictured(place, "none.png", 9), Picture)
    assert isinstance(pictured(place, "../beat.avi", 9), Picture)


def test_questions_and_texts_to_be_mended_have_the_words_of_their_row(place, tmp_path):
    mended = '{ name = "said", text = "Right?", kind = "edit", given = "The {wall} moves." },\n]'
    words = STUDY.replace("\n]", f"\n  {mended}").replace("items.csv", str(place / "items.csv"))
    (tmp_path / "study.toml").write_text(words)
    runs.study_new(tmp_path / "study.toml", tmp_path / "s")
    asks = [{ask.name: ask for ask in d.asks} for d in open_study(tmp_path / "s").displays.values()]
    said = {(one["squeeze"].text, one["said"].given) for one in asks}
    assert said == {(f"Does the {wall} move?", f"The {wall} moves.") for wall in ("septum", "apex")}


def test_a_clip_is_a_clip_for_an_auditor_too(place):
    study, journal = open_study(place / "s"), Journal(place / "s")
    for turn in study.schedule:
        said = {"anna": {"squeeze": "yes"}, "ben": {"squeeze": "no", "where": "apex\nbase"}}
        journal.put(turn.reader, turn.display, said[turn.reader])
    journal.close()
    runs.study_audit(place / "audit", place / "s", ["carla"])
    shown = [d.pictures[0].frames for d in open_study(place / "audit").displays.values()]
    assert sorted(shown) == [5, 9]


def test_a_clip_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "odd.avi").write_bytes(b"no video")
    with pytest.raises(BadInput, match=r"odd\.avi") as refused:
        pictured(tmp_path, "odd.avi", 9)
    assert "\n" not in str(refused.value)


ENCODED = {
    "as it stands": ("a.png", "L", {}),
    "packed otherwise": ("b.png", "L", {"compress_level": 0}),
    "grey in three colours": ("c.png", "RGB", {}),
    "by a palette": ("d.png", "P", {}),
    "with alpha": ("e.png", "RGBA", {}),
    "another format": ("f.tiff", "RGB", {}),
}


def test_a_picture_s_bytes_tell_no_more_than_its_pixels(tmp_path):
    """A film that stands as in its file and one that was written anew are the same to the byte."""
    grey = Image.linear_gradient("L")
    rows = ["case,condition,image"]
    for condition, (name, mode, how) in ENCODED.items():
        grey.convert(mode).save(tmp_path / name, **how)
        rows.append(f"one,{condition},{name}")
    (tmp_path / "items.csv").write_text("\n".join(rows))
    (tmp_path / "study.toml").write_text(STUDY.replace("{wall}", "wall"))
    made = runs.study_new(tmp_path / "study.toml", tmp_path / "s")
    written = [path.read_bytes() for path in (tmp_path / "s" / "pictures").iterdir()]
    assert len(written) == len(ENCODED)
    assert len(set(written)) == 1
    assert not any("another size" in remark for remark in made.remarks)


def test_conditions_that_a_picture_s_size_would_tell_are_named(tmp_path):
    for name, side in (("a.png", 40), ("b.png", 40), ("c.png", 41)):
        Image.new("L", (40, side)).save(tmp_path / name)
    rows = ["case,condition,image", "1,whole,a.png", "1,cut,c.png", "2,whole,a.png", "2,cut,b.png"]
    (tmp_path / "items.csv").write_text("\n".join(rows))
    (tmp_path / "study.toml").write_text(STUDY.replace("{wall}", "wall"))
    made = runs.study_new(tmp_path / "study.toml", tmp_path / "s")
    (said,) = (remark for remark in made.remarks if "another size" in remark)
    assert said.startswith("task 1: 1 of 2 cases have pictures of another size under one condition")
