"""Judges over one run: what they are asked, how often, and what becomes of what they say."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from overread.benchmarks.base import Benchmark
from overread.benchmarks.m3cot.benchmark import M3CoT
from overread.benchmarks.m3cot.controls import CONTROLS
from overread.benchmarks.m3cot.judge_questions import REMINDER, REMINDER_YES_NO
from overread.case import BadInput, Prompt, Reader, ReaderFailure, Reply
from overread.engine import Plan, Sources, Store, Studio, ask
from overread.judging import VERDICT_COLUMNS
from overread.judging.lexical import judged
from overread.judging.rubric import asked_of
from overread.runs import run_async
from overread.runs._asking import Judging, Work, verdict_schema
from overread.runs._opening import Seat, open_judges, seat_of
from support.commands import Overread
from support.m3_trees import Item, write_m3cot
from support.readers import Scripted

pytestmark = pytest.mark.usefixtures("no_pages")

ITEMS = 6
ROLES = ("answer", "steps", "order")
QUESTIONS = ("answer", "precision", "recall", "order")


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    items = [
        Item(
            index,
            question=f"Specimen {index}: which organ? (Select one option)\nA. Liver\nB. Spleen",
            size=(8, 8),
        )
        for index in range(1, ITEMS + 1)
    ]
    return write_m3cot(tmp_path_factory.mktemp("set"), items)


class Bench:
    """A run without its files: readers and judges are asked one after the other."""

    def __init__(self, cases: Path, store: Store, **settings: str) -> None:
        edition = settings.pop("edition", "corrected")
        self.bench = M3CoT.open(cases, edition, {"checks": "0"} | settings)
        self.store, self.studio = store, Studio(Sources(store, 1))

    def judging(self, *readers: Reader, limit: int | None = None) -> Judging:
        chosen = None if limit is None else frozenset(str(i) for i in range(1, limit + 1))
        for reader in readers:
            self.ask(lambda reader=reader: self._trials(reader), reader)  # type: ignore[misc]
        work = Work(self.bench, chosen, self.store, self.studio, 1)
        return Judging(
            work,
            lambda: chain.from_iterable(work.answers(work.whole_plan(r), r) for r in readers),
        )

    def _trials(self, reader: Reader) -> Iterator[Any]:
        for case in self.bench.cases():
            yield from self.bench.trials(case, reader.traits)

    def ask(self, plan: Plan, reader: Reader) -> int:
        tally = run_async(ask(plan, reader, self.store, self.studio, dataset=1))
        return tally.answered + tally.failed

    def judge(self, judging: Judging, judge: Seat, rounds: int = 4) -> list[int]:
        """How many calls each round of questions took."""
        return [self.ask(judging.plan(judge, attempt), judge.reader) for attempt in range(rounds)]


@pytest.fixture
def bench(cases: Path, tmp_path: Path) -> Iterator[Callable[..., Bench]]:
    made: list[Bench] = []
    with Store(tmp_path / "store.sqlite") as store:

        def make(**settings: str) -> Bench:
            made.append(Bench(cases, store, **settings))
            return made[-1]

        yield make
        for each in made:
            each.studio.close()


def reader(name: str = "reader") -> Scripted:
    """It says something of its own about each item in each mode."""
    return Scripted(
        lambda p: Reply(f"1. CT\n2. {p.text[:12]} {len(p.text)}\nFinal answer: A"), name=name
    )


def judge_of(say: Callable[[Prompt], Reply | ReaderFailure], *roles: Any) -> Seat:
    return structs.replace(seat_of(Scripted(say, name="judge")), roles=roles or ROLES)


def lexical(prompt: Prompt) -> Reply:
    return Reply(judged(prompt.text))


def rows_of(judging: Judging, judge: Seat) -> list[dict[str, Any]]:
    return [dict(zip(VERDICT_COLUMNS, row, strict=True)) for row in judging.rows(judge)]


def asked_by_question(judge: Seat) -> Counter[str]:
    assert isinstance(judge.reader, Scripted)
    found: Counter[str] = Counter()
    for text, times in judge.reader.asked.items():
        found[asked_of(text) or "?"] += times
    return found


# ---------------------------------------------------------------- what is asked


def test_answers_are_judged_in_both_modes_and_reasoning_once(bench: Callable[..., Bench]) -> None:
    here = bench()
    judging, judge = here.judging(reader()), judge_of(lexical)
    assert here.judge(judging, judge) == [5 * ITEMS, 0, 0, 0]
    modes = {
        q: Counter(
            json.loads(r["about"])["mode"] for r in rows_of(judging, judge) if r["question"] == q
        )
        for q in QUESTIONS
    }
    assert modes["answer"] == {"direct": ITEMS, "cot": ITEMS}
    assert modes["precision"] == modes["recall"] == modes["order"] == {"cot": ITEMS}


@pytest.mark.parametrize(
    ("role", "questions"),
    [("answer", {"answer"}), ("steps", {"precision", "recall"}), ("order", {"order"})],
)
def test_a_judge_is_asked_what_its_roles_ask(
    bench: Callable[..., Bench], role: Any, questions: set[str]
) -> None:
    here = bench()
    judging, judge = here.judging(reader()), judge_of(lexical, role)
    here.judge(judging, judge)
    assert set(asked_by_question(judge)) == questions
    assert {row["role"] for row in rows_of(judging, judge)} == {role}


def test_readers_that_say_the_same_are_judged_once_and_have_a_row_each(
    bench: Callable[..., Bench],
) -> None:
    here = bench()
    one, other = reader("one"), reader("other")
    judging, judge = here.judging(one, other), judge_of(lexical)
    assert here.judge(judging, judge)[0] == 5 * ITEMS
    rows = rows_of(judging, judge)
    assert [row["reader"] for row in rows] == ["one"] * 5 * ITEMS + ["other"] * 5 * ITEMS
    first, second = rows[: 5 * ITEMS], rows[5 * ITEMS :]
    assert [row | {"reader": ""} for row in first] == [row | {"reader": ""} for row in second]


@pytest.mark.parametrize(
    "silence",
    [Reply(""), Reply(" \n"), Reply("No.", refusal="No."), ReaderFailure("gone", heals=False)],
)
def test_what_was_not_said_is_shown_to_nobody(
    bench: Callable[..., Bench], silence: Reply | ReaderFailure
) -> None:
    here = bench()
    says = lambda p: silence if "Specimen 2" in p.text else Reply(p.text)  # noqa: E731
    judging, judge = here.judging(Scripted(says, name="reader")), judge_of(lexical)
    here.judge(judging, judge)
    assert {row["case"] for row in rows_of(judging, judge)} == {"1", "3", "4", "5", "6"}


def test_controls_are_judged_before_any_reader(bench: Callable[..., Bench]) -> None:
    here = bench(checks="2")
    judging, judge = here.judging(reader()), judge_of(lexical)
    assert [control.name for control in judging.checked] == [f"control:{c}" for c in CONTROLS]
    for control in judging.checked:
        here.ask(judging.check_plan(control), control)
    here.judge(judging, judge)
    rows = rows_of(judging, judge)
    checks = [row["check"] for row in rows]
    assert checks == [True] * 2 * len(CONTROLS) * len(QUESTIONS) + [False] * 5 * ITEMS
    names = [row["reader"] for row in rows if row["check"]]
    assert list(dict.fromkeys(names)) == [control.name for control in judging.checked]


def test_only_the_chosen_items_are_judged(bench: Callable[..., Bench]) -> None:
    here = bench(checks="5")
    judging, judge = here.judging(reader(), limit=2), judge_of(lexical)
    for control in judging.checked:
        here.ask(judging.check_plan(control), control)
    here.judge(judging, judge)
    assert {row["case"] for row in rows_of(judging, judge)} == {"1", "2"}


def test_a_benchmark_that_asks_no_judge_says_so() -> None:
    other = Benchmark.of_run("set@0", "open")
    with pytest.raises(BadInput, match="asks no judge"):
        open_judges(other, ["control:lexical-judge"])


@pytest.mark.slow
def test_a_judge_is_tried_on_a_set_that_puts_one_question_to_every_image(
    workspace: Path, overread: Overread
) -> None:
    """Controls are told the item: what is true of each is known, though the words are the same."""
    places = ("the liver", "the spleen", "the kidney", "the heart")
    items = [
        Item(
            index,
            "Which organ is shown?",
            places[index % 4],
            key_conclusion=f"it is {places[index % 4]}",
            size=(8, 8),
        )
        for index in range(1, 13)
    ]
    write_m3cot(workspace / "set", items)
    done = overread(
        "run", "m3cot", "--cases", "set", "--reader", "control:clinician", "--reader",
        "control:contradicts", "--judge", "control:lexical-judge", "--set", "boot=100",
        "--out", "out", "--json",
    )  # fmt: skip
    assert done.code == 0
    records = json.loads(done.out)["measures"]
    tried = {
        (r["measure"], r["by"]["question"]): (r["n"], r["label"])
        for r in records
        if r["measure"].startswith("judge_s")
    }
    # Three controls are right about each of the twelve items, and two are wrong.
    assert tried["judge_sensitivity", "answer"] == (36, None)
    assert tried["judge_specificity", "answer"] == (24, None)
    right = {
        r["reader"]: r["value"]
        for r in records
        if r["measure"] == "accuracy" and r["by"] == {"mode": "cot"}
    }
    assert right == {"control:clinician": 1, "control:contradicts": 0}


# ---------------------------------------------------------------- asked again


def readable_at(turn: int | None, told: bool = True) -> Callable[[Prompt], Reply]:
    """A judge whose words can be read from its nth reply to a question on; None: never.

    `told`: from the second time on it is told what was wrong.
    """
    turns: Counter[str] = Counter()

    def say(prompt: Prompt) -> Reply:
        question = prompt.text.removesuffix(f"\n\n{REMINDER}")
        assert (question != prompt.text) is (told and turns[question] > 0)
        turns[question] += 1
        if turn is None or turns[question] < turn:
            return Reply(f"Hmm, for the {turns[question]}. time.")
        return lexical(prompt)

    return say


@pytest.mark.parametrize(
    ("turn", "reask", "rounds", "end"),
    [
        (1, 2, [30, 0, 0, 0], ("judged", 1)),
        (2, 2, [30, 30, 0, 0], ("judged", 2)),
        (3, 2, [30, 30, 30, 0], ("judged", 3)),
        (4, 2, [30, 30, 30, 0], ("invalid", 3)),
        (None, 2, [30, 30, 30, 0], ("invalid", 3)),
        (None, 0, [30, 0, 0, 0], ("invalid", 1)),
        (2, 1, [30, 30, 0, 0], ("judged", 2)),
    ],
)
def test_what_cannot_be_read_is_asked_again_as_often_as_is_set(
    bench: Callable[..., Bench],
    turn: int | None,
    reask: int,
    rounds: Sequence[int],
    end: tuple[str, int],
) -> None:
    here = bench(reask=str(reask))
    judging, judge = here.judging(reader()), judge_of(readable_at(turn))
    assert here.judge(judging, judge) == rounds
    rows = rows_of(judging, judge)
    assert {(row["outcome"], row["attempts"]) for row in rows} == {end}
    if end[0] == "invalid":
        assert {row["text"] for row in rows} == {f"Hmm, for the {end[1]}. time."}
    # A second time over the same store nobody is asked, and the rows are the same.
    assert here.judge(judging, judge) == [0, 0, 0, 0]
    assert rows_of(judging, judge) == rows


def test_the_authors_ask_again_for_the_order_alone(bench: Callable[..., Bench]) -> None:
    here = bench(edition="authors")
    judging, judge = here.judging(reader()), judge_of(readable_at(None, told=False))
    assert here.judge(judging, judge) == [5 * ITEMS, ITEMS, ITEMS, 0]
    attempts = {row["question"]: row["attempts"] for row in rows_of(judging, judge)}
    assert attempts == {"answer": 1, "precision": 1, "recall": 1, "order": 3}


def test_a_judge_that_falls_silent_when_asked_again_has_said_what_it_said(
    bench: Callable[..., Bench],
) -> None:
    turns: Counter[str] = Counter()

    def say(prompt: Prompt) -> Reply | ReaderFailure:
        question = prompt.text.removesuffix(f"\n\n{REMINDER}")
        turns[question] += 1
        if turns[question] > 1 and "Specimen 3" in question:
            return ReaderFailure("gone", heals=False)
        return Reply("Hmm.")

    here = bench()
    judging, judge = here.judging(reader()), judge_of(say, "answer")
    assert here.judge(judging, judge) == [12, 12, 10, 0]
    found = {(row["case"], row["outcome"], row["attempts"]) for row in rows_of(judging, judge)}
    assert ("3", "invalid", 1) in found
    assert ("4", "invalid", 3) in found


def test_a_judge_that_gives_no_reply_is_not_asked_again_within_a_run(
    bench: Callable[..., Bench],
) -> None:
    def say(prompt: Prompt) -> Reply | ReaderFailure:
        return (
            ReaderFailure("HTTP 400: no", heals=False)
            if "Specimen 5" in prompt.text
            else lexical(prompt)
        )

    here = bench()
    judging, judge = here.judging(reader()), judge_of(say)
    assert here.judge(judging, judge) == [5 * ITEMS, 0, 0, 0]
    silent = [row for row in rows_of(judging, judge) if row["case"] == "5"]
    assert len(silent) == 5
    for row in silent:
        assert (row["outcome"], row["attempts"], row["text"], row["payload"]) == (
            "unanswered",
            0,
            None,
            None,
        )
        assert row["reason"] == "HTTP 400: no"


# ---------------------------------------------------------------- yes or no


def yes_or_no(say: Callable[[Prompt], Reply | ReaderFailure]) -> Seat:
    return structs.replace(judge_of(say, "answer"), rubric="yesno")


def test_a_judge_that_cannot_write_json_says_yes_or_no(bench: Callable[..., Bench]) -> None:
    here = bench()
    right = Scripted(lambda p: Reply(f"{p.text[:12]}. Final answer: A"), name="right")
    wrong = Scripted(lambda p: Reply(f"{p.text[:12]}. Final answer: B"), name="wrong")
    judging = here.judging(right, wrong)
    judge = yes_or_no(lambda p: Reply(f"The reader has settled.\n**{judged(p.text)}**"))
    here.judge(judging, judge)
    assert set(asked_by_question(judge)) == {"answer_yes_or_no"}
    assert isinstance(judge.reader, Scripted)
    assert all("JSON" not in text for text in judge.reader.asked)
    rows = rows_of(judging, judge)
    assert {(r["role"], r["question"], r["outcome"], r["how"]) for r in rows} == {
        ("answer", "answer", "judged", "yesno+found")
    }
    said = {(r["reader"], json.loads(r["payload"])["match"]) for r in rows}
    assert said == {("right", True), ("wrong", False)}


def test_what_is_neither_yes_nor_no_is_asked_again_for_a_word(bench: Callable[..., Bench]) -> None:
    def say(prompt: Prompt) -> Reply:
        again = prompt.text.endswith(REMINDER_YES_NO)
        assert REMINDER not in prompt.text
        return Reply("No" if again else "The correct answer: No. The reader's answer: No. Same")

    here = bench()
    judging, judge = here.judging(reader()), yes_or_no(say)
    assert here.judge(judging, judge) == [2 * ITEMS, 2 * ITEMS, 0, 0]
    ends = {(r["outcome"], r["attempts"], r["how"]) for r in rows_of(judging, judge)}
    assert ends == {("judged", 2, "yesno")}
    here = bench(reask="0")
    judging = here.judging(reader())
    rows = rows_of(judging, judge)
    assert {(r["outcome"], r["how"], r["reason"]) for r in rows} == {
        ("invalid", "yesno", "neither yes nor no")
    }


@pytest.mark.slow
def test_yes_and_no_are_tried_measured_and_read_again_like_any_other(
    overread: Overread, cases: Path
) -> None:
    words = ("run", "m3cot", "--cases", cases, "--reader", "control:clinician", "--reader",
             "control:contradicts", "--set", "boot=100", "--out", "out", "--json")  # fmt: skip
    spec = "answer=control:lexical-judge?rubric=yesno"
    done = overread(*words, "--judge", spec)
    assert done.code == 0
    found = json.loads(done.out)
    by = {(r["reader"], r["measure"], r["by"].get("mode")): r for r in found["measures"]
          if not {"task", "step", "kind", "judge", "versus", "image"} & set(r["by"])}  # fmt: skip
    assert by["control:clinician", "accuracy", "cot"]["value"] == 1
    assert by["control:contradicts", "accuracy", "cot"]["value"] == 0
    tried = [r for r in found["measures"] if r["measure"] == "judge_sensitivity"]
    assert [(r["by"]["question"], r["value"], r["n"], r["label"]) for r in tried] == [
        ("answer", 1, 3 * ITEMS, None)
    ]
    (entry,) = tomllib.loads(Path("out/run.toml").read_text("utf-8"))["judges"]
    assert (entry["rubric"], entry["roles"]) == ("yesno", ["answer"])
    # Its words are others: so is the signature.
    plain = json.loads(overread(*words, "--judge", spec.partition("?")[0]).out)
    assert plain["signature"] != found["signature"]
    # Read again under the other edition, a word is the same word.
    assert overread(*words, "--judge", spec).code == 0
    again = json.loads(overread("measure", "out", "--edition", "authors", "--json").out)
    assert [r["value"] for r in again["measures"] if r["measure"] == "judge_sensitivity"] == [1]


@pytest.mark.parametrize(
    ("benchmark", "judge", "says"),
    [
        ("m3cot", "control:lexical-judge?rubric=yesno", "there is yesno (role answer) here"),
        ("m3cot", "steps=control:lexical-judge?rubric=yesno", "there is yesno (role answer) here"),
        ("m3cot", "answer=control:lexical-judge?rubric=xml", "a judge has rubric=xml"),
        ("m3cot", "answer=control:lexical-judge?rubric=", "option rubric is empty"),
        ("m3cot", "answer=control:lexical-judge?rubric=yesno&rubric=yesno", "rubric twice"),
        ("m3cot", "answer=control:lexical-judge?rubric=yesno&px=3", 'no option "px"'),
        ("medcmr", "control:lexical-judge?rubric=yesno", "none but the usual one"),
    ],
)
def test_a_rubric_that_is_not_there_is_refused(
    overread: Overread, benchmark: str, judge: str, says: str
) -> None:
    reader = {"m3cot": "control:clinician", "medcmr": "control:oracle"}[benchmark]
    done = overread("run", benchmark, "--cases", "phantom:28", "--reader", reader, "--judge", judge)
    assert done.code == 2
    assert says in done.complaint


def test_a_readers_spec_has_no_rubric(overread: Overread) -> None:
    words = ("run", "m3cot", "--cases", "phantom:28", "--reader", "control:clinician?rubric=yesno")
    assert 'no option "rubric"' in overread(*words).complaint


# ---------------------------------------------------------------- what is written


def test_a_refusal_is_called_one(bench: Callable[..., Bench]) -> None:
    here = bench(reask="0")
    judging = here.judging(reader())
    judge = judge_of(lambda p: Reply("I will not.", refusal="I will not."), "answer")
    here.judge(judging, judge)
    assert {row["reason"] for row in rows_of(judging, judge)} == {"refused: no JSON in the reply"}


def test_every_row_can_be_written_whatever_the_judge_said(bench: Callable[..., Bench]) -> None:
    import polars as pl

    nasty = [
        '{"match": true, "final_answer": "\\ud800"}',
        "\x00\x1b[31m<script>",
        "[" * 300,
        "9" * 9000,
    ]
    here = bench(reask="0")
    judging = here.judging(reader())
    judge = judge_of(lambda p: Reply(nasty[len(p.text) % len(nasty)] + " "), "answer", "order")
    here.judge(judging, judge)
    table = pl.DataFrame(list(judging.rows(judge)), schema=verdict_schema(), orient="row")
    assert table.height == 3 * ITEMS


def test_the_prompt_of_every_row_is_named(bench: Callable[..., Bench]) -> None:
    here = bench()
    judging, judge = here.judging(reader()), judge_of(lexical)
    here.judge(judging, judge)
    prompts = {(row["question"], row["prompt"]) for row in rows_of(judging, judge)}
    assert len(prompts) == len(QUESTIONS)  # all items are of one kind
    assert len({prompt for _, prompt in prompts}) == len(QUESTIONS)
