"""What is left of the accuracy without the picture."""

from __future__ import annotations

import msgspec
import pytest

from overread.benchmarks.medcmr.edition import AUTHORS, CORRECTED
from overread.stats import wilson
from support.med_runs import chosen_measures, coin_p
from support.med_tables import chose, found, mcq, tables_of

OURS = msgspec.structs.replace(CORRECTED, boot=500)


def run(own, blank, **other):
    """One letter for each item, right is A; a space is an item not asked so."""
    cases = [mcq(index) for index in range(len(own))]
    answers = [
        chose("one", index, letter, image=image)
        for image, letters in (("original", own), ("blank", blank))
        for index, letter in enumerate(letters)
        if letter != " "
    ]
    return chosen_measures(tables_of(cases, answers, **other), OURS)


def both(made, **by):
    told = {"condition": "blank", "versus": "original", **by}
    return found(made, "diff_accuracy", "one", **told), found(made, "survives", "one", **told)


def test_the_difference_and_the_part_that_survives():
    gap, part = both(run("AAAAAABBBB", "AAABBBABBB"))
    assert gap.value == pytest.approx((4 - 6) / 10)
    assert gap.p == coin_p(1, 3)
    assert gap.family == "diff_accuracy by image"
    assert part.value == pytest.approx(4 / 6)
    assert gap.n == part.n == 10
    for record in (gap, part):
        assert record.low < record.value < record.high


def test_only_items_asked_in_both_are_paired():
    gap, part = both(run("AAAB", "AB  "))
    assert (gap.value, gap.n) == (-0.5, 2)
    assert (part.value, part.n) == (0.5, 2)


def test_the_part_may_exceed_the_whole():
    _, part = both(run("ABBB", "AAAB"))
    assert part.value == 3.0
    assert part.high > 3.0


def test_of_nothing_no_part_survives():
    gap, part = both(run("BBBB", "ABBB"))
    assert gap.value == 0.25
    assert part.value is part.low is part.high is None
    assert part.note == "nothing right with the item's own image"


@pytest.mark.parametrize(("own", "blank", "value"), [("AAAA", "AAAA", 1.0), ("AABB", "BBBB", 0.0)])
def test_where_resampling_shows_no_spread_something_is_left_open(own, blank, value):
    _, part = both(run(own, blank))
    assert part.value == value
    assert part.high - part.low > 0.3
    assert part.low >= 0


def test_nothing_changed_is_no_evidence_and_no_certainty():
    gap, _ = both(run("AABB", "AABB"))
    assert (gap.value, gap.p) == (0.0, 1.0)
    assert gap.low < 0 < gap.high


def test_dimensions_have_their_own_family():
    gap, part = both(run("AABB", "ABBB"), dimension="SOD")
    assert gap.value == -0.25
    assert gap.family == "diff_accuracy by image and dimension"
    assert part.value == 0.5


def test_what_names_no_option_is_noted_for_both_sides():
    gap, _ = both(run("A?", "!B"))
    assert gap.note == ("blank: 1 refused counted as wrong; original: 1 invalid counted as wrong")


def test_who_gets_no_picture_cannot_depend_on_it():
    for record in both(run("AABB", "ABBB", blind=("one",))):
        assert record.value is None
        assert record.note == "the reader gets no picture"


def test_items_of_one_image_flip_together():
    cases = [
        mcq(index, images=["same.png"] if index < 4 else [f"{index}.png"]) for index in range(6)
    ]
    answers = [chose("one", index, "A") for index in range(6)]
    answers += [chose("one", index, "B", image="swap") for index in range(6)]
    tables = tables_of(cases, answers)
    by = {"condition": "swap", "versus": "original"}
    alone = found(chosen_measures(tables, msgspec.structs.replace(AUTHORS, boot=200)),
                  "diff_accuracy", "one", **by)  # fmt: skip
    together = found(chosen_measures(tables, OURS), "diff_accuracy", "one", **by)
    assert alone.p == coin_p(6, 0) == 2 / 64
    assert together.p == 2 / 8, "three images, not six items"


@pytest.mark.parametrize("n", [2, 4, 9])
def test_few_items_that_differ_leave_no_less_open_than_few_that_agree(n):
    right, mixed = "A" * n, "AB" * (n // 2) + "A" * (n % 2)
    alike, apart = run(right, right), run(right, mixed)
    for name, by in (
        ("diff_accuracy", {"condition": "blank", "versus": "original"}),
        ("survives", {"condition": "blank", "versus": "original"}),
    ):
        less, more = (found(made, name, "one", **by) for made in (alike, apart))
        assert less.method == "all items agree: wilson at 0"
        assert f", t of {n - 1}, at least wilson at 0" in more.method
        assert more.value - more.low >= min(less.value - less.low, more.value) - 1e-9
    for name in ("accuracy_macro", "position_bias"):
        less, more = (found(run(letters, ""), name, "one") for letters in (right, mixed))
        assert f"t of {n - 1}" in more.method
        assert more.high - more.low >= min(1, 2 * wilson(0, n).high) - 1e-9
        assert more.high - more.low >= less.high - less.low
