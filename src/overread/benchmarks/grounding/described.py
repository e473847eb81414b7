"""How the numbers of a grounding run came about, in sentences that an author may paste."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from overread.benchmarks.grounding.cases import GroundingCase
from overread.benchmarks.grounding.category import STEADY_FROM, UNSTABLE_BELOW
from overread.benchmarks.grounding.caveats import limitations
from overread.benchmarks.grounding.conditions import FILLS
from overread.benchmarks.grounding.edition import AUTHORS, RULES, Edition, Options, edition
from overread.benchmarks.grounding.prompts import question
from overread.benchmarks.grounding.trials import trials
from overread.benchmarks.reporting import departures, label_words, listed
from overread.case import Decoding, Traits

__all__ = ["limitations", "methods"]

_PAPER: Final = "Vision-language models for chest radiography do not always need the image"
_SHOWN: Final = {
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
        f'The causal audit of "{_PAPER}" (arXiv:2606.17710) was carried out under the rules '
        f'"{rules.label}" of Overread{departures(rules, AUTHORS, RULES)}.',
        *_asked(rules, options, asked_under),
        *_read(rules, imported=asked_under == ""),
        *_counted(rules, options),
    ]


# ---------------------------------------------------------------- what was asked


def _asked(rules: Edition, options: Options, asked_under: str | None) -> Iterator[str]:
    if asked_under == "":
        yield (
            "The answers were taken over from results that somebody else's scripts had written: "
            "pictures, questions and decoding are theirs."
        )
        return
    shown = rules if asked_under is None else edition(*label_words(asked_under))
    words = question("", "[finding]", None, options.phrasing)
    yield (
        f'Of each case readers were asked: "{words}"; of a sentence of a report, whether it '
        "describes the image accurately."
    )
    conditions = [_SHOWN[word] for word in options.conditions if word in _SHOWN]
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
        f"{_wire(shown.wire)}; masks were black unless said otherwise and covered {covered}."
    )
    yield from _further(shown, options)
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


def _further(shown: Edition, options: Options) -> Iterator[str]:
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


def _wire(wire: str) -> str:
    kind, _, quality = wire.partition(":")
    return f"JPEG of quality {quality}" if kind == "jpeg" else "PNG"


# ---------------------------------------------------------------- how it was read and counted


def _read(rules: Edition, *, imported: bool) -> Iterator[str]:
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


def _counted(rules: Edition, options: Options) -> Iterator[str]:
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
