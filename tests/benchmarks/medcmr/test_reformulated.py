"""Which multiple-choice items are asked as open ones too."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from overread.benchmarks.medcmr.cases import MedCase
from overread.benchmarks.medcmr.edition import Options
from overread.benchmarks.medcmr.reformulated import chosen
from overread.case import BadInput


def item(number, kind="mcq", dimension="SOD"):
    options = ("x", "y") if kind == "mcq" else ()
    return MedCase(
        case_id=f"{kind}-{number}",
        index=number,
        kind=kind,
        question="?",
        images=("1.png",),
        options=options,
        answer="A",
        dimension=dimension,
    )


CASES = [
    *(item(n) for n in range(60)),
    *(item(n, dimension="CR") for n in range(60, 90)),
    *(item(n, dimension=None) for n in range(90, 100)),
    *(item(n, "open") for n in range(50)),
]


def found(words, seed=0, cases=CASES):
    return chosen(cases, Options(reformulate=words), seed)


def listed(tmp_path, text):
    (tmp_path / "items.csv").write_text(text, "utf-8")
    return found(str(tmp_path / "items.csv"))


def test_none_of_them():
    assert found("none") == frozenset()


def test_a_sample_has_every_dimension_in_proportion():
    dimension = {case.case_id: case.dimension for case in CASES}
    assert Counter(dimension[name] for name in found("10")) == {"SOD": 6, "CR": 3, None: 1}
    assert all(name.startswith("mcq-") for name in found("1000"))
    assert len(found("1000")) == 100


def test_a_larger_sample_holds_the_smaller_whatever_the_order():
    sizes = [found(str(n)) for n in (1, 7, 20, 99)]
    assert sizes == sorted(sizes, key=len)
    assert all(small < large for small, large in pairwise(sizes))
    assert found("20", cases=CASES[::-1]) == found("20") != found("20", seed=1)


def test_those_of_a_csv(tmp_path):
    text = "\ufeffcase,why\nmcq-3,base right\n mcq-5 ,\nmcq-3,again\n\n"
    assert listed(tmp_path, text) == {"mcq-3", "mcq-5"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "case\nmcq-3\nmcq-777\nnobody\n",
            r'items.csv: "mcq-777" is no item of the set \(and 1 more',
        ),
        ("case\nopen-3\n", '"open-3" is an open item. Name multiple-choice items'),
        ("case\n", "its column case is empty"),
        ("item\nmcq-3\n", "has no column case"),
    ],
)
def test_a_bad_list_is_told_in_one_line(tmp_path, text, words):
    with pytest.raises(BadInput, match=words) as told:
        listed(tmp_path, text)
    assert "\n" not in str(told.value)


def test_a_list_that_is_not_there(tmp_path):
    with pytest.raises(BadInput, match="there is no such file"):
        found(str(tmp_path / "no.csv"))
