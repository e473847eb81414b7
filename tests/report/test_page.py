"""The page: self-contained, without scripts, and nothing of a model unescaped."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from overread.case import Table
from overread.records import ReaderEntry, RunRecord
from overread.report import DISCLAIMER, write_page

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "&lt;b&gt;",
    "\u202egnp.exe",
    "</td></table></body>",
    "]]><!--",
    "{{7*7}} ${7*7}",
]


class Seen(HTMLParser):
    """Tags with their attributes, and all text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def page_of(word: str, tmp_path: Path) -> str:
    record = RunRecord(
        benchmark="grounding",
        edition="corrected",
        answers_edition="corrected",
        cases=word,
        dataset=word,
        policy="open",
        n_cases=3,
        signature=word,
        readers=(ReaderEntry(name=word, spec=word, identity=word),),
    )
    table = Table(
        name="t",
        title=word,
        columns=("reader", word),
        rows=((word, word), ("r", "1")),
        signature=word,
        notes=(word,),
    )
    write_page(tmp_path / "report.html", record, [table])
    return (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("word", HOSTILE)
def test_what_a_model_says_is_text(word: str, tmp_path: Path) -> None:
    plain, hostile = Seen(), Seen()
    plain.feed(page_of("word", tmp_path))
    hostile.feed(page_of(word, tmp_path))
    assert hostile.tags == plain.tags
    assert [t.replace("word", word) for t in plain.text] == hostile.text


def test_nothing_is_fetched_and_nothing_runs(tmp_path: Path) -> None:
    page = page_of("word", tmp_path)
    seen = Seen()
    seen.feed(page)
    tags = {tag for tag, _ in seen.tags}
    assert not tags & {"script", "link", "img", "iframe", "object", "embed", "form", "a", "base"}
    assert not re.search(r"https?:|//\w|url\(|@import", page)
    attributes = {name for _, given in seen.tags for name in given}
    assert not attributes & {"src", "href", "style"}
    assert not [name for name in attributes if name.startswith("on")]


def test_the_policy_forbids_what_the_page_does_not_do(tmp_path: Path) -> None:
    seen = Seen()
    seen.feed(page_of("word", tmp_path))
    (policy,) = [
        given["content"]
        for tag, given in seen.tags
        if tag == "meta" and given.get("http-equiv") == "Content-Security-Policy"
    ]
    rules = {rule.strip() for rule in (policy or "").split(";")}
    assert {"default-src 'none'", "base-uri 'none'", "form-action 'none'"} <= rules
    # The policy stands before whatever it governs.
    order = ["policy" if "http-equiv" in given else tag for tag, given in seen.tags]
    assert order.index("policy") < order.index("style")


def test_it_says_what_it_is_not_and_what_it_stands_on(tmp_path: Path) -> None:
    page = page_of("word", tmp_path)
    assert DISCLAIMER in page
    assert "3 cases of word (open), edition corrected, Overread" in page
    assert "<code>word</code>" in page


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    assert page_of("word", tmp_path) == page_of("word", tmp_path)
