"""`leakage`: signs that a model has met an item before. Signs, and never a proof of the contrary.

Four kinds. Free replies against the true answers (MEDCMR, "Analyses" 5), with the picture and
without it: who repeats an answer word for word without having seen anything may know it by heart.
A question's second half, told from its first. The set's own order of the options against others:
only who has met the set can do better in its own. And items of a pair with each other's picture:
whoever keeps the answer when the picture changes does not go by the picture. Detectors of this kind
miss what models were deliberately contaminated with (arXiv 2511.03774), so that no value of them
says that a set is clean.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from overread.benchmarks.curated import Item
from overread.benchmarks.letter_parser import LETTERS, read_choice
from overread.benchmarks.similarity import edit_similarity, rouge_l, words
from overread.case import BadInput, Decoding, Table
from overread.curate.blind import are_pair
from overread.curate.form import owners_of
from overread.curate.hearing import PROMPTS
from overread.curate.questions import Heard, Question, Steps, user
from overread.curate.records import Record
from overread.curate.wanted import Wanted

ROLES: Final = ("leakage",)
FILE: Final = "leakage.json"
NOTES: Final = (
    "These are signs and no verdicts: a model that shows none of them may still have been trained "
    "on an item, and one that shows some may know the matter and not the item.",
)
_N_GRAM: Final = 5
_LEAST_WORDS: Final = 2 * _N_GRAM


class Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[leakage]`: at most so many `items`, drawn by seed, and so many `orders` of the options
    beside the set's own.
    """

    items: int = 500
    orders: int = 3


class Sign(msgspec.Struct, frozen=True, kw_only=True):
    """One sign of one model: a value with its n and interval by patient, None where there is none.

    `rouge_l`, `edit_similarity`: mean likeness of free replies to the true answer, with the picture
    and (`_blind`) without; `n_gram`: share of questions whose second half shares five words in a
    row with what the model continues the first half with; `own_order`: accuracy with the options in
    the set's own order less that in others, 0 where the order says nothing; `kept_answer`: share of
    paired items that are answered as their own picture wants, shown the other one.
    """

    model: str
    sign: str
    value: float | None
    n: int
    low: float | None = None
    high: float | None = None


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What `leakage` found, as it is kept and published."""

    title: str = "Signs of leakage"
    notes: tuple[str, ...] = NOTES
    rows: tuple[Sign, ...] = ()


class _Value(NamedTuple):
    """What one item says of one sign."""

    item: str
    value: float


def signs(items: Sequence[Item], wanted: Wanted) -> Steps:
    """Ask for all signs; what was heard is read by `report_of`, and no record comes of it."""
    options = wanted.options("leakage", Options)
    if options.items < 1 or not 1 <= options.orders <= len(LETTERS):
        raise BadInput(f"{wanted.file} [leakage]: items is 1 or more, orders 1 to {len(LETTERS)}.")
    drawn = sampled(items, options, wanted)
    yield [
        question
        for seat in wanted.seats("leakage")
        for item in drawn
        for question in _questions(item, drawn, seat, options, wanted)
    ]
    return list[Record]()


def sampled(items: Sequence[Item], options: Options, wanted: Wanted) -> list[Item]:
    """The items that are asked about, in the order of the set; a pair is drawn as one."""
    names = sorted({item.pair or item.id for item in items})
    wanted.draw("leakage").shuffle(names)
    kept, count = set[str](), 0
    sizes: dict[str, int] = defaultdict(int)
    for item in items:
        sizes[item.pair or item.id] += 1
    for name in names:
        if count + sizes[name] <= options.items:
            kept.add(name)
            count += sizes[name]
    return [item for item in items if (item.pair or item.id) in kept]


# ---------------------------------------------------------------- what is asked


def _questions(
    item: Item, items: Sequence[Item], seat: str, options: Options, wanted: Wanted
) -> Iterator[Question]:
    def asked(sign: str, text: str, pictures: Sequence[object], **about: str) -> Question:
        return Question(
            to=seat,
            item=item.id,
            about={"sign": sign, **about},
            messages=user(*pictures, text),  # type: ignore[arg-type]
            decoding=Decoding(max_tokens=256),
        )

    free = PROMPTS["leak_free"].strip().replace("{question}", item.question)
    if item.kind != "bool":
        yield asked("free", free, item.pictures)
        yield asked("free_blind", free, ())
    first, _ = _halves(item.question)
    if first:
        text = PROMPTS["leak_continue"].strip().replace("{begun}", first)
        yield asked("continue", text, ())
    if item.kind == "single":
        for number, order in enumerate(orders(item, options.orders, wanted)):
            yield asked("order", _choice(item, order), item.pictures, order=str(number))
    other = partner(item, items)
    if other is not None:
        text = _choice(item, tuple(range(len(item.options)))) if item.options else free
        yield asked("swapped", text, other.pictures)


def _halves(question: str) -> tuple[str, str]:
    """A question's two halves by words; both empty where it is too short for them to say much."""
    parts = question.split()
    if len(parts) < 2 * _LEAST_WORDS:
        return "", ""
    middle = len(parts) // 2
    return " ".join(parts[:middle]), " ".join(parts[middle:])


def _choice(item: Item, order: Sequence[int]) -> str:
    lines = [
        f"{letter}) {item.options[place]}" for letter, place in zip(LETTERS, order, strict=False)
    ]
    text: str = PROMPTS["leak_choice"].strip()
    return text.replace("{options}", "\n".join(lines)).replace("{question}", item.question)


def orders(item: Item, others: int, wanted: Wanted) -> list[tuple[int, ...]]:
    """The set's own order of an item's options, and so many others, drawn by seed."""
    own = tuple(range(len(item.options)))
    found = [own]
    draw = wanted.draw("order", item.id)
    for _ in range(20 * others):
        turned = list(own)
        draw.shuffle(turned)
        if len(found) <= others and tuple(turned) not in found:
            found.append(tuple(turned))
    return found


def partner(item: Item, items: Sequence[Item]) -> Item | None:
    """The other item of its pair: the same question of another picture."""
    if not item.pair:
        return None
    return next((one for one in items if one.pair == item.pair and are_pair(one, item)), None)


# ---------------------------------------------------------------- what it says


def report_of(items: Sequence[Item], heard: Iterable[Heard], wanted: Wanted) -> Report:
    """The signs by model, from everything that was heard."""
    options = wanted.options("leakage", Options)
    drawn = {item.id: item for item in sampled(items, options, wanted)}
    by_model: dict[str, list[Heard]] = defaultdict(list)
    for one in heard:
        if one.text is not None and one.question.item in drawn:
            by_model[one.by].append(one)
    rows = tuple(
        sign
        for model in sorted(by_model)
        for sign in _signs_of(model, by_model[model], drawn, options, wanted)
    )
    return Report(rows=rows)


def _signs_of(
    model: str, heard: Sequence[Heard], items: Mapping[str, Item], options: Options, wanted: Wanted
) -> Iterator[Sign]:
    said: dict[str, list[Heard]] = defaultdict(list)
    for one in heard:
        said[str(one.question.about["sign"])].append(one)
    for like in (rouge_l, edit_similarity):
        for of, ending in (("free", ""), ("free_blind", "_blind")):
            name = f"{like.__name__}{ending}"
            yield _mean(model, name, list(_alike(said[of], items, like)), items)
    found = [
        _Value(one.question.item, float(_continues(one, items[one.question.item])))
        for one in said["continue"]
    ]
    yield _mean(model, "n_gram", found, items)
    own = list(_own_order(said["order"], items, options, wanted))
    yield _mean(model, "own_order", own, items, (-1.0, 1.0))
    swapped = [
        _Value(one.question.item, float(_keeps(one, items[one.question.item])))
        for one in said["swapped"]
    ]
    yield _mean(model, "kept_answer", swapped, items)


def _alike(
    heard: Sequence[Heard],
    items: Mapping[str, Item],
    like: Callable[[str, str], float | None],
) -> Iterator[_Value]:
    for one in heard:
        found = like(one.text or "", "; ".join(items[one.question.item].answers))
        if found is not None:
            yield _Value(one.question.item, found)


def _continues(one: Heard, item: Item) -> bool:
    """Whether a reply shares five words in a row with the second half of the question."""
    _, second = _halves(item.question)
    return bool(_grams(one.text or "") & _grams(second))


def _grams(text: str) -> set[tuple[str, ...]]:
    run = words(text)
    return {tuple(run[at : at + _N_GRAM]) for at in range(len(run) - _N_GRAM + 1)}


def _own_order(
    heard: Sequence[Heard], items: Mapping[str, Item], options: Options, wanted: Wanted
) -> Iterator[_Value]:
    right: dict[str, dict[int, bool]] = defaultdict(dict)
    for one in heard:
        item, number = items[one.question.item], int(one.question.about["order"])
        order = orders(item, options.orders, wanted)[number]
        right[item.id][number] = _names(one, [item.options[at] for at in order], item)
    for name, found in right.items():
        others = [hit for number, hit in found.items() if number]
        if 0 in found and others:
            yield _Value(name, found[0] - sum(others) / len(others))


def _names(one: Heard, options: Sequence[str], item: Item) -> bool:
    letter = read_choice(one.text or "", options).letter
    return letter is not None and options[LETTERS.index(letter)] in item.answers


def _keeps(one: Heard, item: Item) -> bool:
    """Whether a reply to the other picture is the answer that this item's own picture has."""
    if item.options:
        return _names(one, item.options, item)
    said = set(words(one.text or ""))
    return any(said.issuperset(words(answer)) for answer in item.answers)


def _mean(
    model: str,
    sign: str,
    values: Sequence[_Value],
    items: Mapping[str, Item],
    limits: tuple[float, float] = (0.0, 1.0),
) -> Sign:
    """A mean with its interval; items of one patient, pair or picture are counted together."""
    import numpy as np

    from overread.stats import clustered_mean

    if not values:
        return Sign(model=model, sign=sign, value=None, n=0)
    numbers = np.array([one.value for one in values])
    owner = dict(zip(items, owners_of(list(items.values())), strict=True))
    owners = [owner[one.item] for one in values]
    order = {owner: number for number, owner in enumerate(dict.fromkeys(owners))}
    mean = float(numbers.mean())
    clusters = np.array([order[owner] for owner in owners])
    found, _ = clustered_mean(mean, numbers, clusters, limits)
    return Sign(model=model, sign=sign, value=mean, n=len(values), low=found.low, high=found.high)


def table_of(report: Report, name: str) -> Table:
    """The signs as they are printed."""
    rows = [
        (
            one.model,
            one.sign.replace("_", " "),
            "n/a" if one.value is None else f"{one.value:.3f}",
            "n/a" if one.low is None or one.high is None else f"[{one.low:.3f}, {one.high:.3f}]",
            f"{one.n:,}",
        )
        for one in report.rows
    ]
    return Table(
        name="leakage",
        title=f"{report.title} in {name}",
        columns=("model", "sign", "value", "95 %", "n"),
        rows=tuple(rows),
        notes=report.notes,
    )
