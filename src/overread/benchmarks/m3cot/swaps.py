"""Which items are asked with another's image, which are timed: drawn by seed, in no order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from overread.benchmarks.draws import derangement, lot
from overread.benchmarks.m3cot.cases import M3Case

__all__ = ["swap_remarks", "swaps", "timed_items"]


def swaps(cases: Iterable[M3Case], seed: int) -> dict[str, M3Case]:
    """The item whose image each item is shown in its place, by case id.

    Always one of the same task with another image, and another patient where patients are known.
    Within a task every image is lent as often as it is owned (a derangement), unless one image or
    patient has more than half of the task. An item whose task has no other image is not here.
    """
    tasks: dict[str, list[M3Case]] = defaultdict(list)
    for case in cases:
        tasks[case.task].append(case)
    return {
        case.case_id: lender
        for task in tasks.values()
        for case, lender in derangement(task, seed, name=lambda case: case.case_id, links=_links)
    }


def _links(case: M3Case) -> tuple[str, ...]:
    image = f"image {case.image}"
    return (image,) if case.patient is None else (image, f"patient {case.patient}")


def swap_remarks(cases: Iterable[M3Case], swapped: dict[str, M3Case]) -> tuple[str, ...]:
    """A line on the items that are not asked with another's image."""
    alone = [case for case in cases if case.case_id not in swapped]
    if not alone:
        return ()
    tasks = ", ".join(dict.fromkeys(case.task for case in alone))
    items = "1 item has" if len(alone) == 1 else f"{len(alone)} items have"
    return (f"{items} no other image in the same task ({tasks}): swap is not asked there.",)


def timed_items(cases: Iterable[M3Case], n: int, seed: int) -> tuple[M3Case, ...]:
    """A sample of n items, or all where there are fewer, in their own order.

    Each item's lot depends on its name and the seed, so the sample does not change with the order
    of the cases, and a larger one holds the smaller.
    """
    known = list(cases)
    drawn = sorted(known, key=lambda case: (lot("timing", seed, case.case_id), case.case_id))[:n]
    chosen = {case.case_id for case in drawn}
    return tuple(case for case in known if case.case_id in chosen)
