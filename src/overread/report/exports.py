"""What a paper takes of a report: tables, figures and measures as files, and a list of them.

No spreadsheet runs a cell of a csv file: what begins like a formula is quoted. In LaTeX no
character is left to be taken for markup; those files are ASCII and need `\\usepackage{booktabs}`
alone, and `\\input` puts one into a document.
"""

from __future__ import annotations

import csv
import io
import re
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from overread.case import BadInput, Figure, Measure, Table
from overread.files import MOST_TOML, open_file, read_bytes
from overread.judging.sheet import guarded
from overread.report.markup import asset
from overread.report.reported import Exhibit, Reported

CONTENTS: Final = "contents.csv"
SUFFIXES: Final = ("svg", "pdf", "png")
"""Vector twice, and pixels at 300 dpi."""

_MEASURES: Final = "measures.csv"
_SIGNATURE: Final = "signature"
_LONGEST: Final = 80
_FILE: Final = re.compile(r"[a-z0-9_-]{1,120}\.(csv|tex|svg|pdf|png|json)")
_NUMBER: Final = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?")
_PICTURE: Final = "data:image/"

_E = TypeVar("_E", bound=Exhibit)


class Exported(msgspec.Struct, frozen=True, kw_only=True):
    """A file that was written: a row of `contents.csv`."""

    file: str
    kind: str
    title: str
    notes: str = ""
    signature: str = ""


_HEADER: Final = Exported.__struct_fields__


def write_csv_files(folder: Path, runs: Sequence[Reported]) -> list[Exported]:
    """One file for each table and each figure's numbers, and `measures.csv` with every record.

    The last column of each is the signature: no number without its edition.
    """
    written = [_write_measures(folder / _MEASURES, runs)]
    for stem, table in _named(runs, Table):
        rows = ((*row, table.signature) for row in table.rows)
        _write_rows(folder / f"{stem}.csv", (*table.columns, _SIGNATURE), rows)
        written.append(_exported(f"{stem}.csv", "table", table))
    for stem, figure in _named(runs, Figure):
        columns = list(dict.fromkeys(column for row in figure.rows for column in row))
        behind = ([*map(row.get, columns), figure.signature] for row in figure.rows)
        _write_rows(folder / f"{stem}.csv", (*columns, _SIGNATURE), behind)
        written.append(_exported(f"{stem}.csv", "numbers behind a figure", figure))
    return written


def write_latex_files(folder: Path, runs: Sequence[Reported]) -> list[Exported]:
    """One file for each table of the runs."""
    written = []
    for stem, table in _named(runs, Table):
        text = latex_table(table, stem.replace("_", "-"))
        (folder / f"{stem}.tex").write_text(text, encoding="ascii")
        written.append(_exported(f"{stem}.tex", "table", table))
    return written


def write_figure_files(folder: Path, runs: Sequence[Reported]) -> list[Exported]:
    """Every figure of the runs as SVG, PDF and PNG; `notes` say in words what it shows."""
    written = []
    for stem, figure in _named(runs, Figure):
        for suffix in SUFFIXES:
            figure.save(folder / f"{stem}.{suffix}")
            written.append(_exported(f"{stem}.{suffix}", "figure", figure))
    return written


def _exported(file: str, kind: str, of: Exhibit) -> Exported:
    notes = " ".join((of.alt, *of.notes) if isinstance(of, Figure) else of.notes)
    return Exported(file=file, kind=kind, title=of.title, notes=notes, signature=of.signature)


def _named(runs: Sequence[Reported], kind: type[_E]) -> Iterator[tuple[str, _E]]:
    """Every table or figure of the runs with the stem of its files; published figures last."""
    taken: set[str] = set()
    for lead, run in zip(leads(runs), runs, strict=True):
        called: list[tuple[str, Exhibit]] = [(one.name, one) for one in run.exhibits]
        called += [(f"published-{table.name}", table) for table in run.published]
        for name, exhibit in called:
            stem = free_name(f"{lead}-{name}", taken)
            if isinstance(exhibit, kind):
                yield stem, exhibit


def leads(runs: Sequence[Reported]) -> Iterator[str]:
    """How the files of each run begin: `BENCHMARK`, of a second run of it `BENCHMARK-2`."""
    met: list[str] = []
    for run in runs:
        met.append(run.record.benchmark)
        count = met.count(met[-1])
        yield met[-1] if count == 1 else f"{met[-1]}-{count}"


def free_name(words: str, taken: set[str]) -> str:
    """A plain name nobody has yet: small letters, digits, - and _, since disks differ."""
    plain = re.sub(r"[^a-z0-9_]+", "-", words.lower()).strip("-")[:_LONGEST] or "exhibit"
    name, number = plain, 1
    while name in taken:
        number += 1
        name = f"{plain}-{number}"
    taken.add(name)
    return name


def _write_measures(path: Path, runs: Sequence[Reported]) -> Exported:
    """Records of all runs, flat: one column for each group key, empty where it has none."""
    keys = sorted({key for run in runs for record in run.measures for key in record.by})
    plain = [name for name in Measure.__struct_fields__ if name != "by"]
    about = ("benchmark", "edition", "dataset")
    columns = ("run", *about, *plain[:2], *(f"by_{key}" for key in keys), *plain[2:], _SIGNATURE)

    def rows() -> Iterator[Sequence[Any]]:
        for number, run in enumerate(runs, 1):
            of_run = {name: getattr(run.record, name) for name in (*about, _SIGNATURE)}
            for record in run.measures:
                groups = {f"by_{key}": word for key, word in record.by.items()}
                cells = {"run": number} | of_run | groups | msgspec.structs.asdict(record)
                yield [cells.get(column) for column in columns]

    _write_rows(path, columns, rows())
    signatures = " ".join(run.record.signature for run in runs)
    title = "Every measure of the runs"
    return Exported(file=path.name, kind="measures", title=title, signature=signatures)


def _write_rows(path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([_cell(column) for column in columns])
        writer.writerows([_cell(value) for value in row] for row in rows)


def _cell(value: Any) -> str:
    """A value as text: numbers in full, what is absent empty, words that cannot become formulas."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if not isinstance(value, str):
        value = msgspec.json.encode(value).decode()
    if value.startswith(_PICTURE):
        return "a picture"
    return value if _NUMBER.fullmatch(value) else guarded(value)


# ---------------------------------------------------------------- LaTeX

_PLAIN: Final = frozenset(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 .,:;!?'()/+="
)
_SIGNS: Final = tomllib.loads(asset("latex.toml"))
_SPECIAL: Final[Mapping[str, str]] = _SIGNS["special"]
_ACCENTS: Final[Mapping[str, str]] = _SIGNS["accents"]
_NUMERIC: Final = re.compile(r"(n/a|[<>+\-\u2212]?[0-9].*)?", re.S)
_MANY: Final = 7  # columns that still stand in small print


def escaped(text: str) -> str:
    """Text as LaTeX prints it; whatever it cannot print is named, as in `{[}U+202E{]}`."""
    plain = unicodedata.normalize("NFC", " ".join(text.split()))
    return "".join(map(_character, plain))


def _character(one: str) -> str:
    if one in _PLAIN:
        return one
    if one in _SPECIAL:
        return _SPECIAL[one]
    parts = unicodedata.normalize("NFD", one)
    base, marks = parts[0], parts[1:]
    if marks in _ACCENTS and base.isascii() and base.isalpha():
        letter = rf"\{base}" if base in "ij" else base
        return rf"\{_ACCENTS[marks]}{{{letter}}}"
    return f"{{[}}U+{ord(one):04X}{{]}}"


def latex_table(table: Table, label: str) -> str:
    """A floating table: the caption is title, notes and signature, so that it says its edition."""
    columns = "".join("r" if _numeric(table, at) else "l" for at in range(len(table.columns)))
    size = r"\footnotesize" if len(columns) <= _MANY else r"\tiny"
    notes = "".join(f" {_sentence(note)}" for note in table.notes)
    signature = escaped(table.signature).replace("$|$", r"$|$\allowbreak{}")
    caption = f"{_sentence(table.title)}{notes}"
    if signature:
        caption += rf" \texttt{{{signature}}}"
    rows = "\n".join(_latex_row(row) for row in table.rows)
    return rf"""% {len(table.rows)} rows of {len(columns)} columns; \usepackage{{booktabs}}
\begin{{table}}[htbp]
\centering
\caption[{{{escaped(table.title)}}}]{{{caption}}}
\label{{tab:{label}}}
{size}
\begin{{tabular}}{{{columns}}}
\toprule
{_latex_row(table.columns)}
\midrule
{rows}
\bottomrule
\end{{tabular}}
\end{{table}}
"""


def _latex_row(cells: Sequence[str]) -> str:
    return " & ".join(map(escaped, cells)) + r" \\"


def _sentence(text: str) -> str:
    made = escaped(text)
    return made if made.endswith((".", "?", "!")) else f"{made}."


def _numeric(table: Table, at: int) -> bool:
    """Whether a column is of numbers, some cells perhaps without one."""
    cells = [row[at] for row in table.rows]
    return any(cells) and all(_NUMERIC.fullmatch(cell) for cell in cells)


# ---------------------------------------------------------------- the list of files


def write_contents(folder: Path, written: Sequence[Exported]) -> None:
    """`contents.csv`: what every file of a folder is, and what its numbers stand on."""
    _write_rows(folder / CONTENTS, _HEADER, map(msgspec.structs.astuple, written))


def is_ours(folder: Path) -> bool:
    """Whether a folder holds an earlier export."""
    try:
        with open_file(folder / CONTENTS) as file:
            return file.readline(1000).decode().rstrip("\r\n") == ",".join(_HEADER)
    except (BadInput, UnicodeDecodeError):
        return False


def earlier(folder: Path) -> list[Path]:
    """The files of an earlier export that are still there; no name leads out of the folder."""
    if not is_ours(folder):
        return []
    text = read_bytes(folder / CONTENTS, at_most=MOST_TOML).decode("utf-8", "replace")
    try:
        names = [row[0] for row in csv.reader(io.StringIO(text, newline="")) if row]
    except csv.Error:
        return []
    return [folder / name for name in names if _FILE.fullmatch(name) and (folder / name).is_file()]
