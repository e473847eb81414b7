"""Readers compared within a run and across runs: what may be compared, and on which cases."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import msgspec
import polars as pl
import pytest

from overread.benchmarks.base import ReaderRecord, Tables
from overread.case import BadInput
from overread.records import read_record, write_record
from overread.runs import compare, measure, run
from overread.runs._comparing import joined_tables
from overread.runs._kept import Kept

pytestmark = pytest.mark.usefixtures("no_pages")

SETTINGS = {"boot": "200"}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory, phantom_cache: Path) -> Path:
    """Runs over one set, whole and in part."""
    place = tmp_path_factory.mktemp("compared")
    store = place / "store.sqlite"
    for name, readers, limit in (
        ("one", ["control:looks", "control:prior"], None),
        ("two", ["control:looks", "control:always-yes"], None),
        ("part", ["control:unstable"], 20),
    ):
        run(
            "grounding",
            "phantom:48",
            readers,
            settings=SETTINGS,
            store=store,
            out=place / name,
            limit=limit,
        )
    return place


@pytest.fixture
def runs(kept: Path, workspace: Path) -> None:
    for name in ("one", "two", "part"):
        shutil.copytree(kept / name, workspace / name)


@pytest.mark.usefixtures("runs")
def test_the_pairs_of_a_run_are_compared_in_every_measure() -> None:
    (found,) = compare(["one"])
    assert (found.benchmark, found.edition) == ("grounding", "corrected+boot=200")
    assert [one.family for one in found.differences] == ["accuracy", "cgr", "uar", "is"]
    assert {(one.reader, one.by["versus"]) for one in found.differences} == {
        ("control:looks", "control:prior")
    }
    first = found.differences[0]
    rates = {
        m.reader: m.value for m in measure("one").records if m.measure == "accuracy" and not m.by
    }
    assert first.value == pytest.approx(rates["control:looks"] - rates["control:prior"])  # type: ignore[operator]
    assert found.lines[0].startswith("control:looks is right on ")
    assert len(found.lines) == len(found.table.rows) == 4
    assert found.runs[0].signature in found.table.signature


@pytest.mark.usefixtures("runs")
def test_readers_of_one_name_are_told_apart_by_their_run() -> None:
    (found,) = compare(["one", "two"], measures=["accuracy"])
    assert found.readers == [
        "control:looks (one)", "control:prior", "control:looks (two)", "control:always-yes",
    ]  # fmt: skip
    assert len(found.differences) == 6
    twins = found.differences[1]
    assert (twins.reader, twins.by) == ("control:looks (one)", {"versus": "control:looks (two)"})
    assert (twins.value, twins.p) == (0.0, 1.0)
    assert "cannot be told apart" in found.lines[1]
    assert compare(["one", "two"], measures=["accuracy"]) == compare(
        ["one", "two"], measures=["accuracy"]
    )


@pytest.mark.usefixtures("runs")
def test_a_pair_is_the_same_whether_its_readers_were_asked_in_one_run_or_in_two() -> None:
    (within,) = compare(["one"], measures=["accuracy"])
    (across,) = compare(["one", "two"], measures=["accuracy"])
    (pair,) = (
        one
        for one in across.differences
        if (one.reader, one.by["versus"]) == ("control:prior", "control:looks (two)")
    )
    own = within.differences[0]
    assert (pair.value, pair.n, pair.p) == (-(own.value or 0), own.n, own.p)


@pytest.mark.usefixtures("runs")
def test_a_partial_run_is_compared_on_common_cases_and_says_so() -> None:
    (found,) = compare(["one", "part"], measures=["accuracy"])
    cases = pl.read_parquet("part/cases.parquet").height
    by = {(one.reader, one.by["versus"]): one.n for one in found.differences}
    assert by["control:looks", "control:prior"] == 48
    assert by["control:looks", "control:unstable"] == cases
    assert any("the runs have 48, 20 cases, part a sample of the set" in n for n in found.notes)


@pytest.mark.usefixtures("runs")
def test_readers_and_measures_may_be_chosen() -> None:
    (two,) = compare(["one", "two"], readers=["control:prior", "control:always-yes"])
    assert {(one.reader, one.by["versus"]) for one in two.differences} == {
        ("control:prior", "control:always-yes")
    }
    (one,) = compare(["one", "two"], readers=["control:prior"], measures=["accuracy"])
    assert [d.by["versus"] for d in one.differences if d.reader == "control:prior"] == [
        "control:looks (two)", "control:always-yes",
    ]  # fmt: skip
    assert len(one.differences) == 3
    (twins,) = compare(["one", "two"], readers=["control:looks"], measures=["accuracy"])
    assert len(twins.differences) == 1


@pytest.mark.usefixtures("runs")
def test_whom_one_chooses_to_see_changes_no_number() -> None:
    (every,) = compare(["one", "two"])
    for readers in (["control:prior"], ["control:prior", "control:always-yes"]):
        (chosen,) = compare(["one", "two"], readers=readers)
        assert 0 < len(chosen.differences) < len(every.differences)
        assert [one for one in every.differences if one in chosen.differences] == chosen.differences
        assert set(chosen.lines) < set(every.lines)


@pytest.mark.usefixtures("runs")
def test_it_says_that_a_runs_own_table_has_other_families() -> None:
    (found,) = compare(["one"])
    (said,) = (note for note in found.notes if "own table" in note)
    assert "the same p in families of its own: q may differ" in said
    assert said in found.table.notes


@pytest.mark.usefixtures("runs")
def test_other_cases_and_other_editions_are_refused_with_both_signatures() -> None:
    measure("two", edition="authors")
    with pytest.raises(BadInput) as told:
        compare(["one", "two"])
    assert "under different editions" in str(told.value)
    for name in ("one", "two"):
        assert read_record(Path(name)).signature in str(told.value)
    measure("two", edition="corrected")
    record = msgspec.structs.replace(read_record(Path("two")), dataset="phantom-chest@ffff")
    write_record(Path("two/run.toml"), record)
    with pytest.raises(BadInput, match="are over different cases") as told:
        compare(["one", "two"])
    assert read_record(Path("one")).signature in str(told.value)


@pytest.mark.usefixtures("runs")
def test_runs_that_differ_in_what_was_shown_say_so() -> None:
    record = read_record(Path("two"))
    signature = record.signature.replace("|px:224|", "|px:512|")
    write_record(Path("two/run.toml"), msgspec.structs.replace(record, signature=signature))
    text = Path("two/measures.json").read_text("utf-8")
    Path("two/measures.json").write_text(text.replace("|px:224|", "|px:512|"), "utf-8")
    (found,) = compare(["one", "two"])
    assert "The runs differ in px: 224; 512." in found.notes


def test_judges_of_one_name_are_one_judge_only_if_they_are_the_same() -> None:
    def judged(folder: str, identity: str) -> Kept:
        record = SimpleNamespace(judges=(SimpleNamespace(name="j", identity=identity),))
        verdicts = pl.DataFrame({"reader": ["r"], "judge": ["j"]})
        frame = pl.DataFrame({"reader": ["r"], "case": ["c"]})
        tables = Tables(
            cases=frame.select("case"),
            answers=frame,
            verdicts=verdicts,
            readers=(ReaderRecord(name="r"),),
        )
        made = SimpleNamespace(folder=folder, record=record, tables=tables)
        return made  # type: ignore[return-value]

    labels = [{"r": "r (a)"}, {"r": "r (b)"}]
    for other, names in (("x", ["j", "j"]), ("y", ["j (a)", "j (b)"])):
        tables = joined_tables([judged("a", "x"), judged("b", other)], labels)
        assert tables.verdicts is not None
        assert tables.verdicts["judge"].to_list() == names
        assert tables.verdicts["reader"].to_list() == ["r (a)", "r (b)"]
        assert [reader.name for reader in tables.readers] == ["r (a)", "r (b)"]
        assert tables.cases.height == 1
