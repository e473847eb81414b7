"""Cases one by one, as a person looks at them: the index to find cards by, and how they are dealt.

A benchmark says what of a case is told and shown, what each reader said of it, and when that is
right or flipped. Facets, the order of the index and the parts of a card are the same for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from overread.benchmarks.exhibits.cells import cut
from overread.case import Card, CardAnswer, CardOption, CardStep, Said, Slide, Trial

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.base import Tables


UNKNOWN: Final = "not known"
"""The facet of a case of which a set does not say it."""
_TITLE_LENGTH: Final = 100
_KEYS: Final = ("reader", "case")

C = TypeVar("C")


def about_cases(tables: Tables, chosen: Iterable[str]) -> Tables:
    """The tables with the rows about these cases alone."""
    import polars as pl

    among = pl.col("case").is_in(list(dict.fromkeys(chosen)))
    return msgspec.structs.replace(
        tables,
        cases=tables.scan("cases").filter(among).collect(),
        answers=tables.scan("answers").filter(among).collect(),
        files={},
        verdicts=None if tables.verdicts is None else tables.verdicts.filter(among),
    )


def facet_values(cases: pl.DataFrame, facets: Mapping[str, str]) -> pl.DataFrame:
    """The facets of each case as words; `facets` says in which column each stands."""
    import polars as pl

    def words(name: str, column: str) -> pl.Expr:
        if column not in cases.columns:
            return pl.lit(UNKNOWN).alias(name)
        said = pl.col(column).cast(pl.String).fill_null("")
        return pl.when(said == "").then(pl.lit(UNKNOWN)).otherwise(said).alias(name)

    found = cases.select("case", *(words(name, column) for name, column in facets.items()))
    return found.unique("case", keep="first", maintain_order=True)


def index_of(
    tables: Tables,
    facets: pl.DataFrame,
    told: pl.DataFrame | Callable[[str], pl.DataFrame],
    asked: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """A row for each case and reader that was asked about it: right, flipped and the facets.

    `told` has for each reader and case `right` and, where anything is changed, `flipped`; null
    where neither can be said; or it gives those of one reader. `asked` are the answers that count,
    all where left out. Words of the index are categories, in the order of the alphabet.
    """
    import polars as pl

    names = list(dict.fromkeys(reader.name for reader in tables.readers))
    called = pl.Enum(names)
    every = tables.answers if asked is None else asked
    places = facets.select("case").with_row_index("_case")
    row: dict[str, Any] = {
        "_case": pl.UInt32,
        "reader": called,
        "right": pl.Boolean,
        "flipped": pl.Boolean,
    }
    parts = [pl.DataFrame(schema=row)]
    # One reader's rows after the other's: those of nine with all their words are a large table.
    for name in names:
        own = told(name) if callable(told) else told.filter(reader=name).drop("reader")
        if "flipped" not in own.columns:
            own = own.with_columns(flipped=pl.lit(None, pl.Boolean))
        heard = every.filter(reader=name).select("case").unique()
        part = places.join(heard, on="case", how="semi", maintain_order="left")
        part = part.join(own, on="case", how="left", maintain_order="left")
        parts.append(part.with_columns(pl.lit(name, called).alias("reader")).select(list(row)))
    index = pl.concat(parts).sort("_case", maintain_order=True)
    words = [name for name in facets.columns if name != "case"]
    facets = facets.with_columns(
        pl.col(name).cast(pl.Enum(facets[name].drop_nulls().unique().sort())) for name in words
    )
    return pl.concat(
        [
            facets.select(pl.col("case").gather(index["_case"])),
            index.drop("_case"),
            facets.select(pl.col(words).gather(index["_case"])),
        ],
        how="horizontal",
    )


def told_by_values(values: Mapping[str, pl.DataFrame], right: str, same: str = "") -> pl.DataFrame:
    """Who is right and who flipped, by values by case: right at 1, flipped where `same` is 0."""
    import polars as pl

    told = values[right].select(*_KEYS, right=pl.col("value") == 1)
    if same not in values:
        return told
    flips = values[same].select(*_KEYS, flipped=pl.col("value") == 0)
    return told.join(flips, on=list(_KEYS), how="left")


def deal(
    chosen: Iterable[str],
    cases: Mapping[str, C],
    index: pl.DataFrame,
    facets: pl.DataFrame,
    *,
    title: Callable[[C], str],
    texts: Callable[[C], Iterable[tuple[str, str]]],
    slides: Callable[[C], Iterable[Slide]],
    said: Callable[[C, str, bool | None, bool | None], Said],
    conditions: Mapping[str, str] | Callable[[C], Mapping[str, str]],
    options: Callable[[C], Iterable[CardOption]] = lambda case: (),
    steps: Callable[[C], Iterable[CardStep]] = lambda case: (),
) -> Iterator[Card]:
    """The cards of these cases, in this order; a name that is no case's is passed over.

    `said` is what a reader said of a case, by its name, with what the index has of right and
    flipped. `conditions` are the words for what is shown, in order; a card has those that a slide
    or an answer of it names, and others after them.
    """
    told: dict[str, list[tuple[str, bool | None, bool | None]]] = {}
    for case, reader, right, flipped, *_ in index.iter_rows():
        told.setdefault(case, []).append((reader, right, flipped))
    facts = {row.pop("case"): row for row in facets.iter_rows(named=True)}
    for name in dict.fromkeys(chosen):
        if name in cases:
            case_of_it = cases[name]
            words = conditions(case_of_it) if callable(conditions) else conditions
            pictures = tuple(slides(case_of_it))
            voices = tuple(said(case_of_it, *one) for one in told.get(name, ()))
            named = {one.shown for one in pictures}
            named |= {answer.shown for voice in voices for answer in voice.answers}
            known = [one for one in words if one in named]
            yield Card(
                case=name,
                title=title(case_of_it),
                facts=facts[name],
                texts=tuple(texts(case_of_it)),
                options=tuple(options(case_of_it)),
                steps=tuple(steps(case_of_it)),
                conditions=tuple(
                    (one, words.get(one, one.replace("_", " ")))
                    for one in (*known, *sorted(named - set(known)))
                ),
                slides=pictures,
                said=voices,
            )


def with_changes(
    answers: Sequence[CardAnswer], first: str, meant: Callable[[CardAnswer], object | None]
) -> tuple[CardAnswer, ...]:
    """The answers with `changed`: those to other conditions than the `first` held against the
    answer to it that was asked for the same way.

    `meant` is what is compared of an answer; None where nothing can be said of it.
    """
    held: dict[str, object | None] = {}
    for answer in answers:
        if answer.shown == first:
            held.setdefault(answer.asked, meant(answer))
    told = []
    for answer in answers:
        before, now = held.get(answer.asked), meant(answer)
        if answer.shown != first and before is not None and now is not None:
            answer = msgspec.structs.replace(answer, changed=before != now)
        told.append(answer)
    return tuple(told)


def rows_by_reader(
    answers: pl.DataFrame, columns: Sequence[str]
) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """By case and reader, the rows of the answers with these columns."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    kept = answers.select(list(dict.fromkeys((*_KEYS, *columns))))
    for row in kept.iter_rows(named=True):
        found.setdefault((row["case"], row["reader"]), []).append(row)
    return found


def title_of(question: str, name: str) -> str:
    """What a card is headed with: the question, cut, or the name of a case without one."""
    return cut(question, _TITLE_LENGTH) or cut(name, _TITLE_LENGTH)


def slides_of(trials: Iterable[Trial], labels: Mapping[str, str]) -> Iterator[Slide]:
    """What readers were shown, each kind of image once; several pictures of one are numbered."""
    seen: set[str] = set()
    for trial in trials:
        image = str(trial.condition["image"])
        if image in seen:
            continue
        seen.add(image)
        pictures = trial.request.pictures
        for number, picture in enumerate(pictures, start=1):
            label = labels.get(image, image)
            label = f"{label}, {number} of {len(pictures)}" if len(pictures) > 1 else label
            yield Slide(label=label, picture=picture, shown=image)


def facets_of(tables: Tables, facets: Iterable[str]) -> pl.DataFrame:
    """The facets of each case as words, each in the column of its own name."""
    return facet_values(tables.cases, {name: name for name in facets})
