"""Results made with the authors' own scripts become the tables of a run; no model is asked.

Their layout is DIR/<model>/<condition>.csv, and DIR/prompt_sensitivity/<phrasing>/<model>/ for the
other phrasings; results at another resolution stand in a folder of their own. The order of the rows
is kept: the authors' bootstrap depends on it. No image need exist.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from overread.benchmarks.base import Imported, ReaderRecord, Tables
from overread.benchmarks.files.fields import Fields, refuse_twice
from overread.benchmarks.files.sheets import rows_of
from overread.benchmarks.grounding.answers import RECORDED, Answer, Reading
from overread.benchmarks.grounding.benchmark import Grounding
from overread.benchmarks.grounding.cases import CaseRow, row_of
from overread.benchmarks.grounding.conditions import MOST_DRAWS, REPEAT, WORDS, images_of
from overread.benchmarks.grounding.edition import Options
from overread.benchmarks.grounding.prompts import PHRASINGS
from overread.benchmarks.importing import declared_readers, reader_records, without_results
from overread.benchmarks.tables import answers_frame, frame_of
from overread.case import BadInput
from overread.files import whole

if TYPE_CHECKING:
    import polars as pl


# A file per image, in the order of the conditions; the original asked again is repeat.csv.
_FILES: Final = (*images_of(WORDS, MOST_DRAWS), REPEAT)
_PHRASINGS_FOLDER: Final = "prompt_sensitivity"
_PARSED: Final = {"1": 1, "1.0": 1, "0": 0, "0.0": 0, "-1": -1, "-1.0": -1}


def import_results(
    manifest: str | Path | None,
    replies: str | Path,
    readers: str | Path | None = None,
    edition: str = "corrected",
    settings: Mapping[str, str] | None = None,
    reparse: bool = False,
    also: Sequence[str] = (),
) -> Imported:
    """Read a manifest and the result files of every model under `replies`.

    The files' own `parsed_answer` and `confidence` are kept; `reparse` reads `raw_answer` again
    with the edition's parser (but for readers without text). `readers` is their models.json.
    `also` are further results of the same readers: "px=512:DIR" or "phrasing=brief:DIR".
    """
    if manifest is None:
        raise BadInput(
            "--cases is missing: grounding needs its manifest. See overread import --help."
        )
    root = Path(replies)
    further = [*_variants(root), *(_further(text) for text in also)]
    words = _with_further(dict(settings or {}), further)
    benchmark = Grounding.open(manifest, edition, words)
    cases = frame_of(CaseRow, map(row_of, benchmark.cases()))
    known = frozenset(cases["case"])
    declared = None if readers is None else declared_readers(readers)
    names, warnings = _readers_of(root, declared)
    options = benchmark.options
    headline = _Further(options.px, options.phrasing, root)
    parts = [headline, *(part.beside(headline) for part in further)]
    for part in parts[1:]:
        if part[:2] == headline[:2]:
            raise BadInput(
                f"{part.root} holds results at px={options.px} and phrasing={options.phrasing}, "
                "which are the headline's own. Give only other ones."
            )
        strange = sorted({path.name for path in part.root.iterdir() if path.is_dir()} - set(names))
        warnings += [f"{part.root}/{name} is left out: no such reader." for name in strange]
    rows = (
        (name, row) for name in names for part in parts for row in _of_reader(part, name, known)
    )
    tables = Tables(
        cases=cases,
        answers=answers_frame(Answer, rows),
        readers=reader_records(names, declared or {}),
    )
    # Rows without a parsed_answer are parsed in any case.
    tables = benchmark.reread(tables, reparse=reparse)
    return Imported(benchmark, tables, [*warnings, *_improbable(tables.answers)], words)


class _Further(NamedTuple):
    """Where the results at one resolution and phrasing stand; None is the headline's own."""

    px: int | None
    phrasing: str | None
    root: Path

    def beside(self, headline: _Further) -> _Further:
        return _Further(self.px or headline.px, self.phrasing or headline.phrasing, self.root)


def _variants(root: Path) -> list[_Further]:
    """The phrasings the authors' layout keeps under the results."""
    folder = root / _PHRASINGS_FOLDER
    if not folder.is_dir():
        return []
    found = []
    for path in sorted(p for p in folder.iterdir() if p.is_dir()):
        if path.name not in PHRASINGS:
            raise BadInput(f"{path}: the phrasings are {', '.join(PHRASINGS)}. Rename the folder.")
        found.append(_Further(None, path.name, path))
    return found


def _further(text: str) -> _Further:
    word, _, place = text.partition(":")
    key, _, value = word.partition("=")
    root = Path(place)
    if key not in ("px", "phrasing") or not value or not place:
        raise BadInput(f"--also {text}: it is px=SIZE:FOLDER or phrasing=NAME:FOLDER.")
    if not root.is_dir():
        raise BadInput(
            f"--also {text}: {place} is not a folder. Give that of <model>/original.csv."
        )
    if key == "phrasing":
        return _Further(None, value, root)
    size = whole(value) if value.isascii() and value.isdecimal() else None
    if size is None:
        raise BadInput(f"--also {text}: px is a whole number of pixels.")
    return _Further(size, None, root)


def _with_further(words: dict[str, str], further: Sequence[_Further]) -> dict[str, str]:
    """The settings under which these results are also looked at."""
    standard = Options()
    for key in ("px", "phrasing"):
        kept = [word.strip() for word in words.get(key, str(getattr(standard, key))).split(",")]
        given = (getattr(part, key) for part in further)
        added = [str(value) for value in given if value is not None and str(value) not in kept]
        if added:
            words[key] = ",".join([*kept, *added])
    return words


def _of_reader(part: _Further, reader: str, known: frozenset[str]) -> Iterator[Answer]:
    there = {path.stem: path for path in (part.root / reader).glob("*.csv")}
    for condition in filter(there.__contains__, _FILES):
        path = there[condition]
        found = list(_answers(path, known, part))
        if condition == "original" and not found:
            raise BadInput(f"{path} has a header and no rows. Give the results, or none.")
        yield from found


def _readers_of(
    root: Path, declared: Mapping[str, ReaderRecord] | None
) -> tuple[list[str], list[str]]:
    """The models that have results, and what is to be said of the others."""
    if not root.is_dir():
        raise BadInput(f"{root} is not a folder. Give the folder that holds <model>/original.csv.")
    kept: list[str] = []
    warnings: list[str] = []
    for folder in sorted(path for path in root.iterdir() if path.is_dir()):
        name = folder.name
        if name == _PHRASINGS_FOLDER:
            continue
        if not (folder / "original.csv").is_file():
            warnings.append(f"{name} is left out: it has no original.csv.")
            continue
        kept.append(name)
        if declared is not None and name not in declared:
            warnings.append(f"{name} is not in the readers file; taken as multimodal.")
        strange = sorted(path.name for path in folder.glob("*.csv") if path.stem not in _FILES)
        warnings += [f"{name}/{file} is left out: no such condition." for file in strange]
    if not kept:
        raise BadInput(f"{root} holds no <model>/original.csv. Give the authors' results folder.")
    absent = {name: declared[name] for name in sorted(declared)} if declared else {}
    return kept, [*warnings, *without_results(kept, absent)]


def _answers(path: Path, known: frozenset[str], part: _Further) -> Iterator[Answer]:
    """The rows of one result file, in its order, as rows of the answers table."""
    seen: dict[str, str] = {}
    name = f"{path.parent.name}/{path.name}"
    again = path.stem == REPEAT
    for line, cells in rows_of(path, ("case_id",)):
        row = Fields(f"{name} row {line}", cells)
        if "parsed_answer" not in cells and "raw_answer" not in cells:
            raise BadInput(f"{name} has no column parsed_answer or raw_answer. Add one of them.")
        case = row.fact("case_id") or ""
        if case not in known:
            raise BadInput(
                f'{row.where}: case_id "{case}" is not in the manifest. Give its manifest.'
            )
        refuse_twice(seen, case, row.where, "Keep one row.")
        assert part.phrasing is not None
        assert part.px is not None
        yield Answer(
            case=case,
            image="original" if again else path.stem,
            phrasing=part.phrasing,
            px=part.px,
            repeat=int(again),
            **msgspec.structs.asdict(_recorded(row)),
            text=cells.get("raw_answer", ""),
            recorded=True,
        )


def _recorded(row: Fields) -> Reading:
    unknown = (row.fact("confidence") or "nan").lower() == "nan"
    confidence = None if unknown else row.number("confidence")
    reason = RECORDED if confidence is not None else "no_logprobs"
    if "parsed_answer" not in row.cells:
        return Reading("unparsed", None, None, confidence, reason)
    answer = _PARSED.get(row.text("parsed_answer").strip())
    if answer is None:
        row.wrong("parsed_answer", "it is 1, 0 or -1")
    if answer < 0:
        return Reading("unparsed", None, RECORDED, confidence, reason)
    return Reading("answered", answer, RECORDED, confidence, reason)


def _improbable(answers: pl.DataFrame) -> Iterator[str]:
    """Confidences no probability can have. They are kept: the file is what it is."""
    import polars as pl

    odd = answers.filter((pl.col("p_yes") < 0) | (pl.col("p_yes") > 1))
    for reader, count in odd.group_by("reader", maintain_order=True).len().iter_rows():
        yield f"{reader} has {count} confidences outside 0 to 1; they are kept as recorded."
