"""The items that results are about: a set of questions, or their numbers alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from overread.benchmarks.left import Left
from overread.benchmarks.m3cot.cases import M3Case
from overread.benchmarks.m3cot.official import is_empty, task_of
from overread.benchmarks.m3cot.results.names import brief, index_of
from overread.benchmarks.m3cot.schemas import case_row
from overread.benchmarks.m3cot.workbook import sheet_of
from overread.case import BadInput

__all__ = ["Items"]

_LABEL = "analysis_type"


class Items:
    """Cases by their index. A class, for it counts what is asked of it in vain."""

    def __init__(self, cases: Sequence[M3Case], left: Sequence[Left] = ()) -> None:
        self._cases = sorted(cases, key=lambda case: case.index)
        self._by_index = {case.index: case for case in cases}
        self._by_id = {case.case_id: case for case in cases}
        self._left = {one.case: one.reason for one in left}
        self._passed: Counter[int] = Counter()

    @classmethod
    def of_cases(cls, cases: Sequence[M3Case], left: Sequence[Left]) -> Items:
        """All cases of a set: what nobody answered counts too."""
        return cls(cases, left)

    @classmethod
    def of_numbers(cls, indices: Iterable[int], types: Sequence[Path]) -> Items:
        """Items known by their number: all of a workbook of types, which says their tasks, and
        those of the files."""
        tasks = {index: task for path in types for index, task in _tasks(path)}
        return cls(
            [
                M3Case(
                    case_id=str(index),
                    index=index,
                    question="",
                    answer="",
                    kind="short",
                    task=tasks.get(index, ""),
                    image="",
                    steps=(),
                )
                for index in sorted({*tasks, *indices})
            ]
        )

    def case(self, index: int, where: str) -> str | None:
        """The id of the case; None of an item that the set itself leaves out."""
        found = self._by_index.get(index)
        if found is not None:
            return found.case_id
        if str(index) in self._left:
            self._passed[index] += 1
            return None
        raise BadInput(f"{where}: index {index} is not among the cases. Give their set.")

    def gold(self, case: str) -> int:
        """How many gold steps a case has."""
        return len(self._by_id[case].steps)

    def rows(self) -> list[tuple[Any, ...]]:
        return [case_row(case) for case in self._cases]

    def warnings(self) -> Iterator[str]:
        if self._passed:
            first = min(self._passed)
            yield (
                f"{self._passed.total()} results are of {len(self._passed)} items that the set "
                f"leaves out, such as {first} ({self._left[str(first)]})."
            )


def _tasks(path: Path) -> Iterator[tuple[int, str]]:
    for line, cells in sheet_of(path, ("index", _LABEL)):
        index, label = index_of(cells["index"]), cells[_LABEL].strip()
        if index is None:
            shown = brief(cells["index"])
            raise BadInput(f'{path.name} row {line}: index is "{shown}"; it is a number from 1.')
        if not is_empty(label):
            yield index, task_of(label) or label
