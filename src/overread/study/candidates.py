"""Candidate items under review: what reviewers are shown of each, asked, and what they said.

A candidate is an item that is not yet in a set. Whoever builds sets makes `Candidate`s, in Python
or as JSON lines (a task's `table`), and picks what is asked of them::

    review  keep, fix or drop; why; where it is fixed, its texts to be mended
    same    do the two pictures show the same?
    usable  can this picture be used?
    pick    exactly `pick` of its `options` are to be chosen (distractors beside its `answer`)
    steps   accept, correct or remove each of its steps

`screens_of` makes screens of them for `packets.make_study`. Reviewers do not see each other;
`consensus` says what they come to. `runs.study_of_candidates`, `study_answers`, `study_audit` and
`study_settled` do these things with folders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

import overread.case as oc
from overread.benchmarks.people import Ask, ForPeople
from overread.case import BadInput
from overread.files import MOST_TABLE, open_file
from overread.study.design import CANDIDATES, MOST_FRAMES, check_asks
from overread.study.forms import pictured

LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
REASONS: Final = (
    "ambiguous",
    "answer wrong",
    "needs no image",
    "options overlap",
    "picture unfit",
    "caption insufficient",
    "steps wrong",
    "licence",
    "other",
)
"""Why a candidate is fixed or dropped."""
_LONGEST: Final = 8_000


class Candidate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One item as a reviewer needs to see it, and beside it what only analysts may know.

    `pictures` are files below the candidates' root; `boxes` (x, y, width, height, in the first
    picture's pixels) are drawn over it. `answer` is one of the `options`, where there are any, and
    is marked among them. `texts` (heading, text) and `flags` of earlier steps are shown too. `id`,
    `patient`, `stratum` and `about` are in the key alone. `asks`, if given, are asked in place of
    the kind's own questions.
    """

    id: str
    pictures: tuple[str, ...] = ()
    boxes: tuple[tuple[int, int, int, int], ...] = ()
    question: str = ""
    options: tuple[str, ...] = ()
    answer: str = ""
    steps: tuple[str, ...] = ()
    texts: tuple[tuple[str, str], ...] = ()
    flags: tuple[str, ...] = ()
    patient: str = ""
    stratum: str = ""
    about: dict[str, str] = {}
    asks: tuple[Ask, ...] = ()


def read_candidates(path: Path) -> Iterator[Candidate]:
    """Candidates from JSON lines; `BadInput` names file and line."""
    decode = msgspec.json.Decoder(Candidate).decode
    with open_file(path, at_most=MOST_TABLE) as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                yield decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise BadInput(
                    f"{path.name} line {number}: {error}. See docs/reader-studies.md."
                ) from None


def screens_of(
    candidates: Iterable[Candidate],
    kind: str,
    root: str,
    *,
    pick: int = 4,
    reasons: Sequence[str] = REASONS,
    frames: int = MOST_FRAMES,
    slides_of: Callable[[Candidate], Sequence[oc.Slide]] | None = None,
) -> Iterator[ForPeople]:
    """A screen for each candidate, with at most so many `frames` of a clip.

    `slides_of` makes the pictures where they are no plain files.
    """
    if kind not in CANDIDATES:
        raise BadInput(f'kind "{kind}"; known of candidates are {", ".join(CANDIDATES)}.')
    for one in candidates:
        _check(one, kind, pick)
        asks = one.asks or tuple(_asks(one, kind, pick, reasons))
        check_asks(f"candidate {one.id}", asks)
        yield ForPeople(
            case=one.id,
            patient=one.patient or one.id,
            slides=tuple(_slides(one, root, frames) if slides_of is None else slides_of(one)),
            texts=tuple(_texts(one, kind)),
            asks=asks,
            stratum=(one.stratum,),
            facts=one.about,
        )


def _check(one: Candidate, kind: str, pick: int) -> None:
    where = f"candidate {one.id}"
    if not one.id.strip():
        raise BadInput("a candidate has no id. Give each one of its own.")
    texts = (one.question, one.answer, *one.options, *one.steps, *one.flags)
    if max(map(len, (*texts, *(text for _, text in one.texts)))) > _LONGEST:
        raise BadInput(f"{where}: a text has over {_LONGEST:,} letters. Shorten it.")
    if len(one.options) > len(LETTERS) or len(one.steps) > 99:
        raise BadInput(f"{where}: at most {len(LETTERS)} options and 99 steps can be shown.")
    options = [_line(option) for option in one.options]
    if not all(options) or len({option.lower() for option in options}) < len(options):
        raise BadInput(f"{where}: an option is empty or there twice. Give each once.")
    if kind == "review" and options and _line(one.answer) not in options:
        raise BadInput(f'{where}: answer "{_line(one.answer)[:40]}" is none of its options.')
    if one.asks:
        return
    if kind == "pick" and len(_distractors(one)) < pick:
        raise BadInput(
            f"{where}: {pick} of its options are to be picked, and beside the answer it has "
            f"{len(_distractors(one))}. Give more, or a smaller pick."
        )
    if kind == "same" and len(one.pictures) != 2:
        raise BadInput(f"{where}: two pictures are compared; it has {len(one.pictures)}.")
    if kind == "steps" and not one.steps:
        raise BadInput(f"{where}: it has no steps to look at.")


def _line(text: str) -> str:
    return " ".join(text.split())


def _distractors(one: Candidate) -> tuple[str, ...]:
    """The options but the answer, which may stand among them."""
    return tuple(option for option in map(_line, one.options) if option != _line(one.answer))


def _slides(one: Candidate, root: str, frames: int) -> Iterator[oc.Slide]:
    for number, name in enumerate(one.pictures):
        boxes = one.boxes if number == 0 else ()
        yield oc.Slide(
            label="",
            picture=pictured(Path(root), name, frames),
            boxes=tuple(("box", oc.Box(*box)) for box in boxes),
        )


def _texts(one: Candidate, kind: str) -> Iterator[tuple[str, str]]:
    if one.question:
        yield "Question", one.question
    if kind == "pick" and not one.asks:
        yield "Answer", one.answer
    elif one.options:
        marks = {_line(one.answer): "  \u2713"}
        lines = [
            f"{letter}) {_line(option)}{marks.get(_line(option), '')}"
            for letter, option in zip(LETTERS, one.options, strict=False)
        ]
        yield "Options (\u2713: the proposed answer)", "\n".join(lines)
    elif one.answer:
        yield "Proposed answer", one.answer
    if one.steps and (kind != "steps" or one.asks):
        lines = [f"{number}. {_line(step)}" for number, step in enumerate(one.steps, 1)]
        yield "Steps", "\n".join(lines)
    yield from one.texts
    if one.flags:
        yield "Flagged before", "\n".join(one.flags)


def _asks(one: Candidate, kind: str, pick: int, reasons: Sequence[str]) -> Iterator[Ask]:
    if kind == "same":
        yield Ask(name="same", text="Are these two the same picture?")
    elif kind == "usable":
        yield Ask(name="usable", text="Can this picture be used?")
    elif kind == "pick":
        options = _distractors(one)
        text = f"Choose {pick}: surely wrong, plausible, and not to be told without the picture"
        yield Ask(name="picked", text=text, kind="several", options=options, least=pick, most=pick)
    elif kind == "steps":
        words = ("accept", "correct", "remove")
        for number, step in enumerate(one.steps, 1):
            name = f"step_{number}"
            yield Ask(name=name, text=f"{number}. {step}", kind="choice", options=words)
            yield Ask(
                name=f"{name}_text",
                text=f"Step {number} as it should be",
                kind="edit",
                given=step,
                where=(name, "correct"),
                required=False,
            )
    else:
        yield from _review(one, reasons)


def _review(one: Candidate, reasons: Sequence[str]) -> Iterator[Ask]:
    yield Ask(name="decision", text="This item:", kind="choice", options=("keep", "fix", "drop"))
    why = ("decision", "fix", "drop")
    yield Ask(
        name="reasons", text="Why?", kind="several", options=tuple(reasons), least=1, where=why
    )
    texts = [("question", "Question", one.question)]
    texts += [
        (f"option_{letter}", f"Option {letter}", option)
        for letter, option in zip(LETTERS, one.options, strict=False)
    ]
    if not one.options:
        texts.append(("answer", "Answer", one.answer))
    texts += [
        (f"step_{number}", f"Step {number}", step) for number, step in enumerate(one.steps, 1)
    ]
    for name, text, given in texts:
        if given:
            yield Ask(
                name=f"{name}_text",
                text=text,
                kind="edit",
                given=given,
                where=("decision", "fix"),
                required=False,
            )
    if one.options:
        yield Ask(
            name="right",
            text="The right option, where it is another one",
            kind="choice",
            options=tuple(LETTERS[: len(one.options)]),
            where=("decision", "fix"),
            required=False,
        )
