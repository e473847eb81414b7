"""A condition that no case allows is refused before anything is asked."""

from __future__ import annotations

import msgspec
import pytest

from overread.benchmarks.grounding.edition import AUTHORS, CORRECTED, Options
from overread.benchmarks.grounding.trials import askable
from overread.case import BadInput, Box

MATCHED = (Box(90, 90, 60, 70), Box(91, 90, 60, 70), Box(92, 90, 60, 70))


def check(cases, rules=CORRECTED, **options):
    return list(askable(cases, rules, Options(**options), "manifest.csv"))


def test_cases_pass_through(bench):
    cases = [bench.case("a"), bench.case("b", box=None)]
    assert check(cases) == cases
    assert check([cases[1]]) == [cases[1]]  # the paper's masks are left out quietly, as ever


@pytest.mark.parametrize(
    ("facts", "options", "says"),
    [
        ({}, {"conditions": ("original", "matched")}, "matched_boxes is empty throughout"),
        ({}, {"conditions": ("original", "opposite_swap")}, "opposite_image_path is empty"),
        ({"box": None}, {"conditions": ("original", "mean", "blur")}, "Leave mean, blur out"),
        (
            {"matched_boxes": MATCHED},
            {"conditions": ("original", "matched"), "draws": 5},
            "no case has more than 3 matched boxes. Use --set draws=3",
        ),
        ({"box": None}, {"more_px": (448, 512)}, "--set px=224,448,512"),
    ],
)
def test_what_fits_no_case_is_one_clear_line(bench, facts, options, says):
    with pytest.raises(BadInput) as error:
        check([bench.case("a", **facts)], **options)
    said = str(error.value)
    assert said.startswith("manifest.csv: ")
    assert says in said
    assert "\n" not in said


def test_one_case_is_enough(bench):
    every = {
        "conditions": ("original", "opposite_swap", "mean", "matched"),
        "more_px": (512,),
    }
    with_all = bench.case("a", matched_boxes=MATCHED, opposite_image_path="o.jpg")
    assert len(check([bench.case("b", box=None), with_all], **every)) == 2


def test_boxes_the_edition_does_not_count_do_not_help(bench):
    case = bench.case("a", source="elsewhere", matched_boxes=MATCHED)
    chosen = {"conditions": ("original", "matched")}
    assert check([case], **chosen)
    with pytest.raises(BadInput, match="matched_boxes is empty"):
        check([case, bench.case("b", box=None)], AUTHORS, **chosen)


def test_cases_without_any_key_are_refused(bench):
    """The authors' code has none for other sources: every number would be undefined."""
    other = bench.case("a", source="elsewhere")
    assert check([other])
    assert check([other, bench.case("b")], AUTHORS)
    with pytest.raises(BadInput, match='no key for "elsewhere".*--set other_sources=label'):
        check([other], AUTHORS)
    keyed = msgspec.structs.replace(AUTHORS, other_sources="label")
    assert check([other], keyed)
