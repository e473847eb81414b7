"""Replies with one spelling for what looks alike on purpose: full-width letters, quotes, dashes."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["bare", "plain"]

_WIDE: Final = {0xFF00 + code - 0x20: chr(code) for code in range(0x21, 0x7F)}
_ALIKE: Final = {
    **_WIDE,
    **dict.fromkeys(map(ord, "【〔〖「『《〈"), "["),
    **dict.fromkeys(map(ord, "】〕〗」』》〉"), "]"),
    **dict.fromkeys(map(ord, "。．"), "."),
    ord("，"): ",",
    **dict.fromkeys(map(ord, "“”„«»"), '"'),
    **dict.fromkeys(map(ord, "‘’´"), "'"),
    **dict.fromkeys(map(ord, "‐‑‒–—−"), "-"),
    # Blanks, and the marks that some tokenizers leave in place of them.
    **dict.fromkeys(map(ord, "\u00a0\u2002\u2003\u2009\u202f\u3000Ġ▁\t"), " "),
    **dict.fromkeys(map(ord, "Ċ\r\u0085\u2028\u2029\v\f"), "\n"),
    # Nothing is seen of these.
    **dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad")),
}
_HTML: Final = re.compile(r"</?(?:b|strong|i|em)>", re.IGNORECASE)
_LATEX: Final = re.compile(r"\\([()\[\]])")
# What a server may leave of a chat template.
_TEMPLATE: Final = re.compile(r"<\|[^|<>\s]{1,40}\|>|</?s>|<eos>|<(?:end|start)_of_turn>")


def plain(text: str) -> str:
    """One spelling of letters, brackets, stops, quotes, dashes and blanks; lines stay lines.

    Full-width letters are letters (a Chinese keyboard writes them). Letters of other scripts that
    merely look like A are not. HTML's emphasis is as markdown's, and LaTeX's brackets are brackets.
    The Chinese mark 、 stays: behind a letter it is a stop (`B、胸腔积液`), which a comma is not.
    """
    said = _TEMPLATE.sub("", text.replace("\r\n", "\n").translate(_ALIKE))
    return _LATEX.sub(r"\1", _HTML.sub("**", said))


def bare(text: str) -> str:
    """The text of an option, or of a reply that may quote one: case, blanks and emphasis aside."""
    said = plain(text).replace("*", "").replace("`", "").replace("、", ",").casefold()
    return " ".join(said.split()).strip(" .,;:!\"'")
