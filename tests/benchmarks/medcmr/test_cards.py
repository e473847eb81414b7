"""Cards: an item as a person looks at it, and an index of all of them worked out in columns."""

from __future__ import annotations

import msgspec
import polars as pl
import pytest

from overread.benchmarks.base import ReaderRecord, Tables
from overread.benchmarks.cards import UNKNOWN
from overread.benchmarks.medcmr import MedCMR
from overread.benchmarks.medcmr.cards import FACETS
from overread.benchmarks.medcmr.importing import import_results
from overread.case import CardScore, Fill, Within
from support.med_odd_runs import READERS, odd_run
from support.med_scores import scored_by, verdicts_of
from support.med_tables import chose, mcq, opened, tables_of, wrote
from support.medcmr_sets import item, write_lines, write_release
from support.medcmr_sets import mcq as made_mcq
from support.timing import cpu_seconds

BENCH = MedCMR.of_run("set@1", "open")


def row_of(tables, name="mcq-1", reader="r"):
    rows = BENCH.card_index(tables).filter(pl.col("case") == name, pl.col("reader") == reader)
    (row,) = rows.iter_rows(named=True)
    return row["right"], row["flipped"]


def said_in(tables, name="mcq-1"):
    (card,) = BENCH.cards(tables, [name])
    (said,) = card.said
    return said


def slowly(tables):
    """The index as an obvious loop over rows."""
    found = {}
    answers = tables.answers.to_dicts()
    for case in tables.cases.to_dicts():
        for reader in (one.name for one in tables.readers):
            rows = [a for a in answers if (a["reader"], a["case"]) == (reader, case["case"])]
            if not rows:
                continue
            own, others = None, []
            for row in rows:
                if row["form"] != "mcq":
                    continue
                if row["image"] == "original" and row["order"] == 0:
                    own = row
                elif row["outcome"] == "answered" and row["choice"]:
                    others.append(row["choice"])
            right = flipped = None
            if own is not None and own["outcome"] != "unanswered" and case["kind"] == "mcq":
                right = own["outcome"] == "answered" and own["choice"] == case["answer"]
            if own is not None and own["outcome"] == "answered" and own["choice"] and others:
                flipped = any(other != own["choice"] for other in others)
            found[case["case"], reader] = (right, flipped)
    return found


@pytest.mark.parametrize("seed", range(6))
def test_the_index_is_what_a_loop_over_rows_finds(seed):
    tables = odd_run(seed)
    index = BENCH.card_index(tables)
    assert index.columns == ["case", "reader", "right", "flipped", *FACETS]
    found = {(row[0], row[1]): row[2:4] for row in index.iter_rows()}
    assert found == slowly(tables)
    assert len(found) == index.height
    assert {flip for _, flip in found.values()} == {True, False, None}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("judged", [True, False])
def test_cards_say_what_the_index_says(seed, judged):
    tables = odd_run(seed, judged=judged)
    index = {(row[0], row[1]): row for row in BENCH.card_index(tables).iter_rows()}
    names = tables.cases["case"].to_list()[::-1]
    cards = list(BENCH.cards(tables, [*names, "nobody's", names[0]]))
    assert [card.case for card in cards] == names
    said = {
        (card.case, one.reader): (one.right, one.flipped) for card in cards for one in card.said
    }
    assert said == {key: row[2:4] for key, row in index.items()}
    for card in cards:
        readers = [one.reader for one in card.said]
        assert readers == [reader for reader in READERS if reader in readers]
        for reader in readers:
            assert tuple(card.facts.values()) == index[card.case, reader][4:]
    assert UNKNOWN in {card.facts["ability"] for card in cards}


def test_right_is_told_of_choices_alone():
    rows = [chose("r", i, choice) for i, choice in enumerate("AB?!")]
    rows += [chose("r", 4, None), wrote("r", 0)]
    tables = tables_of([*(mcq(i) for i in range(5)), opened(0)], rows)
    rights = [row_of(tables, f"mcq-{i}")[0] for i in range(5)]
    assert rights == [True, False, False, False, None]
    assert row_of(tables, "open-0") == (None, None)


@pytest.mark.parametrize(
    ("other", "flipped"),
    [
        (chose("r", 1, "B", image="blank"), True),
        (chose("r", 1, "B", image="swap"), True),
        (chose("r", 1, "B", image="text"), True),
        (chose("r", 1, "B", order=2, shift=2), True),
        (chose("r", 1, "A", order=2, shift=2), False),
        (chose("r", 1, "?", image="blank"), None),
        (chose("r", 1, None, image="blank"), None),
    ],
)
def test_it_flipped_where_another_option_is_named(other, flipped):
    tables = tables_of([mcq(1)], [chose("r", 1, "A"), other])
    assert row_of(tables) == (True, flipped)


def test_of_two_replies_the_last_counts_as_in_the_measures():
    tables = tables_of(
        [mcq(1), mcq(2)], [chose("r", 1, "B"), chose("r", 1, "A"), chose("r", 2, "A")]
    )
    assert row_of(tables)[0] is True


def test_the_right_option_is_marked_and_choices_are_told_in_the_items_letters():
    rows = [
        chose("r", 1, "B"),
        chose("r", 1, "A", order=1, shift=1),
        chose("r", 1, "?", image="blank", text="both of them"),
        chose("r", 1, None, image="text"),
    ]
    tables = tables_of([mcq(1, caption="a spot")], rows)
    (card,) = BENCH.cards(tables, ["mcq-1"])
    assert [(one.key, one.text, one.right) for one in card.options][:2] == [
        ("A", "aa", True),
        ("B", "bbbb", False),
    ]
    assert card.texts[-1][1] == "a spot"
    assert [label for _, label in card.conditions] == ["image", "black image", "no image"]
    told = [(one.shown, one.asked, one.text, one.option, one.right) for one in card.said[0].answers]
    assert told == [
        ("original", "choice", "B) bbbb", "B", False),
        ("original", "choice, options turned by 1", "A) aa", "A", True),
        ("blank", "choice", "names no single option", "", False),
        ("text", "choice", "unanswered", "", None),
    ]
    assert card.said[0].answers[2].reply == "both of them"


def test_an_option_changed_with_the_picture_is_told_where_it_was_chosen():
    rows = [chose("r", 1, "B"), chose("r", 1, "A", image="blank"), chose("r", 1, "B", image="swap")]
    (card,) = BENCH.cards(tables_of([mcq(1)], rows), ["mcq-1"])
    told = {one.shown: one.changed for one in card.said[0].answers}
    assert told == {"original": None, "blank": True, "swap": False}


def test_open_answers_have_their_reasoning_and_every_judges_scores():
    words = "Reasoning: a spot.\nAnswer: gout"
    rows = [wrote("r", 1, words, reasoning="a spot.", answer="gout")]
    verdicts = [
        scored_by("a", "r", 1, (1, 0.5, 3, 2)),
        scored_by("b", "r", 1, None),
        scored_by("c", "r", 1, (1, 0.5, 2)),
    ]
    tables = msgspec.structs.replace(tables_of([opened(1)], rows), verdicts=verdicts_of(verdicts))
    said = said_in(tables, "open-1")
    (given,) = said.answers
    assert (given.text, given.reply) == ("gout", words)
    parts = (("clarity", 1, 1), ("coherence", 0.5, 1), ("visual", 3, 4), ("truth", 2, 4))
    assert given.scores == (
        CardScore(judge="a", parts=parts, total=65),
        CardScore(judge="b"),
        CardScore(judge="c", parts=(*parts[:2], parts[3])),
    )


def test_silence_is_told_apart():
    rows = [
        wrote("r", 1, "no", outcome="refused"),
        wrote("r", 2, " "),
        wrote("r", 3, None),
        wrote("r", 4, "words", outcome="unparsed"),
    ]
    tables = tables_of([opened(i) for i in range(1, 5)], rows)
    first = [said_in(tables, f"open-{i}").answers[0] for i in range(1, 5)]
    assert [(one.text, one.note) for one in first] == [
        ("refused", "scores 0"),
        ("a blank reply", "scores 0"),
        ("unanswered", "scores 0"),
        ("no answer section", "not judged"),
    ]


def test_hostile_and_endless_words_are_kept_short_and_do_no_harm():
    words = "<script>\u202e</style>" + "x" * 100_000
    tables = tables_of([opened(1), mcq(1)], [wrote("r", 1, words), chose("r", 1, "?", text=words)])
    for name in ("open-1", "mcq-1"):
        (given,) = said_in(tables, name).answers
        assert given.reply == words.strip()
        assert len(given.text) < 400
        assert "\u202e" not in given.text


def test_imported_scores_may_be_of_replies_that_nobody_has(tmp_path):
    place = write_release(
        tmp_path / "set", [made_mcq(n) for n in range(3)], [item(n) for n in range(3)]
    )
    scores = {"clarity": 1, "coherence": 1, "visual": 4, "truth": 4}
    rows = [
        {"index": 0, "kind": "mcq", "text": "A"},
        {"index": 1, "kind": "open", "text": "Reasoning: x\nAnswer: y", "scores": scores},
        {"index": 2, "kind": "open", "scores": scores},
        {"index": 0, "kind": "open", "text": None},
    ]
    replies = write_lines(tmp_path / "replies" / "m.jsonl", rows).parent
    imported = import_results(place, replies)
    index = imported.benchmark.card_index(imported.tables)
    assert dict(index.select("case", "right").iter_rows()) == {
        "mcq-0": True, "open-0": None, "open-1": None, "open-2": None,
    }  # fmt: skip
    cards = list(imported.benchmark.cards(imported.tables, imported.tables.cases["case"].to_list()))
    told = {card.case: card.said[0].answers[0] for card in cards if card.said}
    assert (told["open-0"].text, told["open-0"].note) == ("unanswered", "scores 0")
    for name in ("open-1", "open-2"):
        assert [(one.judge, one.total) for one in told[name].scores] == [("theirs", 100)]
    assert set(imported.benchmark.per_case(imported.tables)) == {"accuracy", "score"}


def test_without_answers_there_is_nothing_to_browse():
    tables = tables_of([mcq(1)], [], ["r"])
    assert BENCH.card_index(tables).height == 0
    (card,) = BENCH.cards(tables, ["mcq-1"])
    assert card.said == ()
    assert BENCH.card_index(tables_of([], [], ["r"])).height == 0


def test_slides_are_what_readers_were_shown_where_the_set_is_open(tmp_path):
    items = [made_mcq(n, task="SOD") for n in range(3)]
    place = write_release(tmp_path, items, [], zipped=False)
    bench = MedCMR.open(place, words={"images": "original,blank,swap,text", "px": "64"})
    assert bench.facets
    cases = [*bench.cases()][:3]
    tables = Tables(
        cases=pl.DataFrame(
            [bench.case_row(one) for one in cases], schema=dict(bench.case_schema), orient="row"
        ),
        answers=pl.DataFrame(schema={"reader": pl.String, **bench.answer_schema}),
        readers=(ReaderRecord(name="r"),),
    )
    names = [one.case_id for one in cases]
    for card, one in zip(bench.cards(tables, names), cases, strict=True):
        shown = {}
        for slide in card.slides:
            shown.setdefault(slide.label.partition(",")[0], []).append(slide.picture)
        assert [picture.source.name for picture in shown["image"]] == list(one.images)
        assert shown["image"][0].operations == (Within(64),)
        assert isinstance(shown["black image"][0].operations[-1], Fill)
        assert shown["another item's image"][0].source.name not in one.images
        assert "no image" not in shown
    assert all(card.slides == () for card in BENCH.cards(tables, names))


@pytest.mark.slow
def test_two_hundred_thousand_answers_are_indexed_in_columns():
    n, readers = 4_500, [f"r{i}" for i in range(9)]
    cells = [("original", 0), ("original", 1), ("blank", 0), ("swap", 0), ("text", 0)]
    one = tables_of([mcq(1)], [chose("r", 1, "A")])
    keys = (
        pl.DataFrame({"reader": readers})
        .join(pl.DataFrame({"case": [f"mcq-{i}" for i in range(n)]}), how="cross")
        .join(
            pl.DataFrame(cells, schema={"image": pl.String, "order": pl.Int8}, orient="row"),
            how="cross",
        )
    )
    rest = one.answers.drop("reader", "case", "image", "order")
    big = Tables(
        cases=pl.DataFrame([mcq(i) for i in range(n)], schema=one.cases.schema),
        answers=keys.join(rest, how="cross").select(one.answers.columns),
        readers=tuple(ReaderRecord(name=reader) for reader in readers),
    )
    taken, index = cpu_seconds(lambda: BENCH.card_index(big))
    assert taken < 3  # of the processor; a tenth of a second where nothing is done twice
    assert index.height == n * len(readers)
    assert index["right"].all()
    assert not index["flipped"].any()
