"""Tables for a paper: LaTeX with booktabs, in which no character is left to be taken for markup.

The files are ASCII and need `\\usepackage{booktabs}` alone; `\\input` puts one into a document.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from overread.case import Table

_PLAIN: Final = frozenset(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 .,:;!?'()/+="
)
# Brackets and stars stand in braces: after the end of a row they would be read as its options.
# In the fonts LaTeX begins with, < > | and " print as something else.
_SPECIAL: Final = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "_": r"\_", "%": r"\%", "&": r"\&",
    "#": r"\#", "$": r"\$", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
    "<": "$<$", ">": "$>$", "|": "$|$", '"': "''", "`": r"\textquoteleft{}",
    "[": "{[}", "]": "{]}", "*": "{*}", "@": "{@}", "-": "-{}",
    "\u00a0": "~", "\u2009": r"\,", "\u202f": r"\,", "\u00ad": r"\-",
    "\u2010": "-{}", "\u2011": "-{}", "\u2012": "--{}", "\u2013": "--{}", "\u2014": "---{}",
    "\u2018": r"\textquoteleft{}", "\u2019": "'", "\u201c": r"\textquotedblleft{}", "\u201d": "''",
    "\u2026": r"\ldots{}", "\u2212": "$-$", "\u00d7": r"$\times$", "\u00f7": r"$\div$",
    "\u00b1": r"$\pm$", "\u00b7": r"$\cdot$", "\u00b0": r"$^{\circ}$", "\u2022": r"$\bullet$",
    "\u2264": r"$\leq$", "\u2265": r"$\geq$", "\u2260": r"$\neq$", "\u2248": r"$\approx$",
    "\u2190": r"$\leftarrow$", "\u2192": r"$\rightarrow$", "\u2191": r"$\uparrow$",
    "\u2193": r"$\downarrow$", "\u221a": r"$\surd$", "\u2211": r"$\sum$", "\u0394": r"$\Delta$",
    "\u03b1": r"$\alpha$", "\u03b2": r"$\beta$", "\u03b4": r"$\delta$", "\u03ba": r"$\kappa$",
    "\u03bb": r"$\lambda$", "\u00b5": r"$\mu$", "\u03bc": r"$\mu$", "\u03c1": r"$\rho$",
    "\u03c3": r"$\sigma$", "\u03c4": r"$\tau$", "\u03c7": r"$\chi$", "\u2020": r"\dag{}",
    "\u2021": r"\ddag{}", "\u00a7": r"\S{}", "\u00b6": r"\P{}", "\u00df": r"\ss{}",
    "\u00e6": r"\ae{}", "\u00c6": r"\AE{}", "\u0153": r"\oe{}", "\u0152": r"\OE{}",
    "\u00f8": r"\o{}", "\u00d8": r"\O{}", "\u0142": r"\l{}", "\u0141": r"\L{}",
    "\u0131": r"\i{}", "\u00b2": "$^{2}$", "\u00b3": "$^{3}$", "\u00b9": "$^{1}$",
    "\u00bd": "1/2", "\u2713": "yes", "\u2717": "no",
}  # fmt: skip
_ACCENTS: Final = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u",
    "\u0307": ".", "\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0327": "c",
}  # fmt: skip
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
    rows = "\n".join(_row(row) for row in table.rows)
    return rf"""% {len(table.rows)} rows of {len(columns)} columns; \usepackage{{booktabs}}
\begin{{table}}[htbp]
\centering
\caption[{{{escaped(table.title)}}}]{{{caption}}}
\label{{tab:{label}}}
{size}
\begin{{tabular}}{{{columns}}}
\toprule
{_row(table.columns)}
\midrule
{rows}
\bottomrule
\end{{tabular}}
\end{{table}}
"""


def _row(cells: Sequence[str]) -> str:
    return " & ".join(map(escaped, cells)) + r" \\"


def _sentence(text: str) -> str:
    made = escaped(text)
    return made if made.endswith((".", "?", "!")) else f"{made}."


def _numeric(table: Table, at: int) -> bool:
    """Whether a column is of numbers, some cells perhaps without one."""
    cells = [row[at] for row in table.rows]
    return any(cells) and all(_NUMERIC.fullmatch(cell) for cell in cells)
