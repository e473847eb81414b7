"""What is measured of multiple-choice replies, of runs made by hand."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest

from overread.benchmarks.letter_parser import LETTERS
from overread.benchmarks.medcmr.edition import AUTHORS, CORRECTED, Options
from overread.case import BadInput
from overread.stats import clustered_share, ece, wilson
from support.med_runs import chosen_measures, coin_p
from support.med_tables import chose, found, mcq, opened, tables_of, wrote

# ---------------------------------------------------------------- accuracy, of a reader and against another
# Accuracy of runs made by hand: of a reader, against another, without the picture.

# ---------------------------------------------------------------- accuracy
# Accuracy of runs made by hand.

OURS = msgspec.structs.replace(CORRECTED, boot=500)


def measured(cases, answers, **other):
    return chosen_measures(tables_of(cases, answers, **other), OURS)


def test_accuracy_is_the_share_of_items_whose_right_option_was_named():
    cases = [mcq(1, "A"), mcq(2, "B", "TP"), mcq(3, "C", "TP"), mcq(4, "D", "TP")]
    answers = [chose("one", 1, "A"), chose("one", 2, "B"), chose("one", 3, "B")]
    answers.append(chose("one", 4, "D"))
    made = measured(cases, answers)
    whole = found(made, "accuracy", "one")
    assert (whole.k, whole.n, whole.value) == (3, 4, 0.75)
    expected, _ = clustered_share([1, 1, 1, 0], range(4))
    assert (whole.low, whole.high) == pytest.approx((expected.low, expected.high))
    assert (whole.method, whole.flags) == ("wilson", ("few",))
    assert found(made, "accuracy", "one", kind="mcq").value == 0.75
    assert found(made, "accuracy", "one", dimension="TP").k == 2
    assert found(made, "accuracy", "one", family="visual").value == 1.0


def test_what_names_no_option_is_wrong_and_said_to_be():
    cases = [mcq(index) for index in range(5)]
    said = ["A", "?", "?", "!", None]
    made = measured(cases, [chose("one", index, one) for index, one in enumerate(said)])
    whole = found(made, "accuracy", "one")
    assert (whole.k, whole.n) == (1, 5)
    assert whole.note == "2 unparsed, 1 refused, 1 unanswered counted as wrong"


@pytest.mark.parametrize(("said", "value"), [("A", 1.0), ("B", 0.0)])
def test_all_right_or_all_wrong_leaves_something_open(said, value):
    cases = [mcq(index, dimension="SOD" if index < 9 else "TP") for index in range(10)]
    made = measured(cases, [chose("one", index, said) for index in range(10)])
    for name in ("accuracy", "accuracy_macro"):
        record = found(made, name, "one")
        assert record.value == value
        assert record.high - record.low > 0.1
    # One item of a dimension says next to nothing of half the mean.
    assert (
        found(made, "accuracy_macro", "one").high - found(made, "accuracy_macro", "one").low >= 0.5
    )


def test_the_macro_mean_counts_dimensions_alike():
    cases = [mcq(index) for index in range(8)] + [mcq(8, dimension="TP"), mcq(9, dimension="TP")]
    answers = [chose("one", index, "A" if index < 8 else "B") for index in range(10)]
    macro = found(measured(cases, answers), "accuracy_macro", "one")
    assert macro.value == 0.5
    assert macro.n == 10
    assert macro.note == "no items of FDD, SU, CR, LTG, MSI"
    assert macro.low <= 0.5 - (1 - wilson(8, 8).low) / 2
    assert macro.high >= 0.5 + wilson(0, 2).high / 2


def test_without_dimensions_there_is_no_macro_mean():
    made = measured([mcq(1, dimension=None)], [chose("one", 1, "A")])
    assert not [record for record in made if record.measure == "accuracy_macro"]


def test_conditions_have_their_own_and_all_orders_are_permuted():
    cases = [mcq(1, "A"), mcq(2, "B")]
    answers = [
        chose("one", 1, "A"),
        chose("one", 2, "B"),
        chose("one", 1, "A", image="blank"),
        chose("one", 2, "A", image="blank"),
        chose("one", 1, "B", order=1, shift=1),
        chose("one", 2, "B", order=1, shift=1),
    ]
    made = measured(cases, answers)
    assert found(made, "accuracy", "one").value == 1.0
    assert found(made, "accuracy", "one", condition="blank").value == 0.5
    permuted = found(made, "accuracy", "one", condition="permuted")
    assert (permuted.k, permuted.n) == (3, 4)
    assert "design effect" in permuted.method, "two replies to an item are not two items"
    assert found(made, "accuracy", "one", condition="permuted", dimension="SOD").n == 4
    assert not [record for record in made if record.by.get("condition") == "swap"]


def test_asked_only_without_the_image_there_is_no_plain_accuracy():
    made = measured([mcq(1), mcq(2)], [chose("one", 1, "A", image="text")])
    record = found(made, "accuracy", "one")
    assert record.value is None
    assert record.note == "not asked with the item's own image; nothing to count"
    assert found(made, "accuracy", "one", condition="text").n == 1


def test_a_reader_of_open_questions_alone_has_none():
    made = measured([mcq(1), opened(1)], [wrote("one", 1)])
    assert not [record for record in made if record.measure.startswith("accuracy")]


def test_one_item_has_a_value_and_no_interval():
    record = found(measured([mcq(1)], [chose("one", 1, "A")]), "accuracy", "one")
    assert (record.value, record.low, record.high) == (1.0, None, None)
    assert record.note == "one item has no interval"


def test_the_longest_option_is_the_first_of_several():
    # The second and the fourth option have four characters.
    cases = [mcq(1, "B"), mcq(2, "A"), mcq(3, "A"), mcq(4, "A")]
    said = ["B", "B", "D", "?"]
    made = measured(cases, [chose("one", index + 1, one) for index, one in enumerate(said)])
    record = found(made, "longest_rate", "one")
    assert (record.k, record.n) == (2, 3)
    assert record.note == "the right option is the longest in 1 of 3"


def test_chance_is_the_mean_of_one_over_the_options():
    cases = [mcq(1), mcq(2, options=("x", "y")), mcq(3, dimension="TP")]
    made = measured(cases, [chose("one", 1, "A")])
    assert found(made, "chance", "").value == pytest.approx(0.3, abs=1e-15)
    assert found(made, "chance", "", dimension="TP").value == 0.2
    assert found(made, "chance", "", dimension="SOD").n == 2
    five = measured([mcq(index) for index in range(49)], [chose("one", 1, "A")])
    assert math.isclose(found(five, "chance", "").value, 0.2, rel_tol=1e-15)


# ---------------------------------------------------------------- comparisons
# Readers against readers, and a base against its medical fine-tune.


def run_of_readers(options=None, **letters):
    """Every reader's letters by item; right is A."""
    n = len(next(iter(letters.values())))
    cases = [mcq(index, dimension="SOD" if index % 2 else "TP") for index in range(n)]
    answers = [
        chose(reader, index, letter)
        for reader, said in letters.items()
        for index, letter in enumerate(said)
    ]
    return chosen_measures(tables_of(cases, answers), OURS, options)


def test_every_pair_once_in_the_runs_order():
    made = run_of_readers(one="AA", two="AB", three="BB")
    pairs = [(r.reader, r.by["versus"]) for r in made if r.measure == "diff_accuracy"]
    assert pairs == [("one", "two"), ("one", "three"), ("two", "three")]


def test_a_difference_is_paired_and_its_p_exact():
    record = found(
        run_of_readers(one="AAAAAAAABB", two="AABBBBBBAB"), "diff_accuracy", "one", versus="two"
    )
    assert record.value == pytest.approx(0.5)
    assert record.p == coin_p(6, 1)
    assert record.family == "diff_accuracy"
    assert record.low < 0.5 < record.high
    assert record.method == "newcombe10"
    assert record.beside == (0.8, pytest.approx(0.3))


def test_what_counts_as_wrong_is_noted_by_reader():
    record = found(run_of_readers(one="A?", two="!B"), "diff_accuracy", "one", versus="two")
    assert record.value == 0.5
    assert record.note == ("one: 1 unparsed counted as wrong; two: 1 refused counted as wrong")


def test_what_a_fine_tune_lost_and_won():
    made = run_of_readers(Options(pairs=(("base", "med"),)), base="AAAABB", med="ABBBAB")
    lost = found(made, "only_base", "med", versus="base")
    won = found(made, "only_medical", "med", versus="base")
    assert (lost.k, lost.n, won.k, won.n) == (3, 6, 1, 6)
    assert lost.low < lost.value < lost.high
    assert found(made, "only_base", "med", versus="base", dimension="SOD").k == 2
    gap = found(made, "diff_accuracy", "base", versus="med")
    assert gap.value == pytest.approx(lost.value - won.value)


def test_a_pair_that_is_not_in_the_run_is_refused():
    with pytest.raises(BadInput, match="pairs=base>gone: the run has no reader gone; it has base"):
        run_of_readers(Options(pairs=(("base", "gone"),)), base="AB")


# ---------------------------------------------------------------- dependence
# What is left of the accuracy without the picture.


def run_without(own, blank, **other):
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
    gap, part = both(run_without("AAAAAABBBB", "AAABBBABBB"))
    assert gap.value == pytest.approx((4 - 6) / 10)
    assert gap.p == coin_p(1, 3)
    assert gap.family == "diff_accuracy by image"
    # Of five options guessing gets two of ten: two of the four more than that are left.
    assert part.value == pytest.approx(2 / 4)
    assert part.beside == (pytest.approx(4 / 6), pytest.approx(2 / 6))
    assert gap.n == part.n == 10
    for record in (gap, part):
        assert record.low < record.value < record.high


def test_only_items_asked_in_both_are_paired():
    gap, part = both(run_without("AAAB", "AB  "))
    assert (gap.value, gap.n) == (-0.5, 2)
    assert (part.value, part.n) == (pytest.approx((1 - 0.4) / (2 - 0.4)), 2)


def test_the_part_may_exceed_the_whole():
    _, part = both(run_without("AAABB", "AAAAB"))
    assert part.value == pytest.approx(3 / 2)
    assert part.high > part.value


@pytest.mark.parametrize("own", ["ABBBB", "AABBBBBB"])
def test_who_is_not_above_chance_has_nothing_to_survive(own):
    _, part = both(run_without(own, own))
    assert (part.value, part.low, part.flags) == (None, None, ("at_chance",))
    assert part.beside == (1.0, pytest.approx(0.2 * len(own) / own.count("A")))


def test_of_nothing_no_part_survives():
    gap, part = both(run_without("BBBB", "ABBB"))
    assert gap.value == 0.25
    assert part.value is part.low is part.high is None
    assert part.note == "nothing right with the item's own image"


@pytest.mark.parametrize(
    ("own", "blank", "value"), [("AAAA", "AAAA", 1.0), ("AAAA", "BBBB", -1 / 4)]
)
def test_where_resampling_shows_no_spread_something_is_left_open(own, blank, value):
    _, part = both(run_without(own, blank))
    assert part.value == pytest.approx(value)
    # As many as agree leave open what one more would do.
    assert part.low < part.value < part.high
    assert part.flags == ("few",)


def test_nothing_changed_is_no_evidence_and_no_certainty():
    gap, _ = both(run_without("AABB", "AABB"))
    assert (gap.value, gap.p) == (0.0, 1.0)
    assert gap.low < 0 < gap.high


def test_dimensions_have_their_own_family():
    gap, part = both(run_without("AAAB", "AABB"), dimension="SOD")
    assert gap.value == -0.25
    assert gap.family == "diff_accuracy by image and dimension"
    assert part.value == pytest.approx((2 - 0.8) / (3 - 0.8))


def test_what_names_no_option_is_noted_for_both_sides():
    gap, _ = both(run_without("A?", "!B"))
    assert gap.note == ("blank: 1 refused counted as wrong; original: 1 unparsed counted as wrong")


def test_who_gets_no_picture_cannot_depend_on_it():
    for record in both(run_without("AABB", "ABBB", blind=("one",))):
        assert record.value is None
        assert record.note == "the model gets no picture"


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
    alike, apart = run_without(right, right), run_without(right, mixed)
    by = {"condition": "blank", "versus": "original"}
    less, more = (found(made, "diff_accuracy", "one", **by) for made in (alike, apart))
    assert less.method == more.method == "newcombe10"
    # Newcombe's are narrower near the ends of the scale, and never nearly nothing.
    for record in (less, more):
        assert record.low <= 0 <= record.high
        assert record.high - record.low >= wilson(0, n).high
    less, more = (
        found(run_without(letters, ""), "accuracy_macro", "one") for letters in (right, mixed)
    )
    assert f"t of {n - 1}" in more.method
    assert more.high - more.low >= less.high - less.low


# ---------------------------------------------------------------- what replies became
# Invalid, refused, unanswered and cut off are four things.

CASES = [mcq(1), mcq(2), mcq(3, dimension="TP"), mcq(4, dimension="TP"), mcq(5), opened(1)]
SAID = [
    chose("one", 1, "?", finish="length"),
    chose("one", 2, "!"),
    chose("one", 3, "?"),
    chose("one", 4, "A"),
    chose("one", 1, "?", image="swap"),
    chose("one", 2, "B", image="swap"),
    wrote("one", 1, outcome="unparsed", finish=None),
    wrote("one", 1, form="reformulated"),
    wrote("one", 2, None, form="reformulated"),
]
MADE = chosen_measures(tables_of(CASES, SAID), OURS)


@pytest.mark.parametrize(
    ("measure", "by", "k", "n"),
    [
        ("invalid_rate", {}, 2, 5),
        ("invalid_rate", {"kind": "mcq"}, 2, 5),
        ("invalid_rate", {"kind": "open"}, 1, 1),
        ("invalid_rate", {"kind": "reformulated"}, 0, 2),
        ("invalid_rate", {"dimension": "TP"}, 1, 2),
        ("invalid_rate", {"condition": "swap"}, 1, 2),
        ("refused_rate", {"kind": "mcq"}, 1, 5),
        ("unanswered_rate", {"kind": "mcq"}, 1, 5),
        ("unanswered_rate", {"kind": "reformulated"}, 1, 2),
        ("cut_off_rate", {"kind": "mcq"}, 1, 4),
    ],
)
def test_each_is_a_share_of_what_was_asked(measure, by, k, n):
    record = found(MADE, measure, "one", **by)
    assert (record.k, record.n, record.value) == (k, n, k / n)


def test_items_without_a_row_are_said_to_be_missing():
    assert found(MADE, "unanswered_rate", "one", kind="mcq").note == "1 not in the answers"


def test_where_it_is_not_known_how_replies_ended_nothing_is_said():
    record = found(MADE, "cut_off_rate", "one", kind="open")
    assert (record.value, record.n) == (None, 0)
    assert record.note == "not known how replies ended; nothing to count"


def test_what_was_not_asked_has_no_record():
    made = chosen_measures(tables_of([mcq(1), opened(1)], [chose("one", 1, "A")]), OURS)
    assert {record.by["kind"] for record in made if "kind" in record.by} == {"mcq"}


# ---------------------------------------------------------------- the place of options, and probabilities
# Letters given, other orders of the options, and what probabilities say, by hand.

# ---------------------------------------------------------------- positions
# Letters given, and what another order of the options changes.


def always_first(n=10, orders=5):
    """Names whatever is shown first: in order o that is the o-th option of the case."""
    cases = [mcq(index, LETTERS[index % 5]) for index in range(n)]
    answers = [
        chose("one", index, LETTERS[order], order=order, shift=order)
        for index in range(n)
        for order in range(orders)
    ]
    return measured(cases, answers)


def test_who_always_says_a_has_all_the_bias_there_is():
    made = always_first()
    assert found(made, "position_share", "one", position="A").value == 1.0
    assert found(made, "position_share", "one", position="B").k == 0
    assert found(made, "position_share", "one", position="A").note == "10 right letters"
    bias = found(made, "position_bias", "one")
    # Over all five orders the right option stands in each place once.
    assert bias.value == pytest.approx(0.8)
    assert bias.n == 50
    assert (bias.low, bias.high) == (None, None), "no interval could hold 0"
    assert bias.p <= 0.01
    assert bias.beside[0] == bias.value > bias.beside[1]
    assert found(made, "order_consistency", "one").value == 0.0
    assert found(made, "accuracy_all_orders", "one").value == 0.0
    assert found(made, "accuracy", "one", condition="permuted").value == pytest.approx(0.2)


def test_who_is_always_right_has_none():
    cases = [mcq(index, LETTERS[index % 5]) for index in range(10)]
    answers = [
        chose("one", index, LETTERS[index % 5], order=order, shift=order)
        for index in range(10)
        for order in range(3)
    ]
    made = measured(cases, answers)
    bias = found(made, "position_bias", "one")
    assert (bias.value, bias.p) == (0.0, 1.0)
    assert found(made, "order_consistency", "one").value == 1.0
    assert found(made, "accuracy_all_orders", "one").value == 1.0


def test_always_wrong_in_the_same_way_is_consistent():
    answers = [chose("one", 1, "B", order=order, shift=order) for order in range(3)]
    made = measured([mcq(1, "A")], answers)
    assert found(made, "order_consistency", "one").value == 1.0
    assert found(made, "accuracy_all_orders", "one").value == 0.0


@pytest.mark.parametrize("other", ["?", "!", None, "B"])
def test_an_order_without_the_option_is_no_agreement(other):
    answers = [chose("one", 1, "A"), chose("one", 1, other, order=1, shift=1)]
    made = measured([mcq(1, "A")], answers)
    assert found(made, "order_consistency", "one").value == 0.0


def test_items_of_one_order_do_not_count_as_consistent():
    answers = [chose("one", 1, "A"), chose("one", 2, "A"), chose("one", 2, "A", order=1, shift=1)]
    made = measured([mcq(1), mcq(2)], answers)
    assert found(made, "order_consistency", "one").n == 1
    assert found(made, "accuracy_all_orders", "one").n == 1


def test_without_further_orders_there_are_shares_and_bias_alone():
    made = measured([mcq(1, "B"), mcq(2, "A")], [chose("one", 1, "A"), chose("one", 2, "A")])
    assert found(made, "position_bias", "one").value == 0.5
    names = {record.measure for record in made}
    assert not names & {"order_consistency", "accuracy_all_orders"}


def test_without_a_valid_reply_nothing_has_a_number():
    made = measured([mcq(1)], [chose("one", 1, "?")])
    for name, by in (("position_bias", {}), ("position_share", {"position": "A"})):
        record = found(made, name, "one", **by)
        assert record.value is None
        assert record.note


def guessed_bias(draw, n, per_image, edition=OURS, liked=()):
    """The bias of a reader that guesses, items of an image alike, some letters liked more."""
    places = draw.integers(0, 5, (2, n))
    images = np.arange(n) // per_image
    places[1] = np.where(draw.random(n) < 0.5, places[1][images * per_image], places[1])
    said = [LETTERS[one] for one in places[1]]
    said = [liked[0] if liked and draw.random() < 0.4 else one for one in said]
    cases = [
        mcq(index, LETTERS[one], images=[f"{images[index]}.png"])
        for index, one in enumerate(places[0])
    ]
    answers = [chose("one", index, letter) for index, letter in enumerate(said)]
    return found(chosen_measures(tables_of(cases, answers), edition), "position_bias", "one")


def test_an_unbiased_reader_is_called_biased_as_seldom_as_it_should_be():
    draw = np.random.default_rng(0)
    found_ = [guessed_bias(draw, 60, 3) for _ in range(60)]
    assert all(one.low is None for one in found_)
    assert sum(one.p <= 0.05 for one in found_) <= 7
    seen, by_chance = np.mean([one.beside for one in found_], axis=0)
    assert by_chance == pytest.approx(seen, rel=0.15)
    liked = [guessed_bias(draw, 200, 2, liked="B").p <= 0.05 for _ in range(10)]
    assert sum(liked) >= 8


def test_as_published_resamples_are_centred_for_noise_adds_to_a_distance():
    bias = guessed_bias(
        np.random.default_rng(0), 300, 1, msgspec.structs.replace(AUTHORS, boot=500)
    )
    assert bias.method.endswith(", centred")
    # As much below as above, where nothing cuts it off.
    assert bias.value - bias.low == pytest.approx(bias.high - bias.value, rel=0.5)


# ---------------------------------------------------------------- probabilities
# What probabilities of the options say, by hand.

TWO = ("x", "y")


def measured_chances(*chances, answers=None):
    told = answers or ["A"] * len(chances)
    cases = [mcq(index, told[index], options=TWO) for index in range(len(chances))]
    rows = [chose("one", index, "A", probabilities=p) for index, p in enumerate(chances)]
    return chosen_measures(tables_of(cases, rows), OURS)


def test_the_likeliest_option_is_the_choice():
    made = measured_chances([0.9, 0.1], [0.2, 0.8], [0.6, 0.4])
    record = found(made, "accuracy_logprobs", "one")
    assert (record.k, record.n, record.flags) == (2, 3, ("few",))


def test_of_two_equally_likely_none_is_chosen():
    record = found(measured_chances([0.5, 0.5], [0.9, 0.1]), "accuracy_logprobs", "one")
    assert (record.k, record.n) == (1, 2)
    assert record.note == "1 ties counted as wrong"


def test_items_without_probabilities_are_left_out_and_counted():
    record = found(measured_chances([0.9, 0.1], None, None), "accuracy_logprobs", "one")
    assert (record.k, record.n) == (1, 1)
    assert record.note.startswith("left out: 2 without probabilities")


def test_with_two_options_it_is_the_brier_score_of_the_right_one():
    chances, answers = [[0.9, 0.1], [0.3, 0.7], [0.55, 0.45]], ["A", "B", "B"]
    made = measured_chances(*chances, answers=answers)
    right = [p["AB".index(one)] for p, one in zip(chances, answers, strict=True)]
    record = found(made, "brier", "one")
    assert record.value == pytest.approx(np.mean((1 - np.array(right)) ** 2))
    assert record.low <= record.value <= record.high


def test_calibration_is_that_of_the_likeliest_option():
    chances = [[0.9, 0.1], [0.95, 0.05], [0.3, 0.7], [0.35, 0.65], [0.45, 0.55]]
    answers = ["A", "B", "B", "A", "A"]
    record = found(measured_chances(*chances, answers=answers), "ece", "one")
    expected = ece([0.9, 0.95, 0.7, 0.65, 0.55], [1, 0, 1, 0, 0], edges="floor")
    # Of five replies that is what chance alone gives: less of it, and no evidence.
    assert record.beside == (pytest.approx(expected), record.value)
    assert 0 <= record.value < expected
    assert (record.n, record.low, record.p > 0.05) == (5, None, True)


def test_probabilities_of_one_and_nought_say_nothing_of_calibration():
    record = found(measured_chances([1.0, 0.0], [0.0, 1.0]), "ece", "one")
    assert record.value is None
    assert record.note == "the probabilities say no more than the letter"


def test_all_on_a_wrong_option_is_the_worst_score():
    assert found(measured_chances([0.0, 1.0], [0.0, 1.0]), "brier", "one").value == 1.0


def test_readers_without_probabilities_have_no_such_records():
    names = {record.measure for record in measured_chances(None, None)}
    assert not names & {"accuracy_logprobs", "ece", "brier"}
