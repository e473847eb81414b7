"""Wrong options: several models propose, what is too near the answer goes, people choose.

Where nobody has chosen yet, a choice is drawn by seed so that the form of the options tells
nothing, and the item is marked. What people chose stands in a csv of `item`, `person` and
`distractor`, which is read when the step is run again; no model is asked again for it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from overread.benchmarks.curated import Item, Number
from overread.benchmarks.draws import lot
from overread.benchmarks.files.sheets import as_filled, filled_rows, quoted
from overread.case import BadInput
from overread.curate.hearing import (
    material_of,
    object_in,
    one_line,
    prompt,
    question_to,
    understood,
)
from overread.curate.options import (
    LONGEST,
    MOST_OPTIONS,
    Proposal,
    bare_option,
    chosen,
    drawn_ranks,
    kept_proposals,
    placed,
    same_option,
)
from overread.curate.questions import Question, Steps
from overread.curate.records import Record, record
from overread.curate.wanted import Wanted
from overread.judging import Read

ROLES: Final = ("distractors",)
UNREVIEWED: Final = "distractors_unreviewed"
"""The flag of an item whose wrong options no person chose."""
COLUMNS: Final = ("item", "person", "distractor")
CHOSEN: Final = "distract_chosen.csv"
"""What people chose on the study's page, read where `chosen` names no other sheet."""
_LEAST_WRONG: Final = 2
_MOST_PROPOSED: Final = 12


class Distract(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[distract]` of curate.toml.

    An item has so many `options`; each model proposes so many `proposals`. `open` is the share of
    written questions that stay open ones (Med-CMR: 3,999 of 20,654). `chosen` names the csv with
    what people chose.
    """

    options: int = 5
    proposals: int = 4
    open: float = 0.19
    chosen: str = ""


class Said(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a model replies."""

    distractors: list[str]


def distract(items: Sequence[Item], wanted: Wanted) -> Steps:
    """Items with their options: wrong ones for those that have none, and others as they are."""
    options = _options(wanted)
    needing = [item for item in items if not item.options and item.kind in ("short", "multiple")]
    closed = _closed(needing, options, wanted.seed)
    seats = wanted.seats("distractors") if closed else ()
    votes = _votes(wanted, options, closed)
    asked = [_question(item, seat, options) for item in closed for seat in seats]
    heard = yield from understood(asked, _read)
    proposals: dict[str, list[Proposal]] = defaultdict(list)
    by: dict[str, list[str]] = defaultdict(list)
    lacks: dict[str, list[str]] = defaultdict(list)
    for number, one in enumerate(heard):
        name = one.heard.question.item
        by[name].append(one.heard.by)
        if one.reason:
            lacks[name].append(one.reason)
        else:
            proposals[name] += [Proposal(text, number % len(seats)) for text in one.value]
    ranks = drawn_ranks([item.id for item in closed], options.options, wanted.seed)
    made: dict[str, Record] = {}
    for item in closed:
        made[item.id] = _made(
            item, proposals[item.id], votes.get(item.id, {}), options, ranks[item.id], wanted.seed,
            by[item.id], lacks[item.id],
        )  # fmt: skip
    return _placed(items, made, wanted.seed)


def _options(wanted: Wanted) -> Distract:
    options = wanted.options("distract", Distract)
    if not 3 <= options.options <= MOST_OPTIONS:
        raise BadInput(
            f"{wanted.file} [distract]: options is {options.options}; it is 3 to {MOST_OPTIONS}."
        )
    if not 0 <= options.open <= 1 or not 1 <= options.proposals <= _MOST_PROPOSED:
        raise BadInput(
            f"{wanted.file} [distract]: open is a share from 0 to 1, and proposals is 1 to "
            f"{_MOST_PROPOSED}."
        )
    return options


def _closed(needing: Sequence[Item], options: Distract, seed: int) -> list[Item]:
    """The items that get options: all but a share of the open ones, drawn by seed."""
    short = sorted(
        (item.id for item in needing if item.kind == "short"),
        key=lambda name: lot("open", seed, name),
    )
    left_open = set(short[: round(options.open * len(short))])
    return [item for item in needing if item.id not in left_open]


def _question(item: Item, seat: str, options: Distract) -> Question:
    count = max(options.proposals, options.options - len(item.answers))
    text = prompt("distract", material_of(item), count=str(count))
    return question_to(seat, item.id, "distractors", text, item.pictures)


def _read(question: Question, text: str) -> Read:
    found = object_in(text, Said)
    if not found.valid:
        return found
    texts = [one_line(text) for text in found.value.distractors[:_MOST_PROPOSED]]
    return Read([text for text in texts if text], found.how) if any(texts) else Read(
        fault="distractors is empty"
    )  # fmt: skip


# ---------------------------------------------------------------- what is made of them


def _made(
    item: Item,
    proposals: Sequence[Proposal],
    votes: Mapping[str, set[str]],
    options: Distract,
    rank: int,
    seed: int,
    by: Sequence[str],
    lacks: Sequence[str],
) -> Record:
    answers = tuple(bare_option(answer, like=answer)[:LONGEST] for answer in item.answers)
    pool, excluded = kept_proposals(proposals, answers, item.caption)
    many = max(options.options - len(answers), _LEAST_WRONG)
    facts: dict[str, Number] = {f"excluded_{why}": count for why, count in excluded.items()}
    facts |= {"proposed": len(proposals)}
    if len(pool) < many:
        reason = "too_few_distractors"
        if len(lacks) == len(by) and lacks:  # nobody proposed anything
            reason = lacks[0]
        return record(item, by=by, verdict="dropped", reason=reason, facts=facts)
    people = _chosen_by_people(pool, votes)
    wrong = people[:many]
    if len(wrong) < many:
        left = [one for one in pool if one.text not in wrong]
        level = rank * (many - len(wrong)) // many if wrong else rank
        wrong += chosen(left, answers, many - len(wrong), level, seed, item.id)
    persons = sorted({person for names in votes.values() for person in names})
    better = msgspec.structs.replace(
        item,
        kind="single" if item.kind == "short" else item.kind,
        answers=answers,
        options=(*answers, *wrong),
        pool=tuple(one.text for one in pool if one.text not in wrong),
    )
    if len(people) < many:
        better = better.marked(UNREVIEWED)
    who = [*by, *(f"person:{name}" for name in persons)]
    return record(better, parents=[item], by=who, facts=facts)


def _chosen_by_people(pool: Sequence[Proposal], votes: Mapping[str, set[str]]) -> list[str]:
    """The options that people chose, those of most people first."""
    counted = {
        one.text: len(set().union(*(who for text, who in votes.items()
                                    if same_option(text, as_filled(one.text)))))
        for one in pool
    }  # fmt: skip
    chosen_ones = [text for text, count in counted.items() if count]
    return sorted(chosen_ones, key=lambda text: (-counted[text], text))


def _placed(items: Sequence[Item], made: Mapping[str, Record], seed: int) -> list[Record]:
    """The records in the order of the items; new options stand in balanced places."""
    new = [one.item for one in made.values() if one.passes and one.item is not None]
    better = dict(zip((item.id for item in new), placed(new, seed), strict=True))
    found = []
    for item in items:
        one = made.get(item.id)
        if one is None:
            found.append(record(item))
        elif one.passes:
            found.append(
                record(better[one.id], parents=one.parents, by=one.by, facts=one.facts)
            )  # fmt: skip
        else:
            found.append(one)
    return found


# ---------------------------------------------------------------- what people chose


def _votes(
    wanted: Wanted, options: Distract, closed: Sequence[Item]
) -> dict[str, dict[str, set[str]]]:
    """By item the options that people chose, and who did."""
    path: Path = wanted.place(options.chosen or CHOSEN)
    if not options.chosen and not path.is_file():
        return {}
    known = {item.id for item in closed}
    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for row, cells in filled_rows(path, COLUMNS):
        name, person, text = (cells[key].strip() for key in COLUMNS)
        if not person:  # nobody chose it
            continue
        if name not in known and not options.chosen:
            continue  # it was read on the study's page, and is no longer there
        if name not in known:
            raise BadInput(
                f'{path} row {row}: item "{quoted(name)}" is none that gets options. '
                "Its name is what `from` says in distract.jsonl."
            )
        if not text:
            raise BadInput(f"{path} row {row}: distractor is empty. Fill it in.")
        found[name][text].add(person)
    return found


def to_choose(records: Iterable[Record]) -> list[dict[str, str]]:
    """Rows for people to choose from: every option that was proposed, by item; who writes a name
    under `person` chooses it, and a second one copies the row.
    """
    return [
        {
            "item": one.parents[0], "person": "", "distractor": text,
            "question": one.item.question, "answer": "; ".join(one.item.answers),
        }
        for one in records
        if one.passes and one.item is not None and UNREVIEWED in one.item.flags
        for text in sorted((*one.item.wrong, *one.item.pool))
    ]  # fmt: skip
