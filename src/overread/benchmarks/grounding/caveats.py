"""What the numbers of a grounding run cannot tell: in any case, and as its measures show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from overread.benchmarks.exhibits.cells import percent
from overread.benchmarks.grounding.edition import Edition, Options
from overread.benchmarks.grounding.exhibits.index import Index
from overread.benchmarks.reporting import listed, rate, readers_listed
from overread.case import Measure

__all__ = ["limitations"]

_HEADLINE: Final = {"accuracy": "accuracy", "cgr": "CGR", "uar": "UAR", "is": "IS"}
_FEW: Final = 100  # cases under a rate, as the paper wants them [D21]
_WIDE: Final = 0.2  # twenty percentage points from end to end
_PARSED: Final = 0.95


def limitations(measures: Sequence[Measure], edition: Edition, options: Options) -> list[str]:
    """Sentences an author may paste: those that always hold first, then this run's own."""
    index = Index(measures)
    return [*_standing(edition, options), *_own(index)]


def _standing(edition: Edition, options: Options) -> Iterator[str]:
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


def _own(index: Index) -> Iterator[str]:
    yield from _sources(index)
    yield from _few(index)
    yield from _wide(index)
    yield from _unread(index)
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


def _sources(index: Index) -> Iterator[str]:
    sources = index.groups("accuracy", "source")
    if len(sources) == 1:
        yield (
            f"All cases come from one source ({sources[0]}); whether the numbers hold elsewhere "
            "was not tested."
        )
    elif sources:
        yield "Whether the numbers hold at other sites than those of the cases was not tested."


def _few(index: Index) -> Iterator[str]:
    for name, title in _HEADLINE.items():
        few = [
            (reader, record.n)
            for reader in index.readers
            if (record := index.known(reader, name)) and record.n is not None and record.n < _FEW
        ]
        if few:
            least, most = min(n for _, n in few), max(n for _, n in few)
            span = f"{least}" if least == most else f"{least} to {most}"
            yield (
                f"{title} stands on {span} case{'s' * (most > 1)}, fewer than {_FEW}, for "
                f"{readers_listed([reader for reader, _ in few])}."
            )


def _wide(index: Index) -> Iterator[str]:
    for name, title in _HEADLINE.items():
        widths = {
            reader: record.high - record.low
            for reader in index.readers
            if (record := index.known(reader, name))
            and record.low is not None
            and record.high is not None
            and record.high - record.low > _WIDE
        }
        if widths:
            yield (
                f"The interval of {title} is wider than {percent(_WIDE)} points (up to "
                f"{percent(max(widths.values()))}) for {readers_listed(list(widths))}."
            )


def _unread(index: Index) -> Iterator[str]:
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
        lost = {r: n for r in index.readers if (n := _left_out(index.get(r, "accuracy"), word))}
        if lost:
            yield (
                f"{sum(lost.values())} original questions to {readers_listed(list(lost))} {what} "
                "and are in no rate."
            )


def _left_out(record: Measure | None, word: str) -> int:
    """How many a record's note says were left out for this reason: `left out: 3 unanswered`."""
    note = (record.note if record is not None else None) or ""
    for part in note.split("; "):
        if part.startswith("left out: "):
            for some in part.removeprefix("left out: ").split(", "):
                number, _, reason = some.partition(" ")
                if reason == word and number.isdecimal():
                    return int(number)
    return 0
