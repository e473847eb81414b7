"""What several readers of one study come to: where they agree, and who decides where they do not.

Readers do not see each other. What they do not agree on goes to an auditor in a study of its own,
made of the first (`audit_screens`), in which he sees only that, and what each of them said, nobody
named; `settled` puts both together. Where nobody audits, `joint` takes the middle of it.
All of it works on any task.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

import overread.case as oc
from overread.benchmarks.people import CANNOT_TELL, Ask, ForPeople
from overread.case import BadInput
from overread.study.design import NOTE
from overread.study.journal import Given
from overread.study.packets import Key, Opened


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """One answer that counts, by what it is about.

    `at` is in seconds since 1970, `seconds` from the moment the display was shown; `iteration` is 1
    where the case was shown once more. Reviewers' notes are answers to the question `note`.
    """

    case: str
    condition: str = ""
    task: int = 1
    reviewer: str
    question: str
    value: str
    at: float
    seconds: float | None = None
    iteration: int = 0


def said_of(study: Opened, answers: Iterable[Given], key: Mapping[str, Key]) -> Iterator[Said]:
    """Every answer that counts, notes too: no practice, nothing left empty."""
    for one in answers:
        shown = key.get(one.display)
        if shown is None:
            raise BadInput(
                f"{study.folder}: answers are of display {one.display}, and this study has none "
                "such. Are they of another?"
            )
        asks = {ask.name for ask in study.displays[one.display].asks} | {NOTE}
        if one.value and not shown.training and one.question in asks:
            yield Said(
                case=shown.case,
                condition=shown.condition,
                task=shown.audits or shown.task,
                reviewer=one.reader,
                question=one.question,
                value=one.value,
                at=one.at,
                seconds=one.seconds,
                iteration=shown.iteration,
            )


class Place(NamedTuple):
    """What a screen was about, and in which task."""

    case: str
    condition: str = ""
    task: int = 1


def place_of(said: Said) -> Place:
    return Place(said.case, said.condition, said.task)


def _place(key: Key) -> Place:
    return Place(key.case, key.condition, key.audits or key.task)


class Settled(NamedTuple):
    """What stands of a case: the values, who said so, and whether they had to be brought to it.

    `values` is None where readers differ and nobody has decided yet.
    """

    values: dict[str, str] | None
    readers: tuple[str, ...]
    audited: bool


def disputed(asks: Sequence[Ask], values: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    """The questions that readers answered differently, or that somebody could not tell.

    Of those by which a case is decided (`Ask.decides`).
    """
    found = []
    for ask in asks:
        given = {one.get(ask.name, "") if ask.is_asked(one) else "" for one in values}
        if ask.decides and (len(given) > 1 or CANNOT_TELL in given):
            found.append(ask.name)
    return tuple(found)


def settled(
    study: Opened, said: Iterable[Said], key: Mapping[str, Key], audit: Iterable[Said] = ()
) -> dict[Place, Settled]:
    """What the readers of a study agree on, and what an auditor decided of the rest.

    Where readers agree the first of them is taken at his word, reasons and all. A case shown once
    more counts as it was seen first.
    """
    asks = {
        _place(one): study.displays[one.display].asks
        for one in key.values()
        if not one.training and not one.iteration
    }
    by_auditor = _values(audit)
    found: dict[Place, Settled] = {}
    for place, values in _values(said).items():
        final = by_auditor.get(place, {})
        for auditor, own in final.items():
            found[place] = Settled(own, (*values, auditor), audited=True)
        if not final:
            open_ = disputed(asks[place], list(values.values()))
            first = next(iter(values.values()))
            found[place] = Settled(None if open_ else first, tuple(values), audited=False)
    return found


def by_reader(said: Iterable[Said]) -> dict[str, dict[Place, dict[str, str]]]:
    """Of each reader the values of every place, repeats left out."""
    found: dict[str, dict[Place, dict[str, str]]] = {}
    for place, values in _values(said).items():
        for reader, own in values.items():
            found.setdefault(reader, {})[place] = own
    return found


def _values(said: Iterable[Said]) -> dict[Place, dict[str, dict[str, str]]]:
    """Values by question, of each reader in each place; readers in the order of their names."""
    found: dict[Place, dict[str, dict[str, str]]] = {}
    for one in sorted(said, key=lambda one: (one.task, one.case, one.condition, one.reviewer)):
        if not one.iteration:
            values = found.setdefault(place_of(one), {})
            values.setdefault(one.reviewer, {})[one.question] = one.value
    return found


def audit_screens(
    study: Opened, said: Iterable[Said], key: Mapping[str, Key]
) -> Iterator[ForPeople]:
    """The displays of a study on which its readers do not agree, and what each of them said.

    Pictures are the files that were shown, so that nothing is rendered another way.
    """
    shown = {_place(one): one for one in key.values() if not one.training and not one.iteration}
    root = str(study.folder / "pictures")
    for place, values in _values(said).items():
        one = shown[place]
        display = study.displays[one.display]
        if not disputed(display.asks, list(values.values())):
            continue
        opinions = [
            (f"Reviewer {number}", "\n".join(_opinion(display.asks, own)))
            for number, own in enumerate(values.values(), 1)
        ]
        yield ForPeople(
            case=one.case,
            unit=f"{place.task} {one.unit or one.case}",
            audits=place.task,
            patient=one.patient,
            condition=one.condition,
            slides=tuple(
                oc.Slide(
                    label="",
                    picture=oc.Picture(oc.Source(root, picture.file)),
                    boxes=tuple(("box", oc.Box(*box)) for box in picture.boxes),
                )
                for picture in display.pictures
            ),
            texts=(*opinions, *display.texts),  # first: not below much to read
            asks=display.asks,
            truth=one.truth,
            facts=one.facts,
            said=one.said,
        )


def sheets_in(study: Opened) -> dict[oc.Source | oc.Inline, int]:
    """The sheets of clips' frames among the pictures of a study, with how many frames each has."""
    root = str(study.folder / "pictures")
    return {
        oc.Source(root, picture.file): picture.frames
        for display in study.displays.values()
        for picture in display.pictures
        if picture.frames > 1
    }


def _opinion(asks: Sequence[Ask], values: Mapping[str, str]) -> Iterator[str]:
    for name in (*(ask.name for ask in asks), NOTE):
        if name in values:
            yield f"{name.replace('_', ' ')}: {', '.join(values[name].splitlines())}"


# ---------------------------------------------------------------- the middle of what they said


def joint(
    study: Opened, said: Sequence[Said], key: Mapping[str, Key], audit: Sequence[Said] = ()
) -> dict[Place, dict[str, str]]:
    """Of each place one value for every question: what is settled, else the middle.

    Of rankings the order of the mean ranks, ties where these are equal; of all else what most
    readers said, and nothing where no answer leads.
    """
    asks = {
        _place(one): study.displays[one.display].asks
        for one in key.values()
        if not one.training and not one.iteration
    }
    every = _values(said)
    found: dict[Place, dict[str, str]] = {}
    for place, one in settled(study, said, key, audit).items():
        values = list(every[place].values())
        found[place] = one.values or {ask.name: _middle(ask, values) for ask in asks[place]}
    return found


def _middle(ask: Ask, values: Sequence[Mapping[str, str]]) -> str:
    given = [one[ask.name] for one in values if one.get(ask.name)]
    if ask.kind == "ranking" and given:
        sums: Counter[str] = Counter()
        for value in given:
            ranks = ask.ranks(value)
            sizes = Counter(ranks.values())
            # Twice the mid-rank: those of one item have one sum, whoever tied some of them.
            sums.update({word: 2 * rank + sizes[rank] - 1 for word, rank in ranks.items()})
        tied: dict[int, list[str]] = {}
        for word in ask.options:
            tied.setdefault(sums[word], []).append(word)
        return ask.checked(" > ".join(" = ".join(tied[total]) for total in sorted(tied)))
    (first, *others) = Counter(given).most_common(2) or [("", 0)]
    return "" if others and others[0][1] == first[1] else first[0]
