"""What measuring again refuses, and when it shows pictures."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import overread as ov
from overread.benchmarks.base import Benchmark
from overread.case import BadInput
from overread.records import RunRecord
from overread.runs import _measuring
from overread.runs._measuring import (
    Run,
    _check_shown,
    import_results,
    measure,
    with_pictures,
)
from support.kept_runs import changed_on_purpose


def test_what_was_shown_cannot_be_set_afterwards_be_it_set_before_or_not() -> None:
    shows = frozenset({"frames", "window"})
    _check_shown(shows, {"frames": "20", "boot": "500"}, {"frames": "20"})
    for asked in ({}, {"frames": "24"}):
        with pytest.raises(BadInput, match="--set frames=20: it says what readers are shown"):
            _check_shown(shows, {"frames": "20"}, asked)


class Pictures(Benchmark):
    """As much of a benchmark as is looked at."""

    name = "heartbeat"
    policy = "open"
    pictures = True

    def __init__(self, dataset: str = "set@1") -> None:
        self.dataset = dataset


def shown(
    monkeypatch: pytest.MonkeyPatch, policy: str, found: str | None, include_images: bool
) -> object:
    """`found`: the data set that lies now where the run's cases were; None is none."""
    record = RunRecord(
        benchmark="heartbeat", cases="there", policy=policy, dataset="set@1",  # type: ignore[arg-type]
        answers_edition="authors+seed=3", edition="authors", n_cases=1, settings={"frames": "20"},
    )  # fmt: skip

    def open_cases(name: str, cases: str, edition: str, settings: dict[str, str]) -> Pictures:
        assert (name, cases, edition) == ("heartbeat", "there", "authors")
        assert settings == {"frames": "20"}
        if found is None:
            raise BadInput("there: nothing is there.")
        return Pictures(found)

    monkeypatch.setattr(_measuring, "open_cases", open_cases)
    return with_pictures(Pictures(), record, include_images)[1]


def test_pictures_are_shown_of_an_open_set_and_of_another_when_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert isinstance(shown(monkeypatch, "open", "set@1", False), Pictures)
    assert isinstance(shown(monkeypatch, "credentialed", "set@1", True), Pictures)
    assert shown(monkeypatch, "credentialed", "set@1", False) is None


@pytest.mark.parametrize(
    ("found", "said"), [("set@2", "no longer what was asked about"), (None, "cannot be opened")]
)
def test_pictures_of_other_cases_are_never_shown(
    monkeypatch: pytest.MonkeyPatch, found: str | None, said: str
) -> None:
    assert shown(monkeypatch, "open", found, False) is None
    with pytest.raises(BadInput, match=said):
        shown(monkeypatch, "open", found, True)


# ---------------------------------------------------------------- a run of the authors' results


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three videos, one pass each; the text thinks aloud before it answers."""
    records = [
        {
            "video_path": f"{n}.avi", "run_id": 0, "prompt_name": "structured_edv_esv",
            "num_frames": 40, "start_idx": 5, "gt_edv": 3 + n, "gt_esv": 20 + 2 * n,
            "pred_edv": 12, "pred_esv": 30,
            "output": "<think>EDV=1, ESV=2</think> EDV=12, ESV=30",
        }
        for n in range(3)
    ]  # fmt: skip
    replies = tmp_path / "results_m_original_edv_esv_video_random_seed_2020.jsonl"
    replies.write_text("".join(json.dumps(record) + "\n" for record in records))
    out = tmp_path / "r"
    import_results("heartbeat", cases=None, replies=replies, out=out, settings={"boot": "500"})
    return out


def answer_of(run: Run) -> str:
    (one,) = (m for m in run.records if m.measure == "distinct" and m.by["phase"] == "ed")
    return str(one.note)


def test_the_settings_of_a_run_stay_and_those_of_an_earlier_measuring_do_not(folder: Path) -> None:
    signatures = [
        measure(folder, settings=words).record.signature for words in ({}, {"seed": "3"}, {})
    ]
    assert [f"|boot:500:{seed}|" in s for s, seed in zip(signatures, (0, 3, 0), strict=True)] == [
        True
    ] * 3


def test_another_edition_reads_the_kept_texts_again(folder: Path) -> None:
    # As if a reader had been asked: what somebody else recorded would stay.
    path = folder / "answers.parquet"
    pl.read_parquet(path).with_columns(recorded=pl.lit(value=False)).write_parquet(path)
    changed_on_purpose(folder)
    assert answer_of(measure(folder)).startswith("12 is the answer of 100.0 %")
    assert answer_of(measure(folder, edition="authors")).startswith("1 is the answer of 100.0 %")
    assert answer_of(measure(folder, edition="corrected")).startswith("12 is the answer")


def test_an_import_does_not_say_in_which_words_was_asked(folder: Path) -> None:
    assert "|wording:theirs|" in measure(folder, edition="authors").record.signature


def test_a_run_is_loaded_as_it_lies_there(folder: Path) -> None:
    held = {path: path.read_bytes() for path in folder.iterdir()}
    again = ov.load(folder)
    assert [one.measure for one in again.records] == again.measures["measure"].to_list()
    assert again.record.benchmark == ov.load(str(folder)).record.benchmark
    assert again.exhibits
    assert {path: path.read_bytes() for path in folder.iterdir()} == held


def test_a_folder_that_is_no_run_is_not_loaded(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="run"):
        ov.load(tmp_path)
