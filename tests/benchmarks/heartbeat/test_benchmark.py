"""One edition over one set of clips: what it asks, keeps, and calls itself."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from overread.benchmarks.base import Tables
from overread.benchmarks.heartbeat.answers import Answer
from overread.benchmarks.heartbeat.authors.rules import t2_orders
from overread.benchmarks.heartbeat.benchmark import Heartbeat, shown_frames
from overread.benchmarks.tables import schema_of
from overread.case import BadInput, Reply, Source, Traits
from overread.imaging import Films
from support.echo_trees import Heart, write_clips, write_echonet
from support.heart_answers import rows, tables_of

HEARTS = [Heart(f"h{number}", frames=40) for number in range(5)]
FEW = {"seeds": "2020-2022", "passes": "1", "contexts": "original"}


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_clips(tmp_path_factory.mktemp("clips"), [*HEARTS, Heart("near", es=14, frames=40)])


def test_a_clip_that_fits_no_window_is_asked_about_in_two_frames_alone(clips: Path) -> None:
    both = Heartbeat.open(clips, words=FEW)
    assert len(list(both.cases())) == 6
    ((name, reason),) = both.left_out
    assert name == "clips/near"
    assert "4 frames apart" in reason
    assert reason.endswith("; asked in T2 only")
    (near,) = (case for case in both.cases() if case.case_id == name)
    assert {trial.condition["task"] for trial in both.trials(near, Traits())} == {"t2"}
    alone = Heartbeat.open(clips, words=FEW | {"tasks": "t1"})
    # It stays among the cases, so that who is left out can be counted, and is asked nothing.
    (near,) = (case for case in alone.cases() if case.case_id == name)
    assert list(alone.trials(near, Traits())) == []
    assert "T2" not in alone.left_out[0][1]
    pairs = Heartbeat.open(clips, words=FEW | {"tasks": "t2"})
    assert len(list(pairs.cases())) == 6
    assert pairs.left_out == []
    with pytest.raises(BadInput, match="no clip fits a window; the first is"):
        Heartbeat.open(clips, words=FEW | {"frames": "60", "tasks": "t1"})


def test_the_first_clip_of_a_set_has_the_first_place_of_the_authors_order(clips: Path) -> None:
    bench = Heartbeat.open(clips, words=FEW | {"tasks": "t2", "formats": "edv"})
    for place, case in enumerate(bench.cases()):
        for trial in bench.trials(case, Traits()):
            seed = trial.condition["seed"]
            position = t2_orders(6, seed)[place]
            assert trial.request.clips[0].frames[position] == case.ed
            row = bench.answer(trial, Reply("EDV=0"), Traits())
            assert row[list(schema_of(Answer)).index("truth_ed")] == position


def test_a_dataset_is_known_by_its_facts_not_by_its_names_alone(clips: Path) -> None:
    name, _, digest = Heartbeat.open(clips, words=FEW).dataset.partition("@")
    assert name == clips.parent.name
    moved = clips.with_name("moved.csv")
    moved.write_text(clips.read_text().replace("h3.avi,10,26", "h3.avi,11,26"))
    try:
        assert Heartbeat.open(moved, words=FEW).dataset.partition("@")[2] != digest
        assert Heartbeat.open(clips, words=FEW).dataset.partition("@")[2] == digest
    finally:
        moved.unlink()


def test_a_strip_shows_the_frames_of_the_window(clips: Path) -> None:
    (case, *_) = Heartbeat.open(clips, words=FEW).cases()
    root = str(clips.parent)
    found = shown_frames(case, 9, 8, "original", root)
    true = Films(0).frames(Source(root, case.clip), range(9, 17))
    assert len(found) == 8
    assert all(np.array_equal(one, frame) for one, frame in zip(found, true, strict=True))
    assert shown_frames(case, 35, 8, "original", root) is None


def test_clips_are_read_below_the_folder_of_a_set(tmp_path: Path) -> None:
    root = write_echonet(tmp_path, [Heart("a")])
    assert Heartbeat.open(root, words=FEW).root == str(root)


# ---------------------------------------------------------------- what it calls itself


def answered(counts: list[int], **more: object) -> Tables:
    some = rows([[[1]] for _ in counts], [[1]] * len(counts), count=counts)
    return msgspec.structs.replace(tables_of(some), **more)


@pytest.mark.parametrize(("counts", "said"), [([24, 24], "24"), ([30, 21, 64], "21-64")])
def test_the_signature_says_how_long_the_windows_are(counts: list[int], said: str) -> None:
    bench = Heartbeat.of_run("set@0123", "open")
    parts = bench.signature(answered(counts, asked_under="corrected")).split("|")
    assert f"window:{said}" in parts
    assert f"cases:{len(counts)}@0123" in parts
    assert "tasks:t1" in parts
    assert "seeds:1x1" in parts


def test_the_signature_says_under_which_edition_and_in_whose_words_was_asked() -> None:
    def parts(edition: str, asked: str, **more: object) -> list[str]:
        bench = Heartbeat.of_run("set@0", "open", edition)
        return bench.signature(answered([24], asked_under=asked, **more)).split("|")

    assert parts("authors", "corrected")[-1] == "shown:corrected"
    assert not any(part.startswith("shown") for part in parts("corrected", "corrected+seed=3"))
    assert parts("corrected", "corrected", partial=True)[-1] == "partial"
    assert "wording:theirs" in parts("authors", "")
    assert "wording:clean" in parts("corrected", "corrected")
    assert "wording:published:structured" in parts("authors", "authors")


def test_two_frames_alone_have_no_window() -> None:
    some = rows([[[1]]], [[1]], task="t2")
    assert "|window:-|" in Heartbeat.of_run("set@0", "open").signature(tables_of(some))


def test_what_a_control_must_be_follows_the_window() -> None:
    for words, said in (({}, "reads the window's length"), ({"window": "fixed"}, "no better than")):
        bench = Heartbeat.of_run("set@0", "open", "authors", words)
        assert bench.expected()["length-prior"].startswith(said)
