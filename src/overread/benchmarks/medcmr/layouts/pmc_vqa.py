"""PMC-VQA: figures of open papers with four choices.

A csv with Figure_path, Question, `Choice A` to `Choice D` and Answer, with images in `figures/`
(or `images/`). The second edition (`test_2.csv`) has Caption, and a letter as Answer; the first
has the text of the right choice there and its letter in Answer_label. Choices may be written with
their letters (` A: the liver`), which are taken off. The caption is the figure's legend, of all of
its panels: judges see it, readers never.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from overread.benchmarks.medcmr.gathering import Stated, below
from overread.benchmarks.medcmr.layouts.finding import (
    Layout,
    Set,
    images_below,
    loader,
    one_of,
    records_of,
    sets_in,
)
from overread.benchmarks.medcmr.layouts.stating import choice, text_of

__all__ = ["LAYOUT"]

_CHOICES: Final = ("Choice A", "Choice B", "Choice C", "Choice D")
_NEEDED: Final = ("Figure_path", "Question", *_CHOICES, "Answer")
_IMAGES: Final = ("figures", "images", "images_2", "")


def find(path: Path) -> Set | None:
    found = sets_in(path, (".csv",), _NEEDED)
    if not found:
        return None
    file, remarks = one_of(found, path)
    return Set((file,), file.parent, remarks)


def _stated(file: Path, root: Path) -> Iterator[Stated]:
    items = list(records_of(file, _NEEDED))
    images = [text_of(record, "Figure_path").strip() for _, record in items]
    folder = images_below(root, images, _IMAGES)
    for index, (where, record) in enumerate(items, start=1):
        image = images[index - 1]
        options = [text_of(record, name) for name in _CHOICES]
        label, answer = text_of(record, "Answer_label").strip(), text_of(record, "Answer")
        caption = text_of(record, "Caption").strip()
        yield (
            where,
            choice(
                where,
                str(index),
                index,
                text_of(record, "Question").strip(),
                label or answer,
                options,
                images=(below(folder, image),) if image else (),
                caption=caption or None,
            ),
        )


LAYOUT: Final = Layout("PMC-VQA", find, loader(_stated))
