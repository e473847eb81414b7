"""Pages as tests read them: their tags, their text and the data in their scripts."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any

from overread.case import Box, Card, Figure, Headline, Inline, Measure, Picture, Said, Slide, Table
from overread.records import ReaderEntry, RunRecord
from overread.report import Reported

__all__ = [
    "HOSTILE",
    "Seen",
    "card_of",
    "figure_of",
    "headline_of",
    "record_of",
    "run_of",
    "seen_in",
    "table_of",
]

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "&lt;b&gt;",
    "\u202egnp.exe\u202c",
    "</td></table></body>",
    "]]><!--",
    "<!--<script>",
    "{{7*7}} ${7*7}",
    "</style>",
    "</svg><script>alert(1)</script>",
    "a\u2028b\u2029c",
    "\x00\x07\x9b",
    "half \ud800 a character",
]


class Seen(HTMLParser):
    """Tags with their attributes, all text outside scripts, and the data in scripts by id."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.ends: list[str] = []
        self.text: list[str] = []
        self.scripts: list[str] = []
        self.styles: list[str] = []
        self.data: dict[str, Any] = {}
        self._in: tuple[str, dict[str, str | None]] = ("", {})

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._in = self.tags[-1]

    def handle_endtag(self, tag: str) -> None:
        self.ends.append(tag)
        self._in = ("", {})

    def handle_data(self, data: str) -> None:
        tag, given = self._in
        if tag == "script" and given.get("type") == "application/json":
            self.data[given["id"] or ""] = json.loads(data)
        elif tag == "script":
            self.scripts.append(data)
        elif tag == "style":
            self.styles.append(data)
        else:
            self.text.append(data)

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [given for name, given in self.tags if name == tag]


def seen_in(page: str) -> Seen:
    seen = Seen()
    seen.feed(page)
    seen.close()
    return seen


# ---------------------------------------------------------------- things to show


def record_of(word: str = "word", *readers: str, **more: Any) -> RunRecord:
    given: dict[str, Any] = {
        "benchmark": "grounding",
        "edition": "corrected",
        "answers_edition": "corrected",
        "cases": word,
        "dataset": word,
        "policy": "open",
        "n_cases": 3,
        "signature": word,
        "readers": tuple(
            ReaderEntry(name=name, spec=name, identity=name) for name in readers or (word,)
        ),
    }
    return RunRecord(**given | more)


def table_of(word: str, rows: int = 2) -> Table:
    return Table(
        name="t",
        title=word,
        columns=("reader", word),
        rows=((word, word), *(("r", "1"),) * (rows - 1)),
        signature=word,
        notes=(word,),
    )


def figure_of(word: str) -> Figure:
    spec = {
        "data": {"values": [{"reader": word, "n": 1}]},
        "width": 100,
        "height": 40,
        # Out of the reader's own hands: where a word stands does not change what is drawn.
        "encoding": {"text": {"field": "reader"}, "x": {"value": 5}, "y": {"value": 5}},
        "mark": {"type": "text", "color": Figure.INK, "clip": True},
    }
    return Figure(name="f", title=word, spec=spec, alt=word, signature=word, notes=(word,))


def headline_of(reader: str, sentence: str = "It did.", **more: Any) -> Headline:
    measure = Measure(reader=reader, measure="cgr", value=0.5, n=7, low=0.25, high=0.75)
    given: dict[str, Any] = {"answer": "in part", "question": "?", "measure": measure}
    return Headline(reader=reader, sentence=sentence, **given | more)


def card_of(word: str, *readers: str, **more: Any) -> Card:
    slide = Slide(label=word, picture=Picture(Inline(b"")), boxes=((word, Box(1, 2, 3, 4)),))
    said = tuple(
        Said(reader=reader, lines=((word, word),), text=word, right=True, flipped=False)
        for reader in readers or (word,)
    )
    given: dict[str, Any] = {"facts": {word: word}, "texts": ((word, word),), "slides": (slide,)}
    return Card(case=word, title=word, said=said, **given | more)


def run_of(word: str = "word", *exhibits: Table | Figure, **more: Any) -> Reported:
    """A run in which every text that anybody may have written is this word."""
    given: dict[str, Any] = {
        "record": record_of(word),
        "exhibits": exhibits or (table_of(word), figure_of(word)),
        "headlines": (headline_of(word, word),),
        "methods": (word,),
        "limitations": (word,),
        "published": (table_of(word),),
        "cards": (card_of(word),),
        "card_total": 9,
        "strata": (word,),
    }
    return Reported(**given | more)
