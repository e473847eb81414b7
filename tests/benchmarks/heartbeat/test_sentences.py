"""Headlines, methods and limitations."""

from __future__ import annotations

import msgspec
import pytest

from overread.benchmarks.heartbeat import Heartbeat
from overread.benchmarks.heartbeat.edition import BOOK
from overread.benchmarks.heartbeat.frame_measures import CANNOT_TELL
from overread.benchmarks.heartbeat.measures import measure
from overread.benchmarks.heartbeat.sentences import QUESTION, headlines
from overread.case import Measure
from support.heart_answers import rows, tables_of

# --------------- Can it follow a beating heart? The sentence follows the skill, and has its numbers


def record(measure, value, low=None, high=None, *, reader="r", n=40, **by):
    setting = {"task": "t1", "context": "original", "format": "edv_esv", "phase": "ed"} | by
    return Measure(reader=reader, measure=measure, by=setting, value=value, low=low, high=high, n=n)


def skills(ed, es, **by):
    return [record("skill", *ed, **by), record("skill", *es, phase="es", **by)]


def told(measures):
    (headline,) = headlines(measures)
    assert headline.question == QUESTION
    assert headline.measure in measures
    return headline


ABOVE, OPEN, BELOW = (0.6, 0.4, 0.8), (0.1, -0.2, 0.3), (-0.8, -1.2, -0.1)


@pytest.mark.parametrize(
    ("ed", "es", "answer", "said"),
    [
        (ABOVE, ABOVE, "yes", "finds end-diastole and end-systole better than one constant"),
        (ABOVE, OPEN, "in part", "finds end-diastole better than one constant answer would, end-s"),
        (BELOW, ABOVE, "in part", "finds end-systole better than one constant answer would, end-d"),
        (BELOW, BELOW, "no", "no better than one constant answer"),
        (BELOW, OPEN, "cannot tell", "The data do not tell"),
        (OPEN, OPEN, "cannot tell", "The data do not tell"),
        ((0.3,), (0.5,), "cannot tell", "0.30 (no interval, n = 40) for end-diastole"),
        ((0.5, 0.0, 0.7), ABOVE, "in part", "finds end-systole"),
        ((-0.5, -0.7, 0.0), BELOW, "no", "no better than"),
        ((None,), (None,), "cannot tell", "It cannot be told."),
        ((None,), ABOVE, "in part", "finds end-systole"),
    ],
)
def test_the_bounds_decide(ed, es, answer, said):
    headline = told(skills(ed, es))
    assert headline.answer == answer
    assert said in headline.sentence
    assert "None" not in headline.sentence
    assert "n/a" not in headline.sentence


@pytest.mark.parametrize(
    ("which", "answer"), [((True, True), "cannot tell"), ((True, False), "in part")]
)
def test_where_the_constant_beats_observers_skill_does_not_decide(which, answer):
    made = [
        msgspec.structs.replace(one, flags=(CANNOT_TELL,) if untold else ())
        for one, untold in zip(skills(ABOVE, ABOVE), which, strict=True)
    ]
    headline = told(made)
    assert headline.answer == answer
    assert "of end-diastole" in headline.sentence
    assert "less than two observers differ, 2 to 4 frames" in headline.sentence


def test_numbers_stand_with_interval_and_n():
    sentence = told(skills(ABOVE, (0.71, 0.5, 0.9))).sentence
    assert "skill 0.60 (95 % interval 0.40 to 0.80, n = 40) for end-diastole" in sentence
    assert "0.71 (95 % interval 0.50 to 0.90, n = 40) for end-systole" in sentence
    assert "0 is no better than always naming one frame" in sentence


def test_the_measure_is_the_weakest_of_a_yes_and_the_strongest_of_a_no():
    assert told(skills(ABOVE, (0.71, 0.5, 0.9))).measure.value == 0.6
    assert told(skills((-0.5, -0.7, -0.2), BELOW)).measure.value == -0.8
    assert told(skills(OPEN, ABOVE)).measure.value == 0.6


def test_one_frame_for_every_clip_is_no_however_wide_the_interval():
    measures = skills(OPEN, BELOW)
    one = [record("distinct", 1.0, phase=phase) for phase in ("ed", "es")]
    headline = told(measures + one)
    assert headline.answer == "no"
    assert headline.sentence.startswith(
        "It named the same frame of every clip for end-diastole, and likewise one for end-systole:"
    )
    alone = told([record("skill", *OPEN), one[0]])
    assert alone.sentence.startswith("It named the same frame of every clip for end-diastole:")
    # Of a single clip that says nothing.
    single = [record("skill", 0.1, n=1), record("skill", 0.1, n=1, phase="es")]
    assert told(single + one).answer == "cannot tell"


def test_the_first_context_and_the_first_pair_decide():
    other = skills(BELOW, BELOW, context="segmented") + skills(BELOW, BELOW, format="esv_edv")
    single = [record("skill", *BELOW, format="edv")]
    assert told(other + single + skills(ABOVE, ABOVE)).answer == "yes"
    assert told(skills(ABOVE, ABOVE, context="segmented")).answer == "yes"
    alone = [record("skill", *ABOVE, format="edv")]
    headline = told(alone)
    assert headline.answer == "yes"
    assert "It finds end-diastole better" in headline.sentence
    both = [*alone, record("skill", *BELOW, format="esv", phase="es")]
    assert told(both).answer == "in part"


def length(*skill):
    return [
        Measure(
            reader="baseline:length", measure="skill", by={"task": "t1", "phase": phase},
            value=skill[0], low=skill[1], high=skill[2], n=40,
        )
        for phase in ("ed", "es")
    ]  # fmt: skip


def test_where_counting_frames_gives_the_answer_away_skill_is_no_proof():
    leaks = told(skills(ABOVE, ABOVE) + length(0.9, 0.8, 1.0))
    assert leaks.answer == "cannot tell"
    assert "who only counts their frames" in leaks.sentence
    beyond = told(skills((0.9, 0.8, 1.0), (0.9, 0.8, 1.0)) + length(0.3, 0.1, 0.5))
    assert beyond.answer == "yes"
    none = told(skills(ABOVE, ABOVE) + length(0.0, -0.2, 0.0))
    assert none.answer == "yes"


def pairs(ed, es):
    return [
        record("accuracy", *value, task="t2", format=wanted, phase=phase)
        for value, wanted, phase in ((ed, "edv", "ed"), (es, "esv", "es"))
    ]


@pytest.mark.parametrize(
    ("ed", "es", "answer", "said"),
    [
        ((0.9, 0.8, 0.95), (0.9, 0.8, 0.95), "in part", "it knows which is which"),
        ((0.9, 0.8, 0.95), (0.5, 0.4, 0.6), "in part", "not surely the other"),
        ((0.4, 0.3, 0.5), (0.4, 0.3, 0.45), "no", "no better than a coin"),
        ((0.5, 0.4, 0.6), (0.5, 0.4, 0.6), "cannot tell", "do not tell"),
        ((None,), (None,), "cannot tell", "nothing it said was counted"),
    ],
)
def test_two_frames_alone_show_no_more_than_a_part(ed, es, answer, said):
    headline = told(pairs(ed, es))
    assert headline.answer == answer
    assert said in headline.sentence


def test_finding_the_frames_goes_before_telling_two_apart():
    perfect = (1.0, 0.9, 1.0)
    assert told(skills(BELOW, BELOW) + pairs(perfect, perfect)).answer == "no"


def test_who_was_not_asked_has_no_headline():
    assert list(headlines([])) == []
    assert list(headlines(length(0.9, 0.8, 1.0))) == []
    ef = Measure(reader="specialist:x", measure="ef_mae", by={"task": "t1"}, value=3.0)
    assert list(headlines([ef])) == []
    odd = Measure(reader="r", measure="parsed", by={"task": "t1"}, value=0.0)
    assert list(headlines([odd])) == []


@pytest.mark.parametrize("edition", ["corrected", "authors"])
@pytest.mark.parametrize("said", [None, "refused", "unanswered", (10**7, -3), (3, 3)])
@pytest.mark.parametrize("videos", [1, 4])
def test_odd_answers_never_raise(edition, said, videos):
    some = rows(
        [[[said]]] * videos, [[(video, 9)] for video in range(videos)], wanted="edv_esv", count=12
    )
    bench = Heartbeat.of_run("set@0", "open", edition, {"boot": "100"})
    (headline,) = bench.headlines(measure(tables_of(some), bench.rules))
    assert headline.answer in ("no", "cannot tell")
    assert headline.sentence.endswith(".")


# ----------- Methods and limitations: whole sentences, from the rules, the options and the measures

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
        "at most 30 new tokens (2048 for reasoning models)",
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


@pytest.mark.parametrize("rule", sorted(set(BOOK.rules) - {"seed", "boot"}))
def test_every_rule_that_is_not_the_published_one_is_named(rule):
    """In the supplement: the paragraph says how many there are, and names none."""
    ours, theirs = (bench(edition) for edition in ("corrected", "authors"))
    listed = {one.name: one for one in ours.book.listing(ours.rules, ours.options)}
    differs = getattr(ours.rules, rule) != getattr(theirs.rules, rule)
    assert (listed[rule].value != listed[rule].published) == differs
    first, *_ = ours.methods()
    assert f"in {len(ours.book.departures(ours.rules))} respects (see the supplement)" in first


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
