"""How the numbers of an M3CoT run came about, in whole sentences that an author may paste."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from overread.benchmarks.m3cot.caveats import limitations
from overread.benchmarks.m3cot.edition import Edition, Options
from overread.benchmarks.m3cot.edition import edition as named_edition
from overread.benchmarks.m3cot.prompts import INSTRUCTIONS
from overread.benchmarks.reporting import label_words, listed
from overread.judging.fitness import ENOUGH, LIMIT

__all__ = ["limitations", "methods"]

_MODES: Final = {"direct": "for the answer alone", "cot": "for reasoning step by step"}


def methods(edition: Edition, options: Options, asked_under: str | None = None) -> list[str]:
    """What was asked, how replies were judged, and how they were counted under these rules.

    `asked_under` is the edition the readers were asked under, where that is not this one; empty
    where somebody else asked them, so that what they were shown is not known here.
    """
    return [*_asked(edition, options, asked_under), *_judged(edition, options), *_counted(edition)]


def _asked(edition: Edition, options: Options, asked_under: str | None) -> Iterator[str]:
    if asked_under == "":
        yield (
            "The replies were taken over from results that somebody else's scripts had written: "
            "pictures, questions and decoding are theirs."
        )
        return
    shown = edition if asked_under is None else named_edition(*label_words(asked_under))
    modes = listed([f"{_MODES[mode]} (“{INSTRUCTIONS[mode]}”)" for mode in options.modes])
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
        f"loss; replies were decoded at temperature {options.temperature:g} with at most "
        f"{options.max_tokens} tokens, unless a reader's own settings, kept in the run's record, "
        "say otherwise."
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


def _judged(edition: Edition, options: Options) -> Iterator[str]:
    yield (
        "Replies were judged by the models that the run's record names as judges; these saw the "
        "question, the gold answer and steps "
        "and the reply between fences, and no image: whether the final answer is the right one, "
        "which steps of the reply match a gold step, which gold steps are in the reply, and in "
        "which order examination, image features, conclusion and further analysis first appear. "
        "Several judges of one question form a panel, whose number is the mean of theirs."
    )
    if options.rubrics:
        yield "Judges were instructed in words of the user's own; their digest is in the signature."
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
        yield (
            f"Before, each judge judged control replies of known truth (up to {options.checks} "
            f"items); one that called less than {100 * LIMIT:.0f} % of what is right right, or of "
            f"what is wrong wrong, is labelled unfit, and one with fewer than {ENOUGH} truths on a "
            "side not checked."
        )
    if options.variants:
        yield (
            f"For at most {options.variants} of these items the controls' replies were judged "
            "again with one harmless thing changed."
        )


def _counted(edition: Edition) -> Iterator[str]:
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
        "replies and verdicts, from Wilson's bounds. Readers were compared in pairs by item; p "
        "values are two-sided, and q is Benjamini and Hochberg's within each family of tests."
    )
    yield f"All numbers are under the rules of the edition “{edition.label}”."
