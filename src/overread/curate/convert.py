"""Items made of labels, masks, boxes and grades by rule, without a model.

Wherever labels allow, items are *paired*: one question with the same options about two pictures
with two different answers. Whoever does not look says the same to both, so no blind reader gets
more than half of them, and a mean of a half at the very most if it guesses.

Labels are taken for all that is true of a picture where every labelled picture of a collection has
one of at least two, or where `[ask] complete` names the collection; otherwise nothing is said of
labels that a picture does not have. Boxes of a kind are taken for all of that kind.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias, get_args

import msgspec

from overread.benchmarks.curated import Candidate, Item, Kind, digest_of
from overread.benchmarks.draws import lot
from overread.case import BadInput, Box, Overlay, Picture
from overread.curate.options import MOST_OPTIONS
from overread.files import read_toml

Conversion: TypeAlias = Literal[
    "classification", "judgement", "multiple", "segmentation", "location", "counting", "box",
    "grading",
]  # fmt: skip
CONVERSIONS: Final[tuple[Conversion, ...]] = get_args(Conversion)
_ASKED: Final[Mapping[str, Mapping[str, Any]]] = read_toml(
    Path(__file__).with_name("conversions.toml")
)
QUADRANTS: Final = ("upper left", "upper right", "lower left", "lower right")
_MOST_OPTIONS: Final = 5
_MOST_COUNTED: Final = 20
_CLEARLY: Final = 0.08  # of the side, that a middle must be away from the middle of the picture
_LARGEST: Final = 0.25  # of the picture, that a thing in one quadrant may take
_APART: Final = 0.1  # the overlap over the union of boxes that are not the same
_TWO: Final = ("the first picture", "the second picture")


class Options(Protocol):
    """What `[ask]` says of conversions."""

    @property
    def conversions(self) -> tuple[Conversion, ...]: ...
    @property
    def complete(self) -> tuple[str, ...]: ...
    @property
    def converted(self) -> int: ...
    @property
    def unpaired(self) -> bool: ...
    @property
    def grade(self) -> str: ...
    @property
    def grades(self) -> tuple[str, ...]: ...
    @property
    def graded(self) -> str: ...


class Converted(msgspec.Struct, frozen=True, kw_only=True):
    """An item made by a rule of these candidates; or none, and the reason why not."""

    candidates: tuple[Candidate, ...]
    by: str
    item: Item | None = None
    reason: str = ""
    fault: str = ""


# One item, or the two of a pair.
Unit: TypeAlias = tuple[Item, ...]


class _Fact(NamedTuple):
    """What is true of a picture in one respect, and what pictures must share to be paired."""

    candidate: Candidate
    value: Any
    about: str = ""


def item_about(*candidates: Candidate, question: str, kind: Kind, answers: tuple[str, ...],
               template: str, options: tuple[str, ...] = (), task: str = "", dimension: str = "",
               ability: str = "", pair: str = "",
               pictures: tuple[Picture, ...] = ()) -> Item:  # fmt: skip
    """An item with everything that its candidates say of themselves."""
    first = candidates[0]

    def each(name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(filter(None, (getattr(one, name) for one in candidates))))

    return Item(
        candidates=tuple(dict.fromkeys(one.id for one in candidates)),
        pictures=pictures or tuple(one.picture for one in candidates),
        question=question, kind=kind, answers=answers, options=options,
        caption="\n".join(each("caption")), labels=first.labels, task=task, dimension=dimension,
        ability=ability, modality=first.modality, examination=first.examination,
        system=first.system, patients=each("patient"), licences=each("licence"),
        origins=each("origin"), collections=each("collection"), pair=pair, template=template,
    )  # fmt: skip


def converted(candidates: Sequence[Candidate], seed: int, options: Options) -> list[Converted]:
    """The items of all conversions, each picture in at most `converted` of them.

    A picture that finds no partner is left out unless `unpaired` are wanted: those that are left
    over all have the most frequent answer, which is then known without looking.
    """
    # Labels of other kinds of pictures are no options: nobody takes a retina for a tumour.
    together: dict[tuple[str, str], list[Candidate]] = defaultdict(list)
    for one in sorted(candidates, key=lambda one: (lot("convert", seed, one.id), one.id)):
        together[one.collection, one.modality].append(one)
    found: dict[Conversion, list[Unit]] = {}
    lost: list[Converted] = []
    sizes = _Sizes(lost)
    alone: set[str] = set()
    for conversion in dict.fromkeys(options.conversions):
        units: list[Unit] = []
        for own in together.values():
            for unit in _RULES[conversion](own, seed, options, sizes):
                if len(unit) > 1 or options.unpaired:
                    units.append(unit)
                else:
                    alone.update(unit[0].candidates)
        found[conversion] = sorted(units, key=lambda unit: lot(conversion, seed, unit[0].id))
    known = {one.id: one for one in candidates}
    made = []
    for conversion, unit in _in_turn(found, options.converted):
        for item in unit:
            shown = tuple(known[name] for name in item.candidates)
            made.append(Converted(candidates=shown, by=f"rule:{conversion}", item=item))
    alone -= {one.id for item in (*made, *lost) for one in item.candidates}
    lost += [
        Converted(candidates=(known[name],), by="rule:pairs", reason="no_partner")
        for name in sorted(alone)
    ]
    return [*made, *lost]


def _in_turn(
    found: Mapping[Conversion, Sequence[Unit]], most: int
) -> Iterator[tuple[Conversion, Unit]]:
    """One unit of each conversion after the other, as long as its pictures are not used up."""
    used: Counter[str] = Counter()
    turn = {conversion: iter(units) for conversion, units in found.items()}
    while turn:
        for conversion in list(turn):
            for unit in turn[conversion]:
                names = {name for item in unit for name in item.candidates}
                if all(used[name] < most for name in names):
                    used.update(names)
                    yield conversion, unit
                    break
            else:
                del turn[conversion]


# ---------------------------------------------------------------- pairs


def _paired(facts: Sequence[_Fact]) -> Iterator[tuple[_Fact, ...]]:
    """Facts about the same, joined to twos of different values; the rest alone.

    The two most frequent values that are left lend one each, which joins as many as can be.
    """
    by_about: dict[str, dict[Hashable, list[_Fact]]] = defaultdict(lambda: defaultdict(list))
    for fact in facts:
        by_about[fact.about][fact.value].append(fact)
    for values in by_about.values():
        while len(values) > 1:
            first, second = sorted(values, key=lambda value: -len(values[value]))[:2]
            yield values[first].pop(0), values[second].pop(0)
            for value in (first, second):
                if not values[value]:
                    del values[value]
        for alone in values.values():
            yield from ((fact,) for fact in alone)


def _unit(conversion: Conversion, facts: Sequence[_Fact], options: tuple[str, ...]) -> Unit:
    """The items of these facts, with the same options; a pair where there are two."""
    pair = digest_of("pair", conversion, [fact.candidate.id for fact in facts], facts[0].about)
    return tuple(
        _item(conversion, (fact.candidate,), fact, options, pair if len(facts) > 1 else "")
        for fact in facts
    )


def _item(conversion: Conversion, shown: Sequence[Candidate], fact: _Fact,
          options: tuple[str, ...], pair: str) -> Item:  # fmt: skip
    asked = _ASKED[conversion]
    value = fact.value if isinstance(fact.value, tuple) else (str(fact.value),)
    return item_about(
        *shown, question=asked["question"].replace("{about}", fact.about), kind=asked["kind"],
        answers=value, options=options, pair=pair, template=f"rule.{conversion}",
        task=asked["task"], dimension=asked["dimension"], ability=asked.get("ability", ""),
        pictures=_with_mask(shown[0]) if conversion == "segmentation" else (),
    )  # fmt: skip


def _with_mask(one: Candidate) -> tuple[Picture, ...]:
    """The picture, and beside it the same with its mask laid over."""
    if one.mask is None:
        return ()
    laid = (*one.picture.operations, Overlay(one.mask))
    return one.picture, msgspec.structs.replace(one.picture, operations=laid)


# ---------------------------------------------------------------- labels


def _all_labels(own: Sequence[Candidate], complete: Sequence[str]) -> list[str] | None:
    """The labels of a collection, where they are all that is true of its pictures."""
    labelled = [one for one in own if one.labels]
    known = sorted({label for one in labelled for label in one.labels})
    if len(known) < 2:
        return None
    one_each = all(len(set(one.labels)) == 1 for one in labelled)
    return known if one_each or own[0].collection in complete else None


def _offered(right: Sequence[str], known: Sequence[str], name: str, seed: int) -> tuple[str, ...]:
    """The right options and others of the collection, drawn by seed, five at most."""
    own = list(dict.fromkeys(right))
    others = [label for label in known if label not in own]
    others.sort(key=lambda label: (lot(f"label {label}", seed, name), label))
    return tuple(sorted((*own, *others[: max(0, _MOST_OPTIONS - len(own))])))


def _of_labels(
    conversion: Conversion, own: Sequence[Candidate], known: Sequence[str] | None, seed: int
) -> Iterator[Unit]:
    """One label of several: pictures that have one, joined to twos of different ones."""
    single = [one for one in own if len(set(one.labels)) == 1]
    if known is None or len(known) < 2:
        return
    for facts in _paired([_Fact(one, one.labels[0]) for one in single]):
        right = [fact.value for fact in facts]
        yield _unit(conversion, facts, _offered(right, known, facts[0].candidate.id, seed))


def _classification(own: Sequence[Candidate], seed: int, of: Options, _: object) -> Iterator[Unit]:
    yield from _of_labels("classification", own, _all_labels(own, of.complete), seed)


def _segmentation(own: Sequence[Candidate], seed: int, of: Options, _: object) -> Iterator[Unit]:
    known = sorted({label for one in own for label in one.labels})
    masked = [one for one in own if one.mask is not None]
    yield from _of_labels("segmentation", masked, known, seed)


def _judgement(own: Sequence[Candidate], seed: int, of: Options, _: object) -> Iterator[Unit]:
    """A picture with a label, and one without it."""
    left = [one for one in own if one.labels] if _all_labels(own, of.complete) else []
    while left:
        first = left.pop(0)
        label = min(set(first.labels), key=lambda one: (lot(f"judge {one}", seed, first.id), one))
        other = next((one for one in left if label not in one.labels), None)
        if other is not None:
            left.remove(other)
            facts = [_Fact(first, "true", label), _Fact(other, "false", label)]
            yield _unit("judgement", facts, ())


def _multiple(own: Sequence[Candidate], seed: int, of: Options, _: object) -> Iterator[Unit]:
    known = _all_labels(own, of.complete)
    if known is None or all(len(set(one.labels)) < 2 for one in own):
        return
    for facts in _paired([_Fact(one, tuple(sorted(set(one.labels)))) for one in own if one.labels]):
        right = [label for fact in facts for label in fact.value]
        options = _offered(right, known, facts[0].candidate.id, seed)
        wrong_too = all(set(options) - set(fact.value) for fact in facts)
        if wrong_too and len(options) <= MOST_OPTIONS:
            yield _unit("multiple", facts, options)


# ---------------------------------------------------------------- places, numbers, boxes


class _Sizes:
    """Width and height of pictures, each looked at once; what cannot be opened is noted."""

    def __init__(self, lost: list[Converted]) -> None:
        self.known: dict[str, tuple[int, int] | None] = {}
        self.lost = lost

    def of(self, one: Candidate) -> tuple[int, int] | None:
        from overread.imaging import pixels, render

        if one.id not in self.known:
            try:
                high, wide = pixels(render(one.picture)).shape[:2]
                self.known[one.id] = (wide, high)
            except BadInput as error:
                self._lose(one, error)
                self.known[one.id] = None
        return self.known[one.id]

    def mask_box(self, one: Candidate) -> tuple[Box, int, int] | None:
        """The box around a mask, in pixels of the mask, and the mask's size."""
        import numpy as np

        from overread.imaging import pixels, render

        if one.mask is None:
            return None
        try:
            found = pixels(render(Picture(one.mask)))
        except BadInput as error:
            self._lose(one, error)
            return None
        flat = (found if found.ndim == 2 else found.max(axis=2)) > 0
        rows, columns = np.flatnonzero(flat.any(axis=1)), np.flatnonzero(flat.any(axis=0))
        if not rows.size:
            return None
        x, y = int(columns[0]), int(rows[0])
        box = Box(x, y, int(columns[-1]) - x + 1, int(rows[-1]) - y + 1)
        return box, flat.shape[1], flat.shape[0]

    def _lose(self, one: Candidate, error: BadInput) -> None:
        self.lost.append(
            Converted(candidates=(one,), by="rule:picture", reason="picture_unreadable",
                      fault=str(error))
        )  # fmt: skip


def quadrant_of(box: Box, wide: int, high: int) -> str | None:
    """The quarter of the picture that a box lies in; None where that is not clear.

    >>> quadrant_of(Box(10, 10, 20, 20), 100, 100), quadrant_of(Box(40, 10, 20, 20), 100, 100)
    ('upper left', None)
    """
    across, down = (box.x + box.w / 2) / wide - 0.5, (box.y + box.h / 2) / high - 0.5
    if min(abs(across), abs(down)) < _CLEARLY or box.w * box.h > _LARGEST * wide * high:
        return None
    return f"{'upper' if down < 0 else 'lower'} {'left' if across < 0 else 'right'}"


def _boxes_by_label(one: Candidate) -> dict[str, list[Box]]:
    found: dict[str, list[Box]] = defaultdict(list)
    for labelled in one.boxes:
        found[labelled.label].append(labelled.box)
    return found


def _location(own: Sequence[Candidate], seed: int, of: Options, sizes: _Sizes) -> Iterator[Unit]:
    """In which quarter something lies of which there is one, by its box or its mask."""
    facts = []
    for one in own:
        lone = [(label, boxes[0]) for label, boxes in sorted(_boxes_by_label(one).items())
                if len(boxes) == 1]  # fmt: skip
        for label, box in lone:
            size = sizes.of(one)
            quadrant = quadrant_of(box, *size) if size else None
            if quadrant:
                facts.append(_Fact(one, quadrant, label))
        if not one.boxes and len(set(one.labels)) == 1:
            marked = sizes.mask_box(one)
            quadrant = quadrant_of(*marked) if marked else None
            if quadrant:
                facts.append(_Fact(one, quadrant, one.labels[0]))
    for found in _paired(facts):
        yield _unit("location", found, QUADRANTS)


def _counting(own: Sequence[Candidate], seed: int, of: Options, sizes: object) -> Iterator[Unit]:
    facts = [
        _Fact(one, len(boxes), label)
        for one in own
        for label, boxes in sorted(_boxes_by_label(one).items())
        if len(boxes) <= _MOST_COUNTED
    ]
    for found in _paired(facts):
        numbers = sorted({fact.value for fact in found})
        options = _numbers(numbers, lot("count", seed, found[0].candidate.id))
        yield _unit("counting", found, options)


def _numbers(right: Sequence[int], drawn: int) -> tuple[str, ...]:
    """Five numbers that hold the right ones, which are neither always in the middle nor the end."""
    found = set(right)
    step = max(1, (right[-1] - right[0]) // 3)
    up = [right[-1] + step * n for n in range(1, 5)]
    down = [right[0] - step * n for n in range(1, 5) if right[0] - step * n >= 0]
    below = drawn % (_MOST_OPTIONS - len(found) + 1)
    found.update(down[:below])
    for number in up:
        if len(found) < _MOST_OPTIONS:
            found.add(number)
    return tuple(map(str, sorted(found)))


def _box(own: Sequence[Candidate], seed: int, of: Options, sizes: _Sizes) -> Iterator[Unit]:
    """Which of several boxes of one size holds something: its own, the other's, their mirrors."""
    facts = []
    for one in own:
        for label, boxes in sorted(_boxes_by_label(one).items()):
            size = sizes.of(one) if len(boxes) == 1 else None
            if size is not None and (shares := _shares(boxes[0], *size)) is not None:
                facts.append(_Fact(one, shares, label))
    for found in _paired(facts):
        values = [fact.value for fact in found]
        mirrored = [other for value in values for other in _mirrors(value)]
        options: list[_Shares] = []
        for value in (*values, *mirrored):
            if len(options) < _MOST_OPTIONS and all(_union(value, one) < _APART for one in options):
                options.append(value)
        if len(options) < 3 or not set(values) <= set(options):
            continue
        said = [fact._replace(value=_said(fact.value)) for fact in found]
        yield _unit("box", said, tuple(map(_said, options)))


# Left, top, right and bottom in per cent.
_Shares: TypeAlias = tuple[int, int, int, int]


def _shares(box: Box, wide: int, high: int) -> _Shares | None:
    left, right = round(100 * box.x / wide), round(100 * (box.x + box.w) / wide)
    top, bottom = round(100 * box.y / high), round(100 * (box.y + box.h) / high)
    sound = 0 <= left < right <= 100 and 0 <= top < bottom <= 100
    return (left, top, right, bottom) if sound else None


def _mirrors(box: _Shares) -> list[_Shares]:
    left, top, right, bottom = box
    across, down = (100 - right, 100 - left), (100 - bottom, 100 - top)
    return [
        (across[0], top, across[1], bottom),
        (left, down[0], right, down[1]),
        (across[0], down[0], across[1], down[1]),
    ]


def _union(one: _Shares, other: _Shares) -> float:
    across = min(one[2], other[2]) - max(one[0], other[0])
    down = min(one[3], other[3]) - max(one[1], other[1])
    both = max(0, across) * max(0, down)
    area = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (one, other))
    return both / (area - both)


def _said(box: _Shares) -> str:
    return f"{box[0]} to {box[2]} % of the width, {box[1]} to {box[3]} % of the height"


# ---------------------------------------------------------------- grades


def _grading(own: Sequence[Candidate], seed: int, of: Options, _: object) -> Iterator[Unit]:
    """Two pictures of different grades, shown in both orders: which is worse?"""
    rank = {grade.casefold(): number for number, grade in enumerate(of.grades)}
    graded = []
    for one in own:
        word = one.facts.get(of.grade, "").strip().casefold() if of.grade else ""
        if word in rank:
            graded.append(_Fact(one, rank[word]))
    for two in _paired(graded):
        if len(two) < 2:
            continue
        pair = digest_of("pair", [fact.candidate.id for fact in two], "grading")
        worse = max(two, key=lambda fact: fact.value)
        yield tuple(
            _item("grading", [fact.candidate for fact in shown],
                  _Fact(worse.candidate, _TWO[shown.index(worse)], of.graded), _TWO, pair)
            for shown in (two, two[::-1])
        )  # fmt: skip


_Rule: TypeAlias = Callable[[Sequence[Candidate], int, Options, _Sizes], Iterator[Unit]]
_RULES: Final[Mapping[Conversion, _Rule]] = {
    "classification": _classification,
    "judgement": _judgement,
    "multiple": _multiple,
    "segmentation": _segmentation,
    "location": _location,
    "counting": _counting,
    "box": _box,
    "grading": _grading,
}
