"""`overread power`: a sentence and a table, the same as JSON, or one line why not."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from overread.runs import power, run
from overread.runs._kept import kept_runs
from overread.stats import cases_to_tell_apart, flip_p, spread_of_mean
from support.commands import Overread, tree

pytestmark = pytest.mark.usefixtures("no_pages")


@pytest.fixture(scope="module")
def pilot(tmp_path_factory: pytest.TempPathFactory, phantom_cache: Path) -> Path:
    """A run of three readers."""
    place = tmp_path_factory.mktemp("pilot")
    readers = [f"control:{name}" for name in ("looks", "prior", "unstable")]
    run("grounding", "phantom:48", readers, store=place / "store.sqlite", out=place / "run")
    return place / "run"


def found(overread: Overread, *words: object) -> dict:
    done = overread("power", *words, "--json")
    assert (done.code, done.err) == (0, "")
    return json.loads(done.out)


def test_the_terminal_has_a_sentence_and_a_table(overread: Overread) -> None:
    done = overread(
        "power", "--rates", "0.85,0.80", "--per-patient", "3", "--alike", "0.3", "--wide"
    )
    assert (done.code, done.err) == (0, "")
    sentence, _, head, *rows = done.out.splitlines()
    assert sentence == (
        "1,485 cases (495 patients with 3 each): models that are right in 85 % and 80 % are told "
        "apart with 80 % power."
    )
    assert head.split() == [
        "cases",
        "a",
        "patient",
        "design",
        "effect",
        "power",
        "cases",
        "patients",
    ]
    assert [row.split()[0] for row in rows[:8]] == list("11223355")
    assert rows[0].split() == ["1", "1", "80", "%", "929", "929"]


@pytest.mark.parametrize(
    ("words", "claim", "cases"),
    [
        ("--rate 0.8 --half-width 0.05", "half-width", 245),
        ("--rate 0 --half-width 0.05", "half-width", 35),
        ("--rates 0.85,0.80", "apart", 929),
        ("--rates 0.85,0.80 --discordant 0.1", "apart", 332),
        ("--rates 0.8,0.7 --discordant 0.1", "apart", 87),
        ("--rates 0.85,0.80 --power 0.9", "apart", 1235),
        ("--rates 0.85,0.85 --margin 0.05 --discordant 0.1", "not inferior", 330),
        ("--rates 0.85,0.85 --margin 0.05 --discordant 0.1 --both-sides", "equivalent", 441),
        ("--category ignores --uses 0", "ignores image", 149),
        ("--category ignores --flips 0.002", "ignores image", 456),
    ],
)
def test_what_a_claim_needs(overread: Overread, words: str, claim: str, cases: int) -> None:
    answer = found(overread, *words.split())
    assert (answer["claim"], answer["needed"]["cases"]) == (claim, cases)
    assert answer["needed"]["patients"] == cases
    assert answer["needed"] in answer["others"]
    boxed = "boxed " * words.startswith("--category")
    assert answer["sentence"].startswith(f"{cases:,} {boxed}cases: ")


def test_more_power_and_more_cases_a_patient_need_more(overread: Overread) -> None:
    others = found(overread, "--rates", "0.9,0.8")["others"]
    by = {(one["per_patient"], one["power"]): one for one in others}
    assert by[1, 0.8]["cases"] < by[1, 0.9]["cases"] < by[2, 0.9]["cases"] < by[5, 0.9]["cases"]
    assert by[1, 0.9]["patients"] > by[2, 0.9]["patients"] > by[5, 0.9]["patients"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "say what is to be shown"),
        ("--per-patient 2", "say what is to be shown"),
        ("--rate 0.8", "--rate needs --half-width"),
        ("--half-width 0.05", "--half-width needs --rate or --pilot"),
        ("--rate 80 --half-width 0.05", "--rate 80: give a share from 0 to 1"),
        ("--rate nan --half-width 0.05", "--rate nan: give a share"),
        ("--rate 0.8 --half-width 0", "--half-width 0: give a share above 0"),
        ("--rate 0.8 --half-width 1e-9", "--half-width 1e-09: no study is large enough"),
        ("--rate 0.8 --half-width 0.05 --power 0.9", "--power does not go with --half-width"),
        ("--rate 0.8 --half-width 0.05 --rates 1,0", "--rates does not go with --half-width"),
        ("--rates 0.8", '--rates "0.8": expected two shares'),
        ("--rates a,b", '--rates "a,b": expected two shares'),
        ("--rates 0.8,1.7", "--rates 1.7: give a share"),
        ("--rates 0.8,0.8", "--rates 0.8 and 0.8: no number of cases"),
        (
            "--rates 0.9,0.8 --discordant 0.05",
            "--discordant 0.05: readers of 0.9 and 0.8 differ in",
        ),
        ("--rates 0.9,0.8 --discordant 2", "--discordant 2: give a share"),
        ("--rates 0.9,0.8 --both-sides", "--both-sides needs --margin"),
        ("--rates 0.7,0.8 --margin 0.05", "--margin 0.05: with rates of 0.7 and 0.8"),
        ("--rates 0.8,0.8 --margin 5", "--margin 5: give a share above 0"),
        ("--margin 0.05", "--margin needs --rates or --pilot"),
        ("--rates 0.9,0.8 --power 80", "--power 80: give 0.5 or more"),
        ("--rates 0.9,0.8 --power much", "'--power'"),
        ("--rates 0.9,0.8 --per-patient 0", "--per-patient 0: give the cases"),
        ("--rates 0.9,0.8 --alike 0.5", "--alike needs --per-patient"),
        ("--rates 0.9,0.8 --per-patient 2 --alike 7", "--alike 7: give a share"),
        ("--rates 0.9,0.8 --reader x", "--reader needs --pilot"),
        ("--rates 0.9,0.8 --measure x", "--measure needs --pilot"),
        ("--pilot nowhere --half-width 0.05", "nowhere: not a run folder"),
        ("--category uses", "--category needs --uses or --flips or --pilot"),
        ("--category looks --uses 0.1", '--category "looks": give uses or ignores'),
        ("--uses 0.1 --rates 0.8,0.7", "--uses needs --category"),
        ("--category uses --uses 2", "--uses 2: give a share from 0 to 1"),
        ("--category uses --uses 0.1 --readers 0", "--readers 0: give the readers of the run"),
        ("--category uses --uses 0.1 --rate 0", "--rate 0: no case counts"),
        ("--category uses --uses 0.1 --rates 0.8,0.7", "--rates does not go with --category"),
        ("--category uses --uses 0.01", "below the margin of 2 %"),
        ("--category uses --uses 0.3 --flips 0.1", "IS must be 90 % or more"),
        ("--category ignores --flips 0.02", "no number of cases shows to be below 2 %"),
        ("--category uses --pilot RUN", "name one of its readers with --reader"),
        ("--category uses --pilot RUN --uses 0.1", "--uses does not go with --pilot"),
        ("--pilot RUN", "name two of its readers with --reader; there are control:looks, "),
        ("--pilot RUN --half-width 0.05", "name one of its readers with --reader"),
        ("--pilot RUN --half-width 0.05 --reader nobody", '--reader "nobody" is not in the run'),
        ("--pilot RUN --half-width 0.05 --measure x", '--measure "x" is no share by case'),
        ("--pilot RUN --half-width 0.05 --per-patient 2", "--per-patient does not go with --pilot"),
    ],
)
def test_what_is_wrong_is_one_line_and_names_it(
    overread: Overread, pilot: Path, words: str, said: str
) -> None:
    done = overread("power", *words.replace("RUN", str(pilot)).split())
    assert done.code == 2
    assert said in done.complaint


def test_a_pilot_has_the_rate_and_the_design_effect_of_its_record(
    overread: Overread, pilot: Path
) -> None:
    before = tree(pilot)
    answer = found(overread, "--pilot", pilot, "--reader", "control:prior", "--half-width", "0.05")
    (kept,) = kept_runs([pilot])
    usual = kept.bench.right_by[0]
    (record,) = (
        one
        for one in kept.measures.measures
        if (one.reader, one.measure, one.by) == ("control:prior", usual, {})
    )
    assert answer["pilot"]["measure"] == usual
    assert answer["rates"] == [pytest.approx(record.value)]
    assert answer["pilot"]["effect"] == pytest.approx(record.how.effect)
    assert answer["needed"]["effect"] == answer["pilot"]["effect"]
    assert answer["needed"]["patients"] <= answer["needed"]["cases"]
    assert tree(pilot) == before, "something was written"


def test_two_readers_of_a_pilot_have_their_rates_and_discordance(
    overread: Overread, pilot: Path
) -> None:
    two = ("control:looks", "control:prior")
    answer = found(overread, "--pilot", pilot, "--reader", two[0], "--reader", two[1])
    (kept,) = kept_runs([pilot])
    values = kept.bench.per_case(kept.tables)[kept.bench.right_by[0]]
    both = values.filter(reader=two[0]).join(values.filter(reader=two[1]), on="case")
    each = (both["value"] - both["value_right"]).to_numpy()
    assert answer["discordant"] == pytest.approx(np.abs(each).mean())
    assert answer["rates"][0] - answer["rates"][1] == pytest.approx(each.mean())
    effect = spread_of_mean(each, both["cluster"].to_numpy()).effect
    assert answer["needed"]["cases"] == cases_to_tell_apart(
        *answer["rates"], discordant=answer["discordant"], effect=effect
    )
    shown = overread("power", "--pilot", pilot, "--reader", two[0], "--reader", two[1], "--wide")
    assert f"accuracy of {two[0]} and {two[1]}, 48 cases of " in shown.out


def test_a_category_has_boxed_cases_holm_and_the_share_that_counts(overread: Overread) -> None:
    words = ("--category", "uses", "--uses", "0.1", "--flips", "0.02")
    alone, five = found(overread, *words), found(overread, *words, "--readers", "5")
    assert (alone["claim"], alone["needed"]["cases"]) == ("uses image", 136)
    assert five["needed"]["cases"] > 136
    some = found(overread, *words, "--rate", "0.8", "--per-patient", "2", "--alike", "1")
    assert some["needed"]["effect"] == 2
    assert some["needed"]["cases"] == pytest.approx(2 * 136 / 0.8, abs=1)
    assert some["needed"]["patients"] == some["needed"]["cases"] / 2
    shown = overread("power", *words, "--readers", "5").out
    assert "boxed cases: a model that uses 10 % of the images and flips 2 % by chance" in shown
    assert "Holm's strictest step" in shown


def test_a_category_by_a_pilot_has_its_reader_s_own_behaviour(
    overread: Overread, pilot: Path
) -> None:
    before = tree(pilot)
    whose = ("--pilot", pilot, "--reader", "control:looks")
    answer = found(overread, "--category", "uses", *whose)
    (kept,) = kept_runs([pilot])
    (cgr,) = (
        one
        for one in kept.measures.measures
        if (one.reader, one.measure, one.by) == ("control:looks", "cgr", {})
    )
    assert answer["behaviour"]["target"] == pytest.approx(cgr.value)
    assert answer["pilot"]["cases"] <= cgr.n
    assert answer["needed"]["cases"] == pytest.approx(100 / answer["rates"][0], abs=1)
    assert tree(pilot) == before, "something was written"


def test_rates_that_are_given_go_before_those_of_a_pilot(pilot: Path) -> None:
    made = power(pilot=pilot, readers=["control:prior"], rates=(0.9, 0.8))
    assert made.rates == (0.9, 0.8)
    assert made.pilot is not None
    assert made.needed.effect == made.pilot.effect


@pytest.mark.parametrize("each", [1, 2, 5])
def test_no_fewer_patients_are_enough_than_a_test_by_patient_can_reject_with(each: int) -> None:
    """Signs of five patients have a p of 1/16 at least, however far two readers are apart."""
    needed = power(rates=(1.0, 0.0), per_patient=each).needed
    assert (needed.patients, needed.cases) == (6, 6 * each)
    owners = np.repeat(np.arange(needed.patients), each)
    assert flip_p(np.ones(needed.cases), owners) <= 0.05 < flip_p(np.ones(5), range(5))
