"""What the text of Med-CMR says of its tables, what cannot be as it is printed, and which numbers of
Tables 2 and 3 are bold or underlined.

Within each class of systems bold is the best and underlined the second best. Only a mark that
stands where it should not is flagged; one that is missing misleads nobody.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from overread.published import Figures, Flag
from overread.published._figures import CASES, Part, Printed
from published.arithmetic.rates import SLACK, span_of

# ---------------------------------------------------------------- what the text says

_SECOND, _HARDEST = "Gemini-2.5-Pro", "LTG"
# Two opponents an item, and half a point for a tie.
_OPPONENTS: Final = 2


def _accuracies(figures: Figures, reader: str) -> dict[str, Printed]:
    return {
        printed.record.by["dimension"]: printed
        for printed in figures.printed
        if printed.record.reader == reader and set(printed.record.by) == {"dimension"}
    }


def second_everywhere(figures: Figures) -> Iterator[Flag]:
    """Section 3.2: Gemini-2.5-Pro is second overall and in every dimension."""
    for dimension, printed in _accuracies(figures, _SECOND).items():
        above = []
        for system in figures.systems:
            other = figures.find(system.name, "accuracy", {"dimension": dimension})
            if other is not None and (other.record.value or 0) > (printed.record.value or 0):
                above.append(f"{system.name} {other.cell}")
        if len(above) > 1:
            yield Flag(
                where="Section 3.2",
                what=f"said to be second in every dimension, but in {dimension} others are above",
                found=printed.cell,
                expected=f"a value above all but one of {', '.join(above)}",
                reader=_SECOND,
                tables=("text", printed.table),
            )


def hardest_for_all(figures: Figures) -> Iterator[Flag]:
    """Section 3.2: long-tail generalization is consistently the most difficult."""
    for system in figures.systems:
        found = _accuracies(figures, system.name)
        if _HARDEST not in found:
            continue
        own = found[_HARDEST]
        below = [
            f"{dimension} {printed.cell}"
            for dimension, printed in found.items()
            if (printed.record.value or 0) < (own.record.value or 0)
        ]
        if below:
            yield Flag(
                where="Section 3.2",
                what=f"{_HARDEST} is said to be the most difficult throughout, but is not here",
                found=f"{_HARDEST} {own.cell}, {', '.join(below)}",
                expected=f"no dimension below {own.cell}",
                reader=system.name,
                tables=("text", own.table),
            )


def whole_wins(figures: Figures) -> Iterator[Flag]:
    """A difference of win ratios over n items is so many half points of n items and two rivals."""
    n = figures.n(CASES, "cases", {"sample": "ranked by people"})
    for printed in figures.printed:
        own = span_of(printed)
        if printed.record.measure != "win_ratio_gap" or own is None or n is None:
            continue
        halves = 2 * _OPPONENTS * n
        first = -int(-(own.low - SLACK) * halves // 1)
        if first > (own.high + SLACK) * halves:
            near = " or ".join(f"{k / halves:.4f}" for k in (first - 1, first))
            yield Flag(
                where=printed.where,
                what=f"no difference of wins and ties over {n} items gives this",
                found=printed.cell,
                expected=near,
                reader=printed.record.reader,
                tables=(printed.table,),
                note=f"steps of {1 / halves:.5f} against two models, {2 / halves:.4f} against one",
            )


def words(figures: Figures) -> Iterator[Flag]:
    """PA is pathophysiologic analysis."""
    for part in figures.parts:
        if "psychophysiologic" in part.note:
            yield Flag(
                where=part.where,
                what="PA is spelled out with another word",
                found="psychophysiologic analysis",
                expected="pathophysiologic analysis",
                tables=(part.table,),
                note="MEDCMR",
            )


# ---------------------------------------------------------------- bold and underlined

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


CHECKS: Final = (
    second_everywhere,
    hardest_for_all,
    whole_wins,
    words,
    marked_as_ranked,
)
