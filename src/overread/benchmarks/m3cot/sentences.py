"""What is said of an M3CoT run: a sentence on each reader, how its numbers came about, and what
they cannot tell. An author may paste them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from overread.benchmarks import sentences as shared
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.m3cot.edition import BOOK, Edition, Options
from overread.benchmarks.m3cot.trials import INSTRUCTIONS
from overread.benchmarks.sentences import Told, listed, rate, side_of
from overread.case import Headline, Measure
from overread.judging.fitness import LIMIT, NOT_CHECKED, UNFIT
from overread.measuring.notes import NOT_ASKED, NOT_JUDGED

QUESTION: Final = "Does it reason as a clinician would?"
HALF: Final = 0.5
"""What a share must lie above with its whole interval for "most of them"."""

_WORDS_ALONE: Final = "it got no image (text only), so that all of this comes from the words alone"
_WHY: Final = {
    UNFIT: (
        f"a judge of its {{}} called less than {LIMIT:.0%} of what is known to be right right, or "
        "of what is known to be wrong wrong (judge unfit)"
    ).replace("%", " %"),
    NOT_CHECKED: (
        "a judge of its {} was not tried on enough replies of known truth (judge not checked)"
    ),
}

_FOR_MADE_UP: Final = "The judge compares words and knows no medicine: fit for made-up cases alone."
_COMPARES: Final = (
    "a judge of its {} compares words and knows no medicine, and is fit for made-up cases alone "
    "(lexical judge)"
)


def headlines(measures: Sequence[Measure], dataset: str = "") -> Iterator[Headline]:
    """One for each reader that was asked, in the run's order.

    Precision (of its steps, those that match a gold step), recall (of the gold steps, those it
    has), their F1 and the accuracy of its answers with reasoning decide, each with its interval:

    cannot tell  nobody judged its steps, a judge of them is unfit or was not checked or only
                 compares words and the cases are not made up, there is no interval, or that of F1
                 holds one half
    no           all of the interval of F1 is at or below one half, or no step matches at all
    yes          all of the intervals of precision, recall and accuracy are above one half, and the
                 judges of steps and answers are fit, and the reader gets the image
    in part      that of F1 is above one half, and not all of this is shown

    One half is a convention: most of a clinician's steps, and most of its own right. The measure
    is F1, or what stands in its place where F1 has no value.
    """
    index = Index(measures)
    for reader in index.readers:
        f1 = index.get(reader, "f1")
        if f1 is None:
            continue
        found = _Found(
            f1=f1,
            precision=index.known(reader, "precision"),
            recall=index.known(reader, "recall"),
            accuracy=index.known(reader, "accuracy", mode="cot"),
            sees=not any(
                shared.gets_no_picture(record)
                for name in ("answered", "image_effect")
                for record in index.every(name)
                if record.reader == reader
            ),
            worded=_worded(index, reader),
            made_up=dataset.startswith(shared.PHANTOM),
        )
        told = _told(found)
        if found.made_up and "steps" in found.worded:
            told = told._replace(sentence=f"{told.sentence} {_FOR_MADE_UP}")
        yield told.headline(reader, QUESTION)


class _Found(NamedTuple):
    """One reader's records; those without a value are None, except F1, whose note says why."""

    f1: Measure
    precision: Measure | None
    recall: Measure | None
    accuracy: Measure | None
    sees: bool
    worded: frozenset[str]
    """Which of steps and answers a judge judged that compares words."""
    made_up: bool

    def unjudged(self, what: str) -> bool:
        """Whether who judged these cannot judge such cases."""
        return what in self.worded and not self.made_up

    @property
    def steps(self) -> str:
        """What is known of the steps, in words."""
        told = {
            "its reasoning has {} of the clinician's steps": (self.recall, "recall"),
            "{} of its own steps match one": (self.precision, "precision"),
        }
        parts = [words.format(rate(one, name)) for words, (one, name) in told.items() if one]
        said = listed(parts) if parts else ""
        return f"{said}; F1 is {rate(self.f1)}" if said and self.f1.value is not None else said

    @property
    def answers(self) -> str:
        """What is known of the answers, in words."""
        if self.accuracy is None:
            return "whether its answers are right was not judged"
        said = f"its answer is right in {rate(self.accuracy, 'accuracy')} of the questions"
        if self.accuracy.label in _WHY:
            return f"{said}, which counts for little: {_WHY[self.accuracy.label].format('answers')}"
        if self.unjudged("answers"):
            return f"{said}, which counts for little: {_COMPARES.format('answers')}"
        return said


def _told(found: _Found) -> Told:
    f1 = found.f1
    records = [one for one in (f1, found.precision, found.recall) if one is not None]
    labels = {record.label for record in records}
    label = next((one for one in (UNFIT, NOT_CHECKED) if one in labels), None)
    numbers = f"{found.steps}; {found.answers}" if found.steps else found.answers
    numbers = numbers if found.sees else f"{numbers}; {_WORDS_ALONE}"
    if label is not None or (found.steps and found.unjudged("steps")):
        why = (_COMPARES if label is None else _WHY[label]).format("steps")
        return Told("cannot tell", f"It cannot be told: {why}; as it judged, {numbers}.", f1)
    if f1.value is None:
        return _without(found, numbers)
    side = side_of(f1, HALF)
    if not side:
        return Told("cannot tell", f"Too few questions to tell: {numbers}.", f1)
    if side == "below":
        return Told("no", f"Most of its reasoning is not a clinician's: {numbers}.", f1)
    if side == "holds":
        start = "It cannot be told whether most of its reasoning is a clinician's"
        sentence = f"{start}, for the interval of F1 holds one half: {numbers}."
        return Told("cannot tell", sentence, f1)
    missing = _missing(found)
    if not missing:
        start = "Its steps are mostly a clinician's, and so are its answers"
        return Told("yes", f"{start}: {numbers}.", f1)
    start = f"Its steps agree with a clinician's more than not, but {listed(missing)}"
    return Told("in part", f"{start}: {numbers}.", f1)


def _without(found: _Found, numbers: str) -> Told:
    """F1 has no value: no step matches either way, or nobody judged."""
    precision, recall = found.precision, found.recall
    if precision is not None and recall is not None and precision.value == recall.value == 0:
        if recall.low is None:
            return Told("cannot tell", f"Too few questions to tell: {numbers}.", recall)
        return Told("no", f"None of its steps is a clinician's: {numbers}.", recall)
    reasons = {NOT_JUDGED: "no judge judged its steps", NOT_ASKED: "it was not asked to reason"}
    why = next((reasons[flag] for flag in found.f1.flags if flag in reasons), None)
    why = why or found.f1.note or "there is nothing to go by"
    return Told("cannot tell", f"It cannot be told: {why}; {numbers}.", found.f1)


def _missing(found: _Found) -> list[str]:
    """What is at most one half, then what is not shown to be more or cannot be believed."""
    named = (
        (found.recall, "it lacks most of the clinician's steps", "has most of the clinician's"),
        (found.precision, "most of its own steps match none", "mostly takes steps that match"),
        (found.accuracy, "most of its answers are wrong", "is mostly right in its answers"),
    )
    below, not_shown = [], []
    for record, wrong, right in named:
        doubted = record is not None and record.label in _WHY
        doubted |= record is found.accuracy and found.unjudged("answers")
        side = "" if doubted else side_of(record, HALF)
        if side == "below":
            below.append(wrong)
        elif side != "above":
            not_shown.append(right)
    if not found.sees:
        not_shown.append("looked at the image")
    return [*below, *([f"it is not shown that it {listed(not_shown)}"] if not_shown else [])]


def _worded(index: Index, reader: str) -> frozenset[str]:
    """What a judge judged that compares words, where one is of the panel."""
    named = {
        "steps": [*index.all("precision", "judge"), *index.all("recall", "judge")],
        "answers": [
            one for one in index.all("accuracy", "judge", "mode") if one.by["mode"] == "cot"
        ],
    }
    return frozenset(
        what
        for what, records in named.items()
        if any(shared.is_lexical(one.by["judge"]) for one in records if one.reader == reader)
    )


# ---------------------------------------------------------------- how they came about

_MODE_WORDS: Final = {"direct": "for the answer alone", "cot": "for reasoning step by step"}


def methods(edition: Edition, options: Options, asked_under: str | None = None) -> list[str]:
    """What was asked, how replies were judged, and how they were counted under these rules.

    `asked_under` is the edition the readers were asked under, where that is not this one; empty
    where somebody else asked them, so that what they were shown is not known here.
    """
    asked = _how_asked(edition, options, asked_under)
    return [*asked, *_how_judged(edition, options), *_how_counted(edition)]


def _how_asked(edition: Edition, options: Options, asked_under: str | None) -> Iterator[str]:
    if asked_under == "":
        yield shared.taken_over()
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
        f"loss; {shared.decoded(options.temperature, f'{options.max_tokens} tokens')}"
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
        yield shared.OWN_RUBRICS
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
        yield shared.tried_judges(options.checks, "judged", failing)
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
        f"{shared.TESTS}"
    )
    yield shared.edition_line(edition)


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
    shared.IN_TRAINING,
)


def limitations(measures: Sequence[Measure], dataset: str = "") -> list[str]:
    """What the set and these measures give cause to say, then what holds for every run."""
    index = Index(measures)
    return [
        *shared.made_up(dataset),
        *_of_judges(index),
        *_of_replies(index),
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
    yield from shared.judge_limits(judges, "judged")
    yield from shared.shift_limit(index, "verdicts")


def _of_replies(index: Index) -> Iterator[str]:
    said = {
        "refused": "refused some questions",
        "unparsed": "gave some blank replies",
        "cut_off": "had replies cut off at the token limit",
    }
    yield from shared.reply_limits(index, said)
    invalid = [record for record in index.every("verdicts_invalid") if record.value]
    if invalid:
        yield f"Of a judge's verdicts up to {rate(shared.largest(invalid))} could not be read."
    missing = [r for r in index.every("answered") if r.value is not None and r.value < 1]
    if missing:
        fewest = rate(shared.least(missing))
        yield f"Not every item has a reply in words: of one reader only {fewest} have."
    answered = index.every("answered")
    sizes = [one.n for one in answered if one.n and not {"image", "follow"} & one.by.keys()]
    if sizes and min(sizes) < _FEW_ITEMS:
        yield f"The run has {min(sizes)} items only: its intervals are wide, and tasks have few."
    yield from shared.unseeing_limit([*answered, *index.every("image_effect")], "reasoned")
    if not index.every("image_effect"):
        yield (
            "Whether answers and reasoning depend on the image was not asked: right steps may come "
            "from the words of the question."
        )
    if not index.every("answer_kept"):
        yield "Whether the answer follows from the reasoning that precedes it was not asked."
