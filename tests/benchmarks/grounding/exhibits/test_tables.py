"""Tables: what is printed is what was measured, and nothing is printed that was not."""

from __future__ import annotations

import re
from math import sqrt

import pytest
from msgspec.structs import replace

from overread.benchmarks.exhibits.cells import cell, fraction, p_value, percent, with_pooled
from overread.benchmarks.grounding.category import BY_TESTS, WORDS
from overread.benchmarks.grounding.exhibits import exhibits
from overread.benchmarks.grounding.exhibits.dot_plot import Index
from overread.benchmarks.grounding.exhibits.tables import summary
from overread.case import Figure, Measure, Method, Table
from support.exhibited import SIGNATURE, audit, made, rate, record


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (None, "n/a"),
        (record("r", "cgr", n=0, k=0), "n/a"),
        (record("r", "cgr", 0.632, low=0.579, high=0.681, n=310), "63.2 [57.9, 68.1] n=310"),
        (record("r", "gsp", 0.1, low=-0.05, high=0.2, n=9), "+10.0 [-5.0, +20.0] n=9"),
        (record("r", "gsp", -0.1), "-10.0"),
        (record("r", "diff_uar", -0.00001, n=9), "0.0 n=9"),
    ],
)
def test_a_cell(given, text):
    assert cell(given) == text


def test_small_numbers_are_printed_as_what_they_are():
    assert fraction(rate("r", "cgr", 9, 36)) == "25.0 [21.0, 29.0] 9/36"
    assert fraction(rate("r", "cgr", 1, 4), "†") == "25.0† [21.0, 29.0] 1/4"
    assert (p_value(0.0004), p_value(0.0471), p_value(None)) == ("<0.001", "0.047", "n/a")
    assert percent(-0.0004, signed=True) == "0.0"


# ---------------------------------------------------------------- all of them


def test_without_measures_there_is_an_empty_summary_and_nothing_else():
    (only,) = exhibits([], SIGNATURE)
    assert isinstance(only, Table)
    assert (only.name, only.rows) == ("summary", ())


def test_every_table_is_whole(shown):
    for table in shown.values():
        assert table.signature == SIGNATURE
        assert table.title
        if isinstance(table, Table):
            assert table.rows
            assert {len(row) for row in table.rows} == {len(table.columns)}


def test_no_row_stands_for_all_readers_together(shown, golden_measures):
    assert any(not m.reader for m in golden_measures), "the golden study has a rank correlation"
    readers = {m.reader for m in golden_measures} - {""}
    for table in shown.values():
        if isinstance(table, Table):
            assert {row[0] for row in table.rows} <= readers


def test_no_number_is_printed_that_was_not_measured(shown, golden_measures):
    """Every cell that is a rate is some record's rate, in that record's reader's row."""
    known: dict[str, set[str]] = {}
    for m in golden_measures:
        if m.value is not None:
            known.setdefault(m.reader, set()).add(with_pooled(cell(m), m))
            known[m.reader].add(with_pooled(fraction(m), m))
    for name in ("summary", "findings", "sentences", "parse_rates", "phrasing", "resolution"):
        numbers = {
            (row[0], text.translate(str.maketrans("", "", "*‡§")))
            for row in shown[name].rows
            for text in row[1:]
            if re.search(r" n=\d| \d+/\d", text)
        }
        assert numbers, name
        assert not [pair for pair in numbers if pair[1] not in known[pair[0]]], name


def test_a_table_is_made_only_where_its_records_are():
    names = {e.name for e in exhibits(audit("r"), SIGNATURE)}
    assert "summary" in names
    absent = {"findings", "subgroups", "confidence", "comparisons", "pairwise", "phrasing",
              "resolution", "coverage", "parse_rates", "thresholds", "conditions", "sentences",
              "worst_cases"}  # fmt: skip
    assert not absent & names


# ---------------------------------------------------------------- the summary


def test_the_summary_has_one_row_per_reader_in_the_run_s_order(golden_measures, shown):
    readers = list(dict.fromkeys(m.reader for m in golden_measures if m.reader))
    assert [row[0] for row in shown["summary"].rows] == readers
    assert summary(Index(golden_measures, SIGNATURE)) == shown["summary"]


def test_the_summary_says_where_the_published_rule_differs():
    other = "the published rule says unstable"
    table = summary(
        Index(audit("a") + audit("b", word="indeterminate", note=other, flags=("rule_differs",)))
    )
    assert [row[1] for row in table.rows] == ["uses image", "indeterminate§"]
    assert any(note.startswith("§ The published rule") for note in table.notes)
    assert f"b: {other}." in table.notes


def test_the_summary_says_what_each_word_given_by_tests_means_and_how_often_it_is_wrong():
    """Two sentences a word; nothing of a rule of points, which promises nothing."""
    starts = {word: f"{word.capitalize()}: " for word in WORDS}
    for given, start in starts.items():
        records = audit("r", word=given)
        tested = replace(records[-1], how=Method(kind=BY_TESTS, of="matched"))
        notes = summary(Index([*records[:-1], tested])).notes
        (means,) = (note for note in notes if note.startswith(tuple(starts.values())))
        assert means.startswith(start)
        assert means.count(". ") == 1
        assert means.endswith(".")
        assert "wrong" in means or "% " in means
        assert not any(
            note.startswith(tuple(starts.values())) for note in summary(Index(records)).notes
        )


def test_retest_stands_beside_the_triad_where_it_was_asked():
    without = summary(Index(audit("r")))
    asked = summary(Index([*audit("r"), rate("r", "retest", 97, 100)]))
    assert "retest" not in without.columns
    at = asked.columns.index("retest")
    assert asked.columns[at - 3 : at + 1] == ("CGR", "UAR", "IS", "retest")
    assert asked.rows[0][at] == "97.0 [93.0, 100.0] n=100"


# ---------------------------------------------------------------- beside it


def test_thresholds_show_the_word_at_each(shown, golden_measures):
    swept = {
        (m.reader, m.by["unstable_below"]): m.label
        for m in golden_measures
        if m.measure == "category" and m.by
    }
    below = sorted({key for _, key in swept})
    for row in shown["thresholds"].rows:
        assert list(row[3:]) == [swept[row[0], key] for key in below]


def test_worst_cases_span_from_all_misses_to_all_hits():
    bounds = [rate("r", "cgr", 30, 110, bound="low"), rate("r", "cgr", 40, 110, bound="high")]
    table = made(audit("r") + bounds, "worst_cases")
    assert table.rows == (("r", "n/a", "27.3 to 36.4 n=110", "n/a", "n/a", "n/a"),)


def test_further_conditions_stand_beside_the_headline():
    blurred = rate("r", "cgr", 20, 100, condition="target_blur")
    table = made([*audit("r"), blurred], "conditions")
    ((reader, what, where, under, headline),) = table.rows
    assert (reader, what, where) == ("r", "CGR", "target blur")
    assert under.startswith("20.0")
    assert headline.startswith("33.0")


# ---------------------------------------------------------------- groups


def test_few_cases_of_a_finding_are_marked():
    some = [rate("r", "cgr", 9, 36, finding="edema"), rate("r", "cgr", 2, 9, finding="lung_lesion")]
    none = record("r", "cgr", by={"finding": "fracture"}, n=0, k=0)
    table = made([*audit("r"), *some, none], "findings")
    assert table.columns == ("reader", "edema", "lung lesion")  # nobody has a fracture
    assert table.rows == (("r", "25.0 [21.0, 29.0] 9/36", "22.2* [18.2, 26.2] 2/9"),)


def test_a_test_between_groups_is_one_row():
    groups = [rate("r", "cgr", 73, 100, view="PA"), rate("r", "cgr", 25, 100, view="AP")]
    gap = record(
        "r", "gap_cgr", 0.48, by={"attribute": "view"}, low=0.4, high=0.6, p=0.001, q=0.002
    )
    untested = record("r", "gap_uar", by={"attribute": "age"}, note="fewer than two groups of two")
    table = made([*audit("r"), *groups, gap, untested], "subgroups")
    assert table.rows == (
        ("r", "CGR", "view", "PA 73.0 (n=100), AP 25.0 (n=100)", "+48.0 [+40.0, +60.0]", "0.001", "0.002‡"),
        ("r", "UAR", "age", "n/a", "n/a", "n/a", "n/a"),
    )  # fmt: skip


def test_coverage_sets_rated_boxes_beside_all():
    sets = [rate("r", "cgr", 33, 100, coverage="all"), rate("r", "cgr", 9, 20, coverage="accurate")]
    accurate = rate("r", "cgr", 3, 5, coverage="accurate", finding="edema")
    measures = [*audit("r"), *sets, accurate]
    ((_, every, held, partial),) = made(measures, "coverage").rows
    assert (every[:4], held[:4], partial) == ("33.0", "45.0", "n/a")
    assert made(measures, "coverage_findings").rows == (("r", "60.0* [56.0, 64.0] 3/5"),)


# ---------------------------------------------------------------- confidence


def test_a_mean_confidence_stands_with_the_spread_of_its_cases():
    mean = record("r", "confidence", 0.975, by={"regime": "grounded_correct"}, n=100, se=0.01)
    answer = record("r", "confidence", 0.9, by={"regime": "incorrect", "of": "answer"}, n=1)
    table = made([*audit("r"), mean, answer], "confidence")
    assert table.rows[0][:5] == ("r", "P(Yes)", "97.5 ± 10.0 n=100", "n/a", "n/a")
    assert table.rows[1][:5] == ("r", "P(answer)", "n/a", "n/a", "90.0 n=1")


def test_the_spread_is_that_of_the_golden_cases(measured):
    measures = measured("corrected")
    table = made(measures, "confidence")
    cells = {(row[0], row[1]): row[2:5] for row in table.rows}
    regimes = ("grounded_correct", "ungrounded_correct", "incorrect")
    for m in measures:
        if m.measure == "confidence" and m.by.keys() == {"regime"} and m.value is not None:
            printed = cells[m.reader, "P(Yes)"][regimes.index(m.by["regime"])]
            spread = "" if m.se is None else f" ± {100 * m.se * sqrt(m.n or 0):.1f}"
            assert printed == f"{100 * m.value:.1f}{spread} n={m.n}"


def test_calibration_that_is_withheld_says_why():
    why = record("r", "auroc", n=100, note="nearly all confidences are exactly 0 or 1")
    mean = record("r", "confidence", 0.9, by={"regime": "incorrect"}, n=3)
    table = made([*audit("r"), why, mean], "confidence")
    assert "r: no calibration; nearly all confidences are exactly 0 or 1." in table.notes


# ---------------------------------------------------------------- comparisons, robustness


def difference(a: str, b: str, value: float, q: float, kind: str) -> Measure:
    return record(
        a, "diff_accuracy", value, by={"versus": b, "comparison": kind}, n=90, p=q / 2, q=q,
        low=value - 0.03, high=value + 0.03, family="f", beside=(0.6620, 0.6050),
    )  # fmt: skip


def test_comparisons_with_baselines_and_between_all_are_two_tables():
    against = difference("a", "text", 0.057, 0.0004, "text_baseline")
    pair = difference("a", "b", -0.02, 0.3, "pairwise")
    measures = [*audit("a"), *audit("b"), *audit("text"), against, pair]
    assert made(measures, "comparisons").rows == (
        ("a", "text", "accuracy", "+5.7 [+2.7, +8.7] n=90", "66.2 against 60.5", "<0.001", "<0.001‡"),
    )  # fmt: skip
    ((a, b, *_, q),) = made(measures, "pairwise").rows
    assert (a, b, q) == ("a", "b", "0.300")


def test_ranks_stand_beside_rates_at_both_resolutions():
    sizes = [
        rate(name, "cgr", k, 100, px=px)
        for px, found in {"224": (30, 20, 20), "512": (10, 40, 20)}.items()
        for name, k in zip("abc", found, strict=True)
    ]
    change = record("a", "diff_cgr", -0.2, by={"px": "512", "versus": "px=224"}, n=80)
    rho = record("", "rho", -0.5, by={"px": "224,512", "of": "cgr"}, n=3, p=0.9, method="exact")
    table = made([*audit("a"), *audit("b"), *audit("c"), *sizes, change, rho], "resolution")
    assert [(row[0], row[3], row[5], row[6]) for row in table.rows] == [
        ("a", "1", "3", "-20.0 n=80"),
        ("b", "2", "1", "n/a"),  # tied for second and third: 2.5, cut to 2
        ("c", "2", "2", "n/a"),
    ]
    assert "CGR at 224 and 512 px: Spearman -0.500 over 3 models (p 0.900, exact)." in table.notes


def test_an_accuracy_over_few_parsed_answers_is_marked():
    by = {"phrasing": "brief"}
    few = "uninterpretable: only 14 answers could be parsed"
    measures = [
        *audit("r"),
        rate("r", "parse_rate", 14, 100, **by),
        record("r", "accuracy", 0.5, by=by, n=14, note=few, flags=("few_parsed",)),
    ]
    table = made(measures, "phrasing")
    assert table.columns[2] == "parse rate"
    assert table.rows == (("r", "brief", "14.0 [10.0, 18.0] n=100", "50.0* n=14", "n/a"),)


def test_figures_are_no_tables(shown):
    assert {type(made) for made in shown.values()} == {Table, Figure}
