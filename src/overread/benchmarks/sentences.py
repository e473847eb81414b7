"""What a run says in words: numbers and lists in running text, and sentences that benchmarks share.

Headlines hold a number against a limit with its whole interval. Methods and limitations are whole
sentences that an author may paste; what only one benchmark has to say stands in its own folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from overread.benchmarks.exhibits.cells import percent
from overread.benchmarks.exhibits.index import Index
from overread.case import Headline, Measure
from overread.files import read_toml
from overread.judging.fitness import ENOUGH, LIMIT
from overread.measuring.notes import NO_PICTURE, noted

if TYPE_CHECKING:
    from overread.benchmarks.base import ReaderRecord
    from overread.benchmarks.rules import EditionRules, Rulebook

Answer: TypeAlias = Literal["yes", "no", "in part", "cannot tell"]

LEXICAL: Final = "lexical-judge"
"""The judge that compares words and knows no medicine: fit for made-up cases alone."""
PHANTOM: Final = "phantom-"
"""What the names of sets of made-up cases begin with."""
_NAMED: Final = 4  # named one by one; of more their number is said

# ---------------------------------------------------------------- sentences kept in a file


class Sentences(NamedTuple):
    """The sentences of a benchmark: `said` by name, where `{name}` is a fact of the run.

    Other sections have by rule and by its value what follows from it: `phrases` are parts of
    sentences, facts by the rule's name.
    """

    words: Mapping[str, Any]
    facts: Mapping[str, object] = {}

    def by_rule(self, section: str, rules: EditionRules) -> dict[str, str]:
        """What each rule of a section says by its value; empty where that has nothing to say."""
        named = self.words.get(section, {})
        return {rule: said.get(str(getattr(rules, rule)), "") for rule, said in named.items()}

    def under(self, rules: EditionRules, **facts: object) -> Sentences:
        """The same, where sentences may name these facts, the rules and the phrases by rule."""
        known = {"rules": rules, **facts}
        phrases = self.by_rule("phrases", rules).items()
        return self._replace(facts=known | {name: said.format(**known) for name, said in phrases})

    def __call__(self, name: str, **facts: object) -> str:
        said: str = self.words["said"][name]
        return said.format(**{**self.facts, **facts})


def sentences_beside(module: str) -> Sentences:
    """Those of the TOML that has the name of a module."""
    return Sentences(read_toml(Path(module).with_suffix(".toml")))


# ---------------------------------------------------------------- numbers and lists


def rate(record: Measure, name: str = "", *, signed: bool = False, by: str = "") -> str:
    """A share in words: `61.2 % (CGR, 95 % interval 55.0 to 67.0, n = 370)`.

    A signed one is a difference, in percentage points. `by` says whose interval it is.
    """
    unit = " points" if signed else " %"
    low, high = percent(record.low, signed=signed), percent(record.high, signed=signed)
    known = record.low is not None and record.high is not None
    value = percent(record.value, signed=signed)
    return f"{value}{unit} ({stands(record, name, f'{low} to {high}' if known else '', by)})"


def stands(record: Measure, name: str, interval: str, by: str = "") -> str:
    """What stands in brackets behind a number: its name, its interval and its n."""
    spread = f"95 % interval {interval}" if interval else "no interval"
    spread = f"{spread} {by}" if by else spread
    n = "" if record.n is None else f"n = {record.n}"
    return ", ".join(part for part in (name, spread, n) if part)


def listed(words: Sequence[str], last: str = "and") -> str:
    """`a, b and c`."""
    *first, end = words
    return f"{', '.join(first)} {last} {end}" if first else end


def readers_listed(readers: Iterable[str]) -> str:
    """Up to four readers by name, otherwise how many."""
    names = list(dict.fromkeys(readers))
    return listed(names) if len(names) <= _NAMED else f"{len(names)} models"


def largest(records: Iterable[Measure]) -> Measure:
    """The record with the largest value."""
    return max(records, key=lambda record: record.value or 0.0)


def least(records: Iterable[Measure]) -> Measure:
    """The record with the smallest value."""
    return min(records, key=lambda record: record.value or 0.0)


# ---------------------------------------------------------------- facts that sentences go by


def is_lexical(judge: str) -> bool:
    """By its name, which a label of a control begins with."""
    return judge.removeprefix("control:").startswith(LEXICAL)


def gets_no_picture(record: Measure | None) -> bool:
    """Whether a record says that the reader gets no picture."""
    return record is not None and NO_PICTURE in record.flags


def unseeing_noted(
    records: Iterable[Measure], readers: Iterable[ReaderRecord], measure: str
) -> list[Measure]:
    """The records, with `no_picture` among the flags of this measure of every text-only reader.

    Measures hold no modality, and headlines are made of them alone.
    """
    blind = {reader.name for reader in readers if reader.traits.modality == "text"}
    return [
        noted(one, NO_PICTURE) if one.measure == measure and one.reader in blind else one
        for one in records
    ]


# ---------------------------------------------------------------- headlines


class Told(NamedTuple):
    """What a benchmark says of one reader: a word, a sentence, and the measure it stands on.

    `lead` is what the sentence says before its numbers.
    """

    answer: Answer
    sentence: str
    measure: Measure
    lead: str = ""

    def headline(self, reader: str, question: str) -> Headline:
        return Headline(reader=reader, question=question, **self._asdict())


def side_of(record: Measure | None, limit: float) -> Literal["above", "below", "holds", ""]:
    """On which side of a limit the whole interval lies; empty where there is no interval.

    At the limit counts as below: what is shown must lie above.
    """
    if record is None or record.low is None or record.high is None:
        return ""
    return "below" if record.high <= limit else "above" if record.low > limit else "holds"


class Level(NamedTuple):
    """A limit, and what is said of a number whose whole interval lies above it."""

    limit: float
    answer: Answer
    says: str


def by_levels(
    record: Measure, levels: Sequence[Level], below: str, holds: str, numbers: str
) -> Told:
    """The word and sentence of the highest level that a number is shown to lie above.

    `below` is said where the whole interval is at or below the lowest limit (no), `holds` where it
    holds it, or there is none (cannot tell); `numbers` end every sentence.
    """
    for level in sorted(levels, key=lambda level: -level.limit):
        if side_of(record, level.limit) == "above":
            return Told(level.answer, f"{level.says}: {numbers}.", record, level.says)
    lowest = min(level.limit for level in levels)
    if side_of(record, lowest) == "below":
        return Told("no", f"{below}: {numbers}.", record, below)
    return Told("cannot tell", f"{holds}: {numbers}.", record, holds)


# ---------------------------------------------------------------- methods

OWN_RUBRICS: Final = (
    "Judges were instructed in words of the user's own; their digest is in the signature."
)
TESTS: Final = (
    "p values are two-sided, and q is Benjamini and Hochberg's within each family of tests."
)


def carried_out(what: str, book: Rulebook[Any, Any], rules: EditionRules) -> str:
    """Under which rules, and how many of them are not the published ones.

    Which they are stands in the table of settings: names of settings are no prose.
    """
    other = len(book.departures(rules))
    some = "one respect" if other == 1 else f"{other} respects"
    how = f"differ from those of the published code in {some} (see the supplement)"
    how = how if other else "are those of the published code"
    return f'{what} was carried out under the rules "{rules.label}" of Overread, which {how}.'


def edition_line(rules: EditionRules) -> str:
    return f"All numbers are under the rules of the edition “{rules.label}”."


def taken_over(what: str = "replies", theirs: str = "pictures, questions and decoding") -> str:
    """What is said in place of how readers were asked, where somebody else asked them."""
    return (
        f"The {what} were taken over from results that somebody else's scripts had written: "
        f"{theirs} are theirs."
    )


def decoded(temperature: float, tokens: str) -> str:
    """How replies were decoded, for the end of a sentence."""
    return (
        f"replies were decoded at temperature {temperature:g} with at most {tokens}, unless a "
        "model's own settings, kept in the run's record, say otherwise."
    )


def tried_judges(checks: int, judged: str, failing: str) -> str:
    """How judges were tried: what they did with control replies, and who is unfit."""
    return (
        f"Before, each judge {judged} control replies of known truth (up to {checks} items); one "
        f"that {failing.format(f'{100 * LIMIT:.0f} %')} is labelled unfit, and one with fewer than "
        f"{ENOUGH} truths on a side not checked."
    )


# ---------------------------------------------------------------- limitations

MADE_UP: Final = (
    "The cases are made up: they test instruments, and no number here says anything of clinical "
    "use."
)
IN_TRAINING: Final = (
    "Items may have been in a model's training data; nothing here can rule that out."
)


def made_up(dataset: str) -> list[str]:
    """What is said of a set of made-up cases."""
    return [MADE_UP] if dataset.startswith(PHANTOM) else []


def reply_limits(index: Index, said: Mapping[str, str]) -> Iterator[str]:
    """Which readers gave replies that could not be used; `said` is by measure what they did."""
    for name, words in said.items():
        found = [record for record in index.every(name) if record.reader and record.value]
        if found:
            readers = readers_listed(record.reader for record in found)
            yield f"{readers} {words}: at most {rate(largest(found))} of what was asked in one way."


def judge_limits(judges: Sequence[str], did: str) -> Iterator[str]:
    """What is to be said of a judge of words, and of one alone; `did`: judged, scored."""
    if any(is_lexical(judge) for judge in judges):
        yield (
            f"The lexical judge compares words and knows no medicine: what it {did} is not "
            "comparable with published numbers, nor with those of another judge."
        )
    if len(judges) == 1:
        yield f"A single judge {did}: how far another would agree is not known."


def shift_limit(index: Index, what: str) -> Iterator[str]:
    """How many of a judge's verdicts change with something that should not matter."""
    moved = [r for r in index.every("judge_shift") if r.value and r.low is not None and r.low > 0]
    if moved:
        yield (
            f"Of a judge's {what} up to {rate(largest(moved))} changed with something that should "
            "not matter."
        )


def unseeing_limit(records: Iterable[Measure], did: str) -> Iterator[str]:
    """Who had the words alone; `did`: answered, reasoned."""
    unseeing = [record.reader for record in records if gets_no_picture(record)]
    if unseeing:
        yield f"Without any picture, from the words alone, {did} {readers_listed(unseeing)}."


def few_cases(
    records: Iterable[Measure], enough: int, start: str, case: str = "case"
) -> Iterator[str]:
    """Numbers that stand on fewer cases than enough: `CGR stands` on 3 to 9 cases, for whom."""
    few = [(r.reader, r.n) for r in records if r.value is not None and r.n and r.n < enough]
    if few:
        low, high = min(n for _, n in few), max(n for _, n in few)
        span = f"{low}" if low == high else f"{low} to {high}"
        yield (
            f"{start} on {span} {case}{'s' * (high > 1)}, fewer than {enough}, for "
            f"{readers_listed(reader for reader, _ in few)}."
        )


def wide_intervals(records: Iterable[Measure], most: float) -> dict[str, float]:
    """By reader, how wide the interval of a number is, where that is more than `most`."""
    return {
        record.reader: record.high - record.low
        for record in records
        if record.value is not None
        and record.low is not None
        and record.high is not None
        and record.high - record.low > most
    }
