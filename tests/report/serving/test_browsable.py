"""Filters and pages of cases, beside a slow implementation that is plainly right."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from overread.report.serving import Filter, find
from support.browsed import Row, frame_of

maybe = st.sampled_from([True, False, None])
readers = st.sampled_from(["a", "b", "c: <b>"])
findings = st.sampled_from(["edema", "", "not known", "x' OR 1=1"])
cases = st.sampled_from([f"case {number}" for number in range(12)])
rows = st.lists(
    st.builds(Row, cases, readers, maybe, maybe, findings),
    unique_by=lambda row: (row.case, row.reader),
    max_size=36,
)
filters = st.builds(
    Filter,
    reader=st.none() | readers,
    right=maybe,
    flipped=maybe,
    facts=st.dictionaries(st.just("finding"), findings),
)


def fits(row: Row, wanted: Filter) -> bool:
    return (
        (wanted.reader is None or row.reader == wanted.reader)
        and (wanted.right is None or row.right is wanted.right)
        and (wanted.flipped is None or row.flipped is wanted.flipped)
        and all(getattr(row, fact) == value for fact, value in wanted.facts.items())
    )


@given(rows, filters, st.integers(1, 5))
def test_pages_hold_every_case_that_fits_once_and_in_order(
    rows: list[Row], wanted: Filter, size: int
) -> None:
    expected = list(dict.fromkeys(row.case for row in rows if fits(row, wanted)))
    index = frame_of(rows)
    pages = [find(index, wanted, page, size) for page in range(len(expected) // size + 2)]
    assert [case for _, cases in pages for case in cases] == expected
    assert {total for total, _ in pages} == {len(expected)}
    assert all(len(cases) <= size for _, cases in pages)
    assert find(index, wanted, 9_999_999, size)[1] == []


def test_what_cannot_be_said_is_neither_right_nor_wrong() -> None:
    index = frame_of([Row("one", "a", None, None, "edema"), Row("two", "a", True, False, "edema")])
    assert find(index, Filter(), 0, 10)[1] == ["one", "two"]
    assert find(index, Filter(right=True), 0, 10)[1] == ["two"]
    assert find(index, Filter(right=False), 0, 10)[1] == []
    assert find(index, Filter(flipped=False), 0, 10)[1] == ["two"]


def test_words_are_looked_for_among_the_cases_that_fit() -> None:
    rows = [Row(f"c{at}", "a", at % 2 == 0, None, "edema") for at in range(6)]
    index, asked = frame_of(rows), []

    def having(words: str) -> list[str]:
        asked.append(words)
        return ["c1", "c2", "c4"]

    assert find(index, Filter(text="spot"), 0, 2, having) == (3, ["c1", "c2"])
    assert find(index, Filter(text="spot", right=True), 0, 9, having) == (2, ["c2", "c4"])
    assert asked == ["spot", "spot"]
    assert find(index, Filter(), 0, 9, having)[0] == 6
