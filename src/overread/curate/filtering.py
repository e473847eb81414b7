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

from overread.benchmarks.curated import Item, Number, Put, Turned
from overread.benchmarks.letter_parser import LETTERS
from overread.benchmarks.registry import benchmarks_for_items, class_of
from overread.case import BadInput, Picture, Within
from overread.curate.blind import FLAG, PICKS, solved_blind, told
from overread.curate.form import shown_options
from overread.curate.hearing import question_to
from overread.curate.questions import Steps
from overread.curate.records import Record, record
from overread.curate.wanted import Wanted
from overread.plugins import at

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
    puts = {item.id: put for item in sound if (put := _put(item, wanted)) is not None}
    put_items = [item for item in sound if item.id in puts]
    turned: dict[str, tuple[Turned, ...]] = {}
    for item in put_items:
        turns = puts[item.id].turned
        if turns is not None:
            # Items of a pair are put in the same orders, so that their questions are the same.
            turned[item.id] = turns(options.orders, wanted.seed, item.pair or item.id)
    asked = [
        question_to(seat, item.id, "answer", puts[item.id].text, _within(item, options.px))
        for item in put_items
        for seat in filters
    ]
    asked += [
        question_to(seat, item.id, "blind", one.text, order=str(one.order))
        for item in put_items
        for seat in blind
        for one in turned.get(item.id, ())
    ]
    right: dict[str, list[bool]] = defaultdict(list)
    picks = {item.id: [0] * len(shown_options(item)) for item in sound}
    by: dict[str, dict[str, None]] = defaultdict(dict)
    for heard in (yield asked):
        name, about = heard.question.item, heard.question.about
        by[name][heard.by] = None
        if about["ask"] == "blind":
            (one,) = (one for one in turned[name] if str(one.order) == about["order"])
            place = one.taken(heard.text) if heard.text else None
            if place is not None:
                picks[name][place] += 1
        elif heard.lack != "unanswered":  # who could not be reached says nothing of the item
            # A refusal is wrong, and so is what names nothing.
            right[name].append(bool(heard.text) and puts[name].right(heard.text or ""))
    marked = {item.id: _marked(item, right[item.id], picks[item.id]) for item in sound}
    solved = solved_blind(marked.values(), options.rate)
    return [
        _record(item, marked[item.id], right[item.id], list(by[item.id]), item.id in solved, wanted)
        if item.id in marked
        else record(item, verdict="dropped", reason="no_options")
        for item in items
    ]


# ---------------------------------------------------------------- what is asked


def _put(item: Item, wanted: Wanted) -> Put | None:
    """The item as a benchmark of its set asks it, one that turns its options if there is one.

    None where only judges could tell what is right: then nothing is known of its difficulty.
    """
    puts: list[Put] = []
    for target in wanted.targets or benchmarks_for_items():
        place = class_of(target).curated.put
        put = at(place)(item) if place else None
        if put is not None:
            puts.append(put)
    return next((put for put in puts if put.turned is not None), puts[0] if puts else None)


def _is_sound(item: Item) -> bool:
    """Whether its right answers are among its options, where it has to have some."""
    options = shown_options(item)
    if item.kind == "short":
        return len(item.answers) == 1
    few = len(item.answers) == 1 if item.kind != "multiple" else bool(item.answers)
    return few and 2 <= len(options) <= len(LETTERS) and set(item.answers) <= set(options)


def _within(item: Item, px: int) -> list[Picture]:
    return [
        msgspec.structs.replace(picture, operations=(*picture.operations, Within(px)))
        for picture in item.pictures
    ]


# ---------------------------------------------------------------- what is made of it


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
