"""Whether the form of a set gives its answers away, told without any picture and without a model.

If nothing but the picture tells which option is right, then the right one is, for whoever does not
look, any of them with equal chance. All checks stand on this alone:

- a *trait* of options (the longest, the only one with a number, one with a certain word) is found
  in right options as often as among all, by the exact distribution of hits of unequal chances;
- a *classifier* trained on one part of the set does not find the right options of the rest: ridge
  regression on hand-made traits and hashed words, by folds that keep a source picture together,
  against the same with right options drawn anew. This is "train on the test set" in its cheap form.

Items of a pair share their options and have different answers, so they are drawn anew together.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from zlib import crc32

import msgspec

from overread.benchmarks.curated import Item
from overread.benchmarks.draws import lot
from overread.benchmarks.exhibits.cells import percent
from overread.benchmarks.letter_parser import LETTERS
from overread.case import Table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ALPHA: Final = 0.01
"""How often a set without a shortcut may be accused, by all checks together."""
LEAST: Final = 20
"""Items below which nothing is said."""
TRUTHS: Final = ("true", "false")
_FAMILIES: Final = 3  # traits, words, the classifier: each may accuse in a third of ALPHA
_LEAST_WITH_WORD: Final = 8
_MOST_WORDS: Final = 2000
_FOLDS: Final = 5
_DRAWS: Final = 999
_NUMBERS_AT_ONCE: Final = 10_000_000
_HASHED: Final = 128
_WORD: Final = re.compile(r"[^\W\d_]+|\d+(?:[.,]\d+)?")
_TERMS: Final[Mapping[str, re.Pattern[str]]] = {
    name: re.compile(rf"\b(?:{words})\b", re.IGNORECASE)
    for name, words in {
        "negation": "no|not|non|never|none|without|absent|neither|nor|cannot|lack(?:s|ing)?",
        "absolute": "always|all|every|only|never|none|must|entirely|completely|exclusively|any",
        "hedge": "may|might|can|could|usually|often|likely|possibl[ey]|probabl[ey]|typical(?:ly)?"
        "|some|generally|suggest(?:s|ive|ing)?|consistent|mostly",
    }.items()
}
_UNIT: Final = re.compile(
    r"\d|%|\b(?:mm|cm|ml|mg|kg|mmhg|hu|hours?|days?|weeks?|months?|years?)\b", re.IGNORECASE
)


class FormCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What a reader would get who goes by one thing alone.

    `family` is traits, words or classifier, `cue` what it goes by. `n` items can be told by it; in
    `right` of them what it points to is right, where by chance `chance` of them (a share) would be;
    a trait found less often than by chance points away from the right option, and tells as much.
    `low` and `high` are Wilson's bounds of the share, widened by items of one picture. `p` is exact
    (traits, words) or by drawing anew (classifier), `adjusted` is by Holm within the family and
    over the three. `found` says that it is below ALPHA.
    """

    family: str
    cue: str
    n: int
    right: float
    chance: float
    low: float | None
    high: float | None
    p: float
    adjusted: float
    found: bool

    @property
    def share(self) -> float:
        return self.right / self.n


class FormReport(msgspec.Struct, frozen=True, kw_only=True):
    """All checks of a set: `n` items were looked at, `left_out` have no one right option."""

    n: int
    left_out: int
    checks: tuple[FormCheck, ...]

    @property
    def found(self) -> tuple[FormCheck, ...]:
        return tuple(check for check in self.checks if check.found)


class Choice(NamedTuple):
    """An item as the checks see it: `owner` is shared by items of one picture, pair or patient."""

    stem: str
    options: tuple[str, ...]
    right: int
    owner: str
    pair: str


def shown_options(item: Item) -> tuple[str, ...]:
    """The options of an item; what is true or false has these two."""
    return TRUTHS if item.kind == "bool" else item.options


def choices_of(items: Iterable[Item]) -> list[Choice]:
    """The items with exactly one right option."""
    known = list(items)
    owners = owners_of(known)
    found = []
    for item, owner in zip(known, owners, strict=True):
        options = shown_options(item)
        if item.kind in ("bool", "single") and len(item.answers) == 1 < len(options):
            right = item.answers[0]
            if options.count(right) == 1:
                place = options.index(right)
                found.append(Choice(item.question, options, place, owner, item.pair))
    return found


def owners_of(items: Sequence[Item]) -> list[str]:
    """One name for items that share a candidate, a patient or a pair, by whatever chain."""
    above: dict[str, str] = {}

    def top(name: str) -> str:
        while above.setdefault(name, name) != name:
            above[name] = above[above[name]]
            name = above[name]
        return name

    links = [
        (
            *(f"candidate {name}" for name in item.candidates),
            *(f"patient {name}" for name in item.patients),
            *((f"pair {item.pair}",) if item.pair else ()),
        )
        or (f"item {item.id}",)
        for item in items
    ]
    for first, *others in links:
        for other in others:
            above[top(other)] = top(first)
    return [top(names[0]) for names in links]


def check_form(items: Iterable[Item], seed: int = 0) -> FormReport:
    """Look for everything that gives right options away; nothing is said of fewer than LEAST."""
    # Draws and sums go by the order of items, which is to be theirs and not the file's.
    known = sorted(items, key=lambda item: item.id)
    choices = choices_of(known)
    checks: list[FormCheck] = []
    if len(choices) >= LEAST:
        checks = [*_trait_checks(choices), *_word_checks(choices)]
        checks.append(_classified(choices, seed))
    return FormReport(n=len(choices), left_out=len(known) - len(choices), checks=tuple(checks))


# ---------------------------------------------------------------- traits and words of options


def words_of(text: str) -> list[str]:
    """The words and numbers of a text in small letters."""
    return _WORD.findall(text.casefold())


def _most(values: Sequence[float]) -> list[bool]:
    top = max(values)
    return [value == top for value in values]


def _traits(choice: Choice) -> dict[str, list[bool]]:
    """Which options have each trait."""
    options = choice.options
    lengths = [len(text) for text in options]
    words = [set(words_of(text)) for text in options]
    stem = set(words_of(choice.stem))
    others = [Counter(word for two in words[:n] + words[n + 1 :] for word in two) for n in
              range(len(words))]  # fmt: skip
    found = {
        "the longest option": _most(lengths),
        "the shortest option": _most([-length for length in lengths]),
        "most words of the question": _most([len(one & stem) for one in words]),
        "most alike the other options": _most(
            [sum(rest[word] for word in one) / (len(one) or 1)
             for one, rest in zip(words, others, strict=True)]
        ),
        "brackets or commas": [bool(re.search(r"[(),;:]", text)) for text in options],
        "numbers or units": [bool(_UNIT.search(text)) for text in options],
    }  # fmt: skip
    for name, pattern in _TERMS.items():
        found[name] = [bool(pattern.search(text)) for text in options]
    for place in range(len(options)):
        found[f"place {LETTERS[place]}"] = [place == at for at in range(len(options))]
    return found


class _Hits:
    """Of one cue: the chance and the hit of each item that it splits, and whose items they are."""

    def __init__(self) -> None:
        self.chances: list[float] = []
        self.hits: list[int] = []
        self.owners: list[str] = []

    def add(self, having: int, of: int, hit: bool, owner: str) -> None:
        if 0 < having < of:
            self.chances.append(having / of)
            self.hits.append(int(hit))
            self.owners.append(owner)


def _trait_checks(choices: Sequence[Choice]) -> list[FormCheck]:
    cues: dict[str, _Hits] = defaultdict(_Hits)
    for choice in choices:
        for name, having in _traits(choice).items():
            cues[name].add(sum(having), len(having), having[choice.right], choice.owner)
    return _checks_of("traits", cues, LEAST)


def _word_checks(choices: Sequence[Choice]) -> list[FormCheck]:
    """Every word that splits the options of several items."""
    cues: dict[str, _Hits] = defaultdict(_Hits)
    for choice in choices:
        told = [set(words_of(text)) for text in choice.options]
        for word in sorted(set().union(*told)):
            having = [word in one for one in told]
            cues[word].add(sum(having), len(having), having[choice.right], choice.owner)
    often = sorted(cues.items(), key=lambda cue: (-len(cue[1].hits), cue[0]))[:_MOST_WORDS]
    return _checks_of("words", dict(often), _LEAST_WITH_WORD)


def _checks_of(family: str, cues: Mapping[str, _Hits], least: int) -> list[FormCheck]:
    from overread.stats import hits_pmf, two_sided

    enough = {cue: hits for cue, hits in cues.items() if len(hits.hits) >= least}
    p = [two_sided(sum(one.hits), hits_pmf(one.chances)) for one in enough.values()]
    found = []
    for (cue, hits), own, adjusted in zip(enough.items(), p, _holm(p), strict=True):
        n, chance = len(hits.hits), sum(hits.chances) / len(hits.chances)
        found.append(_check(family, cue, n, hits.hits, hits.owners, chance, own, adjusted))
    return sorted(found, key=lambda check: (check.p, check.cue))


def _check(
    family: str,
    cue: str,
    n: int,
    hits: Sequence[float],
    owners: Sequence[str],
    chance: float,
    p: float,
    adjusted: float,
) -> FormCheck:
    from overread.stats import design_effect, wilson

    total = float(sum(hits))
    interval = wilson(round(total), n, design_effect=design_effect(list(hits), list(owners)))
    whole = min(1.0, adjusted * _FAMILIES)
    return FormCheck(
        family=family, cue=cue, n=n, right=total, chance=chance, low=interval.low,
        high=interval.high, p=p, adjusted=whole, found=whole < ALPHA,
    )  # fmt: skip


def _holm(p: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment of p-values, in their order."""
    adjusted = [1.0] * len(p)
    highest = 0.0
    for rank, at in enumerate(sorted(range(len(p)), key=lambda at: p[at])):
        highest = max(highest, min(1.0, p[at] * (len(p) - rank)))
        adjusted[at] = highest
    return adjusted


# ---------------------------------------------------------------- a classifier trained on the set


def _classified(choices: Sequence[Choice], seed: int) -> FormCheck:
    """How many right options a ridge regression finds in folds that it was not trained on."""
    import numpy as np

    trained = _Trained(choices, seed)
    hits = trained.hits(np.array([choice.right for choice in choices])[None])[0]
    own = float(hits.sum())
    draw = np.random.Generator(np.random.PCG64([seed, len(choices)]))
    beyond = 0
    at_once = max(1, _NUMBERS_AT_ONCE // trained.rows.size)
    for start in range(0, _DRAWS, at_once):
        drawn = _drawn_anew(choices, draw, min(at_once, _DRAWS - start))
        beyond += int((trained.hits(drawn).sum(axis=1) >= own - 1e-9).sum())
    p = (1 + beyond) / (1 + _DRAWS)
    chance = sum(1 / len(choice.options) for choice in choices) / len(choices)
    owners = [choice.owner for choice in choices]
    return _check("classifier", "trained on the set", len(choices), hits.tolist(), owners, chance,
                  p, p)  # fmt: skip


class _Trained:
    """The options of a set as rows, centred within their item, and what each fold is told by."""

    def __init__(self, choices: Sequence[Choice], seed: int) -> None:
        import numpy as np

        sizes = np.array([len(choice.options) for choice in choices])
        self.starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
        self.fold = _folds([choice.owner for choice in choices], seed)
        rows = np.concatenate(list(_features(choices)))
        means = np.add.reduceat(rows, self.starts) / sizes[:, None]
        rows -= np.repeat(means, sizes, axis=0)  # only what differs between options can tell
        spread = rows.std(axis=0)
        kept = spread > 1e-9
        rows = rows[:, kept] / spread[kept]
        self.rows, self.sizes = rows, sizes
        of_row = np.repeat(self.fold, sizes)
        self.tests: list[NDArray[np.intp]] = []
        self.weighers: list[NDArray[np.float64]] = []
        for fold in range(_FOLDS):
            learnt = rows[of_row != fold]
            gram = learnt.T @ learnt
            # As strong as a fifth of the rows: with as many words as items, little is believed.
            gram[np.diag_indices_from(gram)] += 10.0 + 0.2 * len(learnt)
            self.tests.append(np.flatnonzero(self.fold == fold))
            inverse = np.linalg.inv(gram)
            self.weighers.append(rows[of_row == fold] @ inverse)

    def hits(self, rights: NDArray[np.intp]) -> NDArray[np.float64]:
        """Of every draw of right options (rows) what was found of each item; ties share a hit."""
        import numpy as np

        chosen = self.rows[self.starts + rights]  # draws x items x features
        found = np.zeros(rights.shape)
        whole = chosen.sum(axis=1)
        for fold, (tests, weigher) in enumerate(zip(self.tests, self.weighers, strict=True)):
            if not len(tests):
                continue
            learnt = whole - chosen[:, self.fold == fold].sum(axis=1)
            scores = np.round(learnt @ weigher.T, 9)  # draws x rows of the fold
            starts = np.concatenate(([0], np.cumsum(self.sizes[tests])[:-1]))
            top = np.maximum.reduceat(scores, starts, axis=1)
            best = scores == np.repeat(top, self.sizes[tests], axis=1)
            ties = np.add.reduceat(best, starts, axis=1, dtype=float)
            own = np.take_along_axis(best, starts + rights[:, tests], axis=1)
            found[:, tests] = own / ties
        return found


def _folds(owners: Sequence[str], seed: int) -> NDArray[np.intp]:
    """A fold for each item: owners are kept whole, the largest first into the emptiest fold."""
    import numpy as np

    sizes = Counter(owners)
    filled = [0] * _FOLDS
    fold: dict[str, int] = {}
    for owner in sorted(sizes, key=lambda one: (-sizes[one], lot("form", seed, one))):
        fold[owner] = filled.index(min(filled))
        filled[fold[owner]] += sizes[owner]
    return np.array([fold[owner] for owner in owners])


def _drawn_anew(
    choices: Sequence[Choice], draw: np.random.Generator, draws: int
) -> NDArray[np.intp]:
    """Right options as they might be if the text told nothing; pairs keep different answers."""
    import numpy as np

    blocks: dict[Any, int] = {}
    of = [
        blocks.setdefault((choice.pair, choice.options) if choice.pair else n, len(blocks))
        for n, choice in enumerate(choices)
    ]
    most = max(len(choice.options) for choice in choices)
    sizes = np.zeros(len(blocks), dtype=int)
    sizes[of] = [len(choice.options) for choice in choices]
    # Places beyond an item's own are sorted behind all others.
    keys = draw.random((draws, len(blocks), most)) + (np.arange(most) >= sizes[:, None])
    orders = np.argsort(keys, axis=2)
    rights = np.array([choice.right for choice in choices])
    return orders[:, of, rights]


def _features(choices: Sequence[Choice]) -> Iterator[NDArray[np.float64]]:
    """Of each item a row for every option: hand-made traits, then hashed words."""
    import numpy as np

    known = Counter(
        word for choice in choices for text in choice.options for word in set(words_of(text))
    )
    for choice in choices:
        told = [words_of(text) for text in choice.options]
        traits = _traits(choice)
        lengths = np.array([float(len(text)) for text in choice.options])
        stem = set(words_of(choice.stem))
        made = np.zeros((len(told), len(_COLUMNS) + len(LETTERS) + _HASHED))
        for at, (text, words) in enumerate(zip(choice.options, told, strict=True)):
            made[at, : len(_COLUMNS)] = (
                float((lengths < lengths[at]).sum() + (lengths == lengths[at]).sum() / 2),
                np.log1p(lengths[at]),
                len(words),
                len(stem.intersection(words)) / (len(words) or 1),
                sum(-np.log(known[word]) for word in set(words)) / (len(words) or 1),
                sum(mark in ".,;:()-/" for mark in text),
                text[:1].isupper(),
                traits["most alike the other options"][at],
                traits["numbers or units"][at],
                *(traits[name][at] for name in _TERMS),
            )
            made[at, len(_COLUMNS) + at] = 1.0
            for word in set(words):
                code = crc32(word.encode())
                place = len(_COLUMNS) + len(LETTERS) + code % _HASHED
                made[at, place] += 1.0 if code & 0x8000 else -1.0
        yield made


_COLUMNS: Final = (
    "length rank", "length", "words", "words of the question", "rareness", "punctuation",
    "capital", "alike", "numbers", *_TERMS,
)  # fmt: skip


# ---------------------------------------------------------------- as it is printed

_ALWAYS: Final = ("the longest option", "trained on the set")


def form_table(report: FormReport, name: str) -> Table:
    """What gives answers away, and what is always looked at first: length, and a classifier."""
    shown = [check for check in report.checks if check.found or check.cue in _ALWAYS]
    rows = tuple(
        (
            check.cue if check.family != "words" else f'the word "{check.cue}"',
            f"{check.n:,}",
            percent(check.share),
            f"{percent(check.low)}–{percent(check.high)}",
            percent(check.chance),
            f"{check.adjusted:.2g}",
            "yes" if check.found else "no",
        )
        for check in shown
    )
    told = f"{len(report.found)} of {len(report.checks)} cues tell more than chance allows."
    few = f"Nothing is said of fewer than {LEAST} items with one right option."
    return Table(
        name="form",
        title=f"What the form of {name} gives away",
        columns=("cue", "items", "right", "95 %", "by chance", "p", "gives away"),
        rows=rows,
        finding=told if rows else few,
        notes=(
            f"Of {len(report.checks):,} cues in {report.n:,} items those that tell are shown, and "
            f"two that are always; p is adjusted for all of them, and below {ALPHA:g} it counts. "
            f"{report.left_out:,} items without exactly one right option were not looked at.",
        ),
        headline=("cue", "right", "by chance", "gives away"),
    )
