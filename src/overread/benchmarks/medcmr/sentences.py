"""What is said of a run in words: the headline, the methods, the limitations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from overread.benchmarks import sentences as shared
from overread.benchmarks.exhibits.cells import percent
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.medcmr.edition import BOOK, Edition, Options
from overread.benchmarks.medcmr.trials import ANSWER_ONLY, REASONED_TOKENS
from overread.benchmarks.sentences import Told, gets_no_picture, is_lexical, listed, rate, side_of
from overread.case import Headline, Measure
from overread.judging.fitness import NOT_CHECKED, UNFIT

# ---------------------------------------------------------------- headline: a sentence per reader

QUESTION: Final = "Can it integrate evidence on hard cases?"
HALF: Final = 0.5
"""What accuracy must lie above with its whole interval: more right than wrong."""
CONDITIONS: Final = {
    "blank": "a black image",
    "swap": "another item's image",
    "text": "no image at all",
}
"""What is asked in place of the item's own image; the first that was asked decides."""

_WORDS_ALONE: Final = "it got no picture, so that all of this comes from the words alone"


def headlines(measures: Sequence[Measure], dataset: str = "") -> Iterator[Headline]:
    """One for each reader that was asked, in the run's order.

    Accuracy on the multiple-choice items decides, with its interval, against chance (the mean of 1
    over the number of options) and against the accuracy without the item's image:

    cannot tell  no multiple-choice item was asked, accuracy has no interval, or it holds chance.
                 S of open items alone does not decide: it has no level of chance
    no           all of the interval is at or below chance
    yes          all of it is above one half, and accuracy falls without the image: the interval of
                 the paired difference lies below 0
    in part      above chance, and not all of this is shown: accuracy not surely above one half, or
                 it survives without the image, or that was not asked, or the reader gets none

    Of several images asked the black one decides, else another item's, else none at all. The
    measure is accuracy, or S where there is none.
    """
    index = Index(measures)
    chance = index.known("", "chance")
    for reader in index.readers:
        accuracy, score = index.get(reader, "accuracy"), index.get(reader, "score")
        if accuracy is None and score is None:
            continue
        found = _Found(index, reader, chance, made_up=dataset.startswith(shared.PHANTOM))
        if accuracy is None or accuracy.value is None:
            said = _without_choices(found, accuracy, score)
        else:
            said = _by_accuracy(found, accuracy)
        yield said.headline(reader, QUESTION)


class _Found(NamedTuple):
    """One reader's records, and the words they are told in."""

    records: Index
    reader: str
    chance: Measure | None
    made_up: bool

    def right(self, accuracy: Measure) -> str:
        """Accuracy beside chance, with what could not be read."""
        lot = None if self.chance is None else percent(self.chance.value)
        guessed = "" if lot is None else f", where guessing gets {lot} %"
        said = f"it chose the right option in {rate(accuracy, 'accuracy')} of the items{guessed}"
        invalid = self.records.known(self.reader, "invalid_rate")
        if invalid is None:
            return said
        return f"{said}; {rate(invalid, 'invalid')} of its replies named no single option"

    @property
    def picture(self) -> tuple[bool | None, str]:
        """Whether accuracy falls without the image, if that was asked, in words."""
        for condition, shown in CONDITIONS.items():
            record = self.records.get(
                self.reader, "diff_accuracy", condition=condition, versus="original"
            )
            if record is None:
                continue
            if gets_no_picture(record):
                return False, _WORDS_ALONE
            if record.value is None:
                return None, f"what {shown} changes cannot be said ({record.note or 'no items'})"
            left = self.records.known(self.reader, "accuracy", condition=condition)
            stands = "" if left is None else f", to {rate(left, 'accuracy')}"
            change = f"{rate(record, 'difference', signed=True)}{stands}"
            if record.high is None:
                return None, f"with {shown} accuracy changes by {change}"
            if record.high < 0:
                return True, f"without the picture it does worse: with {shown} by {change}"
            return False, f"its score survives without the picture: {shown} changes it by {change}"
        if not self.sees:
            return False, _WORDS_ALONE
        return None, "whether it needs the picture was not asked (images=original,blank)"

    @property
    def sees(self) -> bool:
        records = self.records.all("unanswered_rate", "kind")
        return not any(gets_no_picture(one) for one in records if one.reader == self.reader)

    @property
    def opened(self) -> str:
        """S of the open items, and what its judges are worth."""
        score = self.records.known(self.reader, "score")
        if score is None:
            return ""
        said = f"; judges gave its open answers S = {rate(score, 'score')}"
        worth = [score.label] if score.label else []
        own = [r for r in self.records.all("score", "judge") if r.reader == self.reader]
        if any(is_lexical(record.by["judge"]) for record in own):
            worth.append("by a judge that compares words and knows no medicine")
            if not self.made_up:
                worth.append("which counts for nothing outside made-up cases")
        return f"{said}, {', '.join(worth)}" if worth else said


def _by_accuracy(found: _Found, accuracy: Measure) -> Told:
    falls, picture = found.picture
    word: shared.Answer
    chance = None if found.chance is None else found.chance.value
    beside_chance = None if chance is None else side_of(accuracy, chance)
    if chance is None:
        word, start = "cannot tell", "It cannot be told without a level of chance"
    elif not beside_chance:
        word, start = "cannot tell", "Too few items to tell"
    elif beside_chance == "below":
        word, start = "no", "It does no better than guessing"
    elif beside_chance == "holds":
        word, start = "cannot tell", "It cannot be told from guessing"
    elif side_of(accuracy, HALF) != "above":
        start = "It does better than guessing, but is not surely right more often than wrong"
        word = "in part"
    elif falls:
        word, start = "yes", "It is mostly right, and looks at the picture for it"
    else:
        word, start = "in part", "It is mostly right, but its use of the picture is not shown"
    return Told(word, f"{start}: {found.right(accuracy)}; {picture}{found.opened}.", accuracy)


def _without_choices(found: _Found, accuracy: Measure | None, score: Measure | None) -> Told:
    measure = score if score is not None and score.value is not None else accuracy or score
    assert measure is not None
    why = "no multiple-choice item was asked"
    if accuracy is not None:
        why = f"accuracy has no value ({accuracy.note or 'no items'})"
    open_ended = found.opened or "; nobody judged its open answers"
    tail = ", and S has no level of chance to be set against" if found.opened else ""
    tail = tail if found.sees else f"{tail}; {_WORDS_ALONE}"
    return Told("cannot tell", f"It cannot be told: {why}{open_ended}{tail}.", measure)


# ---------------------------------------------------------------- limitations

_FEW: Final = 100
_UNUSED: Final = {
    "invalid_rate": "gave replies that could not be read as an answer",
    "refused_rate": "refused some questions",
    "unanswered_rate": "left some questions without a reply",
    "cut_off_rate": "had replies cut off at the token limit",
}


def limitations(measures: Sequence[Measure], dataset: str = "") -> list[str]:
    """What the set and these measures give cause to say, then what holds for every run.

    Whole sentences that an author may paste.
    """
    index = Index(measures)
    # All items of a kind that the release has were asked.
    whole = any(
        record.n == _ITEMS.get(record.by["kind"]) for record in index.all("unanswered_rate", "kind")
    )
    return [
        *shared.made_up(dataset),
        *shared.reply_limits(index, _UNUSED),
        *_of_choices(index),
        *_of_images(index),
        *_of_judges(index),
        *(_CHOICES if index.every("accuracy") else ()),
        *(_OPEN if index.every("score") else ()),
        *(_PUBLISHED if whole else ()),
        *_STANDING,
    ]


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
    if any(r.how is not None and r.how.effect not in (None, 1) for r in records):
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
    yield from shared.unseeing_limit((*asked, *index.every("unanswered_rate")), "answered")


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
    yield from shared.judge_limits(judges, "scored")
    rates = [r for r in index.every("judged_rate") if r.value is not None and r.value < 1]
    if rates:
        yield (
            f"Not every verdict could be read, of one reader only {rate(shared.least(rates))}; "
            "what has none is left out of the scores."
        )
    yield from shared.shift_limit(index, "scores")
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
    shared.IN_TRAINING,
    "Answering examination questions is not clinical performance.",
)


# ---------------------------------------------------------------- methods


def methods(edition: Edition, options: Options, asked_under: str | None = None) -> list[str]:
    """What was asked, how replies were read, judged and counted, in sentences an author may paste.

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
        yield shared.taken_over()
        return
    shown = edition if asked_under is None else BOOK.asked_under(asked_under)
    forms = {
        "mcq": f"multiple-choice items with all their options (“{ANSWER_ONLY('E')}”)",
        "open": "open items for reasoning and a short answer in two named sections",
    }
    kinds = listed([forms[kind] for kind in options.kinds])
    yield (
        "Following Med-CMR, every reader was asked questions about one or more medical images, "
        f"with the images first and in the paper's words: {kinds}."
    )
    shrunk = f"shrunk to at most {options.px} pixels on the longer side"
    tokens = {
        "mcq": (
            f"{options.letter_tokens} tokens for a letter "
            f"({max(options.letter_tokens, REASONED_TOKENS)} where a reader reasons first)"
        ),
        "open": f"{options.open_tokens} for an open answer",
    }
    most = listed([tokens[kind] for kind in options.kinds])
    size, decoded = shrunk if options.px else "as they are", shared.decoded
    yield f"Images were sent without loss, {size}; {decoded(options.temperature, most)}"
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
        yield shared.OWN_RUBRICS
    again = f", asked for again up to {edition.reask} times" if edition.reask else ""
    yield (
        f"A verdict with a score that is missing or off its scale is invalid{again}, and never "
        "guessed."
    )
    if options.checks:
        tried = shared.tried_judges(
            options.checks, "scored", "was right on less than {} of either side"
        )
        yield f"{tried} Clarity and coherence cannot be checked so."


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
        f"item; {shared.TESTS}"
    )
    yield shared.edition_line(edition)
    if edition.name == "authors":
        yield (
            "The paper's scripts are not public: this edition does what the paper says, and where "
            "it is silent, what its figures point to."
        )
