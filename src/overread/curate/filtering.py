"""`filter`: how hard items are, and which are solved without looking.

Filter models answer each item under the benchmarks' own prompts. `authors` drops what all of them
answer rightly (MEDCMR, "Curation pipeline"); that makes the set harder for these models than for
others, and hides how easy it was. `corrected` keeps it with its difficulty, and the models are
named so that later runs of the set flag them. Readers without pictures are asked in several orders
of the options; what that shows is in `blind`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import msgspec

from overread.benchmarks.curated import Item, Number
from overread.benchmarks.letter_parser import LETTERS, read_choice
from overread.benchmarks.m3cot.curated import asked_as
from overread.benchmarks.m3cot.trials import INSTRUCTIONS
from overread.benchmarks.medcmr.cases import MedCase
from overread.benchmarks.medcmr.trials import mcq_prompt, orders_of, shown_order
from overread.case import BadInput, Picture, Within
from overread.curate.blind import FLAG, PICKS, solved_blind, told
from overread.curate.form import shown_options
from overread.curate.hearing import question_to
from overread.curate.questions import Heard, Question, Steps
from overread.curate.records import Record, record
from overread.curate.wanted import Wanted
from overread.judging.lexicon import same_answer

ROLES: Final = ("filters", "blind")
ALL_RIGHT: Final = "all_filters_right"


class Filter(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[filter]` of curate.toml: pictures within `px`, `orders` of the options for blind readers,
    and the false-discovery rate `rate` at which items are flagged as solved blind.
    """

    px: int = 768
    orders: int = 4
    rate: float = 0.1


def filtered(items: Sequence[Item], wanted: Wanted) -> Steps:
    """Items with their difficulty, those that are solved blind flagged."""
    options = wanted.options("filter", Filter)
    if not 1 <= options.orders <= len(LETTERS) or not 0 < options.rate < 1 or options.px < 16:
        raise BadInput(
            f"{wanted.file} [filter]: orders is 1 to {len(LETTERS)}, rate a share between 0 and 1, "
            "px 16 or more."
        )
    filters, blind = wanted.specs("filters"), wanted.specs("blind")
    if not filters and not blind:
        wanted.seats("filters")  # says in a line that somebody is needed
    sound = [item for item in items if _is_sound(item)]
    asked = [_answer(item, seat, options) for item in sound for seat in filters]
    for item in sound:
        asked += [one for seat in blind for one in _blind(item, seat, options, wanted)]
    known = {item.id: item for item in sound}
    right: dict[str, list[bool]] = defaultdict(list)
    picks = {item.id: [0] * len(shown_options(item)) for item in sound}
    by: dict[str, dict[str, None]] = defaultdict(dict)
    for heard in (yield asked):
        item, about = known[heard.question.item], heard.question.about
        by[item.id][heard.by] = None
        if about["ask"] == "blind":
            place = _taken(heard, item, int(about["order"]))
            if place is not None:
                picks[item.id][place] += 1
        elif heard.lack != "unanswered":  # who could not be reached says nothing of the item
            right[item.id].append(_right(heard, item))
    marked = {item.id: _marked(item, right[item.id], picks[item.id]) for item in sound}
    solved = solved_blind(marked.values(), options.rate)
    return [
        _record(item, marked[item.id], right[item.id], list(by[item.id]), item.id in solved, wanted)
        if item.id in marked
        else record(item, verdict="dropped", reason="no_options")
        for item in items
    ]


# ---------------------------------------------------------------- what is asked


def _case(item: Item) -> MedCase:
    """A choice as Med-CMR's item, for its orders and its prompt."""
    options = shown_options(item)
    return MedCase(
        case_id=item.id, index=0, kind="mcq", question=item.question, images=(), options=options,
        answer=LETTERS[options.index(item.answers[0])],
    )  # fmt: skip


def _is_choice(item: Item) -> bool:
    return item.kind in ("single", "bool")


def _is_sound(item: Item) -> bool:
    """Whether its right answers are among its options, where it has to have some."""
    options = shown_options(item)
    if item.kind == "short":
        return len(item.answers) == 1
    few = len(item.answers) == 1 if _is_choice(item) else bool(item.answers)
    return few and 2 <= len(options) <= len(LETTERS) and set(item.answers) <= set(options)


def _answer(item: Item, seat: str, options: Filter) -> Question:
    """The item as its benchmark puts it: a choice of letters, or M3CoTBench's direct question."""
    if _is_choice(item):
        text = mcq_prompt(item.question, shown_options(item))
    else:
        question, _ = asked_as(item)
        text = f"{question.strip()}\n{INSTRUCTIONS['direct']}"
    shown = [_within(picture, options.px) for picture in item.pictures]
    return question_to(seat, item.id, "answer", text, shown)


def _blind(item: Item, seat: str, options: Filter, wanted: Wanted) -> list[Question]:
    if not _is_choice(item):
        return []
    case, own = _case(item), shown_options(item)
    # Items of a pair are put in the same orders, so that their questions are the same.
    named = msgspec.structs.replace(case, case_id=item.pair or item.id)
    return [
        question_to(
            seat, item.id, "blind",
            mcq_prompt(item.question, [own[place] for place in shown_order(case, order)]),
            order=str(order),
        )
        for order in orders_of(named, options.orders - 1, wanted.seed)
    ]  # fmt: skip


def _within(picture: Picture, px: int) -> Picture:
    return msgspec.structs.replace(picture, operations=(*picture.operations, Within(px)))


# ---------------------------------------------------------------- what is made of it


def _taken(heard: Heard, item: Item, order: int) -> int | None:
    """The place of the option that a reply names, among the item's own."""
    turned = shown_order(_case(item), order)
    options = shown_options(item)
    named = read_choice(heard.text or "", [options[place] for place in turned]).letter
    return None if named is None else turned[LETTERS.index(named)]


def _right(heard: Heard, item: Item) -> bool:
    """Whether a reply is right; a refusal and what names nothing are wrong."""
    if heard.text is None:
        return False
    if not _is_choice(item):
        question, answer = asked_as(item)
        return same_answer(question, answer, heard.text)[0]
    options = shown_options(item)
    named = read_choice(heard.text, options).letter
    return named is not None and options[LETTERS.index(named)] == item.answers[0]


def _marked(item: Item, right: Sequence[bool], picks: Sequence[int]) -> Item:
    """The item with what was measured of it now, and nothing of an earlier filter."""
    facts: dict[str, Number] = {
        name: value for name, value in item.facts.items() if name not in _FACTS
    }
    if right:
        facts |= {"filter_right": sum(right), "filter_n": len(right),
                  "difficulty": round(1 - sum(right) / len(right), 6)}  # fmt: skip
    if any(picks):
        facts[PICKS] = told(picks)
    flags = tuple(flag for flag in item.flags if flag != FLAG)
    return msgspec.structs.replace(item, facts=facts, flags=flags)


_FACTS: Final = frozenset({"filter_right", "filter_n", "difficulty", PICKS})


def _record(
    item: Item, better: Item, right: Sequence[bool], by: Sequence[str], blind: bool, wanted: Wanted
) -> Record:
    own = {name: value for name, value in better.facts.items() if name in _FACTS}
    # Who could not be reached might have been wrong: nothing is dropped on a part of the models.
    complete = len(right) == len(wanted.specs("filters")) > 0
    if not wanted.robust and complete and all(right):
        return record(
            better, parents=[item], by=by, verdict="dropped", reason=ALL_RIGHT, facts=own
        )  # fmt: skip
    if blind:
        return record(
            better.marked(FLAG), parents=[item], by=by, verdict="flagged", reason=FLAG, facts=own
        )  # fmt: skip
    return record(better, parents=[item], by=by, facts=own)
