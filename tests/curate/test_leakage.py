"""Signs that a model has met the items: found where planted, small where not, never a clearance."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from overread.benchmarks.curated import Item
from overread.case import BadInput, Picture, Source
from overread.curate.blind import pairs_of
from overread.curate.leakage import Options, Report, orders, partner, report_of, sampled, signs
from overread.curate.questions import Heard, Question
from overread.curate.wanted import Models, Wanted

WANTED = Wanted(name="w", models=Models(leakage=("openai:m@http://h/v1",)), home=Path())
LONG = (
    "A woman of forty was brought in at night with pain on the right that came and went for days and "
    "would not be eased by rest; what does the film of that night show beside the shadow of the liver?"
)
OPTIONS = ("gallstones", "free air", "a calcified cyst", "nothing at all")


def _items() -> list[Item]:
    """Ten pairs of one long question about two pictures, whose answers differ."""
    return [
        Item(
            candidates=(f"c{number}",),
            pictures=(Picture(Source("root", f"{number}.png")),),
            question=LONG,
            kind="single",
            options=OPTIONS,
            answers=(OPTIONS[number % 2],),
            pair=f"p{number // 2}",
        )
        for number in range(20)
    ]


def _asked(items: list[Item], wanted: Wanted = WANTED) -> list[Question]:
    return list(next(signs(items, wanted)))


def _report(says: Callable[[Question, Item], str | None], wanted: Wanted = WANTED) -> Report:
    items = _items()
    by_id = {item.id: item for item in items}
    heard = [
        Heard(question=one, by="m", text=said, lack="" if said is not None else "refused")
        for one in _asked(items, wanted)
        for said in [says(one, by_id[one.item])]
    ]
    return report_of(items, heard, wanted)


def _values(report: Report) -> dict[str, float | None]:
    return {one.sign: one.value for one in report.rows}


def _parts(question: Question) -> tuple[bool, str]:
    parts = question.messages[0].parts
    return any(isinstance(part, Picture) for part in parts), str(parts[-1])


def by_heart(question: Question, item: Item) -> str:
    """Knows the words and the order, and looks at nothing."""
    sign, text = question.about["sign"], _parts(question)[1]
    if sign == "continue":
        return LONG.partition(text.splitlines()[-1])[2]
    if sign == "order":
        return "AB"[OPTIONS.index(item.answers[0])]  # the letter it stands under in the set
    if sign == "swapped":
        return "AB"[OPTIONS.index(item.answers[0])]
    return item.answers[0]


def looking(question: Question, item: Item) -> str:
    """Sees what a picture shows, and has met nothing."""
    sign, (seen, text) = question.about["sign"], _parts(question)
    if sign == "continue":
        return "I cannot know how it goes on."
    picture = next((p for p in question.messages[0].parts if isinstance(p, Picture)), None)
    if not seen or picture is None or not isinstance(picture.source, Source):
        return "It cannot be said."
    shown = OPTIONS[int(picture.source.name.partition(".")[0]) % 2]
    if sign in ("order", "swapped"):
        return next(line[0] for line in text.splitlines() if line.endswith(f") {shown}"))
    return shown


def test_who_knows_the_set_by_heart_shows_every_sign() -> None:
    values = _values(_report(by_heart))
    assert values["rouge_l_blind"] == values["edit_similarity_blind"] == 1
    assert (values["n_gram"], values["kept_answer"]) == (1, 1)
    assert (values["own_order"] or 0) > 0.5


def test_who_looks_shows_none() -> None:
    report = _report(looking)
    values = _values(report)
    assert values["rouge_l"] == 1
    assert (values["rouge_l_blind"] or 0) < 0.3
    assert (values["n_gram"], values["own_order"], values["kept_answer"]) == (0, 0, 0)
    # And still nothing says that the set is clean: an interval around each, and the note.
    for one in report.rows:
        assert one.low is not None
        assert one.high is not None
        assert one.high - one.low > 0
        assert one.n == 20
    assert "clean" not in msgspec.json.encode(report).decode()
    assert "may still have been trained" in report.notes[0]


def test_what_was_not_said_is_left_out_and_nothing_is_no_number() -> None:
    silent = _report(lambda question, item: None)
    assert silent.rows == ()
    half = _report(lambda question, item: None if question.about["sign"] == "order" else "A")
    (row,) = [one for one in half.rows if one.sign == "own_order"]
    assert (row.value, row.n, row.low) == (None, 0, None)


def test_a_sample_is_drawn_by_pairs_and_asked_only_what_can_be() -> None:
    items = _items()
    drawn = sampled(items, Options(items=7), WANTED)
    assert len(drawn) == 6
    assert len({item.pair for item in drawn}) == 3
    short = msgspec.structs.replace(items[0], question="What is it?", pair="", kind="bool")
    assert [one.about["sign"] for one in _asked([short])] == []


def test_other_orders_are_others_each_once() -> None:
    found = orders(_items()[0], 3, WANTED)
    assert found[0] == (0, 1, 2, 3)
    assert len(set(found)) == 4
    two = msgspec.structs.replace(_items()[0], options=("a", "b"), answers=("a",))
    assert orders(two, 3, WANTED) == [(0, 1), (1, 0)]


def test_items_of_one_patient_count_together_whether_paired_or_not() -> None:
    paired = [msgspec.structs.replace(one, patients=("p",)) for one in _items()]
    found = []
    for items in (paired, [msgspec.structs.replace(one, pair="") for one in paired]):
        heard = [Heard(question=one, by="m", text="gallstones") for one in _asked(items)]
        found.append(next(one for one in report_of(items, heard, WANTED).rows if one.n))
    assert found[0] == found[1]  # one patient, whose items are one cluster


def test_a_pair_of_which_reviewers_mended_one_is_a_pair_no_more() -> None:
    first, second = _items()[:2]
    assert partner(first, [first, second]) is second
    for mended in (
        msgspec.structs.replace(second, answers=first.answers),
        msgspec.structs.replace(second, options=(*OPTIONS[:3], "nothing")),
        msgspec.structs.replace(second, question="And here?"),
    ):
        assert partner(first, [first, mended]) is None
        assert pairs_of([first, mended]) == {}


def test_how_many_are_asked_is_checked() -> None:
    for wrong in ({"items": 0}, {"orders": 0}, {"orders": 10**9}):
        with pytest.raises(BadInput, match="items is 1 or more"):
            _asked(_items(), msgspec.structs.replace(WANTED, leakage=wrong))
