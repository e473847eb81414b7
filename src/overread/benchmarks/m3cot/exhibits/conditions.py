"""Beyond the paper: does the reasoning depend on the image, and the answer on the reasoning?"""

from __future__ import annotations

from typing import Final

from overread.benchmarks.exhibits.cells import table
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.exhibits.numbers import NOT_ASKED, cell, tested
from overread.benchmarks.m3cot.edition import FOLLOWS, IMAGES, MODES
from overread.benchmarks.m3cot.exhibits.panels import notes_on_judges
from overread.case import Table

__all__ = ["follow_table", "image_table"]

_FOLLOWS: Final = {
    "truncated": "after half of the reasoning",
    "answer_first": "before any reasoning",
}


def image_table(index: Index, signature: str) -> Table | None:
    """Accuracy with the item's image, a black one and another item's; and what words survive."""
    others = [image for image in IMAGES if image != "original"]
    asked = [
        image
        for image in others
        if any(index.get(r, "accuracy", mode=m, image=image) for r in index.readers for m in MODES)
        or index.any("survives", image=image)
    ]
    if not asked:
        return None
    rows = []
    for reader in index.readers:
        for mode in MODES:
            own = index.get(reader, "accuracy", mode=mode)
            if own is None:
                continue
            cells = [cell(own)]
            for image in asked:
                by = {"mode": mode, "image": image}
                effect = index.get(reader, "image_effect", **by)
                cells += [cell(index.get(reader, "accuracy", **by)), tested(effect)]
            if mode == "cot":
                words = [index.get(reader, "survives", image=image) for image in asked]
                cells += [cell(one) for one in (*words, index.get(reader, "survives_chance"))]
            else:
                cells += [NOT_ASKED] * (len(asked) + 1)
            rows.append((reader, "CoT" if mode == "cot" else mode, *cells))
    heads = [word for image in asked for word in (f"accuracy {image}", f"effect of {image}")]
    return table(
        "image_dependence",
        "Does the reasoning depend on the image?",
        (
            *("reader", "mode", "accuracy original", *heads),
            *(f"words kept, {image}" for image in asked),
            "words kept, by chance",
        ),
        rows,
        signature,
        (
            "blank: a black image; swap: another item's image of the same task. Effect: accuracy "
            "with the item's own image less that without it, in points, with p and q (Benjamini "
            "and Hochberg's, over readers, modes and images).",
            "Words kept: the share of the words of the reasoning that also stand in the reasoning "
            "without the image; by chance: in the reply to another item of the task. A reader "
            "that keeps its words says the same whatever it is shown.",
            *notes_on_judges(index, ("answer",)),
        ),
        facts=2,
    )


def follow_table(index: Index, signature: str) -> Table | None:
    """Whether the answer waits for the reasoning."""
    rows = []
    for reader in index.readers:
        whole = index.get(reader, "accuracy", mode="cot")
        for follow in FOLLOWS:
            by = {"mode": "cot", "follow": follow}
            kept = index.get(reader, "answer_kept", **by)
            if kept is None:
                continue
            after = index.get(reader, "accuracy", **by)
            rows.append((reader, _FOLLOWS[follow], cell(kept), cell(after), cell(whole)))
    return table(
        "answer_follows",
        "Does the answer follow from the reasoning?",
        ("reader", "answer asked for", "same answer", "accuracy then", "accuracy after all of it"),
        rows,
        signature,
        (
            "Same answer: how often it is the one given after all of the reasoning. Near 100: the "
            "answer does not wait for the reasoning.",
            *notes_on_judges(index, ("answer",)),
        ),
        facts=2,
    )
