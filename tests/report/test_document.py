"""The page: self-contained, only its own script, and nothing of a model as markup."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace

from overread.case import Card, Said
from overread.report import DISCLAIMER, report_html, write_report
from support.page import (
    HOSTILE,
    Seen,
    figure_of,
    headline_of,
    record_of,
    run_of,
    seen_in,
    table_of,
)


def shape(tag: tuple[str, dict[str, str | None]]) -> tuple[str, list[str]]:
    """A tag with the names of its attributes; a drawing's sizes depend on its words."""
    return tag[0], sorted(tag[1])


def visible(word: str) -> str:
    """What hides itself or turns the text around is named."""
    return "".join(
        f"⟨U+{ord(letter):04X}⟩"
        if letter in "\x00\x07\x9b\u2028\u2029\u202c\u202e" or "\ud800" <= letter <= "\udfff"
        else letter
        for letter in word
    )


def policy_of(seen: Seen) -> dict[str, str]:
    (policy,) = [
        given["content"] or ""
        for given in seen.all("meta")
        if given.get("http-equiv") == "Content-Security-Policy"
    ]
    rules = [rule.strip().partition(" ") for rule in policy.split(";")]
    return {name: value for name, _, value in rules}


# ---------------------------------------------------------------- hostile text


@pytest.mark.parametrize("word", HOSTILE)
def test_what_a_model_says_is_text(word: str) -> None:
    plain, hostile = seen_in(report_html([run_of()])), seen_in(report_html([run_of(word)]))
    assert [shape(tag) for tag in hostile.tags] == [shape(tag) for tag in plain.tags]
    assert hostile.ends == plain.ends
    assert hostile.scripts == plain.scripts
    assert hostile.styles == plain.styles
    # A drawing holds no character that XML does not have.
    drawn = word.replace("\x00", "\ufffd").replace("\x07", "\ufffd").replace("\ud800", "\ufffd")
    for plainly, text in zip(plain.text, hostile.text, strict=True):
        meant = {plainly.replace("word", visible(one)).strip() for one in (word, drawn)}
        assert text.strip() in meant


@pytest.mark.parametrize("word", HOSTILE)
def test_the_data_are_the_text_and_nothing_else(word: str) -> None:
    seen = seen_in(report_html([run_of(word)]))
    (card,) = seen.data["cards-grounding"]["cards"]
    whole = word.replace("\ud800", "\ufffd")
    assert card["texts"] == [[whole, whole, 0]]
    assert card["said"][0]["text"] == whole
    assert seen.data["data-grounding-f"] == [{"reader": whole, "n": 1}]


def test_a_script_s_data_cannot_end_it() -> None:
    page = report_html([run_of("</script><!-- & \u2028 -->")])
    for found in re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page):
        assert not re.search("[<>&\u2028\u2029]", found)


def test_a_long_reply_is_cut_and_says_so() -> None:
    long = "é" * 100_000
    said = (Said(reader="r", lines=(("line", long),), text=long),)
    card = Card(case="c", title="t", texts=(("question", long),), said=said)
    page = report_html([run_of(cards=(card,))])
    (drawn,) = seen_in(page).data["cards-grounding"]["cards"]
    label, text, more = drawn["texts"][0]
    assert (label, text, more) == ("question", long[:4000], 96_000)
    assert drawn["said"][0]["text"] == long[:4000]
    assert drawn["said"][0]["more"] == 96_000
    assert len(drawn["said"][0]["lines"][0][1]) == 4000
    assert len(page) < 200_000


# ---------------------------------------------------------------- the policy


@pytest.mark.parametrize("served", [False, True])
def test_scripts_and_styles_are_those_the_policy_names(served: bool, tmp_path: Path) -> None:
    write_report(tmp_path / "report.html", [run_of()], served=served)
    # As a browser reads it: the bytes of the file, and its own hash of what is inside the tags.
    seen = seen_in((tmp_path / "report.html").read_bytes().decode())
    rules = policy_of(seen)

    def hashed(texts: list[str]) -> str:
        digests = (b64encode(sha256(text.encode()).digest()).decode() for text in texts)
        return " ".join(f"'sha256-{digest}'" for digest in digests)

    assert rules == {
        "default-src": "'none'",
        "script-src": hashed(seen.scripts),
        "style-src": hashed(seen.styles),
        "img-src": "data: 'self'" if served else "data:",
        **({"connect-src": "'self'"} if served else {}),
        "base-uri": "'none'",
        "form-action": "'none'",
    }


def test_the_policy_stands_before_what_it_governs() -> None:
    seen = seen_in(report_html([run_of()]))
    order = ["policy" if "http-equiv" in given else tag for tag, given in seen.tags]
    assert order.index("policy") < min(order.index("style"), order.index("script"))


def test_nothing_is_fetched_and_no_markup_acts() -> None:
    page = report_html([run_of()])
    seen = seen_in(page)
    tags = {tag for tag, _ in seen.tags}
    # No icon, so that no browser asks a server for one.
    assert seen.all("link") == [{"rel": "icon", "href": "data:,"}]
    assert not tags & {"use", "iframe", "object", "embed", "form", "base"}
    assert not tags & {"foreignobject", "animate", "set", "image", "img"}
    attributes = {name for _, given in seen.tags for name in given}
    assert not attributes & {"src", "style", "xlink:href", "xmlns", "action", "formaction"}
    assert not [name for name in attributes if name.startswith("on")]
    links = {
        (given["href"] or "").partition("?")[0]
        for tag, given in seen.tags
        if "href" in given and tag != "link"
    }
    assert links <= {f"#{given['id']}" for _, given in seen.tags if "id" in given}
    outside = page
    for script in seen.scripts:
        outside = outside.replace(script, "")
    assert not re.search(r"https?:|url\((?!#)|@import|javascript:", outside)


def test_the_script_writes_no_markup_and_evaluates_nothing() -> None:
    script = "".join(seen_in(report_html([run_of()])).scripts)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b", script)
    assert not re.search(
        r"new Function|setAttribute\(\"(style|on)|createContextualFragment", script
    )
    assert set(re.findall(r"https?://[^\"]+", script)) == {"http://www.w3.org/2000/svg"}  # a name


# ---------------------------------------------------------------- what it says


def test_it_says_what_it_is_not_and_what_it_stands_on() -> None:
    seen = seen_in(report_html([run_of()]))
    assert DISCLAIMER in seen.words
    assert "3 cases of word (open), edition corrected, Overread" in seen.words
    assert "grounding: 3 cases, edition corrected, data open" in seen.words


def test_a_part_of_a_set_and_imported_results_are_called_so() -> None:
    words = seen_in(report_html([run_of(record=record_of(limit=3, imported=True))])).words
    assert "partial: a sample of the set, imported" in words


def test_every_run_is_on_the_page_under_its_own_addresses() -> None:
    other = run_of(record=record_of("b", benchmark="m3cot", edition="authors", policy="research"))
    seen = seen_in(report_html([run_of(), other]))
    ids = [given["id"] for _, given in seen.tags if "id" in given]
    assert len(ids) == len(set(ids))
    assert {"grounding", "m3cot", "grounding-t", "m3cot-f", "cases-m3cot", "methods-m3cot"} <= set(
        ids
    )
    assert "edition authors, data research" in seen.words


def test_the_contents_lead_to_every_exhibit() -> None:
    exhibits = (table_of("a"), figure_of("b"), replace(table_of("c"), name="u"))
    seen = seen_in(report_html([run_of("word", *exhibits)]))
    sections = [
        f"#{given['id']}" for given in seen.all("details") if given.get("class") == "exhibit"
    ]
    assert sections == ["#grounding-t", "#grounding-f", "#grounding-u"]
    assert set(sections) <= {given["href"] for given in seen.all("a")}


def test_headings_go_down_by_single_steps() -> None:
    seen = seen_in(report_html([run_of(), run_of()]))
    levels = [int(tag[1]) for tag, _ in seen.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(below <= above + 1 for above, below in pairwise(levels))


def test_methods_limitations_and_printed_figures_are_there() -> None:
    run = run_of(methods=("They were asked.", "It was counted."), limitations=("It cannot tell.",))
    words = seen_in(report_html([run])).words
    assert (
        "Methods: grounding They were asked. and 1 more They were asked. It was counted." in words
    )
    assert "What may I not conclude? It cannot tell." in words
    assert "Published figures" in words
    bare = seen_in(
        report_html([run_of(methods=(), limitations=(), published=(), cards=(), card_total=0)])
    )
    assert not re.search("Methods|Limitations|conclude|Published figures|Cases", bare.words)


def test_figures_keep_their_rows_and_headlines_their_measures() -> None:
    seen = seen_in(report_html([run_of("word", headlines=(headline_of("word"),))]))
    (given,) = [given for given in seen.all("script") if given.get("data-exhibit")]
    assert (given["data-run"], given["data-exhibit"]) == ("grounding", "f")
    assert seen.data[given["id"] or ""] == figure_of("word").rows
    (headline,) = seen.data["headlines"]
    assert headline["measure"]["value"] == 0.5
    assert (headline["run"], headline["reader"]) == ("grounding", "word")


def test_the_same_runs_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_report(tmp_path / name, [run_of(), run_of("other")])
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_page_without_cards_or_exhibits_is_a_page() -> None:
    seen = seen_in(report_html([run_of(exhibits=(), cards=(), card_total=0, headlines=())]))
    assert "Provenance" in seen.words
