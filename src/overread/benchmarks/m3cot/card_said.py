"""What one reader said about one question: answers, its steps beside the gold, its own words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from overread.benchmarks.exhibits.texts import cut
from overread.benchmarks.m3cot.cases import STEPS
from overread.benchmarks.m3cot.marks import COT, DIRECT, Cell, Marks
from overread.case import Said

if TYPE_CHECKING:
    from overread.benchmarks.m3cot.cases import M3Case

__all__ = ["NAMES", "said_of"]

"""Characters of a reply on a card."""
NAMES: Final = {
    "modality": "examination",
    "feature": "image features",
    "conclusion": "key conclusion",
    "analysis": "additional analysis",
    "restatement": "the question again",
    "other": "of no known type",
}
_STEPS: Final = 20
_ANSWER: Final = 80
_MODES: Final = {"cot": "with reasoning", "direct": "direct"}
_IMAGES: Final = {"blank": "black image", "swap": "another item's image"}
_FOLLOWS: Final = {
    "truncated": "after half of its reasoning",
    "answer_first": "answer before reasoning",
}


def said_of(
    marks: Marks, place: int, case: M3Case, right: bool | None, flipped: bool | None
) -> Said:
    """The reader's answers in every mode, then its steps, as judges took them apart."""
    cells = sorted(marks.said, key=lambda cell: (not cell.plain, cell != COT, cell))
    asked = [cell for cell in cells if place in marks.said[cell]]
    lines = [(_named(cell), _answer(marks, cell, place)) for cell in asked]
    if COT in asked:
        lines.extend(_steps(marks, place, case))
    return Said(
        reader=marks.reader,
        lines=tuple(lines),
        text=_words(marks, place),
        right=right,
        flipped=flipped,
    )


def _named(cell: Cell) -> str:
    if cell.follow:
        return _FOLLOWS.get(cell.follow, cell.follow)
    mode = _MODES.get(cell.mode, cell.mode)
    if cell.image == "original":
        return mode
    return f"{mode}, {_IMAGES.get(cell.image, cell.image)}"


def _verdicts(marks: Marks, question: str, cell: Cell, place: int) -> dict[str, Any]:
    """What each judge that could be read said of this reply."""
    found = marks.verdicts.get((question, cell), {})
    return {
        judge: rows[place].value
        for judge, rows in sorted(found.items())
        if place in rows and rows[place].outcome == "judged"
    }


def _answer(marks: Marks, cell: Cell, place: int) -> str:
    """`right: "B"`; with several judges, for how many; or what became of the trial."""
    said = marks.said[cell][place]
    if said.outcome == "unanswered":
        return "unanswered"
    start = "refused; " if said.outcome == "refused" else ""
    if not said.text.strip():
        return f"{start}a blank reply: not right"
    found = _verdicts(marks, "answer", cell, place)
    if not found:
        return f"{start}not judged: {_quoted(said.text)}"
    hits = [bool(value["match"]) for value in found.values()]
    read = next(
        (str(v["final_answer"]) for v in found.values() if v.get("final_answer")), said.text
    )
    if all(hits) or not any(hits):
        word = "right" if hits[0] else "wrong"
    else:
        word = f"right for {sum(hits)} of {len(hits)} judges"
    return f"{start}{word}: {_quoted(read)}"


def _quoted(text: str) -> str:
    return f"“{cut(text, _ANSWER)}”"


def _steps(marks: Marks, place: int, case: M3Case) -> Iterator[tuple[str, str]]:
    """Each gold step, there or missing; then the reply's own steps with the judge's mark."""
    matched = _verdicts(marks, "recall", COT, place)
    given = _verdicts(marks, "precision", COT, place)
    if not matched and not given:
        yield "steps", "not judged"
        return
    for number, step in enumerate(case.steps, start=1):
        hits = [bool(value[number - 1]) for value in matched.values() if len(value) >= number]
        if hits:
            yield f"gold step {number}, {NAMES[step.type]}", _there(hits)
    if given:
        judge, steps = next(iter(given.items()))
        yield "its own steps", _counted(judge, steps)
        yield from _own(steps)


def _there(hits: Sequence[bool]) -> str:
    if all(hits) or not any(hits):
        return "there" if hits[0] else "missing"
    return f"there for {sum(hits)} of {len(hits)} judges"


def _counted(judge: str, steps: Sequence[Mapping[str, Any]]) -> str:
    counted = [step for step in steps if step["type"] in STEPS]
    match = sum(step["judgment"] == "Match" for step in counted)
    return f"{match} of {len(counted)} match, as {cut(judge, _ANSWER)} took the reply apart"


def _own(steps: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    for number, step in enumerate(steps[:_STEPS], start=1):
        kind = NAMES.get(str(step["type"]), NAMES["other"])
        mark = "no mark" if step["judgment"] is None else cut(str(step["judgment"]), 20)
        yield f"step {number}, {kind}", f"{mark}: {cut(str(step['text']))}"
    if len(steps) > _STEPS:
        yield "further steps", f"{len(steps) - _STEPS} are left out"


def _words(marks: Marks, place: int) -> str:
    """The reasoning; or the direct reply, where none was asked for."""
    for cell in (COT, DIRECT):
        said = marks.said.get(cell, {}).get(place)
        if said is not None:
            return said.text.strip()
    return ""
