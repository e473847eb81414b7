"""Figures: what is drawn is what was measured, and every reader finds its name."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.benchmarks.exhibits.figures import apart
from overread.benchmarks.exhibits.style import shown as names_drawn
from overread.benchmarks.grounding.category import (
    IGNORES,
    INDETERMINATE,
    INSUFFICIENT,
    UNSTABLE,
    USES,
)
from overread.benchmarks.grounding.exhibits import exhibits
from overread.benchmarks.grounding.exhibits.dot_plot import glyph
from overread.benchmarks.grounding.exhibits.figures import transfer_figure
from overread.case import Figure, Measure
from support.exhibited import SIGNATURE, audit, made, rate, record

HOSTILE = [
    "<script>alert(1)</script>",
    "</style>",
    "'+datum.n+'\"]}",
    "a\x00b\x1b[31m",
    "\u202egnp",
]


def figures(measures: list[Measure]) -> list[Figure]:
    return [made for made in exhibits(measures, SIGNATURE) if isinstance(made, Figure)]


def words(figure: Figure) -> list[str]:
    root = ElementTree.fromstring(figure.svg())
    return ["".join(e.itertext()) for e in root.iter() if e.tag.endswith("}text")]


def row_of(figure: Figure, reader: str) -> dict:
    (row,) = [row for row in figure.rows if row["reader"] == reader]
    return row


# ---------------------------------------------------------------- all of them


def test_every_figure_of_the_golden_study_is_drawn_with_its_readers(shown):
    drawn = [made for made in shown.values() if isinstance(made, Figure)]
    assert len(drawn) > 8
    for figure in drawn:
        text = "\n".join(words(figure))
        for row in figure.rows:
            assert row["shown"] in text, figure.name
            assert row["reader"] in figure.alt, figure.name
        assert "undefined" not in text, figure.name
        assert "NaN" not in text, figure.name
        assert "null" not in text, figure.name


def test_no_measures_no_figures():
    assert figures([]) == []
    assert figures([record("r", "cgr", n=0, k=0)]) == []


def test_one_reader_is_enough():
    found = {figure.name for figure in figures(audit("alone"))}
    assert {"triad", "gsp", "uar", "decomposition", "accuracy_baselines", "sens_spec"} == found
    assert all("alone" in words(figure) for figure in figures(audit("alone")))


def test_a_rate_without_an_interval_is_drawn_without_one():
    bare = [
        Measure(reader=m.reader, measure=m.measure, value=m.value, label=m.label)
        for m in audit("r")
    ]
    assert {f.name for f in figures(bare)} == {f.name for f in figures(audit("r"))}
    for figure in figures(bare):
        assert row_of(figure, "r").get("low") is None
        figure.svg()


def test_a_reader_without_a_rate_keeps_its_lane():
    lost = [m for m in audit("b") if m.measure != "uar"] + [record("b", "uar", n=0, k=0)]
    figure = made(audit("a") + lost, "uar")
    assert row_of(figure, "b")["value"] is None
    assert {"a", "b", "n/a"} <= set(words(figure))


def test_no_name_enters_an_expression():
    """What a reader is called is data: Vega evaluates none of it."""
    measures = [m for name in HOSTILE for m in audit(name)]
    for name in HOSTILE:
        for b in "05":
            measures += [
                rate(name, "confidence", 50, 100, bin=b),
                rate(name, "reliability", 40, 100, bin=b),
            ]
            measures.append(rate(name, "confidence", 50, 100, regime="incorrect", bin=b))
        measures.append(rate(name, "cgr", 9, 20, finding="edema"))
        measures.append(rate(name, "parse_rate", 9, 20, phrasing="brief"))
        measures += [rate(name, "cgr", k, 20, px=px) for k, px in ((9, "224"), (8, "512"))]
        if name != HOSTILE[0]:
            by = {"versus": HOSTILE[0], "comparison": "text_baseline"}
            measures.append(record(name, "diff_accuracy", 0.1, by=by, n=90, p=0.1, q=0.1))
    evaluated = {"filter", "calculate", "test", "labelExpr", "expr", "signal", "href", "url"}
    found = figures(measures)
    assert len(found) > 9
    for figure in found:
        for key, value in strings(figure.spec):
            if key in evaluated:
                assert not [name for name in HOSTILE if name in value], (figure.name, key, value)
        # Nor does one end the process, which a character that no XML may hold would.
        drawn = figure.svg()
        assert "<script" not in drawn
        assert "</style" not in drawn


def strings(part, key=""):
    if isinstance(part, str):
        yield key, part
    elif isinstance(part, dict):
        for name, value in part.items():
            yield from strings(value, name)
    elif isinstance(part, list | tuple):
        for value in part:
            yield from strings(value, key)


# ---------------------------------------------------------------- names


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=80), unique=True))
def test_names_are_drawn_short_and_apart(readers):
    drawn = names_drawn(readers)
    assert list(drawn) == readers
    assert len(set(drawn.values())) == len(readers)
    assert all(len(name) <= 34 + len(" (80)") for name in drawn.values())
    assert all(name.isprintable() for name in drawn.values())


def test_long_names_are_shown_where_they_differ():
    readers = [f"a-laboratory/a-model-{size}b-instruct-quantised-to-four-bits" for size in (7, 70)]
    drawn = names_drawn([*readers, "short"])
    assert "-7b" in drawn[readers[0]]
    assert "-70b" in drawn[readers[1]]
    assert drawn["short"] == "short"


@given(
    st.lists(st.floats(0, 100), min_size=1, max_size=12).map(sorted),
    st.floats(0.5, 8),
)
def test_names_beside_a_plane_never_touch(wanted, gap):
    placed = apart(wanted, gap, 0.0, 100.0)
    assert all(b - a >= gap - 1e-6 for a, b in pairwise(placed))
    assert min(placed) >= -1e-6
    assert max(placed) <= 100 + 1e-6 or gap * (len(wanted) - 1) > 100
    far_apart = all(b - a >= gap for a, b in pairwise(wanted))
    if far_apart:
        assert placed == pytest.approx(wanted)


# ---------------------------------------------------------------- categories


def test_no_two_categories_look_alike_even_without_colour():
    rows = [{"category": word} for word in (USES, IGNORES, UNSTABLE, INDETERMINATE, INSUFFICIENT)]
    for channel in (glyph(rows).channels[name] for name in ("stroke", "shape")):
        scale = channel["scale"]
        assert len(set(scale["range"])) == len(scale["domain"]) == 5
    assert glyph(rows[:1]).stroke["scale"]["range"] == ["#0072b2"]
    assert glyph(rows[1:2]).stroke["scale"]["range"] == ["#d55e00"]


def test_a_reader_without_pictures_is_drawn_open():
    flags = ("rule_differs", "no_picture")
    figure = made(audit("sees") + audit("text", flags=flags), "triad")
    assert row_of(figure, "sees")["gets_image"] is True
    assert row_of(figure, "text")["gets_image"] is False
    plain = made(audit("sees") + audit("text"), "triad")
    open_marks = figure.svg().count(f'fill="{Figure.PAPER}"')
    assert open_marks == plain.svg().count(f'fill="{Figure.PAPER}"') + 1


# ---------------------------------------------------------------- one by one


def test_the_triad_stands_where_it_was_measured(golden_measures):
    figure = made(golden_measures, "triad")
    overall = {(m.reader, m.measure): m for m in golden_measures if not m.by}
    both = [
        reader
        for reader in {m.reader for m in golden_measures} - {""}
        if overall[reader, "cgr"].value is not None and overall[reader, "is"].value is not None
    ]
    assert sorted(row["reader"] for row in figure.rows) == sorted(both)
    for row in figure.rows:
        assert row["y"] == pytest.approx(100 * overall[row["reader"], "cgr"].value, abs=1e-3)
        assert row["x"] == pytest.approx(100 * overall[row["reader"], "is"].value, abs=1e-3)
        assert row["category"] == overall[row["reader"], "category"].label


def test_marks_at_one_place_stand_side_by_side():
    alike = [m for name in "abc" for m in audit(name, cgr=0, stable=100, uar=100, word=IGNORES)]
    rows = made(alike, "triad").rows
    assert {(row["x"], row["y"]) for row in rows} == {(100, 0)}
    assert len({row["mark_x"] for row in rows}) == 3
    assert len({row["name_y"] for row in rows}) == 3


def test_the_line_at_a_hundred_lies_on_the_axis():
    figure = made(audit("r", uar=65), "uar")
    ends = [layer["encoding"]["x"]["scale"]["domain"] for layer in figure.spec["layer"][:1]]
    assert ends == [[60, 100]]


def test_decomposition_is_the_other_side_of_uar(golden_measures):
    figure, uar = made(golden_measures, "decomposition"), made(golden_measures, "uar")
    for row in figure.rows:
        kept = row_of(uar, row["reader"])["value"]
        assert row["kept"] == (None if kept is None else pytest.approx(kept, abs=2e-3))
    changed = [row["changed"] for row in figure.rows if row["changed"] is not None]
    assert changed == sorted(changed, reverse=True)


def test_differences_from_baselines_say_which_are_told_apart():
    def less(reader: str, value: float, q: float) -> Measure:
        by = {"versus": "text", "comparison": "text_baseline"}
        return record(
            reader,
            "diff_accuracy",
            value,
            by=by,
            n=90,
            p=q,
            q=q,
            low=value - 0.02,
            high=value + 0.02,
        )

    measures = [m for name in ("a", "b", "c", "text") for m in audit(name)]
    measures += [less("a", 0.05, 0.01), less("b", -0.05, 0.049), less("c", 0.09, 0.05)]
    figure = made(measures, "accuracy_baselines")
    told = {row["reader"]: row["verdict"] for row in figure.rows if row["against"] == "text"}
    assert told == {"a": "above, q < 0.05", "b": "below, q < 0.05", "c": "not told apart"}
    assert "accuracy less that of text" in words(figure)
    assert "+5.0 [+3.0, +7.0], q 0.010" in figure.alt


def test_a_finding_s_cell_is_framed_where_the_box_matters_more_than_any_box():
    def cells(name: str, k: int, n: int, kept: int) -> list[Measure]:
        return [rate("r", "cgr", k, n, finding=name), rate("r", "is", kept, n, finding=name)]

    measures = [*audit("r"), *cells("edema", 20, 40, 38), *cells("pneumonia", 20, 40, 20),
                *cells("fracture", 9, 9, 9)]  # fmt: skip
    figure = made(measures, "finding_heatmap")
    framed = {row["finding"]: row["beyond_any_mask"] for row in figure.rows}
    assert framed == {"edema": True, "pneumonia": False, "fracture": False}
    assert {"50.0", "n=40", "100.0", "n=9"} <= set(words(figure))


def test_reliability_has_a_panel_per_reader_with_its_own_points(golden_measures):
    figure = made(golden_measures, "reliability")
    of_bin = {
        (m.reader, m.by["bin"]): m.value
        for m in golden_measures
        if m.measure == "reliability" and m.by
    }
    assert len(figure.rows) == len(of_bin)
    for row in figure.rows:
        rate_of_bin = of_bin[row["reader"], str(row["bin"])]
        assert row["positive"] == pytest.approx(100 * rate_of_bin, abs=1e-3)
    panels = {row["panel"]: row["reader"] for row in figure.rows}
    assert len(set(panels.values())) == len(panels)
    assert {panel.replace("\n", "") for panel in panels} <= set(words(figure))


def test_histograms_hold_every_case_in_its_reader_s_lane(golden_measures):
    figure = made(golden_measures, "confidence_histogram")
    counted: dict[tuple[str, str], int] = {}
    for m in golden_measures:
        if m.measure == "confidence" and m.by.keys() == {"regime", "bin"}:
            key = m.reader, m.by["regime"].replace("_", "-")
            counted[key] = counted.get(key, 0) + (m.n or 0)
    drawn: dict[tuple[str, str], int] = {}
    for row in figure.rows:
        drawn[row["reader"], row["regime"]] = (
            drawn.get((row["reader"], row["regime"]), 0) + row["cases"]
        )
        if row["cases"]:
            assert row["lane"] < row["top"] < row["foot"] == row["lane"] + 1
            share = (row["foot"] - row["top"]) / 0.88
            assert share == pytest.approx(row["cases"] / row["n"], abs=1e-3)
    assert {key: n for key, n in drawn.items() if n} == {key: n for key, n in counted.items() if n}
    assert len({(row["reader"], row["lane"]) for row in figure.rows}) == len(
        {row["reader"] for row in figure.rows}
    )


def test_the_tall_parts_of_a_histogram_stand_under_the_name_they_belong_to():
    """Names and bars are placed apart from each other; they must agree on the page."""
    measures = [*audit("low"), *audit("high")]
    for reader, b in (("low", "0"), ("high", "9")):
        measures.append(record(reader, "confidence", 0.5, by={"regime": "incorrect"}, n=8))
        measures.append(
            record(reader, "confidence", 0.5, by={"regime": "incorrect", "bin": b}, n=8)
        )
    svg = made(measures, "confidence_histogram").svg()
    names = {
        name: float(y)
        for y, name in re.findall(r'translate\(-8,([\d.]+)\)"[^>]*>(low|high)</text>', svg)
    }
    bars = re.findall(r'<path d="M([\d.]+),([\d.]+)h[\d.]+v([\d.]+)h[^"]*" fill="#0072b2"', svg)
    # The bar's middle height lies nearest its own name's.
    by_side = sorted((float(x), float(y) + float(h) / 2) for x, y, h in bars)
    (_, low), (_, high) = by_side
    assert abs(low - names["low"]) < abs(low - names["high"])
    assert abs(high - names["high"]) < abs(high - names["low"])


# ---------------------------------------------------------------- two runs


def test_transfer_leaves_out_who_has_only_one_rate():
    pairs = [
        ("a", rate("a", "uar", 80, 100), rate("a", "uar", 85, 100)),
        ("b", rate("b", "uar", 100, 100), record("b", "uar", n=0)),
    ]
    figure = transfer_figure(pairs, ("runs/mimic", "runs/chexpert"))
    (row,) = figure.rows
    assert (row["reader"], row["x"], row["y"]) == ("a", 80, 85)
    assert {"UAR in runs/mimic, percent", "UAR in runs/chexpert, percent"} <= set(words(figure))
    assert "a in runs/chexpert 85.0 [81.0, 89.0], in runs/mimic 80.0 [76.0, 84.0]" in figure.alt
    line = figure.spec["layer"][0]["data"]["values"]
    assert all(point["x"] == point["y"] for point in line)


def test_transfer_knows_no_categories():
    pairs = [("a", rate("a", "uar", 80, 100), rate("a", "uar", 85, 100))]
    assert "unstable" not in words(transfer_figure(pairs, ("one", "other")))
    assert words(transfer_figure([], ("one", "other")))  # an empty plane is still one


def test_resolutions_are_set_against_each_other(golden_measures):
    figure = made(golden_measures, "resolution_plane")
    at = {
        (m.reader, m.by["px"]): m.value
        for m in golden_measures
        if m.measure == "cgr" and m.by.keys() == {"px"}
    }
    for row in figure.rows:
        assert row["x"] == pytest.approx(100 * at[row["reader"], "224"], abs=1e-3)
        assert row["y"] == pytest.approx(100 * at[row["reader"], "512"], abs=1e-3)
