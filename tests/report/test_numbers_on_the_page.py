"""Numbers on the page are those of measures.json: read back out of it and compared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import overread as ov
from overread.benchmarks.registry import class_of
from overread.report import Reported, report_html
from support.page import Seen, seen_in


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ov.Run:
    place = tmp_path_factory.mktemp("numbers")
    return ov.run(
        "grounding",
        cases="phantom:48",
        readers=["control:looks", "control:always-yes"],
        out=place / "run",
        store=place / "store.sqlite",
    )


@pytest.fixture(scope="module")
def seen(run: ov.Run) -> Seen:
    record = run.record
    bench = class_of(record.benchmark).of_run(record.dataset, record.policy, "corrected", {})
    reported = Reported(
        record=record,
        measures=run.records,
        exhibits=list(run.exhibits.values()),
        headlines=list(bench.headlines(run.records)),
    )
    return seen_in(report_html([reported]))


@pytest.fixture(scope="module")
def kept(run: ov.Run) -> list[dict[str, object]]:
    found = json.loads((Path(run.folder) / "measures.json").read_text(encoding="utf-8"))
    measures: list[dict[str, object]] = found["measures"]
    return measures


def of(kept: list[dict[str, object]], reader: str, measure: str) -> dict[str, object]:
    (found,) = [
        one for one in kept if (one["reader"], one["measure"], one["by"]) == (reader, measure, {})
    ]
    return found


def rows_of(seen: Seen, exhibit: str) -> list[dict[str, object]]:
    (script,) = [one for one in seen.all("script") if one.get("data-exhibit") == exhibit]
    rows: list[dict[str, object]] = seen.data[script["id"] or ""]
    return rows


def percent(value: object) -> object:
    return pytest.approx(100 * value, abs=0.001) if isinstance(value, float) else value


def test_the_rows_of_a_figure_are_its_measures(seen: Seen, kept: list[dict[str, object]]) -> None:
    rows = rows_of(seen, "triad")
    assert {row["reader"] for row in rows} == {"control:looks", "control:always-yes"}
    for row in rows:
        for place, measure in (("x", "is"), ("y", "cgr")):
            found = of(kept, str(row["reader"]), measure)
            assert row[place] == percent(found["value"])
            assert row[f"{place}_low"] == percent(found["low"])
            assert row[f"{place}_high"] == percent(found["high"])
            assert row[f"{place}_n"] == found["n"]


def test_every_figure_with_rows_has_them_on_the_page(seen: Seen, run: ov.Run) -> None:
    drawn = {name: one for name, one in run.exhibits.items() if isinstance(one, ov.case.Figure)}
    assert drawn
    for name, figure in drawn.items():
        assert rows_of(seen, name) == json.loads(json.dumps(figure.rows))


def test_headlines_carry_the_very_records(seen: Seen, kept: list[dict[str, object]]) -> None:
    assert len(seen.data["headlines"]) == 2
    for headline in seen.data["headlines"]:
        assert headline["measure"] in kept
