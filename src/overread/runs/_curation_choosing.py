"""People's part in the steps that ask models: they choose wrong options and read gold steps.

Each is a study (`study`) below the folder; what its readers said becomes the sheet that the step
reads when it is run again. What came into the set since is read in a study of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from overread.benchmarks.curated import STEP_TYPES, Item
from overread.benchmarks.people import CANNOT_TELL, Ask
from overread.case import BadInput, Slide
from overread.curate import calibration, distract, reasoning
from overread.curate import folder as kept
from overread.curate.calibration import ROUNDS
from overread.curate.records import Record
from overread.curate.review import Options
from overread.curate.wanted import Wanted, read_wanted
from overread.runs import _reader_study as studies
from overread.runs._curation import policy_of_set
from overread.runs._curation_people import _reading, _rounds
from overread.runs._opening import Tell
from overread.runs._running import Unfinished
from overread.study import Candidate as Screen
from overread.study import Said
from overread.typeset import csv_text

_VERDICTS: Final = {"accept": "keep", "correct": "fix", "remove": "remove", CANNOT_TELL: "discuss"}


class _Shown(NamedTuple):
    """An item that waits for somebody, by the name under which the step got it."""

    name: str
    item: Item


def curate_choose(folder: str | Path, *, tell: Tell | None = None) -> int:
    """Have people choose among the proposed wrong options; how many items were chosen for.

    All of `[review] reviewers` choose for every item.
    """
    place = Path(folder)
    wanted = read_wanted(place)
    waiting = _waiting(kept.read_step(place, "distract"))
    chosen = [one for one in waiting if distract.UNREVIEWED in one.item.flags]
    people = wanted.options("review", Options).reviewers
    if not people:
        raise BadInput(f"{wanted.file}: [review] names no reviewers. Write reviewers = [...].")
    below = place / "review-distract"
    said = _answers(_rounds(below))
    known = {one.case for one in said}
    new = [one for one in chosen if one.name not in known]
    if new:
        _make(below, "pick", [_options_screen(one) for one in new], new, people, wanted)
    rows = [(one.case, one.reviewer, text) for one in said for text in one.value.split("\n")]
    _write(place, distract.CHOSEN, distract.COLUMNS, rows)
    if tell is not None:
        tell(f"{len(known):,} items were chosen for. Run overread curate distract {folder} again.")
    return len(known)


def curate_rounds(folder: str | Path, *, tell: Tell | None = None) -> int:
    """Have gold steps read by whoever is next, round by round; how many rows people have said.

    `[steps] student` and `expert` name them.
    """
    place = Path(folder)
    wanted = read_wanted(place)
    options = wanted.options("steps", reasoning.Options)
    if not options.student or not options.expert:
        raise BadInput(
            f'{wanted.file}: [steps] names no student or no expert. Write student = "anna" and '
            'expert = "ben".'
        )
    readers = {
        "student": (options.student,),
        "expert": (options.expert,),
        "consensus": (options.student, options.expert),
        "final": (options.expert,),
    }
    below = place / "review-steps"
    rows = [row for round_ in ROUNDS for row in _rows(round_, _answers(_rounds(below / round_)))]
    sheet = place / reasoning.ROUNDS_FILE
    _write(place, sheet.name, calibration.COLUMNS, rows)
    waiting = _waiting(kept.read_step(place, "steps"))
    said = calibration.read_rounds(sheet)
    for round_ in ROUNDS:
        # Whoever waits though the step has seen all that was said has to be read again.
        new = [
            one
            for one in waiting
            if one.item.facts.get("calibration") == round_
            and one.item.facts.get("rounds_seen") == calibration.seen(said.get(one.name, ()))
        ]
        if new:
            screens = [_steps_screen(one) for one in new]
            _make(below / round_, "steps", screens, new, readers[round_], wanted)
    if tell is not None:
        tell(f"{len(rows):,} words on steps. Run overread curate steps {folder} again.")
    return len(rows)


# ---------------------------------------------------------------- studies


def _waiting(records: Iterable[Record]) -> list[_Shown]:
    return [_Shown(one.parents[0], one.item) for one in records if one.passes and one.item]


def _make(
    below: Path,
    kind: str,
    screens: Sequence[Screen],
    shown: Sequence[_Shown],
    people: Sequence[str],
    wanted: Wanted,
) -> None:
    """Make the study of what nobody has read, and say how it is read."""
    by_name = {one.name: one.item for one in shown}
    slides: Callable[[Screen], Sequence[Slide]] = lambda screen: [  # noqa: E731
        Slide(label="", picture=picture) for picture in by_name[screen.id].pictures
    ]
    below.mkdir(parents=True, exist_ok=True)
    number = sum(1 for _ in _rounds(below)) + 1
    made = studies.study_of_candidates(
        below / str(number),
        screens,
        kind,
        people,
        root=below,
        name=f"{wanted.name}-{below.name}-{number}",
        seed=wanted.seed,
        policy=policy_of_set(list(by_name.values()), wanted),
        slides_of=slides,
    )
    raise Unfinished(
        f"{made.displays:,} displays for {', '.join(people)} are ready: overread study serve "
        f"{made.folder}. Let them read.",
        "again",
    )


def _answers(rounds: Iterable[Path]) -> list[Said]:
    """What was said in the studies there are; `Unfinished` while somebody still reads."""
    found: list[Said] = []
    for study in rounds:
        reading = _reading(study)
        if reading:
            raise Unfinished(f"{reading} still read: overread study serve {study}.", "again")
        found += [one for one in studies.study_answers(study) if one.question != "note"]
    return found


def _options_screen(one: _Shown) -> Screen:
    """The proposals for an item, in an order that says nothing of who made them."""
    item = one.item
    many = len(item.wrong)
    ask = Ask(
        name="picked",
        text=f"Choose {many}: surely wrong, plausible, and not to be told without the picture",
        kind="several",
        options=tuple(sorted((*item.wrong, *item.pool))),
        least=many,
        most=many,
    )
    return Screen(
        id=one.name, question=item.question, texts=_texts(item), asks=(ask,),
        patient=item.patients[0] if len(item.patients) == 1 else "", stratum=item.modality,
    )  # fmt: skip


def _steps_screen(one: _Shown) -> Screen:
    item = one.item
    flags = tuple(
        f"{step.type}: {item.facts[f'flag_{step.type}']}"
        for step in item.steps
        if f"flag_{step.type}" in item.facts
    )
    asks: list[Ask] = []
    for step in item.steps:
        text, words = f"{step.type}: {step.text}", tuple(_VERDICTS)[:3]
        asks.append(Ask(name=step.type, text=text, kind="choice", options=words))
        asks.append(
            Ask(
                name=f"{step.type}_text", text=f"{step.type} as it should be", kind="edit",
                given=step.text, where=(step.type, "correct"), required=False,
            )
        )  # fmt: skip
    return Screen(
        id=one.name, question=item.question, texts=_texts(item), flags=flags, asks=tuple(asks),
        patient=item.patients[0] if len(item.patients) == 1 else "", stratum=item.modality,
    )  # fmt: skip


def _rows(round_: str, said: Sequence[Said]) -> list[tuple[str, ...]]:
    """Answers as rows of the sheet; a correction without another text is for discussion."""
    texts = {(one.case, one.reviewer, one.question): one.value for one in said}
    found: list[tuple[str, ...]] = []
    for one in said:
        if one.question not in STEP_TYPES:
            continue
        verdict = _VERDICTS[one.value]
        text = ""
        if verdict == "fix":
            text = texts.get((one.case, one.reviewer, f"{one.question}_text"), "")
            verdict = "fix" if text else "discuss"
        found.append((one.case, round_, one.reviewer, verdict, one.question, text))
    return found


def _write(place: Path, name: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    kept.put(place, name, csv_text(columns, rows).encode())


def _texts(item: Item) -> tuple[tuple[str, str], ...]:
    found = (("Right answer", "; ".join(item.answers)), ("Caption", item.caption))
    return tuple(pair for pair in found if pair[1])
