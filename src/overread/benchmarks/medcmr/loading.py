"""Cases from whatever lies at a path: the release, a set of another layout, or one's own.

Items of a user's own: a csv, JSON lines or a JSON list.

Columns or fields: `question`, `image` (below the data root; several as a list in `images`, in a
csv as JSON or by semicolons), `answer`; and, if they are known, `caption`, `dimension`, `subtype`,
`ability`, `modality`, `system`, `language`, `patient`, `case_id`, `kind` (mcq, open).

Options stand in the columns A to J, of which the last may be empty, or in one, `options`: a list
of texts, or an object of texts by their letters. An item with options is a multiple-choice one;
its answer is the letter, or the text of exactly one option. Letters that all options carry (`A. x`)
are taken off. Any other item is open.
"""

from __future__ import annotations

from typing import Final

from overread.benchmarks.files.fields import Fields
from overread.benchmarks.files.layouts import SetReader, own_set
from overread.benchmarks.letter_parser import LETTERS
from overread.benchmarks.medcmr.cases import (
    LABELS,
    MedCase,
    answer_among,
    label_or_own,
    lack_of,
    remarks_on,
)
from overread.benchmarks.medcmr.published_sets import PUBLISHED_SETS
from overread.benchmarks.medcmr.release import ARCHIVE, RELEASE
from overread.case import BadInput

_NEEDED: Final = ("question", "answer")
_OPTIONS_ARE: Final = (
    f"a list of 2 to {len(LETTERS)} texts, or an object of texts by letters from A"
)


def _own_case(row: Fields, index: int) -> MedCase:
    options = _own_options(row)
    answer = row.text("answer").strip()
    kind = row.text("kind").strip().lower() or ("mcq" if options else "open")
    if kind not in ("mcq", "open"):
        row.wrong("kind", "it is mcq, open or empty")
    if kind == "open" and options:
        row.wrong("kind", "an open item has no options")
    if kind == "mcq":
        if not 2 <= len(options) <= len(LETTERS):
            row.wrong("options", f"an item of kind mcq has {_OPTIONS_ARE}")
        letter, options = answer_among(answer, options)
        if letter is None:
            last = LETTERS[len(options) - 1]
            need = f"it is a letter, A to {last}, or the text of exactly one option"
            row.wrong("answer", need)
        answer = letter
    bare = row.raw("images") in (None, "")
    case = MedCase(
        case_id=row.fact("case_id") or str(index),
        index=index,
        kind="mcq" if kind == "mcq" else "open",
        question=row.text("question"),
        images=tuple(filter(None, [row.fact("image")])) if bare else row.texts("images"),
        options=options,
        answer=answer,
        caption=row.fact("caption"),
        subtype=row.fact("subtype"),
        language=row.fact("language"),
        patient=row.fact("patient"),
        **{label: label_or_own(label, row.fact(label)) for label in LABELS},
    )
    lack = lack_of(case)
    # An unsafe name is an image that cannot be had, as one that is not there.
    if lack is not None and not lack.startswith("its image "):
        raise BadInput(f"{row.where}: {lack}. {row.remedy}")
    return case


def _own_options(row: Fields) -> tuple[str, ...]:
    given = row.decoded("options")
    if given is None:
        given = {letter: row.text(letter) for letter in LETTERS}
        while given and not given[LETTERS[len(given) - 1]].strip():
            del given[LETTERS[len(given) - 1]]
    if isinstance(given, dict):
        letters = sorted(given)
        if "".join(letters) != LETTERS[: len(letters)]:
            row.wrong("options", f"it is {_OPTIONS_ARE}")
        given = [given[letter] for letter in letters]
    if not isinstance(given, list) or any(
        isinstance(text, bool) or not isinstance(text, str | int | float) for text in given
    ):
        row.wrong("options", f"it is {_OPTIONS_ARE}")
    return tuple(str(text).strip() for text in given)


_OWN: Final = own_set(
    (".csv", ".jsonl", ".json"),
    _NEEDED,
    _own_case,
    called="items. Give one",
    fits=lambda fields: bool(fields & {"image", "images"}),
    keeps=lambda case, asked: case.language is None or asked.language in ("all", case.language),
)
SETS: Final = SetReader(
    layouts=(RELEASE, *PUBLISHED_SETS, _OWN),
    expected=(
        f"{ARCHIVE} of Med-CMR or its folder; "
        f"{', '.join(sorted(layout.name for layout in PUBLISHED_SETS))} as published; or a csv, "
        "jsonl or json with question, image and answer"
    ),
    images=lambda case: case.images,
    name=lambda case: case.case_id,
    lack=lack_of,
    remarks=remarks_on,
)
"""Everything that may be given as `--cases`, in the order in which it is tried."""
