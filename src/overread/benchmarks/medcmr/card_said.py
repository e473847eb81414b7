"""What one reader said about one item: its choices, or its reasoning and the scores it got."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from overread.benchmarks.exhibits.texts import cut
from overread.benchmarks.medcmr.cases import LETTERS, MedCase
from overread.benchmarks.medcmr.components import COMPONENTS, COMPONENTS_OF, GRIDS
from overread.case import Said

if TYPE_CHECKING:
    import polars as pl

__all__ = ["IMAGES", "Scores", "said_of", "scores_of"]

# By reader, case, form and image, and by judge: the raw scores; None where it cannot be read.
Scores: TypeAlias = Mapping[tuple[str, str, str, str], Mapping[str, Mapping[str, float] | None]]

"""Characters of a reply on a card."""
IMAGES: Final = {
    "original": "image",
    "blank": "black image",
    "swap": "another item's image",
    "text": "no image",
}
_FORMS: Final = {"mcq": "choice", "open": "answer", "reformulated": "answer without options"}
_WORDS: Final = 20  # a reply shorter than this says no more than its letter
_OPTION: Final = 120


def scores_of(verdicts: pl.DataFrame | None) -> Scores:
    """What judges gave; checks and changed material are left out."""
    found: dict[tuple[str, str, str, str], dict[str, Mapping[str, float] | None]] = {}
    if verdicts is None:
        return found
    columns = ("judge", "reader", "case", "question", "about", "check", "outcome", "payload")
    for judge, reader, case, question, told, check, outcome, payload in verdicts.select(
        columns
    ).iter_rows():
        about = msgspec.json.decode(told)
        if check or about.get("variant") or question not in COMPONENTS_OF:
            continue
        read = outcome == "judged" and payload is not None
        place = (reader, case, str(about.get("form", "")), str(about.get("image", "original")))
        found.setdefault(place, {})[judge] = msgspec.json.decode(payload) if read else None
    return found


def said_of(
    reader: str,
    case: MedCase,
    rows: Sequence[Mapping[str, Any]],
    scores: Scores,
    right: bool | None,
    flipped: bool | None,
) -> Said:
    """Every reply to the item: as the set has it first, then other images, then other orders."""
    ordered = sorted(rows, key=_rank)
    lines: list[tuple[str, str]] = []
    for row in ordered:
        if row["form"] == "mcq":
            lines.append((_named(row), _choice(case, row)))
        else:
            given = scores.get((reader, case.case_id, row["form"], row["image"]), {})
            lines.extend(_opened(row, given))
    return Said(
        reader=reader, lines=tuple(lines), text=_words(ordered), right=right, flipped=flipped
    )


def _rank(row: Mapping[str, Any]) -> tuple[int, int, int]:
    forms, images = [*_FORMS], [*IMAGES]
    return (
        forms.index(row["form"]) if row["form"] in forms else len(forms),
        images.index(row["image"]) if row["image"] in images else len(images),
        row["order"] or 0,
    )


def _named(row: Mapping[str, Any]) -> str:
    """`choice, black image`, `choice, options turned by 2`."""
    name = _FORMS.get(row["form"], str(row["form"]))
    image = row["image"]
    parts = [name, *([] if image == "original" else [IMAGES.get(image, str(image))])]
    return ", ".join([*parts, *([f"options turned by {row['order']}"] if row["order"] else [])])


def _choice(case: MedCase, row: Mapping[str, Any]) -> str:
    """The option in the case's own letters, whatever order it was shown in."""
    if row["outcome"] != "answered" or row["choice"] is None:
        outcome = row["outcome"]
        if outcome != "unparsed":
            return str(outcome)
        return f"names no single option: “{cut(row['text'] or '', _OPTION)}”"
    choice = str(row["choice"])
    place = LETTERS.find(choice)
    words = case.options[place] if 0 <= place < len(case.options) else ""
    mark = "right" if choice == case.answer else "wrong"
    return f"{choice}) {cut(words, _OPTION)}: {mark}"


def _opened(
    row: Mapping[str, Any], given: Mapping[str, Mapping[str, float] | None]
) -> Iterator[tuple[str, str]]:
    name = _named(row)
    spoken = row["outcome"] in ("answered", "unparsed") and (row["text"] or "").strip()
    if not spoken:
        word = "a blank reply" if row["outcome"] in ("answered", "unparsed") else row["outcome"]
        yield name, f"{word}: scores 0"
        return
    answer = row["answer"] if row["outcome"] == "answered" else None
    yield name, cut(answer) if answer else "no answer section"
    if not given:
        yield f"scores of {name}", "not judged"
    for judge, raw in sorted(given.items()):
        yield f"scores of {name} by {cut(judge, _OPTION)}", _scored(raw)


def _scored(raw: Mapping[str, float] | None) -> str:
    """`clarity 1 of 1, coherence 0.5 of 1, visual 3 of 4, truth 2 of 4; S = 65`.

    S is the sum of what was given, in tenths, for the weights are the scales; without a score of
    what was seen (no caption) there is none.
    """
    if raw is None:
        return "could not be read"
    parts = [f"{one} {raw[one]:g} of {GRIDS[one][-1]:g}" for one in COMPONENTS if one in raw]
    if len(parts) < len(COMPONENTS):
        return f"{', '.join(parts)}; no S"
    return f"{', '.join(parts)}; S = {10 * sum(raw[one] for one in COMPONENTS):g} of 100"


def _words(rows: Sequence[Mapping[str, Any]]) -> str:
    """The first reply to the item's own images, where it is more than a letter."""
    own = [row for row in rows if row["image"] == "original" and not row["order"]]
    for row in own:
        text = (row["text"] or "").strip()
        if text and not (row["form"] == "mcq" and len(text) < _WORDS):
            return text
    return ""
