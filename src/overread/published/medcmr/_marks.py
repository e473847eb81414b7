"""Which numbers of Tables 2 and 3 are bold and which are underlined, and whether they should be.

Within each class of systems bold is the best and underlined the second best. Only a mark that
stands where it should not is flagged; one that is missing misleads nobody.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from overread.published._flag import Flag
from overread.published._printed import Figures, Part, Printed

__all__ = ["CHECKS", "MARKS"]

# Column by column: b bold, u underlined.
MARKS: Final[Mapping[str, str]] = {
    "2": """
GPT-5                 bbbbbbbb..bbb
Gemini-2.5-Pro        uuuuuuu.bbuu.
Medgemma-4B           .............
Lingshu-7B            ........bbuu.
Gemma3-4B             .............
Qwen2.5-VL-7B         uuuuuuuu.....
InternVL3.5-8B        ........uubbb
Qwen3-VL-8B           bbbbbbbb.u...
Medgemma-27B          .............
Lingshu-32B           ........u.uuu
Gemma3-27B            ........uu...
Qwen2.5-VL-32B        .............
Qwen2.5-VL-72B        bbubuubu.....
InternVL3.5-38B       ........b.bbb
Qwen3-VL-30B-A3B      .........b...
Qwen3-VL-32B          .ububbub.u...
InternVL3.5-241B-A28B u.uuuuuuuubbb
Qwen3-VL-235B-A22B    bbbbbbbbbbuuu
""",
    "3": """
GPT-5                 bbbbbb
Gemini-2.5-Pro        uuuuuu
Medgemma-4B           ......
Lingshu-7B            .....u
Gemma3-4B             ...u..
Qwen2.5-VL-7B         uuu.u.
InternVL3.5-8B        ......
Qwen3-VL-8B           bbbbbb
Medgemma-27B          ......
Lingshu-32B           ......
Gemma3-27B            ......
Qwen2.5-VL-32B        ......
Qwen2.5-VL-72B        buuuub
InternVL3.5-38B       ......
Qwen3-VL-30B-A3B      ......
Qwen3-VL-32B          ubbbbu
InternVL3.5-241B-A28B uuuuuu
Qwen3-VL-235B-A22B    bbbbbb
""",
}
_WORDS: Final = {"b": ("bold", "the best"), "u": ("underlined", "second")}


def marked_as_ranked(figures: Figures) -> Iterator[Flag]:
    """A bold number has none above it in its class, an underlined one just one."""
    classes = {system.name: system.group for system in figures.systems}
    for part in figures.parts:
        if part.table in MARKS:
            yield from _misplaced(figures, part, classes)


def _misplaced(figures: Figures, part: Part, classes: Mapping[str, str]) -> Iterator[Flag]:
    for line in MARKS[part.table].strip().splitlines():
        reader, marks = line.split()
        for column, mark in zip(part.columns, marks, strict=True):
            if mark not in _WORDS:
                continue
            own = figures.find(reader, column.measure, column.by)
            beside = [name for name, group in classes.items() if group == classes[reader]]
            others = [figures.find(name, column.measure, column.by) for name in beside]
            values = {other.record.value for other in others if other is not None}
            if own is not None and _place(own, values) != "bu".index(mark):
                looks, means = _WORDS[mark]
                ranked = sorted((v for v in values if v is not None), reverse=True)
                expected = 100 * ranked["bu".index(mark)]
                group = "".join(column.by.values()) or column.measure
                yield Flag(
                    where=part.where,
                    what=f"{group}: {looks}, but not {means} of the {classes[reader]} systems",
                    found=own.cell,
                    expected=f"{expected:.2f}",
                    reader=reader,
                    tables=(part.table,),
                    note="marks as in the copy at hand",
                )


def _place(own: Printed, values: set[float | None]) -> int:
    """How many different values are above it."""
    return sum(value is not None and value > (own.record.value or 0) for value in values)


CHECKS: Final = (marked_as_ranked,)
