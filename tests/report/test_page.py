"""The page: self-contained, without scripts, and nothing of a model unescaped."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from overread.case import Figure, Table, Traits
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
    "</style>",
    "</svg><script>alert(1)</script>",
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


def page_of(word: str, tmp_path: Path, *more: Table | Figure) -> str:
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
    exhibits = [table_of(word), figure_of(word), *more]
    write_page(tmp_path / "report.html", [(record, exhibits)])
    return (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("word", HOSTILE)
def test_what_a_model_says_is_text(word: str, tmp_path: Path) -> None:
    plain, hostile = Seen(), Seen()
    plain.feed(page_of("word", tmp_path))
    hostile.feed(page_of(word, tmp_path))
    assert [shape(tag) for tag in hostile.tags] == [shape(tag) for tag in plain.tags]
    said = [text.replace("word", word) for text in plain.text]
    assert [drawable(text) for text in said] == [drawable(text) for text in hostile.text]


def shape(tag: tuple[str, dict[str, str | None]]) -> tuple[str, list[str]]:
    """A tag with the names of its attributes; a drawing's sizes depend on its words."""
    return tag[0], sorted(tag[1])


def drawable(text: str) -> str:
    return text.strip()


def test_nothing_is_fetched_and_nothing_runs(tmp_path: Path) -> None:
    page = page_of("word", tmp_path)
    seen = Seen()
    seen.feed(page)
    tags = {tag for tag, _ in seen.tags}
    assert not tags & {"script", "link", "img", "image", "use", "iframe", "object", "embed"}
    assert not tags & {"form", "base", "foreignobject", "animate", "set"}
    allowed = page.replace("img-src data:", "", 1)  # the policy's own word
    assert not re.search(r"https?:|//\w|url\((?!#)|@import|javascript:|data:", allowed)
    attributes = {name for _, given in seen.tags for name in given}
    assert not attributes & {"src", "style", "xlink:href", "xmlns"}
    assert not [name for name in attributes if name.startswith("on")]
    links = [given["href"] for _, given in seen.tags if "href" in given]
    places = {f"#{given['id']}" for _, given in seen.tags if "id" in given}
    assert links
    assert set(links) <= places


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


def test_the_contents_lead_to_every_exhibit(tmp_path: Path) -> None:
    seen = Seen()
    seen.feed(page_of("word", tmp_path, table_of("third")))
    links = [given["href"] for tag, given in seen.tags if tag == "a"]
    sections = [f"#{given['id']}" for tag, given in seen.tags if tag == "section"]
    assert links == sections == ["#exhibit-1", "#exhibit-2", "#exhibit-3"]


@pytest.mark.parametrize(("rows", "folded"), [(24, False), (25, True), (300, True)])
def test_a_long_table_is_folded_and_whole(rows: int, folded: bool, tmp_path: Path) -> None:
    page = page_of("word", tmp_path, table_of("long", rows))
    assert ("<details>" in page) is folded
    assert page.count("<td>r</td>") == 1 + rows - 1


def test_the_first_table_is_never_folded(tmp_path: Path) -> None:
    record = RunRecord(
        benchmark="b", edition="e", answers_edition="e", cases="c", dataset="d", policy="open",
        n_cases=3,
    )  # fmt: skip
    write_page(tmp_path / "one.html", [(record, [table_of("long", 300)])])
    page = (tmp_path / "one.html").read_text(encoding="utf-8")
    assert "<details>" not in page
    assert "<nav>" not in page  # one exhibit needs no contents


@pytest.mark.parametrize(
    ("cell", "parts"),
    [
        ("33.2 [28.7, 38.1] n=370", ["33.2", "[28.7, 38.1]", "n=370"]),
        ("27.3† [15.1, 44.2] 9/33", ["27.3†", "[15.1, 44.2]", "9/33"]),
        ("97.5 ± 5.7 n=123", ["97.5", "± 5.7", "n=123"]),
        ("+5.0 [-1.0, +9.0] n=9", ["+5.0", "[-1.0, +9.0]", "n=9"]),
        ("12.5", ["12.5"]),
        ("n/a", ["n/a"]),
        ("7 [model] n=3", ["7", "[model]", "n=3"]),
        ("33.2 [28.7, 38.1] n=37†", ["33.2", "[28.7, 38.1]", "n=37†"]),
        ("33.2 [28.7, 38.1] n=37 †", ["33.2", "[28.7, 38.1]", "n=37", "†"]),
        ("33.2 [28.7, 38.1] n=37 judge unfit", ["33.2", "[28.7, 38.1]", "n=37", "judge unfit"]),
        ("50.00 judge unfit", ["50.00", "judge unfit"]),
        (
            "0.0 [-6.0, +6.0] n=60 p=1.000 q=1.000 judge unfit",
            ["0.0", "[-6.0, +6.0]", "n=60", "p=1.000", "q=1.000", "judge unfit"],
        ),
        (
            "+9.1 [1.0, 9.9] n=60 p<0.001 q=n/a†",
            ["+9.1", "[1.0, 9.9]", "n=60", "p&lt;0.001", "q=n/a†"],
        ),
        ("2 masses", ["2 masses"]),
        ("3.5 cm n=2 wide", ["3.5 cm n=2 wide"]),
        ("gpt-5 [x] n=3", ["gpt-5 [x] n=3"]),
    ],
)
def test_a_number_stands_above_what_it_stands_on(
    cell: str, parts: list[str], tmp_path: Path
) -> None:
    table = Table(name="t", title="t", columns=("c",), rows=((cell,),))
    page = page_of("word", tmp_path, table)
    last = page.rpartition("<tbody>")[2].partition("</tbody>")[0]
    assert re.findall(r">([^<\n]+)<", last) == parts


SENTENCE = "The examination is a chest radiograph, upright, of both lungs."


@pytest.mark.parametrize(
    ("cell", "wraps"),
    [
        (SENTENCE, True),
        ("x" * 41, True),
        ("x" * 40, False),
        ("+10.0 [-16.0, +16.0] n=1060 p=1.000 q=1.000 judge unfit", False),
        ("", False),
    ],
)
def test_long_text_wraps_and_numbers_do_not(cell: str, wraps: bool, tmp_path: Path) -> None:
    table = Table(name="t", title="t", columns=("reader", "c"), rows=(("r", cell),))
    page = page_of("word", tmp_path, table)
    last = page.rpartition("<tbody>")[2].partition("</tbody>")[0]
    assert ('<td class="text">' in last) is wraps


@pytest.mark.parametrize("word", HOSTILE)
def test_what_a_model_says_at_length_is_text(word: str, tmp_path: Path) -> None:
    seen = []
    for said in (SENTENCE, f"{SENTENCE} {word}", f"1.0 [{word}, 2] n=3", "1.0 [1, 2] n=3"):
        table = Table(name="t", title="t", columns=("reader", "c"), rows=(("r", said),))
        found = Seen()
        found.feed(page_of("word", tmp_path, table))
        seen.append(found)
    assert seen[0].tags == seen[1].tags
    if "]" not in word:
        assert seen[2].tags == seen[3].tags


@pytest.mark.parametrize(("first", "numbered"), [("12", True), ("12a", False), ("", False)])
def test_a_column_of_numbers_takes_no_more_room_than_it_needs(
    first: str, numbered: bool, tmp_path: Path
) -> None:
    table = Table(name="t", title="t", columns=("", "c"), rows=(("1", "a"), (first, "b")))
    assert ('<table class="numbered">' in page_of("word", tmp_path, table)) is numbered


def test_it_says_how_every_reader_was_asked(tmp_path: Path) -> None:
    readers = (
        ReaderEntry(name="a<b>", spec="openai:m@http://x", identity="i", asked=10, unanswered=1),
        ReaderEntry(name="t", spec="control:t", identity="t", traits=Traits(modality="text")),
    )
    record = RunRecord(
        benchmark="b", edition="e", answers_edition="e", cases="c", dataset="d", policy="open",
        n_cases=3, readers=readers,
    )  # fmt: skip
    write_page(tmp_path / "one.html", [(record, [table_of("short", 3)])])
    page = (tmp_path / "one.html").read_text(encoding="utf-8")
    assert "How 2 readers were asked" in page
    assert "<td>a&lt;b&gt;</td><td>openai:m@http://x</td><td>multimodal</td><td>images</td>" in page
    assert "<td>9 of 10</td>" in page
    assert "<td>text</td><td>none</td>" in page
