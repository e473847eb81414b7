"""What a grounding exhibit says of a reader."""

from __future__ import annotations

from overread.benchmarks.grounding.exhibits.dot_plot import Index
from overread.case import Measure


def record(reader, measure, **facts):
    return Measure(reader=reader, measure=measure, **facts)


def test_who_gets_the_image_and_what_it_is_called():
    index = Index([
        record("a", "category", label="uses image"),
        record("b", "category", label="ignores image", flags=("x", "no_picture")),
        record("c", "category"),
    ])  # fmt: skip
    assert [index.sees(reader) for reader in ("a", "b", "c", "none such")] == [
        True,
        False,
        True,
        True,
    ]
    assert [index.category(r) for r in ("a", "c", "none such")] == [
        "uses image", "insufficient", "insufficient",
    ]  # fmt: skip
