"""What the page says of a grounding run: a headline per reader, methods, limitations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from overread.benchmarks.exhibits.cells import percent
from overread.benchmarks.grounding import category
from overread.benchmarks.grounding.conditions import FILLS
from overread.benchmarks.grounding.edition import BOOK, Edition, Options
from overread.benchmarks.grounding.exhibits.dot_plot import Index
from overread.benchmarks.grounding.prompts import question
from overread.benchmarks.grounding.trials import DECODING
from overread.benchmarks.sentences import (
    Answer,
    Told,
    carried_out,
    few_cases,
    listed,
    rate,
    readers_listed,
    sentences_beside,
    taken_over,
    wide_intervals,
)
from overread.case import Headline, Measure
from overread.measuring.notes import NO_PICTURE

_SAID: Final = sentences_beside(__file__)

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
_RATES: Final = {"cgr": "CGR", "uar": "UAR", "is": "IS"}


def headlines(measures: Sequence[Measure], edition: Edition) -> Iterator[Headline]:
    """One for each reader that has a category, in the run's order.

    A reader that gets no picture cannot have looked, whatever few cases or chance make of its
    category. The measure is the rate that decides, or the category where no rate is known.
    """
    index = Index(measures)
    for reader in index.readers:
        if (record := index.get(reader, "category")) is not None:
            told = _verdict(_ReaderRates(index, reader, edition), record)
            yield told.headline(reader, QUESTION)


class _ReaderRates:
    """One reader's rates, with the words they are told in. A class, to look each up by name."""

    def __init__(self, index: Index, reader: str, edition: Edition) -> None:
        self._index, self._reader, self.edition = index, reader, edition

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
        signed, rules = record.measure == "gsp", self.edition
        theirs = rules.gsp == "difference" if signed else rules.intervals == "bootstrap"
        by = _BY_AUTHORS * (theirs and record.low == record.high)
        return rate(record, title, signed=signed, by=by)


# By category: the answer, how its sentence begins and what is around its rates, and these, the
# first of which decides.
_VERDICTS: Final[dict[str, tuple[Answer, str, str, tuple[str, ...]]]] = {
    category.USES: ("yes", "It used the image", ": {}.", ("cgr", "is", "gsp")),
    category.IGNORES: (
        "no",
        "It gave the same answers, or all but the same, whatever it was shown",
        ": {}.",
        ("uar", "cgr", "is"),
    ),
    category.UNSTABLE: (
        "cannot tell",
        "Its answers are unstable",
        f": {{}}; below {category.UNSTABLE_BELOW} % any black box changes "
        "answers, and what covering the finding changes is no sign of having looked.",
        ("is", "cgr"),
    ),
}


def _verdict(rates: _ReaderRates, record: Measure) -> Told:
    word = record.label
    if NO_PICTURE in record.flags:
        start = "It got no image (text only), so it cannot have looked"
        right = rates.get("accuracy")
        if right is None:
            return Told("no", f"{start}.", record, start)
        still = f"it was still right in {rates.rate(right, 'accuracy')} of the cases"
        return Told("no", f"{start}; {still}.", right, start)
    if word in _VERDICTS:
        answer, start, around, names = _VERDICTS[word]
        said = start + around.format(rates.said(*names))
        if category.CORNER_ONLY in record.flags:
            said += " It was held against a box in a corner alone, none elsewhere in the body."
        return Told(answer, said, rates.get(names[0]) or record, start)
    known = [one for name in _RATES if (one := rates.get(name)) is not None]
    if word == category.INSUFFICIENT:
        least = rates.edition.minimum_n
        few = [f"{title} on {n}" for name, title in _RATES.items() if (n := rates.n(name)) < least]
        stands = f" ({listed(few)} of the {least} cases needed)" if few else ""
        start = f"Too few cases to tell{stands}"
        measure = min(known, key=lambda one: one.n or 0) if known else record
    elif missing := [title for name, title in _RATES.items() if rates.get(name) is None]:
        start = f"It cannot be told without {listed(missing)}"
        measure = known[0] if known else record
    else:
        cgr = known[0]
        start = "The measures do not decide it"
        sentence = f"{start}: {_unmet_conditions(rates, record)}."
        measure = (rates.get("gsp") or cgr) if cgr.value else cgr
        return Told("cannot tell", sentence, measure, start)
    said = rates.said("cgr", "is", "uar")
    return Told("cannot tell", f"{start}: {said}." if said else f"{start}.", measure, start)


def _unmet_conditions(rates: _ReaderRates, record: Measure) -> str:
    """Which part of the rule for use of the image was not met, and by what numbers."""
    cgr, stable, gsp = rates.get("cgr"), rates.get("is"), rates.get("gsp")
    assert cgr is not None
    assert stable is not None
    if not cgr.value:
        numbers = rates.said("cgr", "uar", "is")
        return f"{numbers}, so that its answers may change, but not with the finding"
    said = [rates.said("cgr", "is", "gsp")]
    tested = rates.edition.category == "tested"
    least = stable.low if tested else stable.value
    if least is not None and 100 * least < category.STEADY_FROM:
        surely = "surely " if tested else ""
        said.append(f"use of the image needs an IS {surely}of at least {category.STEADY_FROM} %")
    name, needed = ("GSP", gsp) if rates.edition.category_needs_gsp == "yes" else ("CGR", cgr)
    missed = needed is None or needed.low is None or needed.low <= 0
    if record.q is None or record.q > category.LEVEL if tested else missed:
        said.append(f"use of the image needs a {name} surely above 0")
    again = rates.get("retest")
    if again is not None and category.BY_CHANCE in record.flags:
        said.append(f"asking again left only {rates.rate(again, 'retest')} as they were")
    return "; ".join(said)


# ---------------------------------------------------------------- methods
# How the numbers of a grounding run came about, in sentences that an author may paste.


_PAPER_TITLE: Final = "Vision-language models for chest radiography do not always need the image"
_ASKED_AGAIN: Final = {
    "always": ["Every original was asked a second time."],
    "sampled": ["Where decoding was not greedy the original was asked a second time."],
    "never": [],
}


def methods(rules: Edition, options: Options, asked_under: str | None = None) -> list[str]:
    """What was asked and shown, how replies were read, and how they were counted.

    `asked_under` is the edition the readers were asked under, where that is not `rules`; empty
    where somebody else asked them, so that what they were shown is not known here.
    """
    said = [carried_out(f'The causal audit of "{_PAPER_TITLE}" (arXiv:2606.17710)', BOOK, rules)]
    facts = {"start": "A reply means", "which": "", "boot": rules.boot, "seed": rules.seed}
    if asked_under == "":
        # Whether recorded answers were kept is in the tables, and so in the signature, alone.
        said += [
            taken_over("answers"),
            "Answers that those results record were kept as they are, where the signature has the "
            'word "recorded" for the parser; the rules of reading are for replies read here.',
        ]
        facts |= {"start": "A reply read here means", "which": " in replies read here"}
    else:
        said += asked(rules, options, asked_under)
    said += [words.format(**facts) for words in _SAID.by_rule("methods", rules).values() if words]
    said.append(_category_sentence(rules))
    if options.ratings is not None:
        said.append("Boxes were also rated by people, and CGR is given for those rated accurate.")
    return said


def asked(rules: Edition, options: Options, asked_under: str | None = None) -> Iterator[str]:
    """What was asked and shown."""
    shown = rules if asked_under is None else BOOK.asked_under(asked_under)
    words = question("", "[finding]", None, options.phrasing)
    yield (
        f'Of each case models were asked: "{words}"; of a sentence of a report, whether it '
        "describes the image accurately."
    )
    shows = _SAID.words["conditions"]
    conditions = [shows[word] for word in options.conditions if word in shows]
    if fills := [fill for fill in FILLS if fill in options.conditions]:
        conditions.append(f"both masks filled otherwise ({listed(fills)})")
    if "matched" in options.conditions:
        drawn = f"{options.draws} drawn for each case" if options.draws > 1 else "drawn by chance"
        there = ", where the set has such boxes" * ("matched" in options.where_there)
        conditions.append(
            "the original with a box of the finding's size covered elsewhere in the body, "
            f"{drawn}{there} (matched)"
        )
    yield (
        f"Each case was shown as far as it allows under {len(conditions)} "
        f"condition{'s' * (len(conditions) > 1)}: {'; '.join(conditions)}."
    )
    more = "one row and column more than the box"
    covered = "exactly the box" if shown.masks == "half_open" else more
    kind, _, quality = shown.wire.partition(":")
    wire = f"JPEG of quality {quality}" if kind == "jpeg" else "PNG"
    yield (
        f"Images were stretched to {options.px} x {options.px} pixels (bilinear) and sent as "
        f"{wire}; masks were black unless said otherwise and covered {covered}."
    )
    again = []
    if options.more_px:
        again.append(f"at {listed([str(px) for px in options.more_px])} pixels")
    if options.more_phrasings:
        several = "s" * (len(options.more_phrasings) > 1)
        again.append(f"in the phrasing{several} {listed(options.more_phrasings)}")
    if again:
        among = f"A sub-sample of up to {options.subset} cases" if options.subset else "All cases"
        how = "boxed cases" if shown.robustness == "boxed" else "balanced over findings and answers"
        drawn = f" ({how}, seed {shown.seed})" if options.subset else ""
        yield f"{among}{drawn} were asked again {listed(again)}."
    plain, thinking = DECODING[False], DECODING[True]
    yield (
        f"Decoding was {'greedy' if plain.greedy else 'sampled'} with at most {plain.max_tokens} "
        f"new tokens ({thinking.max_tokens} for reasoning models), unless a model's own settings "
        "say otherwise; models without images got the question alone."
    )
    yield from _ASKED_AGAIN[options.repeat]


def _category_sentence(rules: Edition) -> str:
    least = f", and no category is given below {rules.minimum_n} cases under any of the three"
    if rules.category == "tested":
        return (
            "A model is unstable where the interval of IS lies below "
            f"{category.UNSTABLE_BELOW} %; ignores the image where changed images change the "
            f"answer to fewer than {100 * rules.margin:g} % of the cases (upper one-sided 95 % "
            "bound); and uses it where the target mask flips more answers than a box elsewhere (a "
            "matched one where asked; one-sided sign flips by patient, Holm over the models "
            f"of the run at {100 * category.LEVEL:g} %) and than asking again does on the same "
            f"cases, and the interval of IS starts at {category.STEADY_FROM} % or above; all else "
            f"is indeterminate{least if rules.minimum_n else ''}."
        )
    needs = ["CGR above 0" if rules.intervals == "wilson" else "a lower bound of CGR above 0"]
    if rules.category_needs_gsp == "yes":
        needs.append("a lower bound of GSP above 0")
    uses = listed([*needs, f"IS of at least {category.STEADY_FROM} %"])
    return (
        f"A model is unstable below an IS of {category.UNSTABLE_BELOW} %, ignores the image where "
        f"CGR is 0, UAR 100 % and IS 100 %, and uses it with {uses}; all else is "
        f"indeterminate{least if rules.minimum_n else ''}."
    )


# ---------------------------------------------------------------- limitations
# What the numbers of a grounding run cannot tell: in any case, and as its measures show.


_FEW: Final = 100  # cases under a rate, as the paper wants them [D21]
_WIDE: Final = 0.2  # twenty percentage points from end to end
_PARSED: Final = 0.95


def limitations(measures: Sequence[Measure], edition: Edition, options: Options) -> Iterator[str]:
    """Sentences an author may paste: those that always hold first, then this run's own."""
    yield (
        "A category describes behaviour on these cases and questions; it is no evidence of "
        "clinical safety, and a changed answer shows that the image mattered, not that it was "
        "understood."
    )
    if {"target_mask", "irrelevant_mask"} & set(options.conditions):
        yield (
            "A black box is unlike anything in a radiograph, and hides whatever else lies in it."
        )
    matched = any(one.by.get("condition") == "matched" for one in measures)
    if "irrelevant_mask" in options.conditions and not matched:
        yield (
            "The irrelevant mask lies in a corner of the image, often off the body, and may "
            "overlap a large or central finding; no box elsewhere in the body was tried (condition "
            "matched)."
        )
    if not set(options.conditions) - {"original"}:
        yield "Only the original image was shown, so that nothing can be said of its use."
    untried = ["at another resolution"] * (not options.more_px)
    untried += ["in another phrasing"] * (not options.more_phrasings)
    if untried:
        yield f"Whether the numbers hold {listed(untried, 'or')} was not tested."
    yield from filter(None, _SAID.by_rule("limitations", edition).values())
    yield from _measured_limitations(Index(measures))


def _measured_limitations(index: Index) -> Iterator[str]:
    """What the measures show."""
    sources = index.groups("accuracy", "source")
    if len(sources) == 1:
        yield (
            f"All cases come from one source ({sources[0]}); whether the numbers hold elsewhere "
            "was not tested."
        )
    elif sources:
        yield "Whether the numbers hold at other sites than those of the cases was not tested."
    by_rate = {
        title: [record for reader in index.readers if (record := index.known(reader, name))]
        for name, title in ({"accuracy": "accuracy"} | _RATES).items()
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
    for condition, name in (("target mask", "cgr"), ("swap", "uar"), ("irrelevant mask", "is")):
        none = [r for r in index.readers if (m := index.get(r, name)) and m.value is None]
        if none:
            yield (
                f"{_RATES[name]} is undefined for {readers_listed(none)}: no correct answer that "
                f"counts was also answered under {condition}."
            )


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
                f"{sum(lost.values())} original questions to {readers_listed(lost)} {what} "
                "and are in no rate."
            )
