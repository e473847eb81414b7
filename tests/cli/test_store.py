"""`overread store`: stores united and served, as a user sees it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from overread.case import Reply
from overread.engine import Enrolment, Store
from overread.runs import _doctor
from support.commands import Overread
from support.store_server import store_served

LEAST = ["grounding", "--cases", "phantom:16", "--reader", "control:looks"]


def filled(place: Path, *said: str) -> Path:
    who = Enrolment(identity="m", label="m")
    with Store(place) as store:
        number = store.dataset_id("grounding", "set@1", "open")
        store.enrol([who], number)
        rows = [(bytes([at]) * 16, number, Reply(text)) for at, text in enumerate(said)]
        store.commit(rows, [], store.enrolled(who))
    return place


@pytest.mark.slow
def test_merging_says_what_was_taken_and_what_differs(overread: Overread, workspace: Path) -> None:
    one, other = (
        filled(workspace / "one", "yes", "no"),
        filled(workspace / "other", "yes", "\x1b[2J"),
    )
    done = overread("store", "merge", one, other, "--into", "whole.sqlite")
    assert done.code == 0
    assert "2 replies" in done.out
    assert "\x1b" not in done.out  # what models say steers no terminal
    told = json.loads(overread("store", "merge", one, "--into", "other", "--json").out)
    # Which of them was given first hangs on when they were made.
    assert [one["taken"] + one["equal"] for one in told["stores"]] == [2]
    assert [(one["reader"], one["equal"], one["differing"]) for one in told["readers"]] == [
        ("m", 2, 1)
    ]
    (example,) = told["readers"][0]["examples"]
    assert {example["stays"], example["goes"]} == {"no", "\x1b[2J"}


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["merge", "none.sqlite"], "there is no such reply store"),
        (["merge", "one", "--into", "http://10.0.0.5:8717"], "needs the file of a store"),
        (["forget", "x", "--store", "http://10.0.0.5:8717"], "needs the file of a store"),
        (["list", "--store", "http://10.0.0.5:8717"], "its token is missing"),
        (["serve", "--host", "0.0.0.0", "--port", "0"], "not one loopback or private address"),
        (["serve", "--store", "http://10.0.0.5:8717"], "Give the file of one"),
        (["serve", "--tls-key", "one"], "go together"),
        (["serve", "--port", "70000"], "it must be from 0"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    overread: Overread, workspace: Path, words: list[str], line: str
) -> None:
    filled(workspace / "one", "yes")
    done = overread("store", *words)
    assert (done.code, line in done.complaint) == (2, True), done


@pytest.mark.slow
def test_a_served_store_is_listed_looked_at_and_planned_with(
    overread: Overread, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(filled(workspace / "one", "yes", "no")) as store, store_served(store) as link:
        origin, _, token = link.partition("/?token=")
        assert (
            json.loads(overread("store", "list", "--store", link, "--json").out)[0]["replies"] == 2
        )
        monkeypatch.setenv("OVERREAD_STORE_TOKEN", token)
        found = _doctor._store(origin)
        assert (found.state, found.detail) == ("ok", f"{origin}: served, 2 replies")
        planned = json.loads(overread("plan", *LEAST, "--store", origin, "--json").out)
        assert planned[0]["calls"] > 0
        assert not (workspace / ".overread").exists()  # whoever looks makes nothing
        monkeypatch.setenv("OVERREAD_STORE_TOKEN", "wrong")
        refused = overread("plan", *LEAST, "--store", origin)
        assert (refused.code, "HTTP 403" in refused.complaint) == (2, True)
        assert token not in refused.err
