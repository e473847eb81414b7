"""Every check finds what it is for, and nothing where the numbers agree."""

from __future__ import annotations

from importlib.resources import files

import pytest

from overread.published import BENCHMARKS, Figures, figures, inconsistencies
from overread.published._figures import read_figures
from overread.stats import bootstrap_proportion
from published.arithmetic import CHECKS, flags_of
from published.arithmetic.rates import bootstrap_bounds, counts_that_fit

TEXT = (files("overread.published") / "grounding" / "figures.toml").read_text(encoding="utf-8")
PRINTED = frozenset(inconsistencies("grounding"))


def printing(old: str, new: str) -> Figures:
    """The paper, had it printed something else in one place."""
    assert TEXT.count(old) == 1, f"{TEXT.count(old)} times {old}"
    return read_figures(TEXT.replace(old, new))


# ---------------------------------------------------------------- what is kept is what is found


def test_arithmetic_is_done_for_every_paper() -> None:
    assert tuple(sorted(CHECKS)) == BENCHMARKS


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_the_kept_flags_are_those_that_arithmetic_finds(benchmark: str) -> None:
    """In their order too; after a change, write them: python -m published.arithmetic."""
    kept, found = list(inconsistencies(benchmark)), flags_of(figures(benchmark))
    assert [str(flag) for flag in kept if flag not in found] == [], "kept, but no longer found"
    assert [str(flag) for flag in found if flag not in kept] == [], "found, but not kept"
    assert kept == found


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_a_flag_names_tables_that_are_there(benchmark: str) -> None:
    for flag in inconsistencies(benchmark):
        assert flag.tables
        assert set(flag.tables) <= {*figures(benchmark).tables, "text"}


# ---------------------------------------------------------------- what the paper really has


def test_what_does_not_add_up_in_the_causal_audit() -> None:
    """GROUNDING 16, 17: row, and the difference it comes from."""
    assert sorted((flag.reader, flag.note.partition(":")[0]) for flag in PRINTED) == sorted(
        [
            ("LLaVA-Med-7B", "D1"),  # Yes is right for normal films
            *((reader, "D3") for reader in ("MedGemma-1.5-4B", "Gemma-4-26B", "Qwen3-VL-32B")),
            ("Mistral-Small-4-119B", "D3"),
            ("LLaVA-Med-7B", "D6"),  # 64.8 [61.6, 66.0]
            *((reader, "D8") for reader in ("LLaVA-Med-7B", "Gemma-4-26B", "GPT-5")),
            *((reader, "D8") for reader in ("MedGemma-27B-text", "DeepSeek-R1-7B", "GPT-5")),
            ("RAD-DINO", "D8, section 17"),
            ("RAD-DINO", "section 17"),
            ("RAD-DINO", "section 17"),
            ("GPT-5", "D9"),  # confidences of 0 and 1 only
            ("DeepSeek-R1-7B", "D9"),  # recorded as 0, and not 0
            ("LLaVA-Med-7B", "D14"),
            ("Mistral-Small-4-119B", "D21"),
            ("RAD-DINO", "D24"),
            *(("all nine", "D25") for _ in range(2)),
            *(("all but RAD-DINO", "D25") for _ in range(2)),
            ("Mistral-Small-4-119B", "D29"),
            ("MedGemma-27B-text", "D30"),
            *(("DeepSeek-R1-7B", "D30") for _ in range(2)),
            ("Qwen3-VL-32B", ""),  # lung opacity is not inert
            ("LLaVA-Med-7B", ""),  # no image user
            ("LLaVA-Med-7B", ""),  # no text-only model
            ("all with an AUROC", ""),  # a ± that the caption denies
        ]
    )


@pytest.mark.parametrize(
    ("reader", "note", "said"),
    [
        ("LLaVA-Med-7B", "D1", "1,322/2,575 = 51.3 %"),
        ("LLaVA-Med-7B", "D1", "at most 1,222 if normal films are No"),
        ("LLaVA-Med-7B", "D6", "Found 64.8 [61.6, 66.0]"),
        ("GPT-5", "D8: unparsed target answers are counted as flips", "Found 91; expected 88"),
        ("RAD-DINO", "D8, section 17", "Found 2,439; expected 2,575 or 2,123"),
        ("RAD-DINO", "section 17", "Found 1,174; expected 1,248 to 1,249 (58.8 of 2,123)"),
        ("RAD-DINO", "section 17", "Found 2,123; expected 2,257 to 2,259 (87.7 of 2,575)"),
        ("Mistral-Small-4-119B", "D29", "Found q=1.000; expected none"),
        ("DeepSeek-R1-7B", "D30", "uar n=1,085, cgr n=141, is n=141"),
        ("DeepSeek-R1-7B", "D30", "Found 87 of 100 at 512 px; expected about 31"),
        ("all nine", "D25", "Found p=0.077, which Student's t gives; expected p=0.0857"),
    ],
)
def test_a_flag_says_what_was_found_and_what_was_expected(
    reader: str, note: str, said: str
) -> None:
    lines = [str(flag) for flag in PRINTED if (flag.reader, flag.note) == (reader, note)]
    assert any(said in line for line in lines), lines


# ---------------------------------------------------------------- each check can fail

# Check, what is printed, what might have been printed instead, what is then said.
MISPRINTS = [
    ("whole_counts", "n=25  | 84.5 ± 1.1", "n=26  | 84.5 ± 1.1", "no whole count"),
    ("whole_counts", "21.0 ± 4.1 [13.0, 29.0]", "21.3 ± 4.1 [13.0, 29.0]", "no whole count"),
    ("standard_errors", "76.5 ± 1.1 [74.3,", "76.5 ± 1.3 [74.3,", "not its binomial error"),
    ("intervals_of_rates", "76.5 ± 1.1 [74.3,", "76.5 ± 1.1 [73.3,", "not its bootstrap"),
    ("intervals_of_rates", "[15.1, 44.2] n=33", "[15.1, 44.4] n=33", "not its wilson interval"),
    ("intervals_of_scores", "[70.2, 74.1]", "[72.3, 74.1]", "outside its own interval"),
    ("intervals_of_scores", "[70.2, 74.1]", "[71.2, 75.1]", "off-centre"),
    ("intervals_of_scores", "72.2 ± 1.0", "72.2 ± 1.6", "width is not that of its ±"),
    ("printed_twice", "| 99.5  | uses", "| 98.5  | uses", "value differs from Table 1"),
    ("printed_twice", "n=370 | 29.1", "n=371 | 29.1", "n differs from Table 1"),
    ("differences", "-18.0 ± 1.2", "-18.4 ± 1.2", "not the difference"),
    ("differences", "8.6 ± 1.9", "8.9 ± 1.9", "not the difference"),
    ("differences", "-12.5 ± 6.0", "-12.9 ± 6.0", "not the difference"),
    ("composition", "| 8   | 35   | 43", "| 8   | 34   | 43", "edema ms_cxr: view PA + view AP do"),
    ("composition", "| 86  | 366  | 452", "| 87  | 365  | 452", "ms_cxr: view PA do not add up"),
    ("composition", "| 857 | 1718 | 2575", "| 856 | 1719 | 2575", "all: view PA do not add up"),
    ("composition", "| 30  | 57  | 23  | 80", "| 31  | 58  | 23  | 81", "chexpert: total do not"),
    ("regimes", "n=1151 ", "n=1152 ", "neither all cases nor the parsed ones"),
    (
        "accuracy_and_regimes",
        "62.1 ± 45.8 n=1299",
        "62.1 ± 45.8 n=1289",
        "the right answers of Table 1",
    ),
    ("flips_and_regimes", "82.3 ± 15.4 n=57", "82.3 ± 15.4 n=58", "not the flips of CGR"),
    ("parse_rates", "| 90.3  | N/A", "| 90.4  | N/A", "not what the parse rate leaves"),
    ("findings", "[41.1, 64.8] n=64", "[41.1, 64.8] n=66", "cases do not add up to those of CGR"),
    ("findings", "63.2 ± 6.4", "59.6 ± 6.4", "flips do not add up to those of CGR"),
    ("findings", "[0.5, 14.9] n=34", "[0.5, 14.9] n=35", "more cases than the probe set"),
    ("subgroups", "73.0/25.1", "73.0/35.1", "no groups of the cases have these rates"),
    ("subgroups", "38.9/22.0", "38.9/22.6", "no groups of the cases have these rates"),
    ("subgroups", "26.3/31.3/36.3", "26.3/31.3/32.3", "no groups of the cases have these rates"),
    ("stability", "[87.3, 93.4] n=361", "[87.3, 93.4] n=260", "fewer cases than were parsed"),
    ("categories", "| 56.0 ± 9.9", "| 76.0 ± 9.9", "the stated rule says otherwise"),
    ("categories", "99.5  | uses image ", "99.5  | unstable ", "rule says otherwise at an IS thr"),
    ("premiums", "| 29.2 |", "| 29.9 |", "gsp does not follow from cgr and is"),
    ("premiums", "| 17.9\n", "| 18.2\n", "image_contingent does not follow from uar"),
    ("untestable", "35.3/50.0", "N/A", "although nothing could be tested"),
    ("not_run", "| 98.8  | 99.8", "| N/A   | 99.8", "said not to have been run"),
    ("always_yes", "n=99  | 99/100", "n=51  | 51/100", "label-balanced sample"),
    ("blind_to_resolution", "[0.0, 0.0] n=88", "[0.0, 0.0] n=48", "at another resolution"),
    ("confidences", "44.6 ± 44.0", "44.6 ± 49.7", "every value is 0 or 1"),
    ("inert_findings", "0.0 ± 0.0 [0.0, 10.7] n=32", "3.1 ± 3.1 [0.6, 15.7] n=32", "inert"),
    (
        "outscored_image_users",
        'category = "uses image", params_b = 4 }',
        'category = "unstable", params_b = 4 }',
        "two of the five image users",
    ),
    ("auroc_without_spread", "72.2 ± 1.0 [70.2", "72.2 [70.2", "without a standard deviation"),
    ("text_only_at_zero", "0.0 ± 0.0 [0.0, 6.3] n=57", "1.8 ± 1.7 [0.3, 9.3] n=57", "three text"),
    ("rank_correlations", "0.931 p", "0.941 p", "not that of the printed values"),
    ("rank_probabilities", "p=0.077", "p=0.090", "its p is no permutation's"),
]


@pytest.mark.parametrize(("check", "old", "new", "what"), MISPRINTS)
def test_a_misprint_is_found(check: str, old: str, new: str, what: str) -> None:
    (looking,) = (each for each in CHECKS["grounding"] if each.__name__ == check)
    more = set(looking(printing(old, new))) - PRINTED
    assert any(what in flag.what for flag in more), [str(flag) for flag in more]


def test_there_is_a_misprint_for_every_check() -> None:
    assert {check.__name__ for check in CHECKS["grounding"]} == {check for check, *_ in MISPRINTS}


@pytest.mark.parametrize("check", ["whole_counts", "findings", "untestable", "not_run"])
def test_no_check_stumbles_over_what_another_finds(check: str) -> None:
    for name, old, new, _ in MISPRINTS:
        if name == check:
            assert set(flags_of(printing(old, new))) != PRINTED


@pytest.mark.parametrize(
    ("old", "new", "reader", "note"),
    [
        ("[61.6, 66.0]", "[62.6, 66.9]", "LLaVA-Med-7B", "D6"),
        ("100.0 ± 0.0 n=91", "100.0 ± 0.0 n=88", "GPT-5", "D8: unparsed target answers are counted as flips"),
        ("N/A q=1.000", "30.0/41.0", "Mistral-Small-4-119B", "D29"),
        ("1.2 ± 7.6 n=1490", "0.0 ± 0.0 n=1490", "DeepSeek-R1-7B", "D9"),
        ("48.6 ± 50.0", "48.6 ± 44.0", "GPT-5", "D9"),
        ("56.0  | uses image ", "56.0  | indeterminate ", "Mistral-Small-4-119B", "D21"),
        ("| 99.9 | 0.0 ", "| 99.9 | 0.5 ", "LLaVA-Med-7B", "D1"),
        ("n=141    | 0.0 ± 0.0 [0.0, 0.0] n=87", "n=141    | 0.0 ± 0.0 [0.0, 0.0] n=33", "DeepSeek-R1-7B", "D30"),
        ("p=0.021", "p=0.028", "all but RAD-DINO", "D25"),
    ],
)  # fmt: skip
def test_a_misprint_put_right_is_no_longer_flagged(
    old: str, new: str, reader: str, note: str
) -> None:
    gone = PRINTED - set(flags_of(printing(old, new)))
    assert (reader, note) in {(flag.reader, flag.note) for flag in gone}


# ---------------------------------------------------------------- the arithmetic under the checks


def test_counts_that_fit_are_those_that_print_the_value() -> None:
    """One rounding to four decimals before, as the paper's scripts have it."""
    for n in (1, 7, 25, 373, 1505):
        for tenth in range(0, 1001, 7):
            value = tenth / 1000
            plain = {k for k in range(n + 1) if abs(k / n - value) <= 0.00055 + 1e-9}
            assert set(counts_that_fit(value, n, 0.0005)) == plain


@pytest.mark.parametrize(("k", "n"), [(125, 373), (10, 25), (2, 40), (1424, 2575)])
def test_the_authors_bootstrap_lies_where_it_may(k: int, n: int) -> None:
    """The bounds a printed interval is held to hold the interval of the authors' own bootstrap."""
    drawn = bootstrap_proportion([1] * k + [0] * (n - k), 10_000, 0)
    (low, low_too), (high, high_too) = bootstrap_bounds(k, n)
    assert drawn.low is not None
    assert drawn.high is not None
    assert low <= drawn.low + 1e-9
    assert drawn.low <= low_too + 1e-9
    assert high <= drawn.high + 1e-9
    assert drawn.high <= high_too + 1e-9
    assert low_too - low <= 3 / n + 0.003  # and they are close enough to find a misprint
