"""What is kept of the papers: every number as printed, in the records that runs have."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from importlib.resources import files
from pathlib import Path

import pytest

from overread.case import BadInput, Measure
from overread.published import BENCHMARKS, Figures, figures, printed_tables
from overread.published._figures import read_cell
from published.arithmetic import published

READERS = 9


@pytest.fixture(params=BENCHMARKS)
def found(request: pytest.FixtureRequest) -> Figures:
    return figures(request.param)


# ---------------------------------------------------------------- the notation of a cell


def test_a_cell_keeps_what_is_printed() -> None:
    cell = read_cell("-18.0 ± 1.2 [-20.5, -15.8] q<0.001 n=1021 †")
    assert [str(x) for x in (cell.value, cell.spread, cell.low, cell.high)] == [
        "-18.0",
        "1.2",
        "-20.5",
        "-15.8",
    ]
    assert (cell.q, cell.n, cell.dagger) == ("<0.001", 1021, True)


@pytest.mark.parametrize("text", ["N/A", "-", "N/A n=0", "q=0.115", "0.931 p<0.001", "82.1"])
def test_most_of_a_cell_may_be_absent(text: str) -> None:
    cell = read_cell(text)
    assert (cell.spread, cell.low, cell.high) == (None, None, None)


def test_powers_of_ten_keep_their_digits() -> None:
    cell = read_cell("7.46e3 ± 7.37e4")
    assert cell.value is not None
    assert (float(cell.value), cell.value.as_tuple().exponent) == (7460, 1)


@pytest.mark.parametrize(
    "text", ["1,021", "--", "7e", "33.5±2.4", "33.5 ± 2.4 [28.7]", "q", "33.5 n=x", "n/a"]
)
def test_anything_else_is_no_cell(text: str) -> None:
    with pytest.raises(ValueError, match="not a cell"):
        read_cell(text)


# ---------------------------------------------------------------- the records


def test_a_number_becomes_a_record_of_measures_json() -> None:
    record = next(
        r
        for r in published("grounding")
        if (r.reader, r.measure, r.by) == ("MedGemma-1.5-4B", "cgr", {})
    )
    assert record == Measure(
        reader="MedGemma-1.5-4B",
        measure="cgr",
        value=0.335,
        n=373,
        se=0.024,
        low=0.287,
        high=0.383,
        method="bootstrap:10000:0",
    )


def test_no_number_has_two_places(found: Figures) -> None:
    records = published(found.benchmark)
    keys = Counter((r.reader, r.measure, frozenset(r.by.items())) for r in records)
    assert {key for key, times in keys.items() if times > 1} == set()
    assert len(found.index) == len(records)


def test_rates_are_fractions_and_absent_is_none(found: Figures) -> None:
    for record in published(found.benchmark):
        rates = [record.se, record.low, record.high, record.p, record.q]
        if found.benchmark == "grounding" or record.measure in ("accuracy", "r2"):
            rates += [record.value, record.sd_seeds]
        assert all(number is None or -1 <= number <= 1 for number in rates)
        assert record.method is None or record.low is not None


# Printed as they are; the others in percent.
PLAIN = ("rho", "efficiency", "latency", "seconds")
PLAIN += ("rouge_l", "edit_similarity", "share", "win_ratio_gap")


def test_what_rounding_may_hide_is_kept(found: Figures) -> None:
    for printed in found.printed:
        if printed.record.value is not None and printed.half:
            digits, power = re.findall(r"\d+(?:\.(\d+))?(?:e(\d+))?", printed.cell)[0]
            exponent = int(power or 0) - len(digits)
            plain = printed.record.measure in PLAIN or found.benchmark == "heartbeat"
            assert printed.half == pytest.approx(0.5 * 10**exponent / (1 if plain else 100))


def test_a_bound_is_said_to_be_one() -> None:
    bounds = 0
    for printed in figures("grounding").printed:
        if printed.record.q is not None:
            bound = re.search(r"q[<>]", printed.cell) is not None
            assert bound == ("q is a bound" in (printed.record.note or ""))
            bounds += bound
    assert bounds


def test_every_system_has_the_headline_measures() -> None:
    found = figures("grounding")
    assert len(found.systems) == READERS
    for system in found.systems:
        for measure in ("accuracy", "cgr", "uar", "is", "parse_rate", "category"):
            assert found.find(system.name, measure) is not None


OTHERS = {
    "grounding": {"radiologist S.Z.", "radiologist L.A.", "probe set", "all nine", "all but RAD-DINO"},
    "heartbeat": {"Random", "windows"},
    "m3cot": set(),
    "medcmr": {"probe set"},
}  # fmt: skip


def test_nobody_is_named_who_is_not_there(found: Figures) -> None:
    systems = {system.name for system in found.systems}
    others = OTHERS[found.benchmark]
    records = published(found.benchmark)
    assert {record.reader for record in records} == systems | others
    people = {name for name in others if name.startswith("radiologist")}
    assert {r.by["versus"] for r in records if "versus" in r.by} <= systems | people


def test_groups_have_their_values_and_their_gap_its_q() -> None:
    found = figures("grounding")
    women = found.find("Gemma-4-26B", "cgr", {"sex": "F"})
    gap = found.find("Gemma-4-26B", "gap_cgr", {"attribute": "sex"})
    assert women is not None
    assert gap is not None
    assert (women.record.value, women.record.q) == (0.405, None)
    assert (gap.record.value, gap.record.q, gap.record.note) == (None, 0.037, "marked †")
    nobody = found.find("Mistral-Small-4-119B", "cgr", {"age": "<50"})
    assert nobody is not None
    assert nobody.record.value is None


def test_by_keys_and_measures_are_those_runs_have() -> None:
    """The contract of measures.json, and what only a paper has."""
    measures = {record.measure for record in published("grounding")}
    assert measures - {"cases"} <= {
        *("accuracy", "sensitivity", "specificity", "parse_rate", "cgr", "uar", "is", "gsp"),
        *("image_contingent", "auroc", "brier", "ece", "confidence", "category", "rho"),
        *("gap_cgr", "gap_uar", "diff_accuracy", "diff_uar", "diff_cgr", "diff_is"),
    }
    keys = {key for record in published("grounding") for key in record.by}
    assert keys - {"against"} <= {
        *("condition", "source", "finding", "view", "sex", "age", "label", "error_group"),
        *("phrasing", "px", "versus", "regime", "attribute", "coverage", "unstable_below", "of"),
    }


def test_the_cells_of_a_table_are_printed_as_they_are(found: Figures) -> None:
    for name in found.tables:
        for table in printed_tables(found.benchmark, name):
            assert table.rows
            assert {len(row) for row in table.rows} == {len(table.columns)}
            assert found.cite in table.signature
    (table, *_) = printed_tables("grounding", "S5")
    assert table.rows[0][:2] == ("Gemma-4-26B", "33.2 ± 2.4 [28.7, 38.1] n=370")


def test_what_is_not_kept_is_said_in_one_line() -> None:
    with pytest.raises(
        BadInput, match='benchmark is "frob"; printed figures are kept of grounding, heartbeat'
    ):
        figures("frob")
    with pytest.raises(BadInput, match="--table S11: .* The names are 1, 2, 3, S1"):
        printed_tables("grounding", "S11")


@pytest.mark.parametrize("name", ["figures.toml", "flags.toml", "beside.toml"])
def test_the_files_are_part_of_the_package(found: Figures, name: str) -> None:
    assert (files("overread.published") / found.benchmark / name).is_file()
    assert found.benchmark in BENCHMARKS


# ---------------------------------------------------------------- against the paper itself


def _plain(text: str) -> str:
    """The paper with its broken numbers mended: `2 , 575` is 2575, `− 18.0 ± 1.2` is -18.0±1.2."""
    text = unicodedata.normalize("NFKC", text).replace("\u2212", "-").replace("+", "")
    text = re.sub(r"(?<=\d)\s*,\s*(?=\d{3}(?![\d.]))", "", text)
    text = re.sub(r"\s*([±\[,])\s*|\s+(\])", r"\1\2", text)
    text = re.sub(r"(?<=[-<>=])\s+(?=\d)", "", text)
    return re.sub(r"\s+", " ", text)


def _region(text: str, table: str) -> str:
    """A table of the paper from its caption to the next one; the running text is all of it."""
    if table == "text":
        return text
    name = f"Supplementary Table {table[1:]}:" if table[0] == "S" else f"(?<!y )Table {table}:"
    start = re.search(name, text)
    assert start, table
    rest = text[start.end() :]
    end = re.search(r"Table \d+:|Figure \d+:|Supplementary Algorithm|Model grounding and", rest)
    return rest[: end.start()] if end else rest


def _numbers(cell: str) -> list[str]:
    """A cell's value with its spread and interval as one word, its n, its q and p, as printed."""
    body, _, n = re.sub(r" ?[qp][<>=][\d.]+| †", "", cell).partition(" n=")
    bounds = [word.removeprefix("=") for word in re.findall(r"[qp]([<>=][\d.]+)", cell)]
    return [word for word in (re.sub(r" (?=[±\[])|(?<=[±,]) ", "", body), n, *bounds) if word]


def test_every_number_stands_in_its_table(shared: Path) -> None:
    """At least as often as we have it there."""
    text = _plain((shared / "papers" / "causal-audit.txt").read_text(encoding="utf-8"))
    seen = 0
    for part in figures("grounding").parts:
        cells = (cell for line in part.lines for cell in line[len(part.keys) :])
        wanted = Counter(number for cell in cells for number in _numbers(cell))
        if part.table in ("S1", "S4", "S6"):  # one n is printed there for several cells
            wanted = Counter(dict.fromkeys(wanted, 1))
        region = _region(text, part.table)
        for number, times in wanted.items():
            there = len(re.findall(rf"(?<![\d.]){re.escape(number)}(?![\d]|\.\d)", region))
            assert there >= times, (part.where, number)
            seen += 1
    assert seen > 500


def test_every_system_stands_in_the_registry_of_the_paper(shared: Path) -> None:
    text = _plain((shared / "papers" / "causal-audit.txt").read_text(encoding="utf-8"))
    registry = _region(text, "S10")
    for system in figures("grounding").systems:
        size = "Undisclosed" if system.params_b is None else f"{system.params_b:g}"
        active = "" if system.active_b is None else f" ({system.active_b:g} active)"
        kind = {"multimodal": "Multimodal", "text": "Text-only", "vision": "Vision-only"}
        assert f"{system.name} {size}{active} {kind[system.modality]}" in registry
