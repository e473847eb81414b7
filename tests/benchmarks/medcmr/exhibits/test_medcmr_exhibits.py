"""The exhibits of medcmr: what they show, and what they never hide."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest

from overread.benchmarks.exhibits.style import LOOKS
from overread.benchmarks.medcmr.cases import ABILITIES, DIMENSIONS
from overread.benchmarks.medcmr.exhibits import exhibits
from overread.case import Figure, Measure, Table
from overread.judging.fitness import NOT_CHECKED, UNFIT
from support.every_exhibit import nothing_known
from support.medcmr_measures import LONG, everything_measured, share

FIGURES = {
    *("profile", "radar", "image_lanes", "modality_lanes", "system_lanes"),
    *("size", "error_bars", "win_ratio_lanes"),
}


def shown(measures):
    return {one.name: one for one in exhibits(measures, "sig")}


def words(one):
    rows = [" | ".join(row) for row in one.rows] if isinstance(one, Table) else []
    return "\n".join([one.title, *one.notes, *rows])


def only(measures, *names):
    return [record for record in measures if record.measure in names]


@pytest.fixture(scope="module")
def measures():
    return everything_measured(LONG[:3])


@pytest.fixture(scope="module")
def made(measures):
    return shown(measures)


# ---------------------------------------------------------------- what is made


def test_a_run_of_nothing_still_has_its_summary():
    assert list(shown([])) == ["summary"]


def test_what_is_wholly_unknown_makes_no_figure(measures):
    assert not [one for one in shown(nothing_known(measures)).values() if isinstance(one, Figure)]


@pytest.mark.slow
def test_any_kind_of_record_may_be_missing(measures):
    alone = [r for r in measures if r.reader in ("", LONG[0])]
    for name in {record.measure for record in measures}:
        shown([record for record in alone if record.measure != name])
        shown(only(measures, name))


def test_every_exhibit_says_its_signature_its_intervals_and_titles_differ(made):
    titles = [one.title for one in made.values()]
    assert len(set(titles)) == len(titles)
    for one in made.values():
        assert one.signature == "sig"
        assert one.notes, one.name
        assert "`" not in " ".join(one.notes)
        if isinstance(one, Table):
            assert {len(row) for row in one.rows} == {len(one.columns)}, one.name
    without = {"radar", "judge_fitness", "judge_agreement", "size_correlations", "error_bars"}
    for name in made.keys() - without:
        assert "95 % interval" in " ".join(made[name].notes), name


# ---------------------------------------------------------------- the paper's tables


def test_table_2_has_dimensions_then_components_and_chance_below(made):
    table = made["scores"]
    assert table.columns == (
        *("reader", *DIMENSIONS, "All (MCQ)", "macro", "invalid"),
        *("Con", "Coh", "VA", "GT", "All (open)"),
    )
    *readers, chance = table.rows
    assert [row[0] for row in readers] == list(LONG[:3])
    assert chance[:9] == ("chance: an option by lot", *["20.0"] * 8)
    assert set(chance[9:]) == {"-"}
    for row in readers:
        for text in row[1:]:
            assert "[" in text
            assert "n=" in text


def test_table_3_has_the_abilities(made):
    table = made["abilities"]
    assert table.columns == ("reader", *ABILITIES)
    assert "20.0 % of all items" in words(table)


def test_a_set_of_its_own_dimensions_has_these():
    found = [
        share("r", "accuracy", 9, 30),
        *(share("r", "accuracy", 3, 10, dimension=d) for d in ("Zebra", "SU", "Ape")),
    ]
    assert shown(found)["scores"].columns[1:4] == ("SU", "Ape", "Zebra")


def test_without_open_items_nobody_is_missed_as_a_judge():
    found = [share("r", "accuracy", 9, 30), share("r", "accuracy", 3, 10, dimension="SU")]
    for one in shown(found).values():
        assert "judged" not in words(one).lower()
        assert "Con" not in getattr(one, "columns", ())


# ---------------------------------------------------------------- judges


def test_what_a_judge_is_worth_stands_beside_each_judged_number_and_no_other():
    for label, mark in ((UNFIT, UNFIT), (NOT_CHECKED, "†")):
        table = shown(everything_measured(LONG[:2], label=label))["scores"]
        for heading, text in zip(table.columns[1:], table.rows[0][1:], strict=True):
            judged = heading in ("Con", "Coh", "VA", "GT", "All (open)")
            assert text.endswith(mark) is judged, heading
        assert label in words(table)


def test_judges_are_named_with_their_fitness_and_the_lexical_one_as_incomparable(made):
    for name in ("summary", "scores", "modalities", "subtypes", "pairs", "win_ratio", "profile"):
        text = words(made[name])
        assert "Judged by deepseek-v3.2-exp and control:lexical-judge, their mean." in text, name
        assert "visual accuracy 95 % / 95 %" in text, name
        assert "clarity not tried" in text, name
        assert "not comparable with published numbers" in text, name


def test_fitness_stands_by_component_and_agreement_by_pair(made):
    fitness = made["judge_fitness"]
    assert {row[:2] for row in fitness.rows} == {
        (judge, part)
        for judge in ("deepseek-v3.2-exp", "control:lexical-judge")
        for part in ("visual accuracy", "agreement with the truth")
    }
    assert "changed by the parts' order" in fitness.columns
    agreement = made["judge_agreement"]
    assert [row[2] for row in agreement.rows] == ["all"] * 4 + ["SOD"] * 4
    assert "quadratic weights" in words(agreement)


def test_questions_without_a_caption_have_rows_of_their_own():
    by = {"judge": "g", "question": "score_uncaptioned", "component": "truth"}
    table = shown([share("", "judge_sensitivity", 9, 10, **by)])["judge_fitness"]
    ((judge, part, *_),) = table.rows
    assert (judge, part) == ("g", "agreement with the truth (no description of the image)")


# ---------------------------------------------------------------- the other tables


def test_small_groups_are_marked(made):
    starred = {row[0] for row in made["modalities"].rows if row[0].endswith(" *")}
    assert "Derived / Meta *" in starred
    assert not {"CT *", "MRI *"} & starred
    assert "fewer than 10 items" in words(made["modalities"])
    lanes = {row["lane"] for row in made["modality_lanes"].rows}
    assert any("*" in lane for lane in lanes)
    assert any("*" not in lane for lane in lanes)


def test_image_dependence_has_the_paired_difference_with_its_tests(made):
    table = made["image_dependence"]
    assert {row[1] for row in table.rows} == {"all items", *DIMENSIONS}
    first = dict(zip(table.columns, table.rows[0], strict=True))
    assert first["difference, black image"].startswith("-18.0 [")
    assert first["difference, black image"].endswith("p<0.001 q=0.002")
    assert first["survives, no image"].startswith("86.2 [")
    assert made["image_dependence_open"].columns[2] == "S, own image"


def test_only_images_that_were_asked_have_columns(measures):
    some = [record for record in measures if record.by.get("condition") in (None, "text")]
    table = shown(some)["image_dependence"]
    assert [name for name in table.columns if "image" in name] == [
        *("accuracy, own image", "accuracy, no image", "difference, no image"),
        "survives, no image",
    ]


def test_a_base_less_its_medical_reader_is_turned_round(measures, made):
    table = made["base_against_medical"]
    base, medical = LONG[:2]
    row = dict(zip(table.columns, table.rows[0], strict=True))
    assert (row["medical reader"], row["base"]) == (medical, base)
    (kept,) = (
        one
        for one in measures
        if (one.measure, one.reader, one.by) == ("diff_accuracy", base, {"versus": medical})
    )
    assert row["medical less base"].startswith(
        f"{-100 * kept.value:+.1f} [{-100 * kept.high:+.1f}, {-100 * kept.low:+.1f}]"
    )


def test_a_reader_that_is_only_named_in_a_pair_has_no_row_of_its_own():
    found = [share("r", "accuracy", 9, 30), Measure(reader="gone", measure="only_base", n=0)]
    assert [row[0] for row in shown(found)["summary"].rows] == ["r"]


def test_every_pair_of_readers_is_compared_in_accuracy_and_s(made):
    rows = made["pairs"].rows
    assert [row[2] for row in rows] == [*["accuracy"] * 3, *["S"] * 3, *["S, reformulated"] * 3]


def test_win_ratios_have_the_gap_and_rho_once_for_each_block(made):
    rows = [row for row in made["win_ratio"].rows if row[0].startswith("clarity")]
    assert [row[2] for row in rows] == ["all others"] * 3 + [LONG[1], LONG[2], LONG[2]]
    assert [bool(row[5]) for row in rows] == [True, False, False] * 2
    assert rows[0][6] == "0.81 [0.76, 0.85] n=600"
    assert "rho" in words(made["win_ratio_lanes"])


def test_errors_add_up_in_each_bar(made):
    ends: dict[tuple[str, str], float] = {}
    for row in made["error_bars"].rows:
        ends[row["reader"], row["group"]] = row["end"]
    assert len(ends) == 2 * 8
    assert all(end == pytest.approx(100) for end in ends.values())
    assert made["errors"].rows[0][2].endswith("280/700")


def test_coverage_has_a_row_for_each_kind_and_each_judge_a_column(made):
    table = made["coverage"]
    assert [row[1] for row in table.rows[:3]] == ["multiple choice", "open", "reformulated"]
    assert table.columns[-2:] == (
        "verdicts of deepseek-v3.2-exp",
        "verdicts of control:lexical-judge",
    )
    assert table.rows[0][-3:] == ("-", "-", "-")


def test_letters_are_shown_with_every_order(made):
    table = made["option_order"]
    assert table.columns[-5:] == tuple(f"says {letter}" for letter in "ABCDE")
    without = [r for r in everything_measured(LONG[:1]) if not r.measure.startswith("position")]
    assert "says A" not in shown(without)["option_order"].columns


# ---------------------------------------------------------------- figures


@pytest.mark.slow
@pytest.mark.parametrize("readers", [1, 3, 9])
def test_figures_are_drawn_and_say_their_numbers(readers):
    made = shown(everything_measured(LONG[:readers]))
    figures = {name for name, one in made.items() if isinstance(one, Figure)}
    assert figures == (FIGURES if readers > 1 else FIGURES - {"size", "win_ratio_lanes"})
    for name in figures:
        figure = made[name]
        if readers == 9:  # the most there is to draw
            assert "<svg" in figure.svg(), name
        for row in figure.rows[:3]:
            assert f"{row['value']:.1f}" in figure.alt, name
        assert LONG[0] in figure.alt
    for name in ("profile", "radar", "image_lanes", "modality_lanes", "system_lanes"):
        drawn = {row["reader"] for row in made[name].rows}
        assert len(drawn) == min(readers, len(LOOKS))
        told = any("more are in the tables" in note for note in made[name].notes)
        assert told is (readers > len(LOOKS)), name


def test_an_unfit_judges_points_are_open():
    made = shown(everything_measured(LONG[:2], label=UNFIT))
    for name in ("profile", "radar", "modality_lanes", "size"):
        rows = made[name].rows
        assert {row["unfit"] for row in rows} == {True, False}, name
        assert any(note.startswith("Open marks") for note in made[name].notes), name
        assert UNFIT in made[name].alt


def test_a_radar_has_a_web_of_dimensions_and_one_of_components(made):
    rows = made["radar"].rows
    webs = {row["web"]: {r["measure"] for r in rows if r["web"] == row["web"]} for row in rows}
    assert list(webs.values()) == [set(DIMENSIONS), {"Con", "Coh", "VA", "GT"}]
    for row in rows:
        assert row["x"] ** 2 + row["y"] ** 2 == pytest.approx(row["value"] ** 2, abs=1e-3)


def test_numbers_beside_points_do_not_lie_on_each_other():
    sizes = [7.0, 7.0, 7.0, 7.2, 7.4, 70.0]
    found = []
    for at, size in enumerate(sizes):
        found.append(share(f"r{at}", "accuracy", 500 + at, 1000))
        found.append(Measure(reader=f"r{at}", measure="params_b", value=size))
    rows = shown(found)["size"].rows
    places = {(row["side"], round(row["beside"], 3)) for row in rows if row["params_b"] < 8}
    assert len(places) == 5
    heights = sorted(row["beside"] for row in rows if row["params_b"] == 7 and row["side"] == 1)
    assert all(high - low > 5 for low, high in pairwise(heights))


def test_size_needs_two_readers_that_say_it():
    found = [share("a", "accuracy", 5, 9), share("b", "accuracy", 6, 9)]
    found.append(Measure(reader="a", measure="params_b", value=7.0))
    assert "size" not in shown(found)
    found.append(Measure(reader="b", measure="params_b", value=70.0))
    assert "r, rho n/a" in shown(found)["size"].alt


@pytest.mark.slow
def test_hostile_names_stay_words():
    name = "x' || true || '\"</script>\u202e"
    found = [msgspec.structs.replace(r, reader=name) if r.reader else r for r in everything_measured(LONG[:1])]  # fmt: skip
    for one in shown(found).values():
        if isinstance(one, Figure):
            drawn = one.svg()
            assert "</script>" not in drawn
            assert "\u202e" not in drawn
