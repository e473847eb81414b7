"""What does not add up in the heartbeat paper is found, and is not where the numbers agree."""

from __future__ import annotations

import re
import statistics
from importlib.resources import files

import pytest

from overread.benchmarks.heartbeat.authors.rules import t2_orders
from overread.benchmarks.heartbeat.guessers import expected_error
from overread.published import Flag, inconsistencies
from overread.published._figures import read_figures
from published.arithmetic import CHECKS
from published.arithmetic.heartbeat_answers import constant_choice, margin

# Without the blanks that only line the columns up.
TEXT = re.sub(
    r" +\|",
    " |",
    (files("overread.published") / "heartbeat" / "figures.toml").read_text(encoding="utf-8"),
)
GUESSES = "Random | 11.87 | 11.62\n'''\n\n[[parts]]\n"
FOUND = read_figures(TEXT)
PRINTED = frozenset(inconsistencies("heartbeat"))
BY_NAME = {check.__name__: check for check in CHECKS["heartbeat"]}


def printing(name: str, *changes: tuple[str, str]) -> list[Flag]:
    """What one check finds, had the paper printed something else in some places."""
    text = TEXT
    for old, new in changes:
        assert text.count(old) == 1, f"{text.count(old)} times {old}"
        text = text.replace(old, new)
    return list(BY_NAME[name](read_figures(text)))


# ---------------------------------------------------------------- what the paper really has


def test_what_does_not_add_up() -> None:
    by_check = {
        name: sorted(flag.reader for flag in check(FOUND)) for name, check in BY_NAME.items()
    }
    qwen = ["Qwen3-VL-32B", "Qwen3-VL-8B"]
    llava = ["LLaVA-Interleave", "LLaVA-NeXT-Video-34B", "LLaVA-NeXT-Video-7B"]
    assert by_check == {
        "no_pixels": ["Gemma-3n", "LLaVA-Interleave"],
        "told_by_the_length": ["Gemma-3n"],
        "resampled": qwen,
        "index_range": [""],
        "guesses": ["Random"],
        "constant_frames": qwen,
        "margin": [""],
        "constant_choices": ["Gemma-3n"],
        "one_seed": ["LLaVA-Interleave"],
        "out_of_range": ["LLaVA-Interleave"],
        "few_videos": ["Gemma-3n"],
        "two_means": ["Gemma-3n", *llava],  # Qwen's rows are equal
        "two_means_of_ef": [""],
        "heading": [""],
        "best": ["Gemma-3n", "LLaVA-NeXT-Video-34B"],
        "above": ["Gemma-3n"],
        "better_than_guesses": [""],
        "one_frame": [""],
        "printed_twice": [],
    }


@pytest.mark.parametrize(
    "said",
    [
        "10.54 frames from ED and 27.47 from ES",
        "with ED first l is 16.93 and the margin 0.62 l",
        "ED original 0.514 ± 0.061 = always 0; ES original 0.514 ± 0.061 = always 1",
        "ED non-medical 0.486 ± 0.061 = always 1",
        "6 accuracies of 0.476 to 0.511 in Table 4, none apart from a coin's",
        "4 frames of a window of 21, 5 of 64",
        "that video is about 7.5 million frames off",
        "7.65 ± 0.20 and 7.82 ± 3.14 (ED, original edv_esv)",
        "Found 11.87 and 11.62; expected 53.27 and 68.64, its saved output",
        "[0, n + 1) for n frames",
        "2.88 ± 0.17, R² 0.67 ± 0.07 (ES, non-medical esv); expected about 11.62",
        "11 of 36 errors are smaller",
        "18 of 36 errors of EF are not the same in both",
        "52.66 ± 3.61 and 55.63 ± 42.60 of LLaVA-NeXT-Video-7B (original esv_edv)",
        "108 of 108 spreads are larger than over seeds, 6 larger than any over 10 seeds",
    ],
)
def test_a_flag_says_what_was_found_and_what_was_expected(said: str) -> None:
    assert sum(said in str(flag) for flag in PRINTED) == 1 + ("window of 21" in said)


def test_every_flag_says_what_it_rests_on() -> None:
    for flag in PRINTED:
        assert flag.note.startswith(("from the printed numbers", "from the text", "HEARTBEAT "))
        assert flag.tables


# ---------------------------------------------------------------- what it has not

PUT_RIGHT = [
    ("no_pixels", "LLaVA-Interleave", "0.489 ± 0.053", "0.889 ± 0.053"),
    ("no_pixels", "LLaVA-Interleave", "0.486 ± 0.063", "0.436 ± 0.063"),
    ("told_by_the_length", "Gemma-3n", "2.88 ± 0.17 | 0.67", "2.88 ± 0.17 | 0.07"),
    ("resampled", "Qwen3-VL-8B", "windows | 21 | 64", "windows | N/A | 64"),
    ("index_range", "", "windows | 21 | 64 | 1/3", "frames | 21 | 64 | 1/3"),
    ("guesses", "Random", f'{GUESSES}table = "1"', "Random | 53.27 | 68.64\n'''\n\n[[parts]]\ntable = \"1\""),
    ("constant_frames", "Qwen3-VL-32B", "edv_esv | 10.54 ± 0.00 | - ", "edv_esv | 10.54 ± 0.00 | 0.30 "),
    ("margin", "", "21 | 64 | 1/3", "21 | 64 | 2/3"),
    ("constant_choices", "Gemma-3n", "non_medical | 0.486 ± 0.061 | 0.514", "non_medical | 0.486 ± 0.062 | 0.515"),
    ("one_seed", "LLaVA-Interleave", "7538.39 ± 23615.93", "7538.39 ± 22615.93"),
    ("out_of_range", "LLaVA-Interleave", "100.68 ± 93.86", "60.68 ± 93.86"),
    ("few_videos", "Gemma-3n", "0.44 ± 0.48", "0.44 ± 0.28"),
    ("two_means", "Gemma-3n", "7.65 ± 0.20", "7.82 ± 0.20"),
    ("two_means_of_ef", "", "62.77 ± 12.63", "63.70 ± 12.63"),
    ("heading", "", "7.46e3 ± 7.37e4", "7.46e3 ± 7.37e3"),
    ("best", "LLaVA-NeXT-Video-34B", "9.66 ± 0.79", "9.26 ± 0.79"),
    ("best", "Gemma-3n", "10.11 ± 0.25", "12.41 ± 0.25"),
    ("above", "Gemma-3n", "4.34 ± 0.18", "6.34 ± 0.18"),
    ("better_than_guesses", "", f'{GUESSES}table = "4"', "Random | 18.87 | 17.62\n'''\n\n[[parts]]\ntable = \"4\""),
    ("one_frame", "", "45.55 ± 1.97", ""),
]  # fmt: skip


@pytest.mark.parametrize(("check", "reader", "old", "new"), PUT_RIGHT)
def test_a_figure_put_right_is_no_longer_flagged(
    check: str, reader: str, old: str, new: str
) -> None:
    gone = set(BY_NAME[check](FOUND)) - set(printing(check, (old, new)))
    assert reader in {flag.reader for flag in gone}


@pytest.mark.parametrize(
    ("check", "old", "new", "what"),
    [
        ("constant_choices", "0.488 ± 0.071", "0.514 ± 0.061", "1 accuracies are those of one"),
        ("best", "33.94 ± 3.36", "9.25 ± 3.36", "9.25 ± 3.36 of LLaVA-NeXT-Video-7B"),
        ("two_means", "7.12 ± 0.27", "8.12 ± 0.27", "1 of 18 errors are not the same in both"),
        ("two_means_of_ef", "28.15 ± 18.24", "29.15 ± 18.24", "19 of 36 errors of EF"),
        ("heading", "7.82 ± 3.14", "7.82 ± 31.4", "7 larger than any over 10 seeds"),
        ("above", "6.55 ± 0.35", "5.55 ± 0.35", "Found 5.55 ± 0.35 (ED, original edv)"),
        ("printed_twice", "| 6.55\n", "| 6.56\n", "value differs from Table 1"),
        ("out_of_range", "10.09 ± 0.86", "64.09 ± 0.86", "64.09 ± 0.86 (ED, original edv_esv)"),
        ("one_seed", "10.09 ± 0.86", "10.09 ± 30.86", "one seed makes this mean"),
        ("few_videos", "0.17 ± 0.07 | 6.29", "0.17 ± 0.39 | 6.29", "R² is near 0 for some seeds"),
        ("constant_frames", "9.48 ± 0.06 | 0.00 ± 0.00", "9.48 ± 0.00 | -", "(ED, segmented edv)"),
        ("no_pixels", "0.486 ± 0.063", "0.470 ± 0.063", "6 accuracies of 0.470 to 0.511"),
        ("told_by_the_length", "10.20 ± 0.82 | 0.28", "5.20 ± 0.82 | 0.68", "LLaVA-Interleave: far"),
        ("resampled", "windows | 21 | 64", "windows | 21 | 96", "4 frames of a window of 21, 8 of"),
        ("one_frame", "22.58 ± 5.81 | 0.03 ± 0.03 | 52.66 ± 3.61\nLLaVA-NeXT-Video-7B | edv | "
         "33.14 ± 6.37 | 0.04 ± 0.03 | | |", "22.58 ± 5.81 | 0.03 ± 0.03 | 52.66 ± 3.61\n"
         "LLaVA-NeXT-Video-7B | edv | 33.14 ± 6.37 | 0.04 ± 0.03 | | | 50.00", "7 errors of EF"),
    ],
)  # fmt: skip
def test_a_misprint_is_found(check: str, old: str, new: str, what: str) -> None:
    more = set(printing(check, (old, new))) - PRINTED
    assert any(what in str(flag) for flag in more), [str(flag) for flag in more]


def test_every_check_is_tried_both_ways_or_finds_nothing() -> None:
    tried = {check for check, *_ in PUT_RIGHT}
    assert set(BY_NAME) - tried == {"printed_twice"}


def test_ef_belongs_to_two_frames() -> None:
    single = [line for line in TEXT.splitlines() if "| large |" in line and line.count("|") == 6]
    assert len(single) == 6
    assert printing("one_frame", *((line, line.rpartition("|")[0] + "|") for line in single)) == []


# ---------------------------------------------------------------- the arithmetic under the checks


def test_the_constant_choice_is_that_of_the_seeded_order() -> None:
    """By the benchmark's own order, which reproduces the authors'."""
    for position in (0, 1):
        shares = [t2_orders(100, seed).count(position) / 100 for seed in range(2020, 2030)]
        mean, sd = constant_choice(position, 100)
        assert mean == pytest.approx(statistics.mean(shares))
        assert sd == pytest.approx(statistics.stdev(shares))


@pytest.mark.slow
@pytest.mark.parametrize("share", [(1, 3), (1, 2), (2, 3)])
@pytest.mark.parametrize("apart", [12, 18, 36])
@pytest.mark.parametrize("first", [100, 90, 60])
def test_the_margin_is_found_whatever_the_order(
    share: tuple[int, int], apart: int, first: int
) -> None:
    """Windows of one length, ED or ES first: the errors of a constant 0 and of guesses tell m/l."""
    reach = apart * share[0] // share[1]
    n = apart + 2 * reach + 1
    ed = (first * reach + (100 - first) * (reach + apart)) / 100
    guess = float(expected_error([n], [reach])[0])
    text = TEXT.replace("21 | 64 | 1/3", f"21 | 64 | {2 * share[0]}/{share[1]}")
    text = text.replace("Random | 11.87 | 11.62", f"Random | {guess:.6f} | {guess:.6f}")
    text = text.replace("10.54 ± 0.00", f"{ed:.6f} ± 0.00")
    text = text.replace("27.47 ± 0.01", f"{n - 1 - ed:.6f} ± 0.00")
    (flag,) = margin(read_figures(text))
    assert f"windows of {n} frames with margins of {share[0] / share[1]:.2f} l" in flag.found
