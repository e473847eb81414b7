"""What is said of an M3CoT run: a sentence on each reader, how its numbers came about, and what
they cannot tell. An author may paste them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from overread.benchmarks import sentences as shared
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.m3cot.edition import BOOK, FOLLOWS, IMAGES, Edition, Options
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


_FEW: Final = "Too few questions to tell"


def _told(found: _Found) -> Told:
    f1 = found.f1
    records = [one for one in (f1, found.precision, found.recall) if one is not None]
    labels = {record.label for record in records}
    label = next((one for one in (UNFIT, NOT_CHECKED) if one in labels), None)
    numbers = f"{found.steps}; {found.answers}" if found.steps else found.answers
    numbers = numbers if found.sees else f"{numbers}; {_WORDS_ALONE}"
    if label is not None or (found.steps and found.unjudged("steps")):
        why = (_COMPARES if label is None else _WHY[label]).format("steps")
        start = f"It cannot be told: {why}"
        return Told("cannot tell", f"{start}; as it judged, {numbers}.", f1, start)
    if f1.value is None:
        return _without(found, numbers)
    side = side_of(f1, HALF)
    if not side:
        return Told("cannot tell", f"{_FEW}: {numbers}.", f1, _FEW)
    if side == "below":
        start = "Most of its reasoning is not a clinician's"
        return Told("no", f"{start}: {numbers}.", f1, start)
    if side == "holds":
        start = "It cannot be told whether most of its reasoning is a clinician's"
        sentence = f"{start}, for the interval of F1 holds one half: {numbers}."
        return Told("cannot tell", sentence, f1, start)
    missing = _missing(found)
    if not missing:
        start = "Its steps are mostly a clinician's, and so are its answers"
        return Told("yes", f"{start}: {numbers}.", f1, start)
    start = f"Its steps agree with a clinician's more than not, but {listed(missing)}"
    return Told("in part", f"{start}: {numbers}.", f1, start)


def _without(found: _Found, numbers: str) -> Told:
    """F1 has no value: no step matches either way, or nobody judged."""
    precision, recall = found.precision, found.recall
    if precision is not None and recall is not None and precision.value == recall.value == 0:
        if recall.low is None:
            return Told("cannot tell", f"{_FEW}: {numbers}.", recall, _FEW)
        start = "None of its steps is a clinician's"
        return Told("no", f"{start}: {numbers}.", recall, start)
    reasons = {NOT_JUDGED: "no judge judged its steps", NOT_ASKED: "it was not asked to reason"}
    why = next((reasons[flag] for flag in found.f1.flags if flag in reasons), None)
    why = why or found.f1.note or "there is nothing to go by"
    start = f"It cannot be told: {why}"
    return Told("cannot tell", f"{start}; {numbers}.", found.f1, start)


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

_SAID: Final = shared.sentences_beside(__file__)


def methods(edition: Edition, options: Options, asked_under: str | None = None) -> list[str]:
    """What was asked, how replies were judged, and how they were counted under these rules.

    `asked_under` is the edition the readers were asked under, where that is not this one; empty
    where somebody else asked them, so that what they were shown is not known here.
    """
    put = asked(edition, options, asked_under)
    return [*put, *_how_judged(edition, options), *_how_counted(edition)]


def asked(edition: Edition, options: Options, asked_under: str | None = None) -> Iterator[str]:
    """What was asked and shown, and how replies were decoded."""
    if asked_under == "":
        yield shared.taken_over()
        return
    shown = edition if asked_under is None else BOOK.asked_under(asked_under)
    tell, said = _SAID.under(shown, asked=options), _SAID.words["asked"]
    modes = listed([f"{said[mode]} (“{INSTRUCTIONS[mode]}”)" for mode in options.modes])
    yield tell("put", modes=modes)
    decoded = shared.decoded(options.temperature, f"{options.max_tokens} tokens")
    yield tell("images", decoded=decoded)
    also = [said[image].format(rules=shown) for image in IMAGES[1:] if image in options.images]
    if also:
        yield tell("other_images", images=listed(also))
    follows = [said[follow] for follow in FOLLOWS if follow in options.follow]
    if follows:
        yield tell("follows", follows=listed(follows))
    if options.timing:
        yield tell("timing")


def _how_judged(edition: Edition, options: Options) -> Iterator[str]:
    tell = _SAID.under(edition, asked=options)
    yield tell("judged")
    if options.rubrics:
        yield shared.OWN_RUBRICS
    yield tell("asked_again" if edition.reask else "not_asked_again")
    if options.checks:
        failing = "called less than {} of what is right right, or of what is wrong wrong,"
        yield shared.tried_judges(options.checks, "judged", failing)
    if options.variants:
        yield tell("variants")


def _how_counted(edition: Edition) -> Iterator[str]:
    tell = _SAID.under(edition, tests=shared.TESTS)
    yield tell(f"accuracy_{edition.denominator}")
    yield tell("steps")
    yield tell("intervals")
    yield shared.edition_line(edition)


# ---------------------------------------------------------------- what they cannot tell

_JUDGED_WORDS: Final = {
    "accuracy": "answers",
    "precision": "steps of the replies",
    "recall": "gold steps",
    "consistency": "order of steps",
}
_FEW_ITEMS: Final = 100
_ALWAYS_SAID: Final = ("one_path", "unseeing_judges", "not_clinical")


def limitations(measures: Sequence[Measure], dataset: str = "") -> list[str]:
    """What the set and these measures give cause to say, then what holds for every run."""
    index = Index(measures)
    return [
        *shared.made_up(dataset),
        *_of_judges(index),
        *_of_replies(index),
        *(_SAID(name) for name in _ALWAYS_SAID),
        shared.IN_TRAINING,
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
        yield _SAID("no_judge")
        return
    for label, name in ((UNFIT, "unfit"), (NOT_CHECKED, "not_checked")):
        found = [
            words
            for measure, words in _JUDGED_WORDS.items()
            if any(record.label == label for record in index.every(measure) if record.reader)
        ]
        if found:
            yield _SAID(name, parts=listed(found), label=label)
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
        yield _SAID("invalid", most=rate(shared.largest(invalid)))
    missing = [r for r in index.every("answered") if r.value is not None and r.value < 1]
    if missing:
        yield _SAID("missing", fewest=rate(shared.least(missing)))
    answered = index.every("answered")
    sizes = [one.n for one in answered if one.n and not {"image", "follow"} & one.by.keys()]
    if sizes and min(sizes) < _FEW_ITEMS:
        yield _SAID("few_items", items=min(sizes))
    yield from shared.unseeing_limit([*answered, *index.every("image_effect")], "reasoned")
    if not index.every("image_effect"):
        yield _SAID("no_images")
    if not index.every("answer_kept"):
        yield _SAID("no_follows")
