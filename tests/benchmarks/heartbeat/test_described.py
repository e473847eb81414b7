"""Methods and limitations: whole sentences, from the rules, the options and the measures."""

from __future__ import annotations

import pytest

from overread.benchmarks.benchmark import Described
from overread.benchmarks.heartbeat import Heartbeat
from overread.benchmarks.heartbeat.edition import RULES
from overread.benchmarks.heartbeat.measures import measure
from overread.case import Measure
from support.heart_answers import rows, tables_of

N = 12


def bench(edition="corrected", **words):
    return Heartbeat.of_run("set@0", "open", edition, {"boot": "100"} | words)


def methods(edition="corrected", asked=None, **words):
    return " ".join(bench(edition, **words).methods(asked))


@pytest.mark.parametrize("edition", ["corrected", "authors"])
@pytest.mark.parametrize(
    "words",
    [
        {},
        {"tasks": "t1"},
        {"tasks": "t2", "formats": "edv"},
        {"contexts": "segmented", "seeds": "1,5", "passes": "1", "split": "all"},
    ],
)
def test_every_method_is_a_whole_sentence(edition, words):
    made = bench(edition, **words)
    assert isinstance(made, Described)
    for sentence in made.methods():
        assert sentence[0].isupper()
        assert sentence.endswith(".")
        assert "None" not in sentence


def test_methods_say_what_was_asked_and_how():
    said = methods()
    for part in (
        "Up to 100 clips of the split VAL",
        "Every window had 30 frames",
        "less than 1/2.5 of a window apart",
        "held against the nearest frame of its phase",
        "errs by less than 3 frames (two observers differ by 2 to 4)",
        "3 contexts",
        "10 seeds (2020 to 2029) of 3 passes with the server's own sampling",
        "at most 30 new tokens (2048 for reasoning readers)",
        "resample patients with all their videos 100 times (seed 0)",
        'the rules "corrected+boot=100"',
        "median of the other patients' true frames",
    ):
        assert part in said, part


def test_methods_follow_rules_and_options():
    said = methods("authors")
    for part in ("two thirds", "published words of the family structured", "as published"):
        assert part in said, part
    said = methods(tasks="t2", seeds="1,5", passes="1", contexts="original", split="all")
    for part in ("2 seeds (1 and 5) of 1 pass ", "1 context:", "a coin has 50 %"):
        assert part in said, part
    for part in ("T1", "Skill", "split"):
        assert part not in said, part


@pytest.mark.parametrize("rule", sorted(set(RULES) - {"seed", "boot"}))
def test_every_rule_that_is_not_the_published_one_is_named(rule):
    first, *_ = bench().methods()
    corrected, authors = (
        getattr(bench(edition).rules, rule) for edition in ("corrected", "authors")
    )
    assert (rule in first) == (corrected != authors)


def test_what_was_shown_is_that_of_the_edition_asked_under():
    said = methods("authors", "corrected")
    assert "Every window had 30 frames" in said
    assert "nearest frame of its phase" not in said
    assert "cut to a whole number" in said
    imported = methods("authors", "")
    assert "somebody else's scripts" in imported
    assert "window had" not in imported


# ---------------------------------------------------------------- limitations


def limitations(some, edition="corrected", **words):
    made = bench(edition, **words)
    return " ".join(made.limitations(measure(tables_of(some), made.rules)))


def answers(n, said=None, **more):
    given = [[[(at % N, 11)]] for at in range(n)] if said is None else [[[said]]] * n
    return rows(given, [[(at % N, 10)] for at in range(n)], wanted="edv_esv", count=N, **more)


def test_a_sound_run_has_only_what_always_holds():
    said = limitations(answers(120))
    assert "no evidence of clinical safety" in said
    for part in ("stand on", "wider than", "could be read", "not shown", "no reply", "nothing"):
        assert part not in said, part


def test_each_cause_that_is_there_is_said():
    assert "Errors stand on 5 videos, fewer than 100, for r." in limitations(answers(5))
    assert "interval of skill is wider than 0.50 for r" in limitations(
        rows([[[3]], [[9]], [[2]]], [[1], [6], [11]], count=N)
    )
    assert "only 0.0 % (n = 5) could be read" in limitations(answers(5, None) + answers_none(5))
    assert "s named frames that were not shown" in limitations(answers(5, (99, 3), reader="s"))
    assert "nothing could be counted of s" in limitations(answers_none(5))
    assert "questions to s got no reply" in limitations(
        rows([[[(1, 2)]], [["unanswered"]]], [[(1, 2)]] * 2, wanted="edv_esv", reader="s", count=N)
    )


def answers_none(n):
    return rows([[[None]]] * n, [[(1, 2)]] * n, wanted="edv_esv", reader="s", count=N)


def test_the_published_window_gives_the_answer_away_and_that_is_said():
    measures = [
        Measure(
            reader="baseline:length", measure="skill", by={"task": "t1", "phase": "ed"},
            value=0.9, low=0.8, high=1.0, n=50,
        )
    ]  # fmt: skip
    said = " ".join(bench("authors").limitations(measures))
    assert "no proof of having followed the heart" in said
    assert "a skill of up to 0.90 (95 % interval 0.80 to 1.00, n = 50)" in said


@pytest.mark.parametrize("edition", ["corrected", "authors"])
def test_no_measures_leave_what_always_holds(edition):
    assert bench(edition).limitations([])
    assert "Each question was put once" in " ".join(bench(seeds="1", passes="1").limitations([]))
