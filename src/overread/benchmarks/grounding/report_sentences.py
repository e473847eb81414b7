"""What the page says of a grounding run: a headline per reader, methods, limitations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from overread.benchmarks.exhibits.cells import percent
from overread.benchmarks.grounding.cases import GroundingCase
from overread.benchmarks.grounding.category import (
    BY_CHANCE,
    IGNORES,
    INSUFFICIENT,
    STEADY_FROM,
    UNSTABLE,
    UNSTABLE_BELOW,
    USES,
)
from overread.benchmarks.grounding.conditions import FILLS
from overread.benchmarks.grounding.edition import BOOK, Edition, Options
from overread.benchmarks.grounding.exhibits.dot_plot import Index
from overread.benchmarks.grounding.prompts import question
from overread.benchmarks.grounding.trials import trials
from overread.benchmarks.sentences import (
    Told,
    carried_out,
    few_cases,
    listed,
    rate,
    readers_listed,
    taken_over,
    wide_intervals,
)
from overread.case import Decoding, Headline, Measure, Traits

# ---------------------------------------------------------------- Did it look at the image?
# One sentence per reader, from its category and what decides it.

QUESTION: Final = "Did it look at the image?"

_RATE_WORDS: Final = {
    "cgr": ("CGR", "covering the finding changed {} of its correct Yes answers"),
    "is": ("IS", "covering as much elsewhere left {} of its correct answers as they were"),
    "uar": ("UAR", "a like image of another patient left {} of its correct answers"),
    "gsp": ("GSP", "the cover of the finding changed {} more than the other"),
}
_BY_AUTHORS: Final = "as the authors' rules give it"
_RATES: Final = (("cgr", "CGR"), ("uar", "UAR"), ("is", "IS"))


def headlines(measures: Sequence[Measure], edition: Edition) -> Iterator[Headline]:
    """One for each reader that has a category, in the run's order.

    A reader that gets no picture cannot have looked, whatever few cases or chance make of its
    category. The measure is the rate that decides, or the category where no rate is known.
    """
    index = Index(measures)
    for reader in index.readers:
        record = index.get(reader, "category")
        if record is None:
            continue
        told = _verdict(_ReaderRates(index, reader, edition), record, edition)
        yield told.headline(reader, QUESTION)


class _ReaderRates:
    """One reader's rates, with the words they are told in. A class, to look each up by name."""

    def __init__(self, index: Index, reader: str, edition: Edition) -> None:
        self._index, self._reader, self._edition = index, reader, edition
        self.sees: Final = index.sees(reader)

    def get(self, name: str) -> Measure | None:
        return self._index.known(self._reader, name)

    def n(self, name: str) -> int:
        record = self._index.get(self._reader, name)
        return (record.n if record is not None else None) or 0

    def said(self, *names: str) -> str:
        """These rates in words, those that are not known left out."""
        parts = [
            words.format(self.rate(record, title))
            for title, words, record in ((*_RATE_WORDS[name], self.get(name)) for name in names)
            if record is not None
        ]
        return listed(parts) if parts else ""

    def rate(self, record: Measure, title: str) -> str:
        """A rate in words, which say whose interval it is where that is none or has no width."""
        signed, rules = record.measure == "gsp", self._edition
        theirs = rules.gsp == "difference" if signed else rules.intervals == "bootstrap"
        by = _BY_AUTHORS * (theirs and record.low == record.high)
        return rate(record, title, signed=signed, by=by)


def _verdict(rates: _ReaderRates, category: Measure, edition: Edition) -> Told:
    word = category.label
    known = [record for name, _ in _RATES if (record := rates.get(name)) is not None]
    if not rates.sees:
        start = "It got no image (text only), so it cannot have looked"
        right = rates.get("accuracy")
        if right is None:
            return Told("no", f"{start}.", category)
        still = f"it was still right in {rates.rate(right, 'accuracy')} of the cases"
        return Told("no", f"{start}; {still}.", right)
    if word == USES:
        said = rates.said("cgr", "is", "gsp")
        return Told("yes", f"It used the image: {said}.", rates.get("cgr") or category)
    if word == IGNORES:
        said = rates.said("uar", "cgr", "is")
        start = "It gave the same answers whatever it was shown"
        return Told("no", f"{start}: {said}.", rates.get("uar") or category)
    if word == UNSTABLE:
        sentence = (
            f"Its answers are unstable: {rates.said('is', 'cgr')}; below {UNSTABLE_BELOW} % any "
            "black box changes answers, and what covering the finding changes is no sign of having "
            "looked."
        )
        return Told("cannot tell", sentence, rates.get("is") or category)
    said = rates.said("cgr", "is", "uar")
    if word == INSUFFICIENT:
        least = edition.minimum_n
        few = [f"{title} on {rates.n(name)}" for name, title in _RATES if rates.n(name) < least]
        stands = f" ({listed(few)} of the {least} cases needed)" if few else ""
        start = f"Too few cases to tell{stands}"
        measure = min(known, key=lambda record: record.n or 0) if known else category
        return Told("cannot tell", f"{start}: {said}." if said else f"{start}.", measure)
    if missing := [title for name, title in _RATES if rates.get(name) is None]:
        start = f"It cannot be told without {listed(missing)}"
        measure = known[0] if known else category
        return Told("cannot tell", f"{start}: {said}." if said else f"{start}.", measure)
    cgr = known[0]
    sentence = f"The measures do not decide it: {_unmet_conditions(rates, category, edition)}."
    return Told("cannot tell", sentence, (rates.get("gsp") or cgr) if cgr.value else cgr)


def _unmet_conditions(rates: _ReaderRates, category: Measure, edition: Edition) -> str:
    """Which part of the rule for use of the image was not met, and by what numbers."""
    cgr, stable, gsp = rates.get("cgr"), rates.get("is"), rates.get("gsp")
    assert cgr is not None
    assert stable is not None
    if not cgr.value:
        numbers = rates.said("cgr", "uar", "is")
        return f"{numbers}, so that its answers may change, but not with the finding"
    said = [rates.said("cgr", "is", "gsp")]
    if stable.value is not None and 100 * stable.value < STEADY_FROM:
        said.append(f"use of the image needs an IS of at least {STEADY_FROM} %")
    if edition.category_needs_gsp == "yes" and (gsp is None or gsp.low is None or gsp.low <= 0):
        said.append("use of the image needs a GSP surely above 0")
    elif edition.category_needs_gsp == "no" and (cgr.low is None or cgr.low <= 0):
        said.append("use of the image needs a CGR surely above 0")
    again = rates.get("retest")
    if again is not None and BY_CHANCE in category.flags:
        said.append(f"asking again left only {rates.rate(again, 'retest')} as they were")
    return "; ".join(said)


# ---------------------------------------------------------------- methods
# How the numbers of a grounding run came about, in sentences that an author may paste.


_PAPER_TITLE: Final = "Vision-language models for chest radiography do not always need the image"
_CONDITION_WORDS: Final = {
    "original": "the original image",
    "swap": "another patient's image of the same finding and label (swap)",
    "target_mask": "the original with the finding's box covered (target mask)",
    "irrelevant_mask": (
        "the original with a box of the same size covered in the corner farthest from it "
        "(irrelevant mask)"
    ),
    "opposite_swap": "another patient's image of the opposite label",
    "blank": "a black image",
    "no_image": "no image at all",
}


def methods(rules: Edition, options: Options, asked_under: str | None = None) -> list[str]:
    """What was asked and shown, how replies were read, and how they were counted.

    `asked_under` is the edition the readers were asked under, where that is not `rules`; empty
    where somebody else asked them, so that what they were shown is not known here.
    """
    return [
        carried_out(f'The causal audit of "{_PAPER_TITLE}" (arXiv:2606.17710)', BOOK, rules),
        *_asked_sentences(rules, options, asked_under),
        *_reading_sentences(rules, imported=asked_under == ""),
        *_counting_sentences(rules, options),
    ]


# ---------------------------------------------------------------- what was asked


def _asked_sentences(rules: Edition, options: Options, asked_under: str | None) -> Iterator[str]:
    if asked_under == "":
        yield taken_over("answers")
        return
    shown = rules if asked_under is None else BOOK.asked_under(asked_under)
    words = question("", "[finding]", None, options.phrasing)
    yield (
        f'Of each case readers were asked: "{words}"; of a sentence of a report, whether it '
        "describes the image accurately."
    )
    conditions = [_CONDITION_WORDS[word] for word in options.conditions if word in _CONDITION_WORDS]
    if fills := [fill for fill in FILLS if fill in options.conditions]:
        conditions.append(f"both masks filled otherwise ({listed(fills)})")
    if "matched" in options.conditions:
        conditions.append(
            f"the original with a box of the finding's size covered elsewhere in the body, "
            f"{options.draws} drawn for each case (matched)"
        )
    yield (
        f"Each case was shown as far as it allows under {len(conditions)} "
        f"condition{'s' * (len(conditions) > 1)}: {'; '.join(conditions)}."
    )
    covered = (
        "exactly the box" if shown.masks == "half_open" else "one row and column more than the box"
    )
    yield (
        f"Images were stretched to {options.px} x {options.px} pixels (bilinear) and sent as "
        f"{_wire_words(shown.wire)}; masks were black unless said otherwise and covered {covered}."
    )
    yield from _subsample_sentence(shown, options)
    plain, thinking = (_decoding(shown, options, reasoning) for reasoning in (False, True))
    yield (
        f"Decoding was {'greedy' if plain.greedy else 'sampled'} with at most {plain.max_tokens} "
        f"new tokens ({thinking.max_tokens} for reasoning readers), unless a reader's own settings "
        "say otherwise; readers without images got the question alone."
    )
    again = {
        "always": "Every original was asked a second time.",
        "sampled": "Where decoding was not greedy the original was asked a second time.",
    }
    if options.repeat in again:
        yield again[options.repeat]


def _subsample_sentence(shown: Edition, options: Options) -> Iterator[str]:
    parts = []
    if options.more_px:
        parts.append(f"at {listed([str(px) for px in options.more_px])} pixels")
    if options.more_phrasings:
        parts.append(f"in the phrasing{'s' * (len(options.more_phrasings) > 1)} ")
        parts[-1] += listed(options.more_phrasings)
    if not parts:
        return
    among = f"A sub-sample of up to {options.subset} cases" if options.subset else "All cases"
    how = "boxed cases" if shown.robustness == "boxed" else "balanced over findings and answers"
    drawn = f" ({how}, seed {shown.seed})" if options.subset else ""
    yield f"{among}{drawn} were asked again {listed(parts)}."


def _decoding(rules: Edition, options: Options, reasoning: bool) -> Decoding:
    """As a trial has it, so that no number stands here a second time."""
    case = GroundingCase(case_id="", source="", image_path="", label=0, finding="-")
    return next(trials(case, Traits(reasoning=reasoning), rules, options, "")).request.decoding


def _wire_words(wire: str) -> str:
    kind, _, quality = wire.partition(":")
    return f"JPEG of quality {quality}" if kind == "jpeg" else "PNG"


# ---------------------------------------------------------------- how it was read and counted


def _reading_sentences(rules: Edition, *, imported: bool) -> Iterator[str]:
    # Whether recorded answers were kept is in the tables, and so in the signature, alone.
    start = "A reply means"
    if imported:
        yield (
            "Answers that those results record were kept as they are, where the signature has the "
            'word "recorded" for the parser; the rules of reading are for replies read here.'
        )
        start = "A reply read here means"
    if rules.parser == 2:
        yield (
            f"{start} Yes or No by its first word or, failing that, by the whole words yes "
            "and no in its first 60 characters, thinking removed; a reply with neither or both is "
            "unparsed."
        )
    else:
        yield (
            f"{start} Yes or No by its first word or, failing that, by the letters yes and no "
            "anywhere in its first 60 characters, as published."
        )
    if rules.failures == "apart":
        yield (
            "Unparsed, refused and unanswered are counted apart and never as wrong; rates stand on "
            "parsed answers."
        )
    else:
        which = " in replies read here" if imported else ""
        yield f"Errors and refusals{which} are read like any text, as published."
    if rules.normals == "no":
        yield "On a normal film the right answer to whether anything is abnormal is No."
    else:
        yield "On a normal film Yes counts as right, as published."


def _counting_sentences(rules: Edition, options: Options) -> Iterator[str]:
    yield (
        "CGR is the share of correct Yes on boxed findings that the target mask flips; UAR the "
        "share of correct answers that another patient's image of the same finding and label "
        "leaves; IS the share of "
        f"{'correct' if rules.stability == 'correct' else 'parsed'} answers on boxed cases that "
        "the irrelevant mask leaves."
    )
    if rules.gsp == "paired":
        yield (
            "GSP is the flips under the target mask less those under the irrelevant one, case by "
            "case over correct Yes answered under both."
        )
    else:
        yield "GSP is CGR - (1 - IS), two rates each over its own cases, without an interval."
    if rules.fallback_swaps == "leave_out":
        yield "Swapped images that could not be matched on the label are left out of UAR."
    if rules.intervals == "wilson":
        yield (
            "Intervals are 95 %: Wilson's for rates and Newcombe's for GSP, with a design effect "
            f"for several cases of one patient; differences between readers resample patients "
            f"{rules.boot:,} times (seed {rules.seed})."
        )
    else:
        yield (
            f"Intervals are 95 % percentile bootstraps over cases ({rules.boot:,} resamples, seed "
            f"{rules.seed}), as published."
        )
    needs = ["CGR above 0" if rules.intervals == "wilson" else "a lower bound of CGR above 0"]
    if rules.category_needs_gsp == "yes":
        needs.append("a lower bound of GSP above 0")
    least = (
        f", and no category is given below {rules.minimum_n} cases under any of the three"
        if rules.minimum_n
        else ""
    )
    uses = listed([*needs, f"IS of at least {STEADY_FROM} %"])
    yield (
        f"A reader is unstable below an IS of {UNSTABLE_BELOW} %, ignores the image where CGR is "
        f"0, UAR 100 % and IS 100 %, and uses it with {uses}; all else is indeterminate{least}."
    )
    if options.ratings is not None:
        yield "Boxes were also rated by people, and CGR is given for those rated accurate."


# ---------------------------------------------------------------- limitations
# What the numbers of a grounding run cannot tell: in any case, and as its measures show.


_HEADLINE_RATES: Final = {"accuracy": "accuracy", "cgr": "CGR", "uar": "UAR", "is": "IS"}
_FEW: Final = 100  # cases under a rate, as the paper wants them [D21]
_WIDE: Final = 0.2  # twenty percentage points from end to end
_PARSED: Final = 0.95


def limitations(measures: Sequence[Measure], edition: Edition, options: Options) -> list[str]:
    """Sentences an author may paste: those that always hold first, then this run's own."""
    index = Index(measures)
    return [*_standing_limitations(edition, options), *_measured_limitations(index)]


def _standing_limitations(edition: Edition, options: Options) -> Iterator[str]:
    yield (
        "A category describes behaviour on these cases and questions; it is no evidence of "
        "clinical safety, and a changed answer shows that the image mattered, not that it was "
        "understood."
    )
    if {"target_mask", "irrelevant_mask"} & set(options.conditions):
        yield (
            "A black box is unlike anything in a radiograph, and hides whatever else lies in it."
        )
    if "irrelevant_mask" in options.conditions and "matched" not in options.conditions:
        yield (
            "The irrelevant mask lies in a corner of the image, often off the body, and may "
            "overlap a large or central finding; no box elsewhere in the body was tried (condition "
            "matched)."
        )
    if not set(options.conditions) - {"original"}:
        yield "Only the original image was shown, so that nothing can be said of its use."
    untried = [
        *(["at another resolution"] if not options.more_px else []),
        *(["in another phrasing"] if not options.more_phrasings else []),
    ]
    if untried:
        yield f"Whether the numbers hold {listed(untried, 'or')} was not tested."
    for applies, sentence in (
        (
            edition.normals == "yes",
            "The published key counts Yes as right on normal films, which favours readers that "
            "always say Yes.",
        ),
        (
            edition.parser == 1,
            'The published parser takes the letters "no" inside any word, as in normal or nodule, '
            "for No.",
        ),
        (
            edition.intervals == "bootstrap",
            "The published intervals have no width where all answers agree and take several cases "
            "of one patient for independent ones.",
        ),
        (
            edition.gsp == "difference",
            "GSP has no interval, since its two rates stand on different cases.",
        ),
        (
            edition.category_needs_gsp == "no",
            "The published rule for use of the image does not ask whether a mask elsewhere changes "
            "as many answers.",
        ),
    ):
        if applies:
            yield sentence


# ---------------------------------------------------------------- what the measures show


def _measured_limitations(index: Index) -> Iterator[str]:
    yield from _source_limitation(index)
    by_rate = {
        title: [record for reader in index.readers if (record := index.known(reader, name))]
        for name, title in _HEADLINE_RATES.items()
    }
    for title, records in by_rate.items():
        yield from few_cases(records, _FEW, f"{title} stands")
    for title, records in by_rate.items():
        if widths := wide_intervals(records, _WIDE):
            yield (
                f"The interval of {title} is wider than {percent(_WIDE)} points (up to "
                f"{percent(max(widths.values()))}) for {readers_listed(widths)}."
            )
    yield from _unread_replies(index)
    if text_only := [reader for reader in index.readers if not index.sees(reader)]:
        yield (
            f"{readers_listed(text_only)} got no image: what masks and swaps do to "
            f"{'its' if len(text_only) == 1 else 'their'} answers is so by construction."
        )
    for condition, rest in (("target_mask", "CGR"), ("swap", "UAR"), ("irrelevant_mask", "IS")):
        name = rest.lower()
        none = [r for r in index.readers if (m := index.get(r, name)) and m.value is None]
        if none:
            yield (
                f"{rest} is undefined for {readers_listed(none)}: no correct answer that counts "
                f"was also answered under {condition.replace('_', ' ')}."
            )


def _source_limitation(index: Index) -> Iterator[str]:
    sources = index.groups("accuracy", "source")
    if len(sources) == 1:
        yield (
            f"All cases come from one source ({sources[0]}); whether the numbers hold elsewhere "
            "was not tested."
        )
    elif sources:
        yield "Whether the numbers hold at other sites than those of the cases was not tested."


def _unread_replies(index: Index) -> Iterator[str]:
    for reader in index.readers:
        parsed = index.known(reader, "parse_rate")
        if parsed is None or parsed.value is None or parsed.value >= _PARSED:
            continue
        low, high = (index.known(reader, "accuracy", bound=end) for end in ("low", "high"))
        span = ""
        if low is not None and high is not None:
            span = (
                f"; were the others all wrong or all right, accuracy would be "
                f"{percent(low.value)} or {percent(high.value)} %"
            )
        yield f"Only {rate(parsed)} of the replies of {reader} held an answer{span}."
    for word, what in (("unanswered", "got no reply"), ("refused", "were refused")):
        accuracies = [(r, index.get(r, "accuracy")) for r in index.readers]
        lost = {r: n for r, m in accuracies if m is not None and (n := m.left_out.get(word))}
        if lost:
            yield (
                f"{sum(lost.values())} original questions to {readers_listed(list(lost))} {what} "
                "and are in no rate."
            )
