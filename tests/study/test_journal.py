"""Answers are kept as they are given: once each, with every change, and sessions apart."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time

import pytest

from overread.benchmarks.people import Ask
from overread.case import BadInput
from overread.study.journal import Conflict, Journal
from overread.study.packets import TRAINING
from support.studies import design, made

DAY = 86_400.0


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def study(tmp_path):
    return made(tmp_path / "study")


@pytest.fixture
def journal(study, clock):
    opened = Journal(study.folder, clock=clock)
    yield opened
    opened.close()


def all_of(journal, study, reader):
    """Answer what is open, one after another; the displays in that order."""
    seen = []
    standing = journal.standing(study, reader)
    for turn in standing.turns:
        journal.put(reader, turn.display, {"answer": "yes"})
        seen.append(turn.display)
    return standing.session, seen


def test_the_same_answer_given_again_is_one_answer(journal, study):
    display = study.schedule[0].display
    for _ in range(3):
        assert journal.put("anna", display, {"answer": "yes"}, revision=0) == 1
    assert len(list(journal.answers(every=True))) == 1


def test_a_change_of_mind_is_kept_beside_what_was_said_first(journal, study):
    display = study.schedule[0].display
    first = journal.put("anna", display, {"answer": "yes"})
    assert journal.put("anna", display, {"answer": "no"}, revision=first) == 2
    assert [one.value for one in journal.answers(every=True)] == ["yes", "no"]
    assert [one.value for one in journal.answers()] == ["no"]


def test_a_tab_that_has_not_seen_the_last_answer_cannot_replace_it(journal, study):
    display = study.schedule[0].display
    journal.put("anna", display, {"answer": "yes"}, revision=0)
    with pytest.raises(Conflict):
        journal.put("anna", display, {"answer": "no"}, revision=0)
    assert [one.value for one in journal.answers()] == ["yes"]


def test_nobody_s_answers_are_another_s(journal, study):
    display = study.schedule[0].display
    journal.put("anna", display, {"answer": "yes"})
    assert journal.of_display("ben", display) == {}


def test_time_runs_from_when_a_display_was_shown_last(journal, study, clock):
    display = study.schedule[0].display
    journal.show("anna", display)
    clock.now += 100
    journal.show("anna", display)
    clock.now += 7
    journal.put("anna", display, {"answer": "yes"}, visible=5.5)
    (given,) = journal.answers()
    assert (given.seconds, given.visible) == (7, 5.5)


def test_practice_comes_first_and_needs_no_rest(journal, study):
    session, _ = all_of(journal, study, "anna")
    assert session == TRAINING
    standing = journal.standing(study, "anna")
    assert (standing.session, standing.waits) == (1, None)


def test_the_next_session_opens_a_wash_out_after_the_last_answer(journal, study, clock):
    all_of(journal, study, "anna")
    all_of(journal, study, "anna")
    standing = journal.standing(study, "anna")
    assert (standing.session, standing.waits) == (2, clock.now + 28 * DAY)
    clock.now += 28 * DAY - 1
    assert journal.standing(study, "anna").waits is not None
    clock.now += 1
    assert journal.standing(study, "anna").waits is None


def test_a_session_that_was_begun_stays_open(journal, study, clock):
    all_of(journal, study, "anna")
    all_of(journal, study, "anna")
    clock.now += 28 * DAY
    turn = journal.standing(study, "anna").turns[0]
    journal.put("anna", turn.display, {"answer": "no"})
    standing = journal.standing(study, "anna")
    assert (standing.session, standing.done) == (2, {turn.display})


def test_correcting_an_early_answer_does_not_put_the_next_session_off(journal, study, clock):
    all_of(journal, study, "anna")
    _, seen = all_of(journal, study, "anna")
    opens = journal.standing(study, "anna").waits
    clock.now += DAY
    journal.put("anna", seen[0], {"answer": "no"})
    assert journal.standing(study, "anna").waits == opens


def test_a_display_answered_in_halves_is_read_with_the_second(journal, study, clock):
    all_of(journal, study, "anna")
    turns = journal.standing(study, "anna").turns
    journal.put("anna", turns[0].display, {"sure": "2"})
    for turn in turns[1:]:
        journal.put("anna", turn.display, {"answer": "yes"})
    clock.now += 20 * DAY
    journal.put("anna", turns[0].display, {"answer": "yes"})
    assert journal.standing(study, "anna").waits == clock.now + 28 * DAY


def test_a_clock_that_is_put_back_opens_no_session_early(journal, study, clock):
    all_of(journal, study, "anna")
    _, seen = all_of(journal, study, "anna")
    opens = journal.standing(study, "anna").waits
    clock.now -= 40 * DAY
    assert journal.standing(study, "anna").waits == opens
    for display in seen:  # corrected meanwhile
        journal.put("anna", display, {"answer": "no"})
    assert journal.standing(study, "anna").waits == opens


def test_while_another_process_writes_an_answer_is_refused_and_not_lost(study, clock):
    journal, other = (Journal(study.folder, clock=clock) for _ in range(2))
    journal._file.execute("PRAGMA busy_timeout=1")
    other._file.execute("BEGIN EXCLUSIVE")
    display = study.schedule[0].display
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        journal.put("anna", display, {"answer": "yes"}, revision=0)
    other._file.execute("ROLLBACK")
    assert journal.put("anna", display, {"answer": "yes"}, revision=0) == 1
    assert [one.value for one in other.answers(every=True)] == ["yes"]
    other.close()
    journal.close()


def test_what_a_killed_process_left_half_written_is_undone_for_whoever_reads(study, clock):
    journal = Journal(study.folder, clock=clock)
    journal.put("anna", study.schedule[0].display, {"answer": "yes"})
    journal.close()
    half = """
import os, signal, sqlite3, sys
file = sqlite3.connect(sys.argv[1], isolation_level=None)
file.executescript("PRAGMA cache_size=2; BEGIN IMMEDIATE")
rows = [(f"{n:0500d}",) for n in range(300)]
file.executemany("INSERT INTO shown (reader, display, at) VALUES ('anna', ?, 0)", rows)
os.kill(os.getpid(), signal.SIGKILL)
"""
    path = study.folder / "answers.sqlite"
    subprocess.run([sys.executable, "-c", half, str(path)], check=False)
    assert path.with_name("answers.sqlite-journal").stat().st_size
    again = Journal(study.folder, read_only=True)
    assert [one.value for one in again.answers(every=True)] == ["yes"]
    again.close()


def test_who_only_reads_cannot_write(study):
    Journal(study.folder).close()
    journal = Journal(study.folder, read_only=True)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        journal.show("anna", study.schedule[0].display)
    journal.close()


@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "text"])
@pytest.mark.parametrize("read_only", [False, True])
def test_what_is_no_file_of_answers_is_refused_and_left_alone(study, tmp_path, kind, read_only):
    path, victim = study.folder / "answers.sqlite", tmp_path / "victim"
    victim.touch(mode=0o644)
    match kind:
        case "link":
            path.symlink_to(victim)
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case _:
            path.write_text("no database, but a text of some length")
    with pytest.raises(BadInput, match=r"answers\.sqlite"):
        Journal(study.folder, read_only=read_only)
    assert (victim.stat().st_mode & 0o777, victim.stat().st_size) == (0o644, 0)


def test_when_all_is_read_no_session_is_open(tmp_path, clock):
    study = made(tmp_path / "s", design(washout_days=0))
    journal = Journal(study.folder, clock=clock)
    for _ in range(5):  # practice, three conditions, repeats
        all_of(journal, study, "anna")
    assert journal.standing(study, "anna").session is None
    done = {name: (whole, total) for name, whole, total, _ in journal.progress(study)}
    assert done["anna"][0] == done["anna"][1] > 0
    assert done["ben"][0] == 0
    journal.close()


@pytest.mark.slow
def test_what_another_server_wrote_stands_here_too(journal, study, clock):
    """Two servers over one file: each knows at once what the other committed."""
    other = Journal(study.folder, clock=clock)
    for turn in journal.standing(study, "anna").turns:
        assert turn.display not in other.standing(study, "anna").done
        other.put("anna", turn.display, {"answer": "yes"})
    assert journal.standing(study, "anna").session == other.standing(study, "anna").session == 1
    turn = journal.standing(study, "anna").turns[0]
    journal.put("anna", turn.display, {"answer": "no"})
    other.put("anna", turn.display, {"answer": ""})  # taken back
    assert not journal.standing(study, "anna").done
    other.close()


def test_where_a_reader_stands_is_not_read_anew_at_every_request(journal, study):
    displays = [turn.display for turn in study.schedule if turn.reader == "anna"]
    rows = [(name, again) for name in displays for again in range(1, 200)]
    journal._file.execute("BEGIN")
    journal._file.executemany(
        "INSERT INTO answers (reader, display, question, revision, value, at) "
        "VALUES ('anna', ?, 'answer', ?, 'yes', 0)",
        rows,
    )
    journal._file.execute("COMMIT")

    def taken() -> float:
        began = time.process_time()
        journal.standing(study, "anna")
        return time.process_time() - began

    first = taken()
    again = min(taken() for _ in range(5))
    assert again < first / 5, (first, again)


def test_half_a_display_is_not_done(journal, study):
    turn = journal.standing(study, "anna").turns[0]
    journal.put("anna", turn.display, {"sure": "2"})
    assert journal.standing(study, "anna").done == frozenset()


def test_what_was_committed_outlives_the_process(study, journal):
    display = study.schedule[0].display
    journal.put("anna", display, {"answer": "yes"})
    again = Journal(study.folder, read_only=True)  # the first was never closed
    assert [one.value for one in again.answers()] == ["yes"]
    again.close()


@pytest.mark.parametrize(
    ("ask", "value", "kept"),
    [
        (Ask(name="a", text=""), " YES ", "yes"),
        (Ask(name="a", text=""), "Cannot tell", "cannot tell"),
        (Ask(name="a", text="", kind="choice", options=("Left", "Right")), "left", "Left"),
        (Ask(name="a", text="", kind="number", most=30), "07", "7"),
        (Ask(name="a", text="", kind="text"), " a word ", "a word"),
        (Ask(name="a", text="", kind="several", options=("a", "b", "c")), "C\nA", "a\nc"),
        (Ask(name="a", text="", kind="several", options=("a", "b", "c")), "b; A; b", "a\nb"),
        (Ask(name="a", text="", kind="several", options=("a; b", "c")), "a; b", "a; b"),
        (Ask(name="a", text="", kind="ranking", options=("A", "B", "C")), "c=a>B", "A = C > B"),
        (Ask(name="a", text="", kind="edit", given="as it was"), " as it was\r\n", ""),
        (Ask(name="a", text="", kind="edit", given="as it was"), "otherwise", "otherwise"),
        (Ask(name="a", text=""), "", ""),
    ],
)
def test_an_answer_is_kept_in_the_words_of_its_question(ask, value, kept):
    assert ask.checked(value) == kept


@pytest.mark.parametrize(
    ("ask", "value"),
    [
        (Ask(name="a", text=""), "perhaps"),
        (Ask(name="a", text="", kind="scale", options=("1", "2")), "3"),
        (Ask(name="a", text="", kind="number", most=30), "31"),
        (Ask(name="a", text="", kind="number", most=30), "9" * 5_000),
        (Ask(name="a", text="", kind="number", most=30), "٣"),
        (Ask(name="a", text="", kind="text"), "a\0b"),
        (Ask(name="a", text="", kind="several", options=("a", "b"), least=2), "a"),
        (Ask(name="a", text="", kind="several", options=("a", "b"), most=1), "a; b"),
        (Ask(name="a", text="", kind="several", options=("a", "b")), "a; c"),
        (Ask(name="a", text="", kind="ranking", options=("A", "B")), "A"),
        (Ask(name="a", text="", kind="ranking", options=("A", "B")), "A > B > A"),
        (Ask(name="a", text="", kind="text"), "x" * 10_001),
    ],
)
def test_what_is_no_answer_is_refused(ask, value):
    with pytest.raises(BadInput):
        ask.checked(value)
