"""What must be known of a set: its datasheet, which is also its page on Hugging Face."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from overread import __version__
from overread.benchmarks.curated import Item
from overread.case import Measure, Policy, Table, printable
from overread.curate.blind import pairs_of
from overread.curate.folder import Made
from overread.curate.funnel import Stage, why_of
from overread.curate.records import VERDICTS
from overread.curate.review import UNREVIEWED, Reviewed
from overread.curate.steps import WITH_ITEMS

_GROUPS: Final = ("task", "dimension", "kind", "modality", "examination", "system")


class Sheet(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is said of a set that is published."""

    name: str
    title: str
    description: str
    edition: str
    seed: int
    form: str
    licence: str
    creators: tuple[str, ...]
    url: str
    version: str
    published: str
    cite: str
    policy: Policy
    rai: dict[str, str]
    items: tuple[Item, ...]
    # Pictures by licence.
    licences: dict[str, int]
    counts: dict[str, int]
    left_out: dict[str, dict[str, int]]
    funnel: tuple[Stage, ...]
    made: dict[str, Made]
    reviewed: Reviewed
    # What the columns of each parquet file are, in Hugging Face's words.
    features: dict[str, list[str]]
    # The bytes of each file of items.
    sizes: dict[str, int]
    # What was checked of the set: its form, what is solved without looking, signs of leakage.
    tables: tuple[Table, ...]

    @property
    def unreviewed(self) -> int:
        return sum(UNREVIEWED in item.flags for item in self.items)

    @property
    def filters(self) -> tuple[str, ...]:
        """The models that the items were filtered by: as they are called, and as served."""
        models = self.made["filter"].models if "filter" in self.made else ()
        names = {
            name
            for one in models
            if any(seat.startswith("filters") for seat in one.seats)
            for name in (one.name, *one.served)
        }
        return tuple(sorted(names))

    def counted(self, name: str) -> Counter[str]:
        """Items by one of their facts."""
        return Counter(str(getattr(item, name)) or "not given" for item in self.items)


def readme_of(sheet: Sheet) -> str:
    """The datasheet in Markdown, with the front matter that Hugging Face reads."""
    return "\n".join((*_front(sheet), *_body(sheet))) + "\n"


# ---------------------------------------------------------------- front matter


def _front(sheet: Sheet) -> Iterator[str]:
    yield "---"
    yield f"pretty_name: {_json(sheet.title)}"
    yield "license: other" if not sheet.licence else f"license: {_json(sheet.licence.lower())}"
    yield "task_categories:\n- visual-question-answering"
    yield "tags:\n- medical\n- overread"
    yield "configs:"
    for target, count in sheet.counts.items():
        if count:
            yield f"- config_name: {target}"
            yield "  data_files:"
            yield "  - split: test"
            yield f"    path: {target}/items.{sheet.form}"
    if sheet.form == "parquet":
        yield "dataset_info:"
        for target, count in sheet.counts.items():
            if count:
                yield f"- config_name: {target}"
                yield "  features:"
                yield from (f"  {line}" for line in sheet.features[target])
                yield "  splits:"
                yield f"  - name: test\n    num_examples: {count}"
                yield f"    num_bytes: {sheet.sizes[target]}"
    yield "---"
    yield ""


def _json(text: str) -> str:
    """A text as YAML takes it: every JSON string is one of YAML's."""
    return msgspec.json.encode(printable(text)).decode()


# ---------------------------------------------------------------- the sheet


def _body(sheet: Sheet) -> Iterator[str]:
    yield f"# {_cell(sheet.title)}"
    yield ""
    if sheet.description:
        yield printable(sheet.description)
        yield ""
    if sheet.unreviewed:
        yield (
            f"**{sheet.unreviewed:,} of {len(sheet.items):,} items were reviewed by nobody.** What "
            "a model wrote stands in them as it wrote it."
        )
        yield ""
    if sheet.filters:
        yield (
            f"**The items were filtered by {_named(sheet.filters)}.** What these score on the set "
            "is not to be set beside other models' scores; runs of it say so."
        )
        yield ""
    yield (
        f"{len(sheet.items):,} items, edition `{sheet.edition}`, seed {sheet.seed}, made with "
        f"Overread {__version__}. Not a medical device, and no training data: items stand in the "
        "open only so that models can be tested."
    )
    yield ""
    yield from _targets(sheet)
    yield "## What is in it"
    yield ""
    for name in _GROUPS:
        counts = sheet.counted(name)
        if set(counts) != {"not given"}:
            yield from _counts(name, counts)
    pairs = pairs_of(sheet.items)
    if pairs:
        yield (
            f"{len(pairs):,} pairs of items ask one question of two "
            "pictures with different answers."
        )
        yield ""
    yield from _counts("flag", Counter(flag for item in sheet.items for flag in item.flags))
    yield "## Where the pictures come from"
    yield ""
    yield from _counts("collection", Counter(c for i in sheet.items for c in i.collections))
    yield from _counts("licence", Counter(sheet.licences), "pictures")
    yield from _review(sheet.reviewed)
    yield from _models(sheet.made)
    yield from _funnel(sheet)
    yield from _checks(sheet)


def _targets(sheet: Sheet) -> Iterator[str]:
    yield "## How to load it"
    yield ""
    yield "| benchmark | items | left out | command |"
    yield "|---|---:|---|---|"
    for target, count in sheet.counts.items():
        why = ", ".join(f"{r.replace('_', ' ')} {n:,}" for r, n in sheet.left_out[target].items())
        yield f"| {target} | {count:,} | {why} | `overread run {target} --cases FOLDER` |"
    yield ""


def _review(reviewed: Reviewed) -> Iterator[str]:
    yield "## Who reviewed it"
    yield ""
    if not reviewed.items:
        yield "Nobody."
        yield ""
        return
    yield (
        f"{_named(reviewed.reviewers)} reviewed {reviewed.items:,} items; on {reviewed.audited:,} "
        f"they differed and {_cell(reviewed.auditor)} decided."
    )
    yield ""
    if reviewed.agreement:
        yield "| readers | figure | value | 95 % interval | n |"
        yield "|---|---|---:|---|---:|"
        for one in reviewed.agreement:
            pair = f"{one.reader}, {one.by.get('versus', '')}"
            cells = (_cell(pair), one.measure, _number(one.value), _span(one), str(one.n))
            yield f"| {' | '.join(cells)} |"
        yield ""


def _models(made: Mapping[str, Made]) -> Iterator[str]:
    rows = [
        (
            step,
            ", ".join(one.seats),
            one.name,
            ", ".join(one.served),
            one.replies,
            one.unanswered,
            one.first[:10],
            one.last[:10],
        )
        for step in WITH_ITEMS
        if step in made
        for one in made[step].models
    ]
    if not rows:
        return
    yield "## Which models helped"
    yield ""
    yield from _table(
        ("step", "as", "model", "served as", "replies", "unanswered", "first", "last"), rows
    )


def _funnel(sheet: Sheet) -> Iterator[str]:
    yield "## The funnel"
    yield ""
    yield "![The funnel, drawn](funnel.svg)"
    yield ""
    rows = [
        (
            stage.step,
            f"{stage.given:,}",
            f"{stage.passed:,}",
            *(f"{stage.verdicts.get(verdict, 0):,}" for verdict in VERDICTS),
            why_of(stage),
        )
        for stage in sheet.funnel
    ]
    yield from _table(("step", "in", "out", *VERDICTS, "why"), rows)
    yield "Every drop with its reason, and who decided it, is a line of `drops.jsonl`."
    yield ""


def _checks(sheet: Sheet) -> Iterator[str]:
    for table in sheet.tables:
        yield f"## {_cell(table.title)}"
        yield ""
        yield from _table(table.columns, table.rows)
        for note in table.notes:
            yield note
            yield ""


# ---------------------------------------------------------------- cells


def _counts(name: str, counts: Counter[str], what: str = "items") -> Iterator[str]:
    if counts:
        ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
        yield from _table((name, what), [(word, f"{count:,}") for word, count in ordered])


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * len(columns)}"
    for row in rows:
        yield f"| {' | '.join(_cell(str(cell)) for cell in row)} |"
    yield ""


def _cell(text: str) -> str:
    """Others' words as a cell of Markdown: one line that is no markup."""
    shown = " ".join(printable(text).split())
    for mark in "\\`*[]<>|":
        shown = shown.replace(mark, f"\\{mark}")
    return shown


def _named(names: Sequence[str]) -> str:
    return ", ".join(_cell(name) for name in names)


def _number(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.3f}"


def _span(one: Measure) -> str:
    if one.low is None or one.high is None:
        return "n/a"
    return f"{one.low:.3f} to {one.high:.3f}"
