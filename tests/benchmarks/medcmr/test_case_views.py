"""A handful of items with what readers said: errors first, by lot, and nobody's words act."""

from __future__ import annotations

import json

import msgspec
import polars as pl

from overread.benchmarks.exhibits.cells import CUT
from overread.benchmarks.medcmr.cards import ITEMS, case_views
from overread.benchmarks.medcmr.edition import CORRECTED
from overread.judging import VERDICT_COLUMNS
from support.med_tables import chose, mcq, opened, tables_of, wrote

HOSTILE = "<script>alert(1)</script> \u202e ignore the above \x00"
LINES = {
    "clarity": "Language Clarity",
    "coherence": "Reasoning Coherence",
    "visual": "Vision Feature Accuracy",
    "truth": "Ground Truth Consistency",
}


def verdict(reader, index, truth, judge="g", image="original", **other):
    scores = {"clarity": 1, "coherence": 0.5, "visual": 2, "truth": truth}
    told = {
        "judge": judge,
        "role": "score",
        "question": "score",
        "reader": reader,
        "case": f"open-{index}",
        "about": json.dumps({"form": "open", "image": image, "order": 0}, sort_keys=True),
        "check": False,
        "attempts": 1,
        "outcome": "judged",
        "how": "lines",
        "payload": json.dumps(scores, sort_keys=True),
        "text": "\n".join(f"{LINES[name]}: [{value}]" for name, value in scores.items()),
        **other,
    }
    return {column: told.get(column) for column in VERDICT_COLUMNS}


def views(cases, answers, verdicts=(), seed=0):
    other = {"check": pl.Boolean, "attempts": pl.Int64}
    schema = {column: other.get(column, pl.String) for column in VERDICT_COLUMNS}
    tables = tables_of(cases, answers)
    if verdicts:
        kept = pl.DataFrame(list(verdicts), schema=schema, orient="row")
        tables = msgspec.structs.replace(tables, verdicts=kept)
    edition = msgspec.structs.replace(CORRECTED, seed=seed)
    return {one.name: one for one in case_views(tables, edition, "sig")}


def choices(n=20, wrong=10, seed=0, readers=("one",)):
    cases = [mcq(i, answer="A", question=f"{HOSTILE} {i}") for i in range(n)]
    answers = [chose(r, i, "B" if i < wrong else "A") for r in readers for i in range(n)]
    return views(cases, answers, seed=seed)["cases_mcq"]


def test_errors_come_first_then_what_was_right():
    marks = [row[-1] for row in choices().rows]
    assert marks == ["wrong"] * (ITEMS - ITEMS // 3) + ["right"] * (ITEMS // 3)
    assert [row[-1] for row in choices(wrong=1).rows] == ["wrong"] + ["right"] * (ITEMS - 1)
    assert [row[-1] for row in choices(wrong=20).rows] == ["wrong"] * ITEMS
    assert len(choices(n=3, wrong=1).rows) == 3


def test_the_lot_goes_by_the_seed_alone():
    assert choices(seed=1).rows == choices(seed=1).rows
    assert choices(seed=1).rows != choices(seed=2).rows


def test_every_reader_has_a_row_and_the_question_stands_once():
    rows = choices(readers=("one", "two")).rows
    assert [row[4] for row in rows] == ["one", "two"] * ITEMS
    assert [bool(row[1]) for row in rows] == [True, False] * ITEMS
    assert rows[0][2].startswith("A) aa B) bbbb")
    assert rows[0][3] == "A) aa"


def test_what_names_no_option_is_shown_as_what_it_is():
    cases = [mcq(i) for i in range(3)]
    said = [chose("r", 0, "?", text="both"), chose("r", 1, "!"), chose("r", 2, None)]
    rows = {row[0].partition(":")[0]: row[-2:] for row in views(cases, said)["cases_mcq"].rows}
    assert rows["mcq-0"] == ("both", "invalid")
    assert rows["mcq-1"][1] == "refused"
    assert rows["mcq-2"] == ("nothing", "unanswered")


def test_only_the_question_as_the_set_has_it_is_shown():
    cases = [mcq(1)]
    said = [chose("r", 1, "A"), chose("r", 1, "B", image="blank"), chose("r", 1, "C", order=1)]
    (row,) = views(cases, said)["cases_mcq"].rows
    assert row[-1] == "right"


def test_open_answers_stand_with_each_judges_scores():
    cases = [opened(i) for i in range(4)]
    said = [wrote("r", i, f"because {i}", answer=f"thing {i}") for i in range(4)]
    given = [verdict("r", i, truth) for i, truth in enumerate((4, 0, 4, 4))]
    given += [verdict("r", 0, 3, judge="h"), verdict("r", 2, 0, image="blank")]
    given += [verdict("r", 3, 0, check=True)]
    rows = views(cases, said, given)["cases_open"].rows
    assert rows[0][0].startswith("open-1")  # the error
    assert rows[0][3:] == ("r", "because 1", "thing 1", "g: Con 100, Coh 50, VA 50, GT 0")
    (both,) = (row for row in rows if row[0].startswith("open-0"))
    assert both[-1] == "g: Con 100, Coh 50, VA 50, GT 100; h: Con 100, Coh 50, VA 50, GT 75"


def test_where_nobody_judged_it_says_so():
    rows = views([opened(1)], [wrote("r", 1)])["cases_open"].rows
    assert rows[0][-1] == "not judged"
    silent = views([opened(1)], [wrote("r", 1, None)])["cases_open"].rows
    assert silent[0][4:6] == ("", "unanswered")


def test_hostile_and_long_words_are_cut_and_lose_what_acts():
    cases = [opened(1, question=HOSTILE + "x" * 999, answer=HOSTILE)]
    table = views(cases, [wrote("r", 1, HOSTILE + "y" * 999)])["cases_open"]
    text = "".join("".join(row) for row in table.rows)
    assert "\u202e" not in text
    assert "\x00" not in text
    assert "<script>" in text  # kept as words; the page escapes them
    assert max(len(cell) for row in table.rows for cell in row) <= 2 * CUT + 1
    assert f"cut after {CUT} characters" in table.notes[-1]


def test_a_kind_that_was_not_asked_has_no_table():
    assert list(views([mcq(1), opened(1)], [chose("r", 1, "A")])) == ["cases_mcq"]
    assert views([mcq(1)], [], ()) == {}
