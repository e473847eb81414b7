"""Tables as people take them elsewhere: cells that know their parts, and the columns that fit.

A terminal and a column of a paper are too narrow for all columns of most tables. Both show the
columns that name a row and as many of the others as fit, the most telling first, with n in the head
instead of in every cell. What is left out is said. Nothing here knows what a number means.

In LaTeX no character is left to be taken for markup; files are ASCII and need
`\\usepackage{array,booktabs,threeparttable}` alone, and `\\input` puts one into a document. No
spreadsheet runs a cell of a csv file: what begins like a formula is quoted.
"""

from __future__ import annotations

import csv
import io
import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from overread.case import Table

# ---------------------------------------------------------------- cells


class Cell(str):
    """A number as it is printed, `33.2 [28.7, 38.1] n=370`, and its parts.

    `n` is what the number stands on, `after` what is said behind it (a mark, p and q), `pooled`
    the same number drawn towards the others. A class of text, so that whoever prints a table need
    not know of it; what is added to one stands in `after`.
    """

    __slots__ = ("after", "interval", "n", "pooled", "value")
    value: str
    interval: str
    n: int | None
    after: str
    pooled: str

    def __new__(
        cls,
        value: str,
        interval: str = "",
        *,
        n: int | None = None,
        k: int | None = None,
        after: str = "",
        pooled: str = "",
    ) -> Cell:
        """`k` is how many of the `n`, printed `9/33` where it is given."""
        count = "" if n is None else f" n={n}" if k is None else f" {k}/{n}"
        apart = f" {interval}" if interval else ""
        made = super().__new__(cls, f"{value}{apart}{count}{after}{pooled}")
        made.value, made.interval, made.n = value, interval, n
        made.after, made.pooled = after, pooled
        return made

    def __add__(self, more: str) -> Cell:
        """The cell with more behind it, which stays a cell."""
        return self._longer(more, self.after + more, self.pooled)

    def with_pooled(self, pooled: str) -> Cell:
        return self._longer(pooled, self.after, pooled)

    def _longer(self, more: str, after: str, pooled: str) -> Cell:
        made = str.__new__(Cell, f"{self!s}{more}")
        made.value, made.interval, made.n = self.value, self.interval, self.n
        made.after, made.pooled = after, pooled
        return made

    @property
    def short(self) -> str:
        """Without n, which heads the column, and without the pooled number."""
        return f"{self.value}{' ' * bool(self.interval)}{self.interval}{self.after}"


def short(cell: str) -> str:
    """A cell as a narrow table has it."""
    return cell.short if isinstance(cell, Cell) else cell


def count_of(cells: Iterable[str]) -> str:
    """What heads a column: the n of its cells, or the least and the greatest; empty of none."""
    counts = {cell.n for cell in cells if isinstance(cell, Cell) and cell.n is not None}
    if not counts:
        return ""
    least, most = min(counts), max(counts)
    return f"n={least}" if least == most else f"n={least}–{most}"


def heading_of(column: str) -> str:
    """A heading as people read it: who was asked is a model; `reader` is a word of the records."""
    return re.sub(r"\breader(?=s?\b)", "model", column)


_NUMERIC: Final = re.compile(r"(n/a|-|–|[<>+\-\u2212]?[0-9].*)?", re.S)


def is_numeric(cells: Sequence[str]) -> bool:
    """Whether a column is of numbers, some cells perhaps without one."""
    return any(cells) and all(_NUMERIC.fullmatch(cell) for cell in cells)


# ---------------------------------------------------------------- which columns fit

Width: TypeAlias = Callable[[str], float]
_NARROWEST: Final = 10  # characters of a text that wraps, or its longest word
_WIDEST: Final = 48


class Fitted(NamedTuple):
    """The columns of a table that fit, by number, each with the width it gets; and the others."""

    columns: tuple[int, ...]
    widths: tuple[float, ...]
    left_out: tuple[str, ...]


class _Measured(NamedTuple):
    natural: float
    word: float
    numeric: bool

    def within(self, cap: float) -> float:
        """The width where text wraps at `cap`; numbers never do."""
        return self.natural if self.numeric else min(self.natural, max(cap, self.word))


def fitted(
    table: Table,
    room: float,
    width: Width,
    *,
    gap: float,
    letter: float = 1.0,
    pieces: Callable[[str], Iterable[str]] = str.split,
    cell_width: Width | None = None,
    wanted: Sequence[str] = (),
) -> Fitted:
    """The columns that name a row, and as many others as fit, the most telling first.

    Those up to the first number, or the first of the headline, name it.

    `width` measures text, `gap` stands between columns, `letter` is the width of one. `pieces` are
    what a text may be broken into, `cell_width` measures a cell where that is not its text on one
    line. `wanted` are the columns that are shown in any case, and alone.
    """
    cells = list(zip(*table.rows, strict=True)) or [()] * len(table.columns)
    measured, of_cell = [], cell_width or (lambda cell: width(short(cell)))
    for heading, column in zip(table.columns, cells, strict=True):
        numeric = is_numeric(column)
        head = max(map(width, (*heading_of(heading).split(), count_of(column))), default=0.0)
        body = max(map(of_cell, column), default=0.0)
        words = (width(one) for cell in column for one in pieces(short(cell)))
        measured.append(_Measured(max(head, body), max((head, *words)), numeric))
    told = [
        place
        for place, one in enumerate(measured)
        if one.numeric or table.columns[place] in table.headline
    ]
    keys = list(range(min(told, default=len(measured)))) or [0]
    others = [place for place in _by_telling(table) if place not in keys]
    if wanted:
        others = [place for place in others if table.columns[place] in wanted]

    def used(columns: Sequence[int], cap: float) -> float:
        return sum(measured[place].within(cap) + gap for place in columns) - gap

    # Text wraps for the sake of the headline, or of all columns where there is none.
    telling = [place for place in others if table.columns[place] in table.headline] or others
    caps = [letter * characters for characters in range(_WIDEST, _NARROWEST - 1, -2)]
    cap = next((cap for cap in caps if used([*keys, *telling], cap) <= room), caps[-1])
    chosen = list(keys)
    for place in others:
        if wanted or len(chosen) == len(keys) or used([*chosen, place], cap) <= room:
            chosen.append(place)
        elif table.columns[place] not in table.headline:
            break  # of columns in their order none is passed over for a narrower one
    chosen.sort()
    cap = next((cap for cap in caps if used(chosen, cap) <= room), cap)  # what room is left
    return Fitted(
        tuple(chosen),
        tuple(measured[place].within(cap) for place in chosen),
        tuple(heading_of(one) for at, one in enumerate(table.columns) if at not in chosen),
    )


def _by_telling(table: Table) -> list[int]:
    """The columns by number: those of the headline first, in its order."""
    first = [table.columns.index(name) for name in table.headline if name in table.columns]
    return [*first, *(place for place in range(len(table.columns)) if place not in first)]


# ---------------------------------------------------------------- csv

# What spreadsheets take for a formula; the wide forms and blanks before them too.
_FORMULA: Final = re.compile(r"[\s\ufffd]*[=+\-@＝＋－＠]|[\t\r]")
_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_LONGEST: Final = 32_000  # a spreadsheet cuts a cell at 32,767 characters and says nothing
_NUMBER: Final = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?")
_PICTURE: Final = "data:image/"


def one_form(text: str) -> str:
    """Text with one kind of line end, and nothing in it that no file may hold."""
    return _CONTROL.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))


def guarded(cell: str) -> str:
    """A cell that no spreadsheet runs, cuts or chokes on.

    >>> guarded("=1+1")
    "'=1+1"
    """
    plain = one_form(cell)
    if len(plain) > _LONGEST:
        plain = f"{plain[:_LONGEST]} […{len(plain) - _LONGEST} more characters]"
    return f"'{plain}" if _FORMULA.match(plain) else plain


def csv_cell(value: Any) -> str:
    """A value as text: numbers in full, what is absent empty, words that cannot become formulas."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if not isinstance(value, str):
        import msgspec

        value = msgspec.json.encode(value).decode()
    if value.startswith(_PICTURE):
        return "a picture"
    return value if _NUMBER.fullmatch(value) else guarded(value)


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Rows as a csv file has them."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([csv_cell(column) for column in columns])
    writer.writerows([csv_cell(value) for value in row] for row in rows)
    return text.getvalue()


def table_csv(table: Table) -> str:
    """A table whose last column is the signature: no number without its edition."""
    rows = ((*row, table.signature) for row in table.rows)
    return csv_text((*table.columns, "signature"), rows)


# ---------------------------------------------------------------- LaTeX

COLUMN: Final = 234.0
"""Points of the narrowest column of common two-column styles; tables fit it where they can."""
_PAGE: Final = 487.0  # both columns of such a style

_PLAIN: Final = frozenset(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 .,:;!?'()/+="
)
_LARGE: Final = 8.0
_SMALL: Final = 7.0
_BETWEEN: Final = 4.0  # points between columns
_LINES: Final = 44  # of a float that fits a page with its caption, notes among them
_LEAST_LINES: Final = 12
_PIECE: Final = 14
# Behind these signs a word may be broken; a long one besides after so many letters.
_SIGNS: Final = re.compile(r"(?<=[-:/_@.+|,=])(?=[^\d\s])")
_HEAD: Final = r"""\providecommand{\stacked}[2]{\begin{tabular}[b]{@{}#1@{}}#2\end{tabular}}
\providecommand{\withinterval}[2]{\begin{tabular}[t]{@{}r@{}}#1\\[-1.5pt]{\fontsize{7}{8}\selectfont
#2}\end{tabular}}"""


@cache
def _signs() -> Mapping[str, Mapping[str, Any]]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def escaped(text: str) -> str:
    """Text as LaTeX prints it; whatever it cannot print is named, as in `{[}U+202E{]}`."""
    plain = unicodedata.normalize("NFC", " ".join(text.split()))
    return "".join(map(_character, plain))


def _character(one: str) -> str:
    special, accents = _signs()["special"], _signs()["accents"]
    if one in _PLAIN:
        return one
    if one in special:
        return str(special[one])
    parts = unicodedata.normalize("NFD", one)
    base, marks = parts[0], parts[1:]
    if marks in accents and base.isascii() and base.isalpha():
        letter = rf"\{base}" if base in "ij" else base
        return rf"\{accents[marks]}{{{letter}}}"
    return f"{{[}}U+{ord(one):04X}{{]}}"


def points(text: str, size: float = _LARGE) -> float:
    """How wide a line of text is in Computer Modern; other faces are narrower."""
    widths = _signs()["widths"]
    # Small sizes are drawn wider for their height.
    heights = sum(float(widths.get(one, 0.75)) for one in text)
    return size * heights * (1.063 if size == _LARGE else 1.14)


def latex_layout(table: Table, columns: Sequence[str] = ()) -> tuple[Fitted, bool]:
    """The columns that fit a column of a paper; those that fit its page where no two do, or where
    the columns wanted need it, and whether that is so. Widths are in points.
    """
    for room in (COLUMN, _PAGE):
        layout = fitted(
            table,
            room,
            points,
            gap=_BETWEEN,
            letter=4.0,
            pieces=_pieces,
            cell_width=_latex_cell_width,
            wanted=columns,
        )
        if sum(layout.widths) + _BETWEEN * (len(layout.widths) - 1) <= COLUMN:
            return layout, False
    return layout, True


def _pieces(text: str) -> list[str]:
    """What of a text stays together on a line."""
    return [piece for word in text.split() for piece in _broken(word)]


def _broken(word: str) -> list[str]:
    """A word where it may be broken: behind signs, and anywhere in what is longer than most."""
    found: list[str] = []
    for part in _SIGNS.split(word):
        found += [part[at : at + _PIECE] for at in range(0, len(part), _PIECE)]
    return found


def _latex_cell_width(cell: str) -> float:
    """An interval stands below its number, in the smaller size."""
    if isinstance(cell, Cell) and cell.interval:
        return max(points(cell.value + cell.after), points(cell.interval, _SMALL))
    return points(short(cell))


def latex_table(table: Table, label: str, columns: Sequence[str] = ()) -> str:
    """A floating table as wide as a column, or as the page where the columns asked for need it.

    Its notes stand below it, its signature is a comment. `columns` are the headings wanted; without
    them those that fit. A table of more rows than a page has is several, one below the other.
    """
    layout, wide = latex_layout(table, columns)
    cells = list(zip(*table.rows, strict=True)) or [()] * len(table.columns)
    numeric = [is_numeric(cells[place]) for place in layout.columns]
    spec, heads = [], []
    for place, width, number in zip(layout.columns, layout.widths, numeric, strict=True):
        wraps = not number and width < max(map(points, map(short, cells[place])), default=0.0) - 0.1
        ragged = rf">{{\raggedright\arraybackslash}}p{{{width:.1f}pt}}"
        spec.append("r" if number else ragged if wraps else "l")
        lines = [*_wrapped(heading_of(table.columns[place]), width), count_of(cells[place])]
        said = r"\\".join(escaped(line) for line in lines if line)
        heads.append(rf"\stacked{{{'r' if number else 'l'}}}{{{said}}}")
    places = list(zip(layout.columns, layout.widths, numeric, strict=True))
    rows = [
        " & ".join(_latex_cell(row[place], breaks=not number) for place, _, number in places)
        for row in table.rows
    ]
    heights = [
        max(_lines_of(row[place], width, number) for place, width, number in places)
        for row in table.rows
    ]
    pages = _paged(rows, heights, _note_lines(table))
    comments = [
        f"{len(table.rows)} rows of {len(layout.columns)} columns",
        *(f"left out: {', '.join(layout.left_out)}" for _ in layout.left_out[:1]),
        table.signature,
        r"\usepackage{array,booktabs,threeparttable}",
    ]
    above = "\n".join(f"% {_comment(line)}" for line in comments if line)
    floats = [
        _latex_float(
            table,
            page,
            heads,
            "".join(spec),
            r"\textwidth" if wide else r"\columnwidth",
            "table*" if wide else "table",
            f" ({number} of {len(pages)})" if len(pages) > 1 else "",
            rf"\label{{tab:{label}}}" if number == 1 else "",
            last=number == len(pages),
        )
        for number, page in enumerate(pages, 1)
    ]
    return f"{above}\n{_HEAD}\n" + "\n".join(floats)


def _lines_of(cell: str, width: float, numeric: bool) -> float:
    """How many lines a cell takes: an interval is on one of its own, text is ragged."""
    if numeric:
        return 1.9 if isinstance(cell, Cell) and cell.interval else 1.0
    words = points(short(cell))
    return 1.0 if words <= width else int(1.2 * words / width) + 1.0


def _paged(rows: Sequence[str], heights: Sequence[float], notes: float) -> list[list[str]]:
    """The rows that fit a page each, with room for the notes below the last of them."""
    most = max(_LEAST_LINES, _LINES - notes)
    pages: list[list[str]] = [[]]
    used = 0.0
    for row, lines in zip(rows, heights, strict=True):
        if pages[-1] and used + lines > most:
            pages.append([])
            used = 0.0
        pages[-1].append(rf"{row} \\")
        used += lines
    return pages


def _latex_float(
    table: Table,
    rows: Sequence[str],
    heads: Sequence[str],
    spec: str,
    width: str,
    kind: str,
    part: str,
    label: str,
    *,
    last: bool,
) -> str:
    edition = (f"Edition {table.edition} of the rules.",) if table.edition else ()
    said = [_sentence(note) for note in (*table.notes, *edition)] if last else []
    below = after = ""
    if _note_lines(table) > _LINES - _LEAST_LINES:  # longer than a float can be
        after = "".join(
            rf"\par\noindent{{\fontsize{{7}}{{8}}\selectfont {one}\par}}" + "\n" for one in said
        )
    elif said:
        below = "\n".join(
            (
                r"\begin{tablenotes}[flushleft]\fontsize{7}{8}\selectfont",
                *(rf"\item {one}" for one in said),
                r"\end{tablenotes}" + "\n",
            )
        )
    lines = "\n".join(rows)
    return rf"""\begin{{{kind}}}[htbp]
\centering
\begin{{threeparttable}}
\caption[{{{escaped(table.title)}}}]{{{_sentence(table.title + part)}}}{label}
\fontsize{{8}}{{9.5}}\selectfont
\setlength{{\tabcolsep}}{{{_BETWEEN / 2}pt}}
\begin{{tabular*}}{{{width}}}{{@{{\extracolsep{{\fill}}}}{spec}@{{}}}}
\toprule
{" & ".join(heads)} \\
\midrule
{lines}
\bottomrule
\end{{tabular*}}
{below}\end{{threeparttable}}
\end{{{kind}}}
{after}"""


def _note_lines(table: Table) -> float:
    return sum(points(note, _SMALL) for note in table.notes) / COLUMN


def paragraphs(parts: Mapping[str, Sequence[str]], signature: str) -> str:
    """Sentences as paragraphs, each under its name; the signature is a comment."""
    made = [
        rf"\paragraph{{{escaped(name)}}} " + " ".join(map(_sentence, said))
        for name, said in parts.items()
        if said
    ]
    return f"% {_comment(signature)}\n" + "\n\n".join(made) + "\n"


def _latex_cell(cell: str, *, breaks: bool) -> str:
    if isinstance(cell, Cell) and cell.interval:
        return rf"\withinterval{{{escaped(cell.value + cell.after)}}}{{{escaped(cell.interval)}}}"
    said = short(cell)
    if not breaks:
        return escaped(said)
    return _breakable(said)


def _breakable(text: str) -> str:
    words = map(_broken, text.split())
    return " ".join(r"\allowbreak{}".join(map(escaped, word)) for word in words)


def _wrapped(heading: str, width: float) -> list[str]:
    """The words of a heading on as many lines as the width of its column asks for."""
    lines: list[str] = []
    for word in heading.split():
        joined = f"{lines[-1]} {word}" if lines else word
        if lines and points(joined) <= width:
            lines[-1] = joined
        else:
            lines.append(word)
    return lines


def _comment(text: str) -> str:
    """Text behind a %: one line of ASCII."""
    plain = " ".join(text.split())
    return "".join(one if one.isascii() and one.isprintable() else "?" for one in plain)


def _sentence(text: str) -> str:
    made = _breakable(text)
    return made if made.endswith((".", "?", "!")) else f"{made}."


# ---------------------------------------------------------------- HTML


def html_table(table: Table) -> str:
    """A table for a notebook or a page of somebody else's: text, and no markup of a cell's."""
    cells = list(zip(*table.rows, strict=True)) or [()] * len(table.columns)
    sides = ["right" if is_numeric(column) else "left" for column in cells]

    def row(of: str, words: Sequence[str]) -> str:
        made = (
            f'<{of} style="text-align:{side}">{escape(one_form(word))}</{of}>'
            for side, word in zip(sides, words, strict=True)
        )
        return f"<tr>{''.join(made)}</tr>"

    body = "\n".join(row("td", words) for words in table.rows)
    notes = "".join(f"<p><small>{escape(one_form(note))}</small></p>\n" for note in table.notes)
    head = row("th", [*map(heading_of, table.columns)])
    return (
        f"<table>\n<caption>{escape(one_form(table.title))}</caption>\n"
        f"<thead>{head}</thead>\n<tbody>\n{body}\n</tbody>\n</table>\n"
        f"{notes}<p><small><code>{escape(one_form(table.signature))}</code></small></p>\n"
    )
