"""Stores united: what counts in any of them is in the whole, once, and nothing is half done."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from overread.case import BadInput, Policy, Reply
from overread.engine import Enrolment, Store, merge
from overread.engine import store as store_module
from overread.engine.store_merge import Example

KEYS = [bytes([n]) * 16 for n in range(9)]
MODEL = Enrolment(identity='["openai","m"]', label="m", weights=True)
Fill = Callable[..., Path]


@pytest.fixture
def fill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fill:
    """A store in which a reader answered some keys at a time."""

    def filled(
        name: str,
        said: dict[int, str],
        *,
        at: int = 1000,
        who: Enrolment = MODEL,
        fresh: bool = False,
        policy: Policy = "open",
        failed: Sequence[int] = (),
    ) -> Path:
        place = tmp_path / f"{name}.sqlite"
        with Store(place) as store:
            store.dataset_id("other", name, "open")  # numbers differ from store to store
            number = store.dataset_id("grounding", "set@1", policy)
            store.enrol([who], number, fresh=fresh)
            with monkeypatch.context() as patch:
                patch.setattr(store_module.time, "time", lambda: float(at))
                store.commit(
                    [(KEYS[key], number, Reply(text)) for key, text in said.items()],
                    [(KEYS[key], number, "HTTP 500") for key in failed],
                    store.enrolled(who),
                )
            store.keep_sources([(f"/{name}.png", 1, 2, b"d" * 16, number)])
        return place

    return filled


def merged(tmp_path: Path, *places: Path):
    with Store(tmp_path / "whole.sqlite") as whole:
        return merge(whole, places)


def said(tmp_path: Path, who: Enrolment = MODEL) -> dict[int, str]:
    """What counts for a reader in the whole."""
    with Store(tmp_path / "whole.sqlite") as whole:
        number = whole.dataset_id("grounding", "set@1", "open")
        whole.enrol([who], number)
        found = whole.get(KEYS, whole.enrolled(who))
        return {key[0]: kept.reply.text for key, kept in sorted(found.items())}


def test_all_replies_readers_sets_and_digests_are_there_once(tmp_path: Path, fill: Fill) -> None:
    a = fill("a", {0: "yes", 1: "no"}, at=1000, failed=[2, 3])
    b = fill("b", {2: "yes"}, at=2000, policy="credentialed", failed=[4])
    found = merged(tmp_path, a, b)
    assert [(one.replies, one.taken) for one in found.stores] == [(2, 2), (1, 1)]
    assert (found.replies, found.readers) == (3, [])
    assert said(tmp_path) == {0: "yes", 1: "no", 2: "yes"}
    with Store(tmp_path / "whole.sqlite") as whole:
        assert {
            (one.dataset, one.policy, one.reader, one.replies, one.first) for one in whole.listing()
        } == {
            ("a", "open", "", 0, ""),
            ("b", "open", "", 0, ""),
            ("set@1", "open", "m", 2, "1970-01-01 00:16:40 UTC"),
            ("set@1", "credentialed", "m", 1, "1970-01-01 00:33:20 UTC"),
        }
        assert whole.failures(KEYS) == {KEYS[3]: "HTTP 500", KEYS[4]: "HTTP 500"}  # 2 was answered
        assert whole.source("/a.png", 1, 2) == whole.source("/b.png", 1, 2) == b"d" * 16
        (rows,) = whole.rows("SELECT count(*) FROM readers")
        assert rows == (1,)
    again = merged(tmp_path, a, b)
    assert [(one.taken, one.equal) for one in again.stores] == [(0, 2), (0, 1)]
    assert [(one.equal, one.differing) for one in again.readers] == [(3, 0)]


@pytest.mark.parametrize("turned", [False, True])
def test_what_was_said_first_stays_and_what_differs_is_shown(
    tmp_path: Path, fill: Fill, turned: bool
) -> None:
    early = fill("early", {0: "yes", 1: "no", 2: "same"}, at=1000)
    late = fill("late", {0: "no", 1: "yes " * 40, 2: "same"}, at=2000)
    found = merged(tmp_path, *((late, early) if turned else (early, late)))
    assert said(tmp_path) == {0: "yes", 1: "no", 2: "same"}
    (reader,) = found.readers
    assert (reader.reader, reader.equal, reader.differing) == ("m", 3, 2)
    assert sorted(reader.examples, key=lambda one: one.key) == [
        Example("000000000000", "yes", "no"),
        Example("010101010101", "no", ("yes " * 40)[:60] + "…"),
    ]


def test_no_text_of_a_set_that_is_not_open_is_shown(tmp_path: Path, fill: Fill) -> None:
    one = fill("one", {0: "SECRET a"}, policy="credentialed")
    other = fill("other", {0: "SECRET b"}, policy="open")
    found = merged(tmp_path, one, other)
    assert [reader.differing for reader in found.readers] == [1]
    assert b"SECRET" not in msgspec.json.encode(found)


def test_what_was_asked_anew_anywhere_leaves_out_what_was_kept_before(
    tmp_path: Path, fill: Fill
) -> None:
    old = fill("old", {0: "old", 1: "old"}, at=1000)
    both = [fill(name, {key: "new"}, at=900, fresh=True) for name, key in (("a", 0), ("b", 2))]
    fill("a", {3: "new"})  # resumed without --fresh
    found = merged(tmp_path, both[0], old, both[1])
    assert said(tmp_path) == {0: "new", 2: "new", 3: "new"}
    assert [one.older for one in found.stores] == [0, 2, 0]
    # The other way round: what is merged into counts no more either.
    with Store(old) as whole:
        assert merge(whole, both[:1]).stores[0].taken == 2
        number = whole.dataset_id("grounding", "set@1", "open")
        whole.enrol([MODEL], number)
        assert whole.known(KEYS, whole.enrolled(MODEL)) == {KEYS[0], KEYS[3]}


def test_one_model_under_two_labels_is_refused_and_nothing_is_taken(
    tmp_path: Path, fill: Fill
) -> None:
    other = msgspec.structs.replace(MODEL, label="other")
    a, b = fill("a", {0: "yes"}), fill("b", {1: "yes"}, who=other)
    with pytest.raises(BadInput, match=r'b\.sqlite: "other" is .* "m" in .*a\.sqlite'):
        merged(tmp_path, a, b)
    assert said(tmp_path) == {}
    renamed = fill("c", {0: "new"}, who=other, fresh=True)  # asked anew under the new one
    merged(tmp_path, a, renamed)
    assert said(tmp_path, other) == {0: "new"}


def test_replies_of_format_1_are_nobody_s_and_stay(tmp_path: Path, fill: Fill) -> None:
    old, new = fill("old", {0: "old", 1: "old"}), fill("new", {1: "new"}, at=1)
    with sqlite3.connect(old) as raw:  # as a store is that was of format 1
        raw.execute("UPDATE replies SET reader=NULL, at=NULL")
        raw.execute("DELETE FROM readers")
    found = merged(tmp_path, new, old)
    assert [(one.taken, one.equal) for one in found.stores] == [(1, 0), (2, 0)]
    assert [(one.reader, one.differing) for one in found.readers] == [("m", 1)]
    assert said(tmp_path) == {0: "old", 1: "old"}


def test_a_damaged_reply_takes_no_place(tmp_path: Path, fill: Fill) -> None:
    damaged, good = fill("damaged", {0: "yes", 1: "yes"}, at=1), fill("good", {0: "no"}, at=2)
    with sqlite3.connect(damaged) as raw:
        raw.execute("UPDATE replies SET reply=x'00' WHERE key=?", (KEYS[0],))
    found = merged(tmp_path, damaged, good)
    assert found.stores[0].damaged == 1
    assert said(tmp_path) == {0: "no", 1: "yes"}


def test_where_two_hosts_differ_about_a_file_it_is_read_again(tmp_path: Path, fill: Fill) -> None:
    a, b = fill("a", {}), fill("b", {})
    with sqlite3.connect(b) as raw:
        raw.execute("UPDATE sources SET path='/a.png', digest=?", (b"e" * 16,))
    merged(tmp_path, a, b)
    with Store(tmp_path / "whole.sqlite") as whole:
        assert whole.source("/a.png", 1, 2) is None


def test_a_time_that_somebody_damaged_is_none(tmp_path: Path, fill: Fill) -> None:
    a, b = fill("a", {0: "yes"}), fill("b", {0: "no"})
    with closing(sqlite3.connect(b)) as damaged, damaged:
        damaged.execute("UPDATE replies SET at='x'")
    assert [one.equal for one in merged(tmp_path, a, b).stores] == [0, 0]
    assert said(tmp_path) == {0: "no"}  # as a reply of which no time is known


def test_a_store_that_is_not_there_or_given_twice(tmp_path: Path, fill: Fill) -> None:
    a = fill("a", {0: "yes"})
    for places, line in (
        ([tmp_path / "none.sqlite"], "there is no such reply store"),
        ([a, a], "given twice"),
        ([a, tmp_path / "whole.sqlite"], "given twice"),
    ):
        with pytest.raises(BadInput, match=line):
            merged(tmp_path, *places)
    assert not (tmp_path / "none.sqlite").exists()
    assert said(tmp_path) == {}


KILLED = """
import os, sys
from pathlib import Path
from overread.engine import Store, merge, store_merge
take = store_merge._Merging._take_batch

def dies(self, source, batch):
    if source is self._sources[1]:
        os.kill(os.getpid(), 9)
    take(self, source, batch)

store_merge._Merging._take_batch = dies
with Store(sys.argv[1]) as whole:
    merge(whole, [Path(word) for word in sys.argv[2:]])
"""


@pytest.mark.slow
def test_killed_in_the_middle_nothing_is_half_written(tmp_path: Path, fill: Fill) -> None:
    places = [fill("a", {0: "yes"}), fill("b", {1: "no"})]
    words = [sys.executable, "-c", KILLED, tmp_path / "whole.sqlite", *places]
    assert subprocess.run(words, check=False).returncode == -signal.SIGKILL
    with Store(tmp_path / "whole.sqlite") as whole:
        assert (whole.count(), whole.listing()) == (0, [])
    merged(tmp_path, *places)
    assert said(tmp_path) == {0: "yes", 1: "no"}
