"""A run as arrays: items, their groups, what ties them, and what each reader said of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple, TypeAlias

import msgspec
import numpy as np
import polars as pl

from overread.benchmarks.base import Tables
from overread.benchmarks.letter_parser import LETTERS
from overread.benchmarks.medcmr.cases import DIMENSIONS, KINDS, LABELS, VISUAL, kind_of
from overread.benchmarks.medcmr.edition import Edition, Options
from overread.measuring.arrays import RunArrays, Words, linked_clusters
from overread.measuring.estimates import Floats, Ints, Mask, Resampling
from overread.measuring.specs import OUTCOMES, Codes

# The label of a judge for a question, where it has one: what its verdicts are worth.
Labels: TypeAlias = Mapping[tuple[str, str], str | None]
GROUPS: Final = ("dimension", "family", "ability", "modality", "system", "dimension/subtype")
"""What numbers are given by."""
CHANGED_IMAGES: Final = ("blank", "swap", "text")
"""What is asked with another image than the item's own, or none."""


class Asking(NamedTuple):
    """What was asked about an item, the item aside."""

    form: str
    image: str = "original"
    order: int = 0

    @property
    def plain(self) -> bool:
        """The item's own question, images and order."""
        return self.form != "reformulated" and self.image == "original" and not self.order


MCQ: Final = Asking("mcq")
OPEN: Final = Asking("open")
REFORMULATED: Final = Asking("reformulated")


class Facts(msgspec.Struct, frozen=True):
    """The items, multiple choice first, by ascending index.

    `columns` are facts by which numbers are given, "" where an item has none. `answer` and
    `longest` are the places of the right and of the longest option (the first of several), -1 for
    an open item; `options` how many there are; `captioned` who has a caption. `clusters` are codes:
    items resampled together have one.
    """

    cases: tuple[str, ...]
    index: Ints
    kinds: Words
    columns: Mapping[str, Words]
    answer: Ints
    longest: Ints
    options: Ints
    captioned: Mask
    clusters: Ints

    @property
    def n(self) -> int:
        return len(self.cases)

    def of(self, kind: str) -> Mask:
        """Items of one kind."""
        found: Mask = self.kinds == kind
        return found


class Said(msgspec.Struct, frozen=True):
    """A reader's replies to one asking, by the item's place among the facts.

    `rows` are items with a row of answers, `spoke` those whose reply has words and is no refusal.
    `outcome` is a place among OUTCOMES; without a row, as unanswered. `choice` and `shown` are the
    places of the option named in the case and in the question, -1 without one. `cut` where the
    token limit ended the reply; `ended` where it is known how the reply ended.
    """

    rows: Mask
    spoke: Mask
    outcome: Codes
    choice: Codes
    shown: Codes
    cut: Mask
    ended: Mask
    # Items x options in the case's order, NaN where not known; None where nothing is known.
    probabilities: Floats | None

    def __len__(self) -> int:
        return int(self.rows.sum())

    def had(self, outcome: str) -> Mask:
        """Items whose reply had this outcome."""
        found: Mask = self.outcome == OUTCOMES.index(outcome)
        return found


class Marks(msgspec.Struct, frozen=True):
    """What one reader said."""

    reader: str
    facts: Facts
    said: Mapping[Asking, Said]

    def asked(self, asking: Asking) -> Mask:
        """Items the reader had to answer: all of the kind where it is asked plainly, else those
        with a row."""
        if asking not in self.said:
            return np.zeros(self.facts.n, dtype=bool)
        return self.facts.of(kind_of(asking.form)) if asking.plain else self.said[asking].rows

    def right(self, asking: Asking) -> Mask:
        """Items whose right option was named; nothing else is right."""
        if asking not in self.said:
            return np.zeros(self.facts.n, dtype=bool)
        chosen = self.said[asking].choice
        found: Mask = self.asked(asking) & (chosen >= 0) & (chosen == self.facts.answer)
        return found

    @property
    def plainly(self) -> list[Asking]:
        """What was asked with the item's own images and order."""
        return [asking for asking in (MCQ, OPEN, REFORMULATED) if asking in self.said]

    def changed(self, form: str) -> list[str]:
        """What items were asked with in place of their own images, in this form."""
        return [image for image in CHANGED_IMAGES if Asking(form, image) in self.said]

    def orders(self) -> list[Asking]:
        """The askings with every order of the options that was asked, the set's own first."""
        return sorted(asking for asking in self.said if asking[:2] == MCQ[:2])

    @property
    def permuted(self) -> bool:
        """Whether options were also shown in further orders."""
        return len(self.orders()) > 1


class Study(RunArrays):
    """The readers of a run under one edition.

    What readers wrote stays in `tables`: `replies` reads it where it is looked at. `verdicts` are
    those on readers' replies by reader and asking, checks left out, with the item's `place` among
    the facts, `variant` from `about` and the raw scores `clarity`, `coherence`, `visual`, `truth`
    from the payload.
    """

    def __init__(
        self,
        tables: Tables,
        verdicts: pl.DataFrame | None,
        edition: Edition,
        options: Options | None = None,
        labels: Labels | None = None,
    ) -> None:
        facts = facts_of(tables.scan("cases"), edition.clusters)
        drawn = Resampling(
            facts.clusters,
            boot=edition.boot,
            seed=edition.seed,
            tallied=True,
            robust=edition.robust,
        )
        super().__init__(
            facts.cases,
            facts.clusters,
            tables.readers,
            drawn,
            columns=facts.columns,
            orders={"family": ("visual", "reasoning"), **LABELS},
            labels=labels,
        )
        self.edition: Final = edition
        self.options: Final = options or Options()
        self.facts: Final = facts
        self.tables: Final = tables
        self.verdicts: Final = {} if verdicts is None else by_asking(_scored(verdicts, facts))
        self.marks: Final = [Marks(one, facts, self._said_by(one)) for one in self.readers]

    def _said_by(self, reader: str) -> dict[Asking, Said]:
        """What a reader said, as arrays."""
        own = self._answers(reader).select(_READ).collect()
        placed = by_asking(_placed(own, self.facts))
        return {asking: _said(self.facts, rows) for (_, asking), rows in placed.items()}

    def replies(self, reader: str, asking: Asking) -> pl.DataFrame:
        """A reader's replies to one asking: place, outcome, text, answer."""
        asked = self._answers(reader).filter(
            pl.col("form") == asking.form,
            pl.col("image") == asking.image,
            pl.col("order").fill_null(0) == asking.order,
        )
        read = asked.select("case", "outcome", "text", "answer").collect()
        return _placed(read, self.facts)

    def _answers(self, reader: str) -> pl.LazyFrame:
        return self.tables.scan("answers").filter(pl.col("reader") == reader)

    def part_of(self, counted: Mask) -> str:
        """Items of one kind are drawn by themselves for what counts only them."""
        present = set(self.facts.kinds[counted].tolist())
        return next((kind for kind in KINDS if present <= {kind}), "")

    def members_of(self, part: str) -> Mask:
        return self.facts.of(part)


# ---------------------------------------------------------------- tables to arrays

# What is looked at of an answer: tables have many texts, and nine readers many answers.
_READ: Final = (
    *("reader", "case", "form", "image", "outcome", "choice", "shown", "probabilities"),
    *("text", "finish", pl.col("order").fill_null(0)),
)
_JUDGED: Final = ("reader", "case", "judge", "question", "outcome", "about", "payload")


def facts_of(cases: pl.DataFrame | pl.LazyFrame, clusters: str) -> Facts:
    """The items of `cases.parquet`; `clusters` as in the edition."""
    labels = ("kind", "dimension", "subtype", "ability", "modality", "system")
    letters = {letter: place for place, letter in enumerate(LETTERS)}
    choices = pl.col("kind") == "mcq"
    options = pl.col("options").fill_null([])
    lengths = options.list.eval(pl.element().str.len_chars())
    # Texts are looked at on their way, and not kept.
    rows = (
        cases.lazy()
        .select(
            *("case", "index", "images", "patient", *labels),
            _kind=pl.col("kind").replace_strict(KINDS, range(len(KINDS))),
            _captioned=pl.col("caption").fill_null("").str.strip_chars() != "",
            _answer=pl.when(choices)
            .then(pl.col("answer").replace_strict(letters, default=None, return_dtype=pl.Int64))
            .fill_null(-1),
            # The first of several: arg_max takes the first.
            _longest=pl.when(choices).then(lengths.list.arg_max().cast(pl.Int64)).fill_null(-1),
            _options=pl.when(choices).then(options.list.len().cast(pl.Int64)).fill_null(0),
        )
        .sort("_kind", "index", "case")
        .collect()
    )
    columns = {
        name: rows[name].cast(pl.String).fill_null("").to_numpy().astype(np.str_) for name in labels
    }
    dimension = columns["dimension"]
    family = np.where(np.isin(dimension, list(DIMENSIONS)), "reasoning", "")
    columns["family"] = np.where(np.isin(dimension, VISUAL), "visual", family)
    return Facts(
        cases=tuple(rows["case"].to_list()),
        index=rows["index"].to_numpy().astype(np.int64),
        kinds=columns.pop("kind"),
        columns=columns,
        answer=rows["_answer"].to_numpy().astype(np.int64),
        longest=rows["_longest"].to_numpy().astype(np.int64),
        options=rows["_options"].to_numpy().astype(np.int64),
        captioned=rows["_captioned"].to_numpy(),
        clusters=_clusters(rows) if clusters == "image" else np.arange(rows.height),
    )


def _clusters(rows: pl.DataFrame) -> Ints:
    """Items that share an image file or a patient have one code, also by way of others."""
    numbered = rows.with_columns(place=pl.int_range(rows.height, dtype=pl.Int64))
    # An image and a patient of one name are two things.
    exploded = numbered.select("place", "images").explode("images")
    images = exploded.select("place", owner=pl.lit("i") + pl.col("images"))
    patients = numbered.select("place", owner=pl.lit("p") + pl.col("patient"))
    return linked_clusters(pl.concat([images, patients]), rows.height)


def _placed(frame: pl.DataFrame, facts: Facts) -> pl.DataFrame:
    """The rows about these items, with the item's `place` among the facts."""
    places = pl.DataFrame(
        {"case": pl.Series(facts.cases, dtype=pl.String), "place": np.arange(facts.n)}
    )
    return frame.join(places, on="case", how="inner", maintain_order="left")


def _scored(verdicts: pl.DataFrame, facts: Facts) -> pl.DataFrame:
    about = pl.Struct(
        {"form": pl.String, "image": pl.String, "order": pl.Int64, "variant": pl.String}
    )
    scores = pl.Struct(dict.fromkeys(("clarity", "coherence", "visual", "truth"), pl.Float64))
    counted = verdicts.lazy().filter(~pl.col("check").fill_null(False)).select(_JUDGED).collect()
    kept = _placed(counted, facts).drop("case")
    # What is said twice is read once.
    for column, form in (("about", about), ("payload", scores)):
        texts = kept.select(pl.col(column).unique())
        read = texts.with_columns(_read=pl.col(column).str.json_decode(form)).unnest("_read")
        kept = kept.join(read, on=column, how="left", nulls_equal=True, maintain_order="left")
        kept = kept.drop(column)
    return kept.with_columns(pl.col("order").fill_null(0))


def by_asking(frame: pl.DataFrame) -> dict[tuple[str, Asking], pl.DataFrame]:
    """The rows of each reader and asking."""
    parts = frame.partition_by("reader", "form", "image", "order", as_dict=True)
    return {
        (str(reader), Asking(str(form), str(image), int(order))): rows
        for (reader, form, image, order), rows in parts.items()
    }


def _said(facts: Facts, rows: pl.DataFrame) -> Said:
    at = rows["place"].to_numpy()

    def codes(column: str, words: Iterable[str], none: int) -> Codes:
        places = {word: code for code, word in enumerate(words)}
        named = rows[column].replace_strict(places, default=None, return_dtype=pl.Int8)
        found: Codes = np.full(facts.n, none, dtype=np.int8)
        found[at] = named.fill_null(none).to_numpy()
        return found

    def mask(values: bool | Mask) -> Mask:
        found = np.zeros(facts.n, dtype=bool)
        found[at] = values
        return found

    spoke = rows["outcome"].is_in(["answered", "unparsed"]) & (
        rows["text"].fill_null("").str.strip_chars() != ""
    )
    outcome = codes("outcome", OUTCOMES, OUTCOMES.index("unanswered"))
    # A choice stands only where the reply was read.
    read = outcome == OUTCOMES.index("answered")
    return Said(
        rows=mask(True),
        spoke=mask(spoke.to_numpy()),
        outcome=outcome,
        choice=np.where(read, codes("choice", LETTERS, -1), np.int8(-1)),
        shown=np.where(read, codes("shown", LETTERS, -1), np.int8(-1)),
        cut=mask((rows["finish"] == "length").fill_null(False).to_numpy()),
        ended=mask(rows["finish"].is_not_null().to_numpy()),
        probabilities=_probabilities(facts, rows),
    )


def _probabilities(facts: Facts, rows: pl.DataFrame) -> Floats | None:
    """One for each option, or none of the item's are kept."""
    if rows["probabilities"].null_count() == rows.height:
        return None
    known = rows.select("place", "probabilities").drop_nulls("probabilities")
    known = known.filter(pl.col("probabilities").list.len() > 0)
    if not known.height:
        return None
    found: Floats = np.full((facts.n, int(facts.options.max())), np.nan)
    place: Ints = known["place"].to_numpy()
    lengths = known["probabilities"].list.len().to_numpy().astype(np.int64)
    fit = lengths == facts.options[place]
    flat = known["probabilities"].list.explode().cast(pl.Float64).fill_null(np.nan).to_numpy()
    row = np.repeat(place, lengths)
    column = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    kept = np.repeat(fit, lengths)
    found[row[kept], column[kept]] = flat[kept]
    beyond = np.arange(found.shape[1])[None, :] >= facts.options[:, None]
    # Past the last option there is nothing; inside, a gap leaves the item without any.
    partial = (np.isnan(found) & ~beyond).any(axis=1)
    found[partial] = np.nan
    return found if not np.isnan(found).all() else None
