"""What figures show is what was measured: read out of the page, compared with measures.json."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from support.small_runs import RUNS

if TYPE_CHECKING:
    from playwright.sync_api import Page

Row = dict[str, Any]


class Claim(NamedTuple):
    """That a field of a row is a field of the one record with this name and these groups."""

    field: str
    measure: str
    by: dict[str, str]
    of: str = "value"
    scale: float = 100
    less_from: float | None = None  # the row shows this less the record's number


def ends(measure: str, by: dict[str, str], scale: float = 100, prefix: str = "") -> list[Claim]:
    return [
        Claim(f"{prefix}low", measure, by, "low", scale),
        Claim(f"{prefix}high", measure, by, "high", scale),
        Claim(f"{prefix}n", measure, by, "n", 1),
    ]


def whole(measure: str, scale: float = 100, **by: str) -> list[Claim]:
    return [Claim("value", measure, by, "value", scale), *ends(measure, by, scale)]


def plane(x: str, y: str) -> list[Claim]:
    return [
        Claim("x", x, {}), *ends(x, {}, prefix="x_"), Claim("y", y, {}), *ends(y, {}, prefix="y_"),
    ]  # fmt: skip


def baselines(row: Row) -> list[Claim]:
    if row["panel"] == 0:
        return whole("accuracy")
    return whole("diff_accuracy", versus=row["against"], comparison="text_baseline")


def frame_errors(phase: str) -> Callable[[Row], list[Claim]]:
    def of(row: Row) -> list[Claim]:
        if not row["kind"]:  # a guesser, the same in every context
            return whole("mae", 1, task="t1", phase=phase)
        context = row["panel"].replace("-", "_")
        return whole("mae", 1, task="t1", context=context, format=row["kind"], phase=phase)

    return of


def pair(row: Row) -> list[Claim]:
    phase = {"end-diastole": "ed", "end-systole": "es"}[row["panel"]]
    context = row["kind"].replace("-", "_")
    by = {"task": "t2", "context": context, "format": f"{phase}v", "phase": phase}
    return whole("accuracy", 1, **by)


def scatter(phase: str) -> Callable[[Row], list[Claim]]:
    def of(row: Row) -> list[Claim]:
        by = {
            "task": "t1",
            "context": row["context"].replace("-", "_"),
            "format": row["format"],
            "phase": phase,
            "truth": str(row["true"]),
        }
        return [Claim("said", "predicted", by, scale=1), Claim("videos", "predicted", by, "n", 1)]

    return of


STEPS = {
    "accuracy direct": ("accuracy", {"mode": "direct"}),
    "accuracy CoT": ("accuracy", {"mode": "cot"}),
    "F1": ("f1", {}),
}
COMPONENTS = {"Con": "clarity", "Coh": "coherence", "VA": "visual", "GT": "truth", "S": "score"}


def steps(row: Row) -> list[Claim]:
    name = row["measure"]
    measure, by = STEPS.get(name, (name, {}))
    return whole(measure, **by, **({"task": row["task"]} if "task" in row else {}))


def answers(row: Row) -> list[Claim]:
    by = {key: row[key] for key in ("modality", "system") if key in row}
    name = row["measure"]
    if name in COMPONENTS:
        return whole(COMPONENTS[name], **by)
    if name in ("accuracy", "all multiple-choice items"):
        return whole("accuracy", **by)
    return whole("accuracy", dimension=name)


def positive(row: Row) -> list[Claim]:
    by = {"bin": str(row["bin"])}
    return [
        Claim("positive", "reliability", by), *ends("reliability", by), Claim("p_yes", "confidence", by),
    ]  # fmt: skip


FIGURES: dict[tuple[str, str], Callable[[Row], list[Claim]]] = {
    ("grounding", "triad"): lambda row: plane("is", "cgr"),
    ("grounding", "gsp"): lambda row: [
        Claim("gsp", "gsp", {}), *ends("gsp", {}), Claim("cgr", "cgr", {}),
    ],
    ("grounding", "uar"): lambda row: whole("uar"),
    ("grounding", "decomposition"): lambda row: [
        Claim("changed", "image_contingent", {}), *ends("image_contingent", {}),
        Claim("kept", "image_contingent", {}, less_from=100),
    ],
    ("grounding", "accuracy_baselines"): baselines,
    ("grounding", "sens_spec"): lambda row: plane("specificity", "sensitivity"),
    ("grounding", "finding_heatmap"): lambda row: whole("cgr", finding=row["finding"].replace(" ", "_")),
    ("grounding", "reliability"): positive,
    ("heartbeat", "mae_ed"): frame_errors("ed"),
    ("heartbeat", "mae_es"): frame_errors("es"),
    ("heartbeat", "accuracy_two_frames"): pair,
    ("heartbeat", "scatter_ed"): scatter("ed"),
    ("heartbeat", "scatter_es"): scatter("es"),
    ("m3cot", "profile"): steps,
    ("m3cot", "radar"): steps,
    ("m3cot", "task_lanes"): steps,
    ("medcmr", "profile"): answers,
    ("medcmr", "radar"): answers,
    ("medcmr", "modality_lanes"): answers,
    ("medcmr", "system_lanes"): answers,
}  # fmt: skip


@pytest.fixture(scope="module")
def drawn(page: Page) -> dict[tuple[str, str], list[Row]]:
    """The rows behind every figure, as a script on the page would read them."""
    found = page.evaluate("""() => [...document.querySelectorAll("script[data-exhibit]")].map(
        one => [one.dataset.run, one.dataset.exhibit, JSON.parse(one.textContent)])""")
    return {(run, name): rows for run, name, rows in found}


@pytest.fixture(scope="module")
def measured(runs: Path) -> dict[str, dict[Any, Row]]:
    def keyed(name: str) -> Iterator[tuple[Any, Row]]:
        kept = json.loads((runs / name / "measures.json").read_text(encoding="utf-8"))
        for one in kept["measures"]:
            yield (one["reader"], one["measure"], frozenset(one["by"].items())), one

    return {name: dict(keyed(name)) for name in RUNS}


@pytest.mark.parametrize("figure", FIGURES, ids=":".join)
def test_every_number_of_a_figure_is_that_of_its_measure(
    drawn: dict[tuple[str, str], list[Row]],
    measured: dict[str, dict[Any, Row]],
    figure: tuple[str, str],
) -> None:
    assert drawn[figure]
    for row in drawn[figure]:
        for claim in FIGURES[figure](row):
            record = measured[figure[0]][row["reader"], claim.measure, frozenset(claim.by.items())]
            number = record[claim.of]
            if number is not None:
                number = number * claim.scale
                if claim.less_from is not None:
                    number = claim.less_from - number
            shown = row.get(claim.field)
            assert shown == (number if number is None else pytest.approx(number, abs=0.00051)), (
                row, claim, record,
            )  # fmt: skip


def test_no_figure_is_left_out(drawn: dict[tuple[str, str], list[Row]]) -> None:
    """Histograms of confidence and strips of frames count answers, which are not measures.

    Boxes over seeds are quantiles of many records and a heat map has every pair both ways: the
    exhibits' own tests hold them against their records.
    """
    others = {name for name in drawn if name not in FIGURES}
    own = ("confidence_histogram", "path_likeness", "seeds_t1", "seeds_t2")
    assert all(name in own or name.startswith("strip-") for _, name in others)
    assert set(FIGURES) <= set(drawn)


def test_means_of_the_histogram_are_measures(
    drawn: dict[tuple[str, str], list[Row]], measured: dict[str, dict[Any, Row]]
) -> None:
    for row in drawn["grounding", "confidence_histogram"]:
        regime = {"regime": row["regime"].replace("-", "_")}
        by = frozenset((regime | {"of": "answer"}).items())
        records = measured["grounding"]
        own = records[row["reader"], "confidence", by]
        assert row["n"] == own["n"]


def test_the_cards_at_the_top_stand_on_records_of_their_run(
    page: Page, measured: dict[str, dict[Any, Row]]
) -> None:
    headlines = json.loads(page.locator("#headlines").text_content() or "")
    assert len(headlines) == sum(len(controls) for _, controls, _, _ in RUNS.values())
    for one in headlines:
        name = one["run"]
        assert one["measure"] in measured[name].values()


def test_numbers_in_the_first_table_are_those_measured(
    page: Page, measured: dict[str, dict[Any, Row]]
) -> None:
    """Accuracy, flips and stability of every reader, as they are read on the screen."""
    heads, rows = page.locator("#grounding-summary table").evaluate("""table => [
        [...table.tHead.rows[0].cells].map(one => one.textContent),
        [...table.tBodies[0].rows].map(row => [...row.cells].map(one => one.firstChild.textContent)),
    ]""")
    told = {"accuracy": "accuracy", "CGR": "cgr", "UAR": "uar", "IS": "is"}
    compared = 0
    for cells in rows:
        for head, cell in zip(heads, cells, strict=True):
            if head not in told:
                continue
            value = measured["grounding"][cells[0], told[head], frozenset()]["value"]
            assert cell == ("n/a" if value is None else f"{100 * value:.1f}")
            compared += 1
    assert compared >= 8
