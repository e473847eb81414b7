"""How the numbers of an M3CoT run came about and what they cannot tell, in whole sentences.

An author may paste them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.m3cot.edition import BOOK, Edition, Options
from overread.benchmarks.m3cot.trials import INSTRUCTIONS
from overread.benchmarks.sentences import (
    IN_TRAINING,
    OWN_RUBRICS,
    TESTS,
    decoded,
    edition_line,
    judge_limits,
    largest,
    least,
    listed,
    made_up,
    rate,
    reply_limits,
    shift_limit,
    taken_over,
    tried_judges,
    unseeing_limit,
)
from overread.case import Measure
from overread.judging.fitness import NOT_CHECKED, UNFIT

_MODE_WORDS: Final = {"direct": "for the answer alone", "cot": "for reasoning step by step"}


def methods(edition: Edition, options: Options, asked_under: str | None = None) -> list[str]:
    """What was asked, how replies were judged, and how they were counted under these rules.

    `asked_under` is the edition the readers were asked under, where that is not this one; empty
    where somebody else asked them, so that what they were shown is not known here.
    """
    return [
        *_how_asked(edition, options, asked_under),
        *_how_judged(edition, options),
        *_how_counted(edition),
    ]


def _how_asked(edition: Edition, options: Options, asked_under: str | None) -> Iterator[str]:
    if asked_under == "":
        yield taken_over()
        return
    shown = edition if asked_under is None else BOOK.asked_under(asked_under)
    modes = listed([f"{_MODE_WORDS[mode]} (“{INSTRUCTIONS[mode]}”)" for mode in options.modes])
    repeated = (
        ", its options printed a second time as the published code does"
        if shown.options == "repeated"
        else ""
    )
    yield (
        "Following M3CoTBench, each item, a question about one medical image whose answer and "
        "reasoning steps are known, was put to every reader with its image first"
        f"{repeated}, asking {modes}."
    )
    yield (
        f"Images were shrunk to at most {options.px} pixels on the longer side and sent without "
        f"loss; {decoded(options.temperature, f'{options.max_tokens} tokens')}"
    )
    others = {
        "blank": "an all-black image of the same size",
        "swap": f"the image of another item of the same task, drawn with seed {shown.seed}",
    }
    also = [words for image, words in others.items() if image in options.images]
    if also:
        yield f"Each question was also put with {listed(also)}."
    follows = {
        "truncated": "for the answer after the first half of the reader's own reasoning",
        "answer_first": "for the answer before any reasoning",
    }
    asked = [words for follow, words in follows.items() if follow in options.follow]
    if asked:
        yield f"Readers were then asked {listed(asked)}."
    if options.timing:
        yield (
            f"Up to {options.timing} items, drawn with seed {shown.seed}, were asked again one at "
            "a time in both modes, to time them."
        )


def _how_judged(edition: Edition, options: Options) -> Iterator[str]:
    yield (
        "Replies were judged by the models that the run's record names as judges; these saw the "
        "question, the gold answer and steps "
        "and the reply between fences, and no image: whether the final answer is the right one, "
        "which steps of the reply match a gold step, which gold steps are in the reply, and in "
        "which order examination, image features, conclusion and further analysis first appear. "
        "Several judges of one question form a panel, whose number is the mean of theirs."
    )
    if options.rubrics:
        yield OWN_RUBRICS
    how = (
        "read as the published scripts read them"
        if edition.verdicts == "published"
        else "read as strict JSON first and mended only where that failed"
    )
    again = (
        f"asked for again up to {edition.reask} times where they could not be read"
        if edition.reask
        else "not asked for again where they could not be read"
    )
    yield f"Verdicts were {how}, and {again}."
    if options.checks:
        failing = "called less than {} of what is right right, or of what is wrong wrong,"
        yield tried_judges(options.checks, "judged", failing)
    if options.variants:
        yield (
            f"For at most {options.variants} of these items the controls' replies were judged "
            "again with one harmless thing changed."
        )


def _how_counted(edition: Edition) -> Iterator[str]:
    accuracy = (
        "Accuracy is the share of all items asked; an item without an answer or without a verdict "
        "that can be read counts as wrong."
        if edition.denominator == "all"
        else "Accuracy is the share of the items that were judged."
    )
    steps = (
        "what has no reply counts 0, what a judge failed on is left out"
        if edition.no_steps == "zero"
        else "what has no verdict is left out, as in the published code"
    )
    yield accuracy
    yield (
        "Precision is the mean over items of the share of a reply's steps that match a gold step "
        "(background steps in the denominator, restatements of the question in neither), recall "
        f"that of the gold steps found in the reply, and F1 is made of the two means; {steps}. "
        "Path consistency is the mean similarity of the orders of steps within a task to the most "
        "frequent one."
    )
    yield (
        f"Intervals are at 95 %, from {edition.boot} bootstrap resamples of items, those of one "
        f"patient together, with seed {edition.seed}; where all items agree, and for shares of "
        "replies and verdicts, from Wilson's bounds. Readers were compared in pairs by item; "
        f"{TESTS}"
    )
    yield edition_line(edition)


# ---------------------------------------------------------------- what they cannot tell

_JUDGED_WORDS: Final = {
    "accuracy": "answers",
    "precision": "steps of the replies",
    "recall": "gold steps",
    "consistency": "order of steps",
}
_FEW_ITEMS: Final = 100
_ALWAYS_SAID: Final = (
    "The gold steps are one path that experts wrote down; a sound argument by another path scores "
    "as wrong or missing.",
    "Judges are language models that see no image: they compare words with the gold steps, and a "
    "judge that is fit on plain cases may still err on hard ones. A sample judged by a person "
    "says how far.",
    "Agreement with a clinician's steps on examination questions is not clinical performance.",
    IN_TRAINING,
)


def limitations(measures: Sequence[Measure], dataset: str = "") -> list[str]:
    """What the set and these measures give cause to say, then what holds for every run."""
    index = Index(measures)
    return [
        *made_up(dataset),
        *_of_judges(index),
        *_of_replies(index),
        *_of_size(index),
        *_of_what_was_not_asked(index),
        *_ALWAYS_SAID,
    ]


def _of_judges(index: Index) -> Iterator[str]:
    judges = sorted(
        {
            record.by["judge"]
            for name in ("verdicts_judged", *_JUDGED_WORDS)
            for record in index.every(name)
            if "judge" in record.by
        }
    )
    if not judges:
        yield "No judge was asked: answers and steps have no measure of being right."
        return
    for label, why in (
        (UNFIT, "failed on replies of known truth, so that numbers labelled so should not be used"),
        (NOT_CHECKED, "were not tried on enough replies of known truth"),
    ):
        found = [
            words
            for name, words in _JUDGED_WORDS.items()
            if any(record.label == label for record in index.every(name) if record.reader)
        ]
        if found:
            yield f"Judges of the {listed(found)} {why} ({label})."
    yield from judge_limits(judges, "judged")
    yield from shift_limit(index, "verdicts")


def _of_replies(index: Index) -> Iterator[str]:
    said = {
        "refused": "refused some questions",
        "unparsed": "gave some blank replies",
        "cut_off": "had replies cut off at the token limit",
    }
    yield from reply_limits(index, said)
    invalid = [record for record in index.every("verdicts_invalid") if record.value]
    if invalid:
        yield f"Of a judge's verdicts up to {rate(largest(invalid))} could not be read."
    missing = [r for r in index.every("answered") if r.value is not None and r.value < 1]
    if missing:
        fewest = rate(least(missing))
        yield f"Not every item has a reply in words: of one reader only {fewest} have."


def _of_size(index: Index) -> Iterator[str]:
    answered = index.every("answered")
    sizes = [one.n for one in answered if one.n and not {"image", "follow"} & one.by.keys()]
    if sizes and min(sizes) < _FEW_ITEMS:
        yield f"The run has {min(sizes)} items only: its intervals are wide, and tasks have few."
    yield from unseeing_limit([*answered, *index.every("image_effect")], "reasoned")


def _of_what_was_not_asked(index: Index) -> Iterator[str]:
    if not index.every("image_effect"):
        yield (
            "Whether answers and reasoning depend on the image was not asked: right steps may come "
            "from the words of the question."
        )
    if not index.every("answer_kept"):
        yield "Whether the answer follows from the reasoning that precedes it was not asked."
