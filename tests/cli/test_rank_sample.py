"""`overread rank-sample`: replies go out unnamed, are ranked, and are held against the judges."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from overread.benchmarks.medcmr.people_sheets import RANK_COLUMNS, code_of
from overread.benchmarks.medcmr.verdict_parser import COMPONENTS
from overread.phantoms.vignette import LEAST
from overread.runs import run
from support.commands import Overread, tree
from support.kept_runs import kept_run

pytestmark = pytest.mark.usefixtures("no_pages")

READERS = ("control:oracle", "control:longest-option", "control:format-breaker")
Ranking = Callable[[str, str, str], str]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory, phantom_cache: Path) -> Path:
    """One judged run for all tests of this file."""
    place = tmp_path_factory.mktemp("judged")
    run(
        "medcmr",
        f"phantom:{LEAST}",
        READERS,
        judges=["control:lexical-judge"],
        settings={"boot": "100", "checks": "2"},
        store=place / "store.sqlite",
        out=place / "run",
    )
    return place / "run"


@pytest.fixture
def judged(kept: Path, workspace: Path) -> Path:
    """The run, in the working folder."""
    shutil.copytree(kept, workspace / "judged")
    return Path("judged")


def rows_of(path: str | Path) -> list[dict[str, str]]:
    with Path(path).open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def scores(folder: Path) -> dict[tuple[str, str], dict[str, float]]:
    """What the judge gave each reply, by case and code."""
    verdicts = pl.read_parquet(folder / "verdicts.parquet").filter(~pl.col("check"))
    rows = verdicts.select("case", "reader", "payload").iter_rows()
    return {(case, code_of(case, reader)): json.loads(payload) for case, reader, payload in rows}


def ranked(given: dict[tuple[str, str], dict[str, float]], sign: int = 1) -> Ranking:
    """The rank of a reply among those of its case by these scores: ties share the higher one."""

    def rank(case: str, code: str, component: str) -> str:
        own = {key[1]: sign * one[component] for key, one in given.items() if key[0] == case}
        return str(1 + sum(score > own[code] for score in own.values()))

    return rank


def fill(sheet: str, rank: Ranking) -> None:
    rows = rows_of(sheet)
    for row in rows:
        row |= {name: rank(row["case"], row["code"], name) for name in COMPONENTS}
    with Path(sheet).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def found(folder: Path, measure: str) -> list[dict[str, Any]]:
    kept = json.loads((folder / "measures.json").read_text())["measures"]
    return [m for m in kept if m["measure"] == measure and "component" in m["by"]]


def test_the_sheet_names_no_reader(overread: Overread, judged: Path) -> None:
    done = overread("rank-sample", judged, "--n", 5, "--out", "out")
    assert (done.code, done.err) == (0, "")
    assert [path.name for path in Path("out").iterdir()] == ["ranks.csv"]
    rows = rows_of("out/ranks.csv")
    assert tuple(rows[0]) == RANK_COLUMNS
    assert len(rows) == 5 * len(READERS)
    assert f"{len(rows)} replies to 5 items to rank" in done.out
    text = Path("out/ranks.csv").read_text("utf-8-sig")
    assert not any(name in text for reader in READERS for name in (reader, reader[8:]))
    cases = pl.read_parquet(judged / "cases.parquet")
    opened = set(cases.filter(kind="open")["case"])
    places = []
    for case, group in groupby(rows, key=lambda row: row["case"]):
        own = list(group)
        assert case in opened
        assert len({row["reply"] for row in own}) == len(own) == len(READERS)
        assert all(row[name] == "" for row in own for name in COMPONENTS)
        codes = [row["code"] for row in own]
        assert set(codes) == {code_of(case, reader) for reader in READERS}
        places.append([codes.index(code_of(case, reader)) for reader in READERS])
    # Nor does a reader stand in one place.
    assert len({tuple(place) for place in places}) > 1


def test_who_ranks_as_the_judge_does_agrees_with_it(overread: Overread, judged: Path) -> None:
    overread("rank-sample", judged, "--out", "out")
    fill("out/ranks.csv", ranked(scores(judged)))
    done = overread("measure", judged, "--set", "ranks=out/ranks.csv")
    assert done.code == 0, done.err
    gaps = found(judged, "win_ratio_gap")
    assert {m["by"]["component"] for m in gaps} == set(COMPONENTS)
    assert {m["value"] for m in gaps} == {0}
    for one in found(judged, "rho"):
        # Where judge and person see no difference there is nothing to rank.
        assert one["value"] in (None, pytest.approx(1)), one
    known = {m["by"]["component"]: m["value"] for m in found(judged, "rho")}
    assert known["visual"] == known["truth"] == pytest.approx(1)
    ratios = found(judged, "win_ratio")
    by = {(m["reader"], m["by"].get("versus"), m["by"]["component"], m["by"]["rater"]): m["value"] for m in ratios}  # fmt: skip
    for (reader, versus, component, rater), value in by.items():
        assert value == by[reader, versus, component, "human" if rater == "judge" else "judge"]
    assert by["control:oracle", "control:longest-option", "truth", "human"] == 1


def test_who_ranks_the_other_way_round_does_not(overread: Overread, judged: Path) -> None:
    overread("rank-sample", judged, "--out", "out")
    fill("out/ranks.csv", ranked(scores(judged), sign=-1))
    assert overread("measure", judged, "--set", "ranks=out/ranks.csv").code == 0
    rho = {m["by"]["component"]: m["value"] for m in found(judged, "rho")}
    assert rho["truth"] == pytest.approx(-1)
    gap = {m["by"]["component"]: m["value"] for m in found(judged, "win_ratio_gap") if "of" not in m["by"]}  # fmt: skip
    assert gap["truth"] == 1


def test_the_same_seed_draws_the_same_and_fewer_are_a_part_of_more(
    overread: Overread, judged: Path
) -> None:
    for out, seed, n in (("a", 1, 4), ("b", 1, 4), ("c", 2, 4), ("d", 1, 6)):
        assert overread("rank-sample", judged, "--n", n, "--seed", seed, "--out", out).code == 0
    a, _, c, d = ({row["case"] for row in rows_of(f"{out}/ranks.csv")} for out in "abcd")
    assert Path("a/ranks.csv").read_bytes() == Path("b/ranks.csv").read_bytes()
    assert a != c
    assert a < d


def test_of_some_readers_and_of_fewer_items_than_asked_for(
    overread: Overread, judged: Path
) -> None:
    two = [word for reader in READERS[:2] for word in ("--reader", reader)]
    done = overread("rank-sample", judged, *two, "--json", "--out", "out")
    made = json.loads(done.out)
    opened = pl.read_parquet(judged / "cases.parquet").filter(kind="open").height
    assert made == {"sheet": "out/ranks.csv", "items": opened, "rows": 2 * opened}
    assert f"the run has {opened} items that all of them answered; all are in it." in done.err
    assert len(rows_of("out/ranks.csv")) == made["rows"]


def test_a_sample_of_a_credentialed_set_is_the_users_alone(
    overread: Overread, judged: Path
) -> None:
    record = judged / "run.toml"
    text = record.read_text("utf-8")
    record.write_text(text.replace('policy = "open"', 'policy = "credentialed"'), "utf-8")
    assert overread("rank-sample", judged, "--n", 3, "--out", "out").code == 0
    assert Path("out/ranks.csv").stat().st_mode & 0o777 == 0o600
    assert Path("out").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("nowhere",), "nowhere: not a run folder"),
        (("other",), "other is a run of grounding, which has no such sheet"),
        (("judged", "--reader", "gpt", "--reader", READERS[0]), 'reader is "gpt"; the readers of'),
        (("judged", "--reader", READERS[0]), "needs two different readers or more"),
        (("judged", "--n", "0"), "one item or more"),
        (("judged", "--out", "note.txt"), "note.txt: a file stands there"),
        (("judged", "--out", "full"), "full/ranks.csv is there already"),
    ],
)
def test_what_cannot_be_is_one_line_and_nothing_written(
    overread: Overread, judged: Path, words: tuple[str, ...], says: str
) -> None:
    kept_run(Path("other"), {"a": {"uar": 0.9}})
    Path("note.txt").touch()
    Path("full").mkdir()
    Path("full/ranks.csv").write_text("filled by somebody\n")
    before = tree(Path())
    out = () if "--out" in words else ("--out", "out")
    done = overread("rank-sample", *words, *out)
    assert done.code == 2
    assert says in done.complaint
    assert tree(Path()) == before


@pytest.mark.parametrize(
    ("column", "cell", "says"),
    [
        ("truth", "best", 'ranks.csv row 2: truth is "best"; expected a rank from 1 to 3'),
        ("truth", "4", 'ranks.csv row 2: truth is "4"; expected a rank from 1 to 3'),
        ("code", "r0", 'ranks.csv row 2: code is "r0", which is no reply to this case'),
        ("case", "open-99999", 'ranks.csv row 2: case is "open-99999", which is not in this run'),
    ],
)
def test_a_sheet_that_does_not_fit_is_one_line_and_changes_no_number(
    overread: Overread, judged: Path, column: str, cell: str, says: str
) -> None:
    overread("rank-sample", judged, "--n", 2, "--out", "out")
    fill("out/ranks.csv", ranked(scores(judged)))
    rows = rows_of("out/ranks.csv")
    rows[0][column] = cell
    with Path("out/ranks.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    before = tree(judged)
    done = overread("measure", judged, "--set", "ranks=out/ranks.csv")
    assert done.code == 2
    assert says in done.complaint
    assert tree(judged) == before


def test_an_empty_sheet_is_refused(overread: Overread, judged: Path) -> None:
    overread("rank-sample", judged, "--n", 2, "--out", "out")
    done = overread("measure", judged, "--set", "ranks=out/ranks.csv")
    assert done.code == 2
    assert "no row has a rank" in done.complaint
