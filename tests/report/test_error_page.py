"""The page on which errors are labelled: self-contained, and harmless whatever a model said."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from html import unescape
from html.parser import HTMLParser

import msgspec
from hypothesis import example, given, settings
from hypothesis import strategies as st

from overread.benchmarks.base import ErrorRow
from overread.benchmarks.medcmr.benchmark import MedCMR
from overread.benchmarks.medcmr.people_sheets import COLUMNS, ERRORS
from overread.judging.sheet import guarded
from overread.report import error_page

SHEET = MedCMR.error_sheet()
HOSTILE = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "</textarea><iframe src=//example.org>",
    "<!--<script>",
    "\u2028&lt;b&gt;\ud800\0",
    '" onfocus="alert(1)',
)


def row(text: str = "plain", **other: str) -> ErrorRow:
    told = {"case": "mcq-1", "reader": "r", "dimension": "SOD", "right": "A) a", "given": "B) b"}
    told |= dict.fromkeys(("question", "options", "images", "reply", "note"), text)
    return ErrorRow(**(told | other))


class Parsed(HTMLParser):
    """Elements with their attributes, and the text of scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[str, list[str]] = {"script": [], "style": []}
        self.feed(page)

    def handle_starttag(self, tag, attrs) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in self.inside:
            self.inside[tag].append("")

    def handle_data(self, data) -> None:
        if self.elements and self.cdata_elem in self.inside:
            self.inside[self.cdata_elem][-1] += data


def policy(page: str) -> str:
    return unescape(re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1])


def test_only_its_own_script_and_style_may_run() -> None:
    page = error_page(SHEET, [row()], "medcmr|edition:corrected")
    parsed = Parsed(page)
    assert policy(page).startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy(page)
    (style,), (_, script) = parsed.inside["style"], parsed.inside["script"]
    for text in (style, script):
        digest = b64encode(sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy(page)
    assert not re.search(r"https?://|src=|@import|url\(", page)
    assert "medcmr|edition:corrected" in page


def test_every_error_has_a_select_with_the_five_words_and_what_was_said_before() -> None:
    page = error_page(SHEET, [row(label="question", note="why"), row(case="mcq-2")], "")
    elements = Parsed(page).elements
    assert sum(tag == "select" for tag, _ in elements) == 2
    values = [attrs["value"] for tag, attrs in elements if tag == "option"]
    assert values == ["", *ERRORS] * 2
    assert [attrs["value"] for tag, attrs in elements if "selected" in attrs] == ["question"]
    assert ">why</textarea>" in page


def test_the_data_for_the_csv_are_the_guarded_cells() -> None:
    rows = [row("=1+1"), row('a "b"\r\nc', case="=x")]
    data = json.loads(Parsed(error_page(SHEET, rows, "")).inside["script"][0])
    assert data["columns"] == list(COLUMNS)
    assert data["rows"] == [
        [guarded(cell) for cell in msgspec.structs.astuple(one)] for one in rows
    ]


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=30) | st.sampled_from(HOSTILE), st.sampled_from(COLUMNS[:-2]))
@example(HOSTILE[0], "reply")
@example(HOSTILE[0], "case")
def test_what_a_model_said_is_text_and_nothing_else(text: str, column: str) -> None:
    plain, hostile = (Parsed(error_page(SHEET, [row(**{column: one})], one)) for one in ("x", text))
    assert [tag for tag, _ in hostile.elements] == [tag for tag, _ in plain.elements]
    assert [sorted(attrs) for _, attrs in hostile.elements] == [
        sorted(attrs) for _, attrs in plain.elements
    ]
    assert hostile.inside["script"][1] == plain.inside["script"][1]
    page = error_page(SHEET, [row(**{column: text})], text)
    assert page.count("<script") == page.count("</script") == 2
    page.encode("utf-8")


def test_no_errors_is_a_page_too() -> None:
    assert "<article>" not in error_page(SHEET, [], "")
