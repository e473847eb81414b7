"""Rules upon runs: what passes, what fails, what the data cannot tell, and what is no gate."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.case import BadInput, Measure
from overread.records import JudgeEntry
from overread.report.gate import EXIT_CODES, GatedRun, judge, worst
from overread.report.gate.judging import Ruling
from overread.report.gate.policy import Gap, Rule
from support.gates import gated_run, policy_of, rule, share

GOOD = share("accuracy", 95, 100)


def one(asked: Rule, run: GatedRun) -> Ruling:
    (found,) = judge(policy_of(asked), [run])
    return found


def test_a_ruling_says_what_it_stands_on() -> None:
    found = one(rule(at_least=0.8), gated_run([GOOD]))
    assert found.outcome == "pass"
    assert (found.reader, found.run, found.edition) == ("a", "run", "corrected")
    assert (found.value, found.low, found.high, found.n) == (0.95, GOOD.low, GOOD.high, 100)
    assert found.demanded == "accuracy at least 0.8"
    assert found.found == "0.950 [0.888, 0.978] n=100"
    assert found.margin is not None
    assert GOOD.low is not None
    assert found.margin == GOOD.low - 0.8
    assert found.signature == "grounding|edition:corrected"
    assert found.why == "It is here for tests."


@pytest.mark.parametrize(
    ("fields", "run", "outcome", "says"),
    [
        ({"measure": "acuracy"}, {}, "fail", "was not measured; there is accuracy"),
        ({"measure": "acuracy", "optional": True}, {}, "skipped", "was not measured"),
        ({"by": {"sex": "F"}}, {}, "fail", "by sex=F; it is there by no key"),
        ({"edition": "authors"}, {}, "fail", "edition corrected is another number than authors"),
        ({}, {"edition": "corrected+px=512"}, "fail", "edition corrected+px=512 is another"),
        ({"edition": "corrected+px=512"}, {"edition": "corrected+px=512"}, "pass", "meets it"),
        ({}, {"partial": True}, "fail", "the run is partial"),
        ({"partial": True}, {"partial": True}, "pass", "meets it"),
        ({"minimum_n": 100}, {}, "pass", "meets it"),
        ({"minimum_n": 101}, {}, "cannot tell", "n = 100 where 101 are demanded"),
        (
            {"minimum_n": 101, "at_least": 0.93},
            {},
            "cannot tell",
            "demanded, and the bound takes 1,168",
        ),
        ({}, {"unanswered": 3}, "cannot tell", "3 % of the trials got no reply"),
        ({"unanswered": 0.03}, {"unanswered": 3}, "pass", "meets it"),
    ],
)
def test_what_else_a_number_must_be(
    fields: dict[str, Any], run: dict[str, Any], outcome: str, says: str
) -> None:
    always = rule(name="always", measure="n", at_least=0)
    also = share("n", 1, 1)
    found, _ = judge(
        policy_of(rule(**{"at_least": 0.8} | fields), always), [gated_run([GOOD, also], **run)]
    )
    assert found.outcome == outcome
    assert says in found.says


def test_a_rule_that_is_optional_and_alone_checks_nothing() -> None:
    with pytest.raises(BadInput, match="would check nothing"):
        one(rule(at_least=0.8, measure="x", optional=True), gated_run([GOOD]))


@pytest.mark.parametrize(
    ("label", "judges", "outcome"),
    [
        ("judge unfit", "fit", "fail"),
        ("judge unfit", "unchecked", "fail"),
        ("judge unfit", "any", "pass"),
        ("judge not checked", "fit", "cannot tell"),
        ("judge not checked", "unchecked", "pass"),
        ("judge not checked", "any", "pass"),
        (None, "fit", "pass"),
    ],
)
def test_verdicts_count_as_much_as_their_judges(
    label: str | None, judges: str, outcome: str
) -> None:
    made = Measure(reader="a", measure="f1", value=0.9, low=0.85, high=0.95, n=60, label=label)
    run = gated_run([made], benchmark="m3cot")
    asked = rule(at_least=0.5, measure="f1", benchmark="m3cot", judges=judges)
    assert one(asked, run).outcome == outcome


@pytest.mark.parametrize(
    ("dataset", "judges", "measure", "outcome"),
    [
        ("my-set@0", "fit", "f1", "cannot tell"),
        ("my-set@0", "unchecked", "f1", "cannot tell"),
        ("my-set@0", "any", "f1", "pass"),
        ("phantom-question-26-0-r1@0", "fit", "f1", "pass"),
        ("my-set@0", "fit", "diff_f1", "cannot tell"),
        ("my-set@0", "fit", "efficiency", "cannot tell"),
        ("my-set@0", "fit", "answered", "pass"),  # nobody judged it
    ],
)
@pytest.mark.parametrize("name", ["control:lexical-judge", "mine"])
def test_a_judge_that_knows_no_medicine_tells_nothing_of_real_cases(
    name: str, dataset: str, judges: str, measure: str, outcome: str
) -> None:
    made = Measure(reader="a", measure=measure, value=0.9, low=0.85, high=0.95, n=60)
    alone = Measure(reader="a", measure="f1", by={"judge": name}, value=0.9, n=60)
    run = gated_run([made, alone], benchmark="m3cot")
    spec = "control:lexical-judge"
    entry = JudgeEntry(name=name, spec=spec, identity=f"{spec}:2")
    record = msgspec.structs.replace(run.record, dataset=dataset, judges=(entry,))
    run = msgspec.structs.replace(run, record=record)
    asked = rule(at_least=0.5, measure=measure, benchmark="m3cot", judges=judges)
    found = one(asked, run)
    assert found.outcome == outcome
    assert ("knows no medicine" in found.says) == (outcome == "cannot tell")


@pytest.mark.parametrize(
    ("label", "outcome"),
    [
        ("uses image", "pass"),
        ("ignores image", "fail"),
        ("unstable", "fail"),
        ("indeterminate", "cannot tell"),
        ("insufficient", "fail"),  # it is not listed as undecided
        (None, "cannot tell"),
    ],
)
def test_a_word_is_what_is_demanded_undecided_or_wrong(label: str | None, outcome: str) -> None:
    made = Measure(reader="a", measure="category", label=label, n=320, note="a note")
    asked = rule(measure="category", label="uses image", undecided=("indeterminate",))
    found = one(asked, gated_run([made]))
    assert found.outcome == outcome
    assert found.label == label
    assert outcome == "pass" or "a note" in found.says


def test_nothing_undefined_passes() -> None:
    made = Measure(reader="a", measure="auroc", n=0, note="no answer came with a probability")
    for fields in ({"at_least": -1e9}, {"at_most": 1e9}, {"at_most": 1e9, "confidence": "point"}):
        asked = rule(measure="auroc", minimum_n=0, **fields)
        found = one(asked, gated_run([made, GOOD]))
        assert (found.outcome, found.margin) == ("cannot tell", None)
        assert "no answer came with a probability" in found.says
    asked = rule(measure="auroc", at_least=0.5, optional=True)
    found, _ = judge(policy_of(asked, rule(name="b", at_least=0.5)), [gated_run([made, GOOD])])
    assert found.outcome == "skipped"


def test_groups_are_found_by_the_key_they_differ_in() -> None:
    run = gated_run(
        [
            GOOD,
            share("accuracy", 90, 100, sex="F"),
            share("accuracy", 50, 100, sex="M"),
            share("accuracy", 1, 100, sex="M", px="512"),
        ]
    )
    found = one(rule(gap=_gap("sex", 0.1)), run)
    assert found.outcome == "fail"
    assert "F and M are 0.400" in found.says
    assert found.n == 200
    assert found.found.startswith("0.400 [")
    assert found.note is not None
    assert found.note.startswith("F: 0.900 [")
    assert one(rule(gap=_gap("sex", 0.6)), run).outcome == "pass"
    assert "two groups of sex" in one(rule(gap=_gap("sex", 0.6), by={"px": "512"}), run).says
    assert one(rule(gap=_gap("age", 0.6)), run).outcome == "fail"
    missing = one(rule(gap=_gap("sex", 0.6, "F", "X")), run)
    assert (missing.outcome, missing.says) == ("fail", "was not measured in sex=X")
    assert one(rule(gap=_gap("sex", 0.6), edition="authors"), run).outcome == "fail"
    assert one(rule(gap=_gap("sex", 0.6), minimum_n=101), run).outcome == "cannot tell"


def _gap(across: str, at_most: float, *groups: str) -> Gap:
    return Gap(across=across, at_most=at_most, groups=groups)


# ---------------------------------------------------------------- which readers, which runs


def test_a_reader_left_out_of_one_run_does_not_slip_through() -> None:
    """Both must pass both benchmarks; who was asked in one only was not measured in the other."""
    looked = gated_run([share("accuracy", 99, 100, "a"), share("accuracy", 99, 100, "b")])
    hearts = gated_run([share("accuracy", 99, 100, "a")], benchmark="heartbeat", folder="hearts")
    policy = policy_of(rule(at_least=0.5), rule(name="hearts", benchmark="heartbeat", at_least=0.5))
    found = judge(policy, [looked, hearts])
    assert [(one.rule, one.reader, one.outcome) for one in found] == [
        ("a rule", "a", "pass"),
        ("a rule", "b", "pass"),
        ("hearts", "a", "pass"),
        ("hearts", "b", "fail"),
    ]
    assert found[-1].says == "was not measured: the model is in no run of heartbeat"
    assert {one.outcome for one in judge(policy, [looked, hearts], ["a"])} == {"pass"}


def test_a_benchmark_without_a_run_fails_once() -> None:
    run = gated_run([share("accuracy", 99, 100, "a"), share("accuracy", 99, 100, "b")])
    policy = policy_of(rule(at_least=0.5), rule(name="m", benchmark="m3cot", at_least=0.5))
    *_, last = judge(policy, [run])
    assert (last.reader, last.outcome) == ("*", "fail")
    assert last.says == "was not measured: no run of m3cot was given"


def test_every_run_with_the_reader_must_pass() -> None:
    runs = [gated_run([share("accuracy", k, 100)], folder=f"run{k}") for k in (99, 10)]
    found = judge(policy_of(rule(at_least=0.5)), runs)
    assert [(one.run, one.outcome) for one in found] == [("run99", "pass"), ("run10", "fail")]


def test_what_is_no_reader_may_be_named() -> None:
    fitness = share("judge_sensitivity", 60, 60, "", judge="j", question="answer")
    run = gated_run([GOOD, fitness], readers=["a"])
    asked = rule(
        measure="judge_sensitivity", by={"judge": "j", "question": "answer"}, at_least=0.9,
        readers=("",),
    )  # fmt: skip
    assert one(asked, run).outcome == "pass"
    assert [one.reader for one in judge(policy_of(rule(at_least=0.5)), [run])] == ["a"]


def test_a_gate_that_checks_nothing_is_bad_input() -> None:
    run = gated_run([GOOD])
    for asked in (rule(at_least=0.5, benchmark="m3cot"), rule(at_least=0.5, readers=("nobody",))):
        with pytest.raises(BadInput, match="matches no reader"):
            judge(policy_of(asked), [run])
    with pytest.raises(BadInput, match="--reader nobody: no run has this reader; they have a"):
        judge(policy_of(rule(at_least=0.5)), [run], ["nobody"])


def test_a_rule_for_everyone_fails_where_there_is_nobody() -> None:
    fitness = share("judge_sensitivity", 60, 60, "", judge="j")
    run = gated_run([fitness], readers=[])
    named = rule(
        name="judge", measure="judge_sensitivity", by={"judge": "j"}, at_least=0.5, readers=("",)
    )
    found = judge(policy_of(named, rule(at_least=0.5)), [run])
    assert [(one.reader, one.outcome) for one in found] == [("", "pass"), ("*", "fail")]


def test_a_reader_asked_for_in_vain_is_bad_input() -> None:
    with pytest.raises(BadInput, match="--reader a: every rule names its readers"):
        judge(policy_of(rule(at_least=0.5, readers=("a",))), [gated_run([GOOD])], ["a"])


def test_a_measure_that_is_there_twice_is_refused() -> None:
    with pytest.raises(BadInput, match="is there twice"):
        one(rule(at_least=0.5), gated_run([GOOD, share("accuracy", 1, 100)]))


# ---------------------------------------------------------------- laws

RULES = st.lists(
    st.tuples(st.sampled_from(["at_least", "at_most"]), st.floats(0, 1), st.booleans()),
    min_size=1,
    max_size=6,
)
SHARES = st.lists(st.tuples(st.integers(0, 60), st.integers(60, 90)), min_size=1, max_size=3)


@given(rules=RULES, counts=SHARES, seed=st.integers(0, 99))
def test_order_does_not_matter_and_the_worst_decides(
    rules: list[tuple[str, float, bool]], counts: list[tuple[int, int]], seed: int
) -> None:
    run = gated_run([share("accuracy", k, n, f"r{i}") for i, (k, n) in enumerate(counts)])
    made = [
        rule(name=f"rule {i}", confidence="point" if point else "interval", **{side: bound})
        for i, (side, bound, point) in enumerate(rules)
    ]
    found = judge(policy_of(*made), [run])
    assert len(found) == len(made) * len(counts)
    random.Random(seed).shuffle(made)
    again = judge(policy_of(*made), [run])
    assert sorted(found, key=repr) == sorted(again, key=repr)
    outcomes = {one.outcome for one in found}
    code = EXIT_CODES[worst(one.outcome for one in found)]
    assert code == (1 if "fail" in outcomes else 4 if "cannot tell" in outcomes else 0)


@given(k=st.integers(0, 80), bounds=st.tuples(st.floats(0, 1), st.floats(0, 1)))
def test_raising_the_least_never_turns_a_failure_into_a_pass(
    k: int, bounds: tuple[float, float]
) -> None:
    run = gated_run([share("accuracy", k, 80)])
    low, high = sorted(bounds)
    if one(rule(at_least=low), run).outcome == "fail":
        assert one(rule(at_least=high), run).outcome == "fail"
    if one(rule(at_least=high), run).outcome == "pass":
        assert one(rule(at_least=low), run).outcome == "pass"


class Beside:
    """Differences made up, in place of the tables of two runs."""

    def __init__(self, low: float, high: float, *, higher: bool | None) -> None:
        self.versus, self.higher = "b", higher
        self.record = Measure(
            reader="a", measure="diff_x", value=(low + high) / 2, low=low, high=high, n=100
        )

    def baseline(self, benchmark: str) -> object | None:
        return None

    def difference(self, *about: str | None) -> Beside:
        return self


@pytest.mark.parametrize(
    ("low", "high", "higher", "outcome"),
    [
        (-0.3, 0.9, True, "pass"),
        (-0.3, 0.9, False, "cannot tell"),
        (-0.9, 0.3, False, "pass"),
        (0.6, 0.9, False, "fail"),
        (-0.9, -0.6, True, "fail"),
        (-0.5, 0.5, True, "pass"),
    ],
)
def test_a_margin_is_held_on_the_side_that_is_worse(
    low: float, high: float, higher: bool, outcome: str
) -> None:
    run = gated_run([share("accuracy", 80, 100)], readers=["a", "b"])
    held = policy_of(rule(margin=0.5, versus="b"))
    (ruling,) = judge(held, [run], paired=Beside(low, high, higher=higher))
    assert ruling.outcome == outcome
    assert ruling.demanded == "accuracy not worse than b by more than 0.5"
    assert (ruling.needed is None) == (outcome != "cannot tell")


def test_a_measure_without_a_better_side_has_no_margin() -> None:
    held = policy_of(rule(margin=0.5, versus="b"))
    run = gated_run([share("accuracy", 80, 100)], readers=["a", "b"])
    with pytest.raises(BadInput, match="nobody can say what is worse"):
        judge(held, [run], paired=Beside(0, 1, higher=None))


def test_a_misspelt_reader_to_be_held_against_is_bad_input() -> None:
    held = policy_of(rule(margin=0.5, versus="bb"))
    run = gated_run([share("accuracy", 80, 100)], readers=["a", "b"])
    with pytest.raises(BadInput, match='versus = "bb" is no reader of these runs of grounding'):
        judge(held, [run], paired=Beside(0, 1, higher=True))
