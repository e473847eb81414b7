"""What the numbers of a Med-CMR run cannot tell, in whole sentences that an author may paste."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.reporting import (
    MADE_UP,
    PHANTOM,
    is_lexical,
    rate,
    readers_listed,
    says_unseen,
)
from overread.case import Measure
from overread.judging.fitness import NOT_CHECKED, UNFIT

__all__ = ["limitations"]

_FEW: Final = 100


def limitations(measures: Sequence[Measure], dataset: str = "") -> list[str]:
    """What the set and these measures give cause to say, then what holds for every run."""
    index = Index(measures)
    standing = [
        *(_CHOICES if index.every("accuracy") else ()),
        *(_OPEN if index.every("score") else ()),
        *(_PUBLISHED if _published(index) else ()),
        *_STANDING,
    ]
    return [
        *([MADE_UP] if dataset.startswith(PHANTOM) else []),
        *_of_replies(index),
        *_of_choices(index),
        *_of_images(index),
        *_of_judges(index),
        *standing,
    ]


def _published(index: Index) -> bool:
    """Whether all items of a kind that the release has were asked."""
    return any(
        record.n == _ITEMS.get(record.by.get("kind", ""))
        for record in index.all("unanswered_rate", "kind")
    )


def _of_replies(index: Index) -> Iterator[str]:
    said = {
        "invalid_rate": "gave replies that could not be read as an answer",
        "refused_rate": "refused some questions",
        "unanswered_rate": "left some questions without a reply",
        "cut_off_rate": "had replies cut off at the token limit",
    }
    for name, words in said.items():
        found = [record for record in index.every(name) if record.reader and record.value]
        if found:
            readers = readers_listed([record.reader for record in found])
            yield f"{readers} {words}: at most {rate(_most(found))} of what was asked in one way."


def _most(records: Sequence[Measure]) -> Measure:
    return max(records, key=lambda record: record.value or 0.0)


def _of_choices(index: Index) -> Iterator[str]:
    records = [r for reader in index.readers if (r := index.known(reader, "accuracy")) is not None]
    sizes = [record.n for record in records if record.n]
    if sizes and min(sizes) < _FEW:
        yield (
            f"The run has {min(sizes)} multiple-choice items only: its intervals are wide, and "
            "groups have few."
        )
    if records and not index.every("order_consistency"):
        yield (
            "Options were shown in one order alone: whether the place of an option decides was "
            "not asked."
        )
    effects = [r for r in records if (r.method or "").startswith("wilson, design effect")]
    if effects:
        yield (
            "Some items share images: their answers are not independent, and intervals allow for "
            "it."
        )


def _of_images(index: Index) -> Iterator[str]:
    asked = [record for record in index.every("diff_accuracy") if record.by.get("condition")]
    if not asked and index.every("accuracy"):
        yield (
            "Whether the score depends on the picture was not asked: some of it may come from the "
            "words of question and options."
        )
    own = (*asked, *index.every("unanswered_rate"))
    unseeing = [record.reader for record in own if says_unseen(record)]
    if unseeing:
        yield f"Without any picture, from the words alone, answered {readers_listed(unseeing)}."


def _of_judges(index: Index) -> Iterator[str]:
    scores = [record for record in index.every("score") if record.reader]
    if not scores:
        return
    judges = sorted({record.by["judge"] for record in scores if "judge" in record.by})
    if not judges:
        yield "No judge was asked: open answers have no score."
        return
    parts = ("visual", "truth", "score")
    labels = {r.label for name in parts for r in index.every(name) if r.reader}
    if UNFIT in labels:
        yield (
            "A judge failed on replies of known truth; numbers labelled so should not be used "
            f"({UNFIT})."
        )
    if NOT_CHECKED in labels:
        yield f"A judge was not tried on enough replies of known truth ({NOT_CHECKED})."
    if any(is_lexical(judge) for judge in judges):
        yield (
            "The lexical judge compares words and knows no medicine: what it scored is not "
            "comparable with published numbers, nor with those of another judge."
        )
    if len(judges) == 1:
        yield "A single judge scored: how far another would agree is not known."
    rates = [r for r in index.every("judged_rate") if r.value is not None and r.value < 1]
    if rates:
        least = min(rates, key=lambda record: record.value or 0.0)
        yield (
            f"Not every verdict could be read, of one reader only {rate(least)}; what has none is "
            "left out of the scores."
        )
    moved = [r for r in index.every("judge_shift") if r.value and r.low is not None and r.low > 0]
    if moved:
        yield (
            f"Of a judge's scores up to {rate(_most(moved))} changed with something that should "
            "not matter."
        )
    if not index.every("win_ratio"):
        yield (
            "No person ranked these readers' replies: whether people agree with the judge is not "
            "known."
        )


_CHOICES: Final = (
    "Options to choose from give more away than an open question does: accuracy is to be read "
    "against chance, and as an upper bound of what a reader would find by itself.",
)
_OPEN: Final = (
    "Judges see the experts' caption in place of the image: what is right of the image and not in "
    "the caption earns nothing.",
    "Clarity and coherence make a fifth of S, look at language alone, and are high for nearly "
    "every model; the parts should be read beside S.",
)
_ITEMS: Final = {"mcq": 16_655, "open": 3_999}
_PUBLISHED: Final = (
    "The published set has 3,999 open items where the paper counts 3,998; nothing was deleted. "
    "Its items were filtered by what some models got wrong, which is hard on models like those.",
)
_STANDING: Final = (
    "Items may have been in a model's training data; nothing here can rule that out.",
    "Answering examination questions is not clinical performance.",
)
