"""Scores spoilt on their way: read, asked for again or counted, and never guessed (MEDCMR)."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

from integration.commands import overread
from overread.case import Measure
from overread.judging.rubric import sections_of
from overread.runs import Run, run
from support.medcmr_sets import item, write_release
from support.served import served


class End(NamedTuple):
    """How a verdict ends: its outcome, how it was read, how often the judge was asked, and why."""

    outcome: str
    how: str | None = "lines"
    asked: int = 1
    says: str = ""


def never(says: str, how: str | None = "lines") -> End:
    return End("invalid", how, 3, says)


# What a judge does to its lines, and how each ends when it is asked again twice.
ENDS = {
    "plain": End("judged"),
    "bare": End("judged"),
    "bold": End("judged"),
    "repeated": End("judged"),
    "reordered": End("judged", "lines+order"),
    "prose": End("judged", "lines+prose"),
    "missing-once": End("judged", asked=2),
    "missing-twice": End("judged", asked=3),
    "off-grid": never("Language Clarity is 0.7, off the grid"),
    "between": never("Vision Feature Accuracy is 2.5, off the grid"),
    "out-of-scale": never("Ground Truth Consistency is 5, out of scale"),
    "negative": never("Vision Feature Accuracy is -1, out of scale"),
    "hundred": never("Ground Truth Consistency is on another scale"),
    "words": never("Ground Truth Consistency is no number"),
    "missing": never("Ground Truth Consistency is missing"),
    "twice": never("Language Clarity is given twice"),
    "opinion": never("Language Clarity is missing", ""),
    "nothing": never("no reply", ""),
    "refusal": never("refused: ", ""),
    "error": End("unanswered", None, 1, "HTTP 400: this judgment is never acceptable"),
}
KINDS = {f"open-{index}": kind for index, kind in enumerate(ENDS)}
JUDGED = [kind for kind, end in ENDS.items() if end.outcome == "judged"]


class Spoilt(NamedTuple):
    edition: str
    run: Run
    verdicts: pl.DataFrame
    # How often the judge was asked, by what it does.
    asked: Counter[str]

    def of(self, measure: str, **by: str) -> Measure:
        found = [m for m in self.run.records if (m.measure, m.reader) == (measure, "reader")]
        (own,) = (m for m in found if m.by == by)
        return own


def spoilt_set(folder: Path) -> Path:
    """An open item for each thing that a judge may do; its question tells the judge."""
    items = [
        item(index, question=f"Film {index} (judge: {kind}): what is the likeliest cause?")
        for index, kind in enumerate(ENDS)
    ]
    path = write_release(folder, [], items)
    (folder / "dataset.toml").write_text('policy = "open"\n')
    return path


def spoilt_run(folder: Path, edition: str, **settings: str) -> Spoilt:
    with served(control="chat_server.letters:spoils", keep=10_000) as server:
        done = run(
            "medcmr",
            spoilt_set(folder / "set"),
            [f"openai:reader@{server.base_url}"],
            judges=[f"openai:judge@{server.base_url}"],
            edition=edition,
            settings={"checks": "0", "boot": "100"} | settings,
            out=folder / "run",
            store=folder / "store.sqlite",
        )
        bodies = [json.loads(body) for body in server.kept()]
    asked: Counter[str] = Counter()
    for body in bodies:
        if body["model"] == "judge":
            said = body["messages"][-1]["content"]
            text = said if isinstance(said, str) else said[0]["text"]
            asked[KINDS[f"open-{sections_of(text)['question'].split()[1]}"]] += 1
    verdicts = pl.read_parquet(folder / "run" / "verdicts.parquet")
    verdicts = verdicts.with_columns(kind=pl.col("case").replace_strict(KINDS))
    return Spoilt(edition, done, verdicts, asked)


@pytest.fixture(scope="module", params=["corrected", "authors"])
def spoilt(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Spoilt:
    return spoilt_run(tmp_path_factory.mktemp(request.param), request.param)


def by_kind(verdicts: pl.DataFrame) -> dict[str, dict[str, Any]]:
    return {row["kind"]: row for row in verdicts.iter_rows(named=True)}


def test_every_verdict_ends_as_the_protocol_says(spoilt: Spoilt) -> None:
    found = by_kind(spoilt.verdicts)
    assert set(found) == set(ENDS)
    for kind, end in ENDS.items():
        row = found[kind]
        assert (row["outcome"], row["how"]) == (end.outcome, end.how), kind
        assert row["attempts"] == (0 if end.outcome == "unanswered" else end.asked), kind
        assert end.says in (row["reason"] or ""), kind
        assert (row["payload"] is not None) == (end.outcome == "judged"), kind
        assert bool(row["reason"]) == (end.outcome != "judged"), kind


def test_a_judge_is_asked_again_as_often_as_reask_says_and_no_more(spoilt: Spoilt) -> None:
    assert spoilt.asked == {kind: end.asked for kind, end in ENDS.items()}


def test_how_lines_are_set_changes_no_score(spoilt: Spoilt) -> None:
    found = by_kind(spoilt.verdicts)
    for kind in JUDGED:
        value = json.loads(found[kind]["payload"])
        assert list(value) == ["clarity", "coherence", "visual", "truth"]
        # All questions and captions are alike, so that the words shared are too; only a reply may
        # differ, and it is scored the same however its lines stand.
        said = found[kind]["text"]
        numbers = [line for line in said.splitlines() if ":" in line]
        for name, part in (("Language Clarity", "clarity"), ("Ground Truth", "truth")):
            (given,) = {line.rpartition(":")[2].strip(" []*") for line in numbers if name in line}
            assert float(given) == value[part], kind


def test_what_could_not_be_read_is_counted(spoilt: Spoilt) -> None:
    rate = spoilt.of("judged_rate", kind="open")
    assert (rate.k, rate.n) == (len(JUDGED), len(ENDS))
    alone = spoilt.of("judged_rate", kind="open", judge="judge")
    assert (alone.k, alone.n) == (rate.k, rate.n)
    for measure in ("clarity", "coherence", "visual", "truth", "score"):
        found = spoilt.of(measure)
        assert found.n == len(JUDGED)
        assert f"{len(ENDS) - len(JUDGED)} " in (found.note or ""), found.note
    record = tomllib.loads((spoilt.run.folder / "run.toml").read_text("utf-8"))
    (judge,) = record["judges"]
    outcomes = Counter(end.outcome for end in ENDS.values())
    assert judge["invalid"] == outcomes["invalid"]
    assert judge["unanswered"] == outcomes["unanswered"] == 1
    assert spoilt.run.record.edition.startswith(spoilt.edition)


def test_the_scores_are_those_of_the_verdicts_that_could_be_read(spoilt: Spoilt) -> None:
    values = [json.loads(payload) for payload in spoilt.verdicts["payload"].drop_nulls()]
    parts = {"clarity": 1, "coherence": 1, "visual": 4, "truth": 4}
    means = {
        name: sum(v[name] / most for v in values) / len(values) for name, most in parts.items()
    }
    for name, mean in means.items():
        assert spoilt.of(name).value == pytest.approx(mean)
    total = sum(parts[name] * mean for name, mean in means.items()) / 10
    assert spoilt.of("score").value == pytest.approx(total)


def test_told_to_ask_once_it_asks_once(tmp_path: Path) -> None:
    once = spoilt_run(tmp_path, "corrected", reask="0")
    assert once.asked == dict.fromkeys(ENDS, 1)
    found = by_kind(once.verdicts)
    assert found["missing-once"]["outcome"] == found["missing-twice"]["outcome"] == "invalid"
    rate = once.of("judged_rate", kind="open")
    assert (rate.k, rate.n) == (len(JUDGED) - 2, len(ENDS))


def test_measured_again_the_verdicts_are_the_same(spoilt: Spoilt) -> None:
    folder = spoilt.run.folder
    before = (folder / "measures.json").read_bytes()
    done = overread("measure", folder)
    assert done.returncode in (0, 3), done.stderr
    assert (folder / "measures.json").read_bytes() == before
