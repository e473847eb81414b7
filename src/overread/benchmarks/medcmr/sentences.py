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

_SAID: Final = shared.sentences_beside(__file__)
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
    sentence = f"{start}: {found.right(accuracy)}; {picture}{found.opened}."
    return Told(word, sentence, accuracy, start)


def _without_choices(found: _Found, accuracy: Measure | None, score: Measure | None) -> Told:
    measure = score if score is not None and score.value is not None else accuracy or score
    assert measure is not None
    why = "no multiple-choice item was asked"
    if accuracy is not None:
        why = f"accuracy has no value ({accuracy.note or 'no items'})"
    open_ended = found.opened or "; nobody judged its open answers"
    tail = ", and S has no level of chance to be set against" if found.opened else ""
    tail = tail if found.sees else f"{tail}; {_WORDS_ALONE}"
    start = f"It cannot be told: {why}"
    return Told("cannot tell", f"{start}{open_ended}{tail}.", measure, start)


# ---------------------------------------------------------------- limitations

_FEW: Final = 100
_ITEMS: Final = {"mcq": 16_655, "open": 3_999}  # of the release
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
        *([_SAID("choices")] if index.every("accuracy") else []),
        *([_SAID("caption"), _SAID("language")] if index.every("score") else []),
        *([_SAID("published")] if whole else []),
        shared.IN_TRAINING,
        _SAID("not_clinical"),
    ]


def _of_choices(index: Index) -> Iterator[str]:
    records = [r for reader in index.readers if (r := index.known(reader, "accuracy")) is not None]
    sizes = [record.n for record in records if record.n]
    if sizes and min(sizes) < _FEW:
        yield _SAID("few_items", items=min(sizes))
    if records and not index.every("order_consistency"):
        yield _SAID("one_order")
    if any(r.how is not None and r.how.effect not in (None, 1) for r in records):
        yield _SAID("shared_images")


def _of_images(index: Index) -> Iterator[str]:
    asked = [record for record in index.every("diff_accuracy") if record.by.get("condition")]
    if not asked and index.every("accuracy"):
        yield _SAID("no_images")
    yield from shared.unseeing_limit((*asked, *index.every("unanswered_rate")), "answered")


def _of_judges(index: Index) -> Iterator[str]:
    scores = [record for record in index.every("score") if record.reader]
    if not scores:
        return
    judges = sorted({record.by["judge"] for record in scores if "judge" in record.by})
    if not judges:
        yield _SAID("no_judge")
        return
    parts = ("visual", "truth", "score")
    labels = {r.label for name in parts for r in index.every(name) if r.reader}
    for label, name in ((UNFIT, "unfit"), (NOT_CHECKED, "not_checked")):
        if label in labels:
            yield _SAID(name, label=label)
    yield from shared.judge_limits(judges, "scored")
    rates = [r for r in index.every("judged_rate") if r.value is not None and r.value < 1]
    if rates:
        yield _SAID("unread", fewest=rate(shared.least(rates)))
    yield from shared.shift_limit(index, "scores")
    if not index.every("win_ratio"):
        yield _SAID("no_people")


# ---------------------------------------------------------------- methods


def methods(edition: Edition, options: Options, asked_under: str | None = None) -> list[str]:
    """What was asked, how replies were read, judged and counted, in sentences an author may paste.

    `asked_under` is the edition the readers were asked under, where that is not this one; empty
    where somebody else asked them, so that what they were shown is not known here.
    """
    judged = "open" in options.kinds or options.reformulate != "none"
    return [
        *asked(edition, options, asked_under),
        *(_read(edition) if "mcq" in options.kinds else ()),
        *(_judged(edition, options) if judged else ()),
        *_counted(edition),
    ]


def asked(edition: Edition, options: Options, asked_under: str | None = None) -> Iterator[str]:
    """What was asked and shown, and how replies were decoded."""
    if asked_under == "":
        yield shared.taken_over()
        return
    shown = edition if asked_under is None else BOOK.asked_under(asked_under)
    tell = _SAID.under(shown, asked=options)
    kinds = [tell(kind, instruction=ANSWER_ONLY("E")) for kind in options.kinds]
    yield tell("put", kinds=listed(kinds))
    reasoned = max(options.letter_tokens, REASONED_TOKENS)
    most = listed([tell(f"{kind}_tokens", reasoned=reasoned) for kind in options.kinds])
    size = tell("shrunk") if options.px else "as they are"
    yield tell("images", size=size, decoded=shared.decoded(options.temperature, most))
    others = _SAID.words["images"].items()
    also = [words.format(rules=shown) for image, words in others if image in options.images]
    if also:
        yield tell("other_images", images=listed(also))
    if options.orders and "mcq" in options.kinds:
        several = "s" * (options.orders > 1)
        yield tell("orders", orders=f"{options.orders} further order{several}")
    if options.reformulate != "none":
        yield tell("reformulated")


def _read(edition: Edition) -> Iterator[str]:
    if edition.letters == "logprobs":
        yield _SAID("by_probability")
    yield _SAID("reading")


def _judged(edition: Edition, options: Options) -> Iterator[str]:
    yield _SAID("judged")
    if options.rubrics:
        yield shared.OWN_RUBRICS
    again = f", asked for again up to {edition.reask} times" if edition.reask else ""
    yield _SAID("invalid", again=again)
    if options.checks:
        failing = "was right on less than {} of either side"
        yield _SAID("tried", tried=shared.tried_judges(options.checks, "scored", failing))


def _counted(edition: Edition) -> Iterator[str]:
    yield _SAID.under(edition)("intervals", tests=shared.TESTS)
    yield shared.edition_line(edition)
    if edition.name == "authors":
        yield _SAID("authors")
