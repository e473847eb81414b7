"""Cards: a case as a person looks at it, and an index of all of them worked out in columns."""

from __future__ import annotations

import json

import msgspec
import polars as pl
import pytest

from overread.benchmarks.base import ReaderRecord, Tables
from overread.benchmarks.cards import UNKNOWN
from overread.benchmarks.m3cot import M3CoT
from overread.benchmarks.m3cot.cases import FACETS
from overread.benchmarks.m3cot.importing import import_results
from overread.case import Fill, Within
from support.m3_odd_runs import READERS, odd_run
from support.m3_tables import answer, case, tables_of, verdict, verdicts_of
from support.m3_trees import Item, write_m3cot
from support.timing import cpu_seconds

BENCH = M3CoT.of_run("set@1", "open")
RIGHT, WRONG = {"match": True, "final_answer": "B"}, {"match": False, "final_answer": "C"}


def judged(answers, verdicts, cases=None):
    tables = tables_of(cases or [case(1)], answers)
    return msgspec.structs.replace(tables, verdicts=verdicts_of(verdicts))


def row_of(tables, name="m1", reader="r"):
    rows = BENCH.card_index(tables).filter(pl.col("case") == name, pl.col("reader") == reader)
    (row,) = rows.iter_rows(named=True)
    return row["right"], row["flipped"]


def card_of(tables, name="m1"):
    (card,) = BENCH.cards(tables, [name])
    return card


def slowly(tables):
    """The index as an obvious loop over rows."""
    found = {}
    facts = {row["case"]: row for row in tables.cases.to_dicts()}
    answers = [row for row in tables.answers.to_dicts() if row["case"] in facts]
    verdicts = [] if tables.verdicts is None else tables.verdicts.to_dicts()
    for name in facts:
        for reader in (one.name for one in tables.readers):
            if not any(a["case"] == name and a["reader"] == reader for a in answers):
                continue
            told = {}
            for mode in ("direct", "cot"):
                own = [
                    a
                    for a in answers
                    if (a["reader"], a["mode"], a["image"]) == (reader, mode, "original")
                ]
                timed = all(a["timed"] for a in own)
                rows = [a for a in own if a["case"] == name and a["timed"] == timed]
                if not rows:
                    continue
                text = rows[-1]["text"]
                votes = [
                    json.loads(v["payload"])["match"]
                    for v in verdicts
                    if (v["reader"], v["case"], v["question"]) == (reader, name, "answer")
                    and not v["check"]
                    and v["payload"] is not None
                    and json.loads(v["about"])
                    == {"mode": mode, "image": "original", "follow": "", "timed": timed}
                ]
                if rows[-1]["outcome"] == "unanswered":
                    told[mode] = None
                elif not text.strip():
                    told[mode] = False
                elif votes:
                    for_, against = votes.count(True), votes.count(False)
                    told[mode] = None if for_ == against else for_ > against
                else:
                    told[mode] = False if rows[-1]["outcome"] == "refused" else None
            right = told["cot"] if "cot" in told else told.get("direct")
            both = [told.get("cot"), told.get("direct")]
            flipped = None if None in both else both[0] != both[1]
            found[name, reader] = (right, flipped)
    return found


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("with_judges", [True, False])
def test_the_index_is_what_a_loop_over_rows_finds(seed, with_judges):
    tables = odd_run(seed, judged=with_judges)
    index = BENCH.card_index(tables)
    assert index.columns == ["case", "reader", "right", "flipped", *FACETS]
    found = {(row[0], row[1]): row[2:4] for row in index.iter_rows()}
    assert found == slowly(tables)
    assert len(found) == index.height


@pytest.mark.parametrize("seed", range(6))
def test_cards_say_what_the_index_says(seed):
    tables = odd_run(seed)
    index = {(row[0], row[1]): row[2:4] for row in BENCH.card_index(tables).iter_rows()}
    names = tables.cases["case"].to_list()[::-1]
    cards = list(BENCH.cards(tables, [*names, "nobody's", names[0]]))
    assert [card.case for card in cards] == names
    said = {
        (card.case, one.reader): (one.right, one.flipped) for card in cards for one in card.said
    }
    assert said == index


def test_facets_are_the_same_words_on_cards_and_in_the_index():
    tables = odd_run(1)
    index = BENCH.card_index(tables)
    for card in BENCH.cards(tables, tables.cases["case"].to_list()):
        for row in index.filter(pl.col("case") == card.case).iter_rows(named=True):
            assert card.facts == {facet: row[facet] for facet in BENCH.facets}
    assert UNKNOWN in set(index["task"])


def test_an_answer_is_right_for_more_than_half_of_the_judges():
    answers = [answer("r", 1)]
    three = [
        verdict(j, "answer", "r", 1, v) for j, v in zip("abc", (RIGHT, RIGHT, WRONG), strict=True)
    ]
    assert row_of(judged(answers, three))[0] is True
    assert row_of(judged(answers, three[1:]))[0] is None
    assert row_of(judged(answers, three[2:]))[0] is False
    assert row_of(judged(answers, []))[0] is None
    assert row_of(tables_of([case(1)], answers))[0] is None


def test_it_flipped_where_reasoning_makes_the_answer_right_or_wrong():
    answers = [answer("r", 1), answer("r", 1, "direct")]
    for cot, direct in ((RIGHT, WRONG), (WRONG, RIGHT), (RIGHT, RIGHT)):
        verdicts = [
            verdict("j", "answer", "r", 1, cot),
            verdict("j", "answer", "r", 1, direct, mode="direct"),
        ]
        assert row_of(judged(answers, verdicts)) == (cot["match"], cot is not direct)
    assert row_of(judged(answers[:1], verdicts))[1] is None


def test_silence_is_told_apart_from_error():
    told = {"x": "answered", "": "answered", "no": "refused", None: "unanswered"}
    rows = [answer("r", i, text=text, outcome=out) for i, (text, out) in enumerate(told.items(), 1)]
    tables = judged(rows, [], [case(i) for i in range(1, 5)])
    assert [row_of(tables, f"m{i}")[0] for i in range(1, 5)] == [None, False, False, None]
    cards = BENCH.cards(tables, ["m1", "m2", "m3", "m4"])
    told = [(one.text, one.right, one.note) for card in cards for one in card.said[0].answers]
    assert told == [
        ("x", None, "not judged"),
        ("a blank reply", False, ""),
        ("no", None, "refused, not judged"),
        ("unanswered", None, ""),
    ]


def test_gold_steps_stand_beside_the_given_ones():
    steps = [
        {"type": "feature", "judgment": "Match", "text": "an opacity"},
        {"type": "restatement", "judgment": None, "text": "the question"},
        {"type": "conclusion", "judgment": "Wrong", "text": "it is gout"},
    ]
    tables = judged(
        [answer("r", 1, text="1. an opacity"), answer("r", 1, "direct", "B")],
        [
            verdict("a", "answer", "r", 1, RIGHT),
            verdict("b", "answer", "r", 1, WRONG),
            verdict("a", "precision", "r", 1, steps),
            verdict("a", "recall", "r", 1, [True, False]),
            verdict("b", "recall", "r", 1, [False, False]),
        ],
    )
    card = card_of(tables)
    assert [(step.kind, step.text) for step in card.steps][1] == ("image features", "feature")
    (said,) = card.said
    assert [(one.shown, one.asked, one.text, one.right, one.note) for one in said.answers] == [
        ("original", "with reasoning", "B", None, "right for 1 of 2 judges"),
        ("original", "direct", "B", None, "not judged"),
    ]
    assert said.answers[0].reply == "1. an opacity"
    assert [(step.kind, step.mark, step.right) for step in said.gold] == [
        ("examination", "there for 1 of 2 judges", None),
        ("image features", "missing", False),
    ]
    assert [(step.kind, step.text, step.mark, step.right) for step in said.steps] == [
        ("image features", "an opacity", "Match", True),
        ("the question again", "the question", "no mark", None),
        ("key conclusion", "it is gout", "Wrong", False),
    ]
    assert said.lines == (("its own steps", "1 of 2 match, as a took the reply apart"),)


def test_an_answer_changed_where_another_picture_makes_it_right_or_wrong():
    shown = ("original", "blank", "swap")
    answers = [answer("r", 1, "direct", image=image) for image in shown]
    verdicts = [
        verdict("j", "answer", "r", 1, value, mode="direct", image=image)
        for image, value in zip(shown, (RIGHT, WRONG, RIGHT), strict=True)
    ]
    (said,) = card_of(judged(answers, verdicts)).said
    told = {one.shown: one.changed for one in said.answers}
    assert told == {"original": None, "blank": True, "swap": False}


@pytest.mark.slow
def test_hostile_and_endless_words_are_kept_short_and_do_no_harm():
    words = "<script>\u202e</style>" + "x" * 100_000
    many = [{"type": "feature", "judgment": words, "text": words}] * 300
    tables = judged(
        [answer("r", 1, text=words)],
        [
            verdict("j", "answer", "r", 1, {"match": True, "final_answer": words}),
            verdict("j", "precision", "r", 1, many),
            verdict("j", "recall", "r", 1, [True]),
        ],
    )
    (said,) = card_of(tables).said
    (given,) = said.answers
    assert given.reply == words.strip()
    assert len(said.steps) < 40
    told = [given.text, *(step.text for step in said.steps), *(step.mark for step in said.steps)]
    assert max(map(len, told)) < 400
    assert not any("\u202e" in value for value in told)


def test_verdicts_of_imports_that_leave_things_out_do_not_raise():
    about = json.dumps({"mode": "cot"})
    rows = [verdict("j", q, "r", 1, v) | {"about": about} for q, v in (("answer", {"match": True}), ("recall", [True]))]  # fmt: skip
    tables = judged([answer("r", 1, text="B", timed=None)], rows, [case(1, steps=())])
    assert row_of(tables) == (True, None)
    (given,) = card_of(tables).said[0].answers
    assert (given.text, given.right, given.reply) == ("B", True, "")


def test_timed_replies_stand_for_the_others_only_where_there_are_no_others():
    rows = [answer("r", 1), answer("r", 2, timed=True), answer("s", 2, timed=True)]
    verdicts = [verdict("j", "answer", row["reader"], int(row["case"][1:]), RIGHT, timed=row["timed"]) for row in rows]  # fmt: skip
    tables = judged(rows, verdicts, [case(1), case(2)])
    assert row_of(tables, "m1") == (True, None)
    assert row_of(tables, "m2", "s") == (True, None)
    assert BENCH.card_index(tables).height == 2
    assert [(said.reader, said.right) for said in card_of(tables, "m2").said] == [("s", True)]


def test_imported_items_may_be_known_by_their_number_alone(tmp_path):
    said = [{"index": str(i), "prediction": f"so {i}", "duration_s": 1.0} for i in (1, 2)]
    (tmp_path / "M_cot.json").write_text(json.dumps(said))
    judge = tmp_path / "accuracy" / "M_cot" / "1.txt"
    judge.parent.mkdir(parents=True)
    judge.write_text(json.dumps(RIGHT))
    imported = import_results(None, tmp_path)
    index = imported.benchmark.card_index(imported.tables)
    assert index["right"].to_list() == [True, None]
    first, second = imported.benchmark.cards(imported.tables, index["case"].to_list())
    assert (first.title, first.texts, first.slides) == ("1", (), ())
    (given,) = second.said[0].answers
    assert (given.asked, given.text, given.note) == ("with reasoning", "so 2", "not judged")
    assert set(imported.benchmark.per_case(imported.tables)) == {"accuracy_cot"}


def test_without_answers_there_is_nothing_to_browse():
    tables = tables_of([case(1)], [], ["r"])
    assert BENCH.card_index(tables).height == 0
    assert card_of(tables).said == ()
    nothing = tables_of([], [], ["r"])
    assert BENCH.card_index(nothing).height == 0
    assert list(BENCH.cards(nothing, ["m1"])) == []


def test_slides_are_what_readers_were_shown_where_the_set_is_open(tmp_path):
    place = write_m3cot(tmp_path, [Item(i) for i in range(1, 4)], "")
    opened = M3CoT.open(place, words={"images": "original,blank,swap"})
    cases = [*opened.cases()][:3]
    tables = Tables(
        cases=pl.DataFrame(
            [opened.case_row(one) for one in cases], schema=dict(opened.case_schema), orient="row"
        ),
        answers=pl.DataFrame(schema={"reader": pl.String, **opened.answer_schema}),
        readers=(ReaderRecord(name="r"),),
    )
    assert opened is not None
    for card, one in zip(opened.cards(tables, [c.case_id for c in cases]), cases, strict=True):
        slides = {slide.label: slide.picture for slide in card.slides}
        assert slides["image"].source.name == one.image
        assert slides["image"].operations == (Within(768),)
        assert isinstance(slides["black image"].operations[-1], Fill)
        assert slides["another item's image"].source.name != one.image
    elsewhere = msgspec.structs.replace(
        tables, cases=tables.cases.with_columns(case=pl.lit("z") + pl.col("case"))
    )
    assert [c.slides for c in opened.cards(elsewhere, elsewhere.cases["case"].to_list())] == [
        ()
    ] * 3
    assert all(card.slides == () for card in BENCH.cards(tables, tables.cases["case"].to_list()))


@pytest.mark.slow
def test_two_hundred_thousand_answers_are_indexed_in_columns():
    n, readers = 11_112, [f"r{i}" for i in range(9)]
    one = odd_run(0, n=2)
    pairs = pl.DataFrame({"reader": readers}).join(
        pl.DataFrame({"case": [f"m{i}" for i in range(n)]}), how="cross"
    )
    keys = pairs.join(pl.DataFrame({"mode": ["cot", "direct"]}), how="cross")
    row = one.answers.filter(pl.col("text") == "said").head(1).drop("reader", "case", "mode")
    answers = keys.join(row.with_columns(timed=False, image=pl.lit("original")), how="cross")
    told = {
        mode: json.dumps({"follow": "", "image": "original", "mode": mode, "timed": False})
        for mode in ("cot", "direct")
    }
    verdict_ = one.verdicts.filter(pl.col("question") == "answer", pl.col("outcome") == "judged")
    verdicts = keys.with_columns(about=pl.col("mode").replace_strict(told)).join(
        verdict_.head(1).drop("reader", "case", "about"), how="cross"
    )
    big = Tables(
        cases=pl.DataFrame([case(i) for i in range(n)], schema=one.cases.schema),
        answers=answers.select(one.answers.columns),
        verdicts=verdicts.select(one.verdicts.columns),
        readers=tuple(ReaderRecord(name=reader) for reader in readers),
    )
    taken, index = cpu_seconds(lambda: BENCH.card_index(big))
    assert taken < 3  # of the processor; a fifth of a second where nothing is done twice
    assert index.height == n * len(readers)
    assert index["right"].null_count() == 0


def test_readers_come_in_the_order_of_the_run():
    tables = odd_run(2)
    cards = BENCH.cards(tables, tables.cases["case"].to_list())
    for card in cards:
        names = [said.reader for said in card.said]
        assert names == [reader for reader in READERS if reader in names]
