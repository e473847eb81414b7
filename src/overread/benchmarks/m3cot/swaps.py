"""Which items are asked with another's image, which are timed: drawn by seed, in no order."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from hashlib import blake2b

from overread.benchmarks.m3cot.cases import M3Case

__all__ = ["lot", "swap_remarks", "swaps", "timed_items"]


def lot(purpose: str, seed: int, name: str) -> int:
    """A number of 128 bits that depends on these three alone, on every machine."""
    text = f"{purpose}|{seed}|{name}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=16).digest())


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
        case.case_id: lender for task in tasks.values() for case, lender in _deranged(task, seed)
    }


def _deranged(task: Sequence[M3Case], seed: int) -> Iterable[tuple[M3Case, M3Case]]:
    owner = _owners(task)
    drawn = sorted(
        task,
        key=lambda case: (
            lot("owner", seed, owner[case.case_id]),
            owner[case.case_id],
            lot("swap", seed, case.case_id),
            case.case_id,
        ),
    )
    # Owners stand together, so a shift by the largest of them leads everyone to another owner.
    shift = max(Counter(owner.values()).values())
    for place, case in enumerate(drawn):
        lender = drawn[(place + shift) % len(drawn)]
        if owner[lender.case_id] == owner[case.case_id]:
            others = [other for other in drawn if owner[other.case_id] != owner[case.case_id]]
            if not others:
                return
            lender = others[lot("lender", seed, case.case_id) % len(others)]
        yield case, lender


def _owners(task: Sequence[M3Case]) -> dict[str, str]:
    """By case id: one name for all items that share an image or a patient, whatever links them."""
    above: dict[str, str] = {}

    def top(name: str) -> str:
        while above.setdefault(name, name) != name:
            name = above[name]
        return name

    for case in task:
        image = top(f"image {case.image}")
        patient = image if case.patient is None else top(f"patient {case.patient}")
        # The smaller name leads, so that it does not matter which item comes first.
        above[max(image, patient)] = min(image, patient)
    return {case.case_id: top(f"image {case.image}") for case in task}


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
