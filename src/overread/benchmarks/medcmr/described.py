"""How the numbers of a Med-CMR run came about, in whole sentences that an author may paste."""

from __future__ import annotations

from collections.abc import Iterator

from overread.benchmarks.medcmr.caveats import limitations
from overread.benchmarks.medcmr.edition import Edition, Options
from overread.benchmarks.medcmr.edition import edition as named_edition
from overread.benchmarks.medcmr.prompts import ANSWER_ONLY
from overread.benchmarks.medcmr.trials import REASONED_TOKENS
from overread.benchmarks.reporting import label_words, listed
from overread.judging.fitness import ENOUGH, LIMIT

__all__ = ["limitations", "methods"]


def methods(edition: Edition, options: Options, asked_under: str | None = None) -> list[str]:
    """What was asked, how replies were read and judged, and how they were counted.

    `asked_under` is the edition the readers were asked under, where that is not this one; empty
    where somebody else asked them, so that what they were shown is not known here.
    """
    judged = "open" in options.kinds or options.reformulate != "none"
    return [
        *_asked(edition, options, asked_under),
        *(_read(edition) if "mcq" in options.kinds else ()),
        *(_judged(edition, options) if judged else ()),
        *_counted(edition),
    ]


def _asked(edition: Edition, options: Options, asked_under: str | None) -> Iterator[str]:
    if asked_under == "":
        yield (
            "The replies were taken over from results that somebody else's scripts had written: "
            "pictures, questions and decoding are theirs."
        )
        return
    shown = edition if asked_under is None else named_edition(*label_words(asked_under))
    forms = {
        "mcq": f"multiple-choice items with all their options (“{ANSWER_ONLY('E')}”)",
        "open": "open items for reasoning and a short answer in two named sections",
    }
    kinds = listed([forms[kind] for kind in options.kinds])
    yield (
        "Following Med-CMR, every reader was asked questions about one or more medical images, "
        f"with the images first and in the paper's words: {kinds}."
    )
    size = (
        f"shrunk to at most {options.px} pixels on the longer side" if options.px else "as they are"
    )
    tokens = {
        "mcq": (
            f"{options.letter_tokens} tokens for a letter "
            f"({max(options.letter_tokens, REASONED_TOKENS)} where a reader reasons first)"
        ),
        "open": f"{options.open_tokens} for an open answer",
    }
    yield (
        f"Images were sent without loss, {size}; replies were decoded at temperature "
        f"{options.temperature:g} with at most {listed([tokens[k] for k in options.kinds])}, "
        "unless a reader's own settings, kept in the run's record, say otherwise."
    )
    others = {
        "blank": "all-black images of the same size",
        "swap": f"those of another item of the dimension, drawn with seed {shown.seed}",
        "text": "no image at all",
    }
    also = [words for image, words in others.items() if image in options.images]
    if also:
        yield f"Items were also asked with {listed(also)}, to see what depends on the image."
    if options.orders and "mcq" in options.kinds:
        yield (
            f"Options were also shown in {options.orders} further "
            f"order{'s' * (options.orders > 1)} at most, rotations drawn with seed {shown.seed}, "
            "except where an option speaks of others by their place."
        )
    if options.reformulate != "none":
        yield "Some multiple-choice items were also asked as open ones, without their options."


def _read(edition: Edition) -> Iterator[str]:
    if edition.letters == "logprobs":
        yield (
            "The option chosen is the most probable letter of the first token, or what the words "
            "name where no probabilities were given."
        )
    yield (
        "A multiple-choice reply was read by fixed rules, from a bare letter to the text of "
        "exactly one option; one that names no single option is invalid, counts as wrong, and "
        "is reported beside accuracy, as are refusals and missing replies."
    )


def _judged(edition: Edition, options: Options) -> Iterator[str]:
    yield (
        "Open replies were scored by the models that the run's record names as judges; these saw "
        "the question, the experts' caption "
        "of the image, the true answer and the reply between fences, and no image: language "
        "clarity and reasoning coherence (0, 0.5, 1), what is said of the image against the "
        "caption and the answer against the truth (0 to 4 each). The score is S = (clarity + "
        "coherence + 4 visual + 4 truth) / 10 of the parts divided by their highest; a refusal, a "
        "blank reply and no reply score 0, items without a caption have no S. Several judges "
        "form a panel, whose number is the mean of theirs."
    )
    if options.rubrics:
        yield "Judges were instructed in words of the user's own; their digest is in the signature."
    again = f", asked for again up to {edition.reask} times" if edition.reask else ""
    yield (
        f"A verdict with a score that is missing or off its scale is invalid{again}, and never "
        "guessed."
    )
    if options.checks:
        yield (
            f"Before, each judge scored control replies of known truth (up to {options.checks} "
            f"items); one that was right on less than {100 * LIMIT:.0f} % of either side is "
            f"labelled unfit, and one with fewer than {ENOUGH} truths on a side not checked. "
            "Clarity and coherence cannot be checked so."
        )


def _counted(edition: Edition) -> Iterator[str]:
    together = (
        "items that share an image or a patient taken together"
        if edition.clusters == "image"
        else "each item by itself, even where items share an image"
    )
    yield (
        f"Intervals are at 95 %: Wilson's for shares, with the design effect of the clusters, and "
        f"otherwise from {edition.boot} bootstrap resamples with seed {edition.seed}; {together}. "
        "Chance is the mean over items of 1 over the number of options. Comparisons are paired by "
        "item; p values are two-sided, and q is Benjamini and Hochberg's within each family of "
        "tests."
    )
    yield f"All numbers are under the rules of the edition “{edition.label}”."
    if edition.name == "authors":
        yield (
            "The paper's scripts are not public: this edition does what the paper says, and where "
            "it is silent, what its figures point to."
        )
