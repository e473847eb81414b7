"""The benchmark: pairs in, questions and answers out, and what is said of each reader."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final

import msgspec

from overread.benchmarks.base import Benchmark, ComparedWords, Loaded, Phantoms, Recovered, Tables
from overread.benchmarks.controls import (
    Control,
    Criterion,
    Said,
    by_criteria,
    known_of,
    recovered,
)
from overread.benchmarks.draws import lot
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.letter_parser import LETTERS, read_choice
from overread.benchmarks.pairs.cases import READER, PairCase
from overread.benchmarks.rules import SEEDS, Boot, EditionRules, Option, Root, Rule, Rulebook, whole
from overread.benchmarks.sentences import (
    IN_TRAINING,
    TESTS,
    Told,
    edition_line,
    made_up,
    rate,
    reply_limits,
    side_of,
    taken_over,
)
from overread.benchmarks.tables import Int8, cells_of, joined_notes, notes_of, schema_of
from overread.case import (
    Card,
    Decoding,
    Headline,
    Measure,
    Message,
    Outcome,
    Picture,
    Policy,
    Prompt,
    Reply,
    Request,
    Slide,
    Source,
    Traits,
    Trial,
    Within,
)
from overread.case import Said as Line

if TYPE_CHECKING:
    import polars as pl

    from overread.measuring.arrays import RunArrays
    from overread.measuring.specs import SpokenFor

__all__ = ["Pairs"]

_REVISION: Final = "1"
# Two answers by chance, whatever the odds p of the first: p (1 - p) is at most a quarter.
CHANCE: Final = 0.25
HALF: Final = 0.5


class Edition(EditionRules, frozen=True, kw_only=True):
    """One set of rules. docs/editions.md gives the reason for every difference."""

    order: Annotated[
        str,
        Rule(
            "printed",
            "Whether options stand in the order of the set or in one drawn for each pair, the "
            "same for both pictures.",
            lambda text: _one_of(text),
            shown=True,
        ),
    ] = "drawn"
    boot: Boot = 10_000
    seed: Annotated[
        int, Rule(0, "Seed of every bootstrap; it also draws the options' order.", SEEDS)
    ] = 0


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked."""

    px: Annotated[int, Option("The longer side of a picture at most.", whole(16, 8192))] = 768
    max_tokens: Annotated[int, Option("Tokens of a reply.", whole(1, 1_000_000))] = 32
    root: Root = None


def _one_of(text: str) -> str:
    if text not in ("printed", "drawn"):
        raise ValueError("printed or drawn")
    return text


BOOK: Final = Rulebook("pairs", Edition, Options)


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A row of `answers.parquet`; `order` are the options as shown, `choice` one in the set's."""

    case: str
    picture: Int8
    order: str
    outcome: Outcome
    choice: Int8 | None = None
    text: str | None = None
    reason: str | None = None


class CaseRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of `cases.parquet`."""

    case: str
    question: str
    options: tuple[str, ...]
    images: tuple[str, ...]
    answers: tuple[int, ...]
    group: str | None
    patients: tuple[str, ...]


class Pairs(Benchmark):
    """Pairs under one edition."""

    name = "pairs"
    question = "Does it tell two pictures apart that the answer turns on?"
    metrics = "overread.benchmarks.pairs.measures:SPECS"
    phantoms = Phantoms(maker="overread.phantoms.chest:chest_set", size=120)
    pictures = True
    shows = BOOK.shows
    compared: ClassVar[tuple[ComparedWords, ...]] = (
        ComparedWords.share("set_accuracy", "set accuracy", "gets both pictures right of"),
        ComparedWords.share("accuracy", "accuracy", "is right on"),
        ComparedWords.share("confusion", "confusion", "gives one answer to both pictures of"),
    )
    facets = ("group",)
    case_schema: Mapping[str, Any] = schema_of(CaseRow)
    answer_schema: Mapping[str, Any] = schema_of(Answer)

    @classmethod
    def settings(cls, edition: str, words: Mapping[str, str] | None) -> tuple[Any, Any]:
        return BOOK.settings(edition, words)

    def load(self) -> Loaded:
        return READER.load(self.kept_path, self.options, self.options.root)

    def policy_at(self, path: str | Path) -> Policy:
        return READER.policy_at(path, self.options.root)

    def policy_opened(self) -> Policy:
        images = [image for case in self.cases() for image in case.images]
        return READER.policy_at(self.kept_path, self.options.root, images)

    def case_row(self, case: PairCase) -> Sequence[Any]:
        fields = msgspec.structs.asdict(case)
        return cells_of(CaseRow(case=fields.pop("case_id"), **fields))

    def stratum(self, case: PairCase) -> tuple[str, ...]:
        return (case.group or "",)

    # ------------------------------------------------------------ asking

    def order_of(self, case: PairCase) -> list[int]:
        """The options' places in the order they are shown, the same for both pictures."""
        places = list(range(len(case.options)))
        if self.rules.order == "printed":
            return places
        return sorted(
            places, key=lambda at: lot("options", self.rules.seed, f"{case.case_id}|{at}")
        )

    def picture_of(self, case: PairCase, number: int) -> Picture:
        root = READER.root_of(self.kept_path, self.options.root)
        return Picture(Source(str(root), case.images[number]), (Within(self.options.px),))

    def trials(self, case: PairCase, traits: Traits) -> Iterator[Trial]:
        order = self.order_of(case)
        shown = [
            f"{letter}. {case.options[at]}" for letter, at in zip(LETTERS, order, strict=False)
        ]
        asked = "\n".join((case.question, *shown, "Answer with the letter of one option alone."))
        for number in range(2):
            parts = (self.picture_of(case, number), asked)
            request = Request(
                (Message("user", parts),), Decoding(max_tokens=self.options.max_tokens)
            )
            where = {"picture": number + 1, "order": "".join(LETTERS[at] for at in order)}
            yield Trial(case.case_id, where, request)

    def answer(
        self, trial: Trial, reply: Reply | None, traits: Traits, reason: str = ""
    ) -> Sequence[Any]:
        order = str(trial.condition["order"])
        where = {"case": trial.case, "picture": int(trial.condition["picture"]), "order": order}
        note = joined_notes(notes_of(reply, reason))
        if reply is None or reply.refused:
            outcome: Outcome = "unanswered" if reply is None else "refused"
            text = None if reply is None else reply.text
            return cells_of(Answer(**where, outcome=outcome, text=text, reason=note))
        case = self.by_id[trial.case]
        named = read_choice(reply.text, [case.options[LETTERS.index(at)] for at in order])
        if named.letter is None:
            note = joined_notes([named.reason, *([note] if note else [])])
            return cells_of(Answer(**where, outcome="unparsed", text=reply.text, reason=note))
        choice = LETTERS.index(order[LETTERS.index(named.letter)])
        answered = Answer(**where, outcome="answered", choice=choice, text=reply.text, reason=note)
        return cells_of(answered)

    # ------------------------------------------------------------ measuring

    def arrays(self, tables: Tables) -> tuple[RunArrays, Sequence[SpokenFor]]:
        from overread.benchmarks.pairs.measures import pair_arrays

        return pair_arrays(tables, self.rules.boot, self.rules.seed)

    def signature_parts(self, tables: Tables) -> Sequence[str]:
        return f"order:{self.rules.order}", f"px:{self.options.px}"

    # ------------------------------------------------------------ controls

    def controls(self) -> Mapping[str, Control]:
        """`looks` knows a picture when it sees it; `prior` and `first-option` never look."""
        known = known_of(self.cases() if self.path else (), lambda case: case)
        sees = Traits(knows_truth=True, told_case=True)

        def looks(prompt: Prompt) -> Said:
            from overread.imaging import render

            case = known.by_id[prompt.case]
            for number, place in enumerate(case.answers):
                if render(self.picture_of(case, number)).data == prompt.pictures[0].data:
                    return Said(LETTERS[self.order_of(case).index(place)])
            return Said("I do not know this picture.")

        def prior(prompt: Prompt) -> Said:
            lines = [line for line in prompt.text.splitlines() if line[1:3] == ". "]
            return Said(min(lines, key=lambda line: line[3:])[0])

        revision = f"{_REVISION}:{known.digest}"
        made = (
            Control(key="looks", says=looks, revision=revision, traits=sees),
            Control(key="prior", says=prior, revision=_REVISION, traits=Traits(modality="text")),
            Control(key="first-option", says=lambda prompt: Said("A"), revision=_REVISION),
        )
        return {control.key: control for control in made}

    def expected(self) -> Mapping[str, str]:
        ignores = "ignores the picture"
        return {"looks": "looks at the picture", "prior": ignores, "first-option": ignores}

    def recovered(self, measures: Sequence[Measure]) -> list[Recovered]:
        return recovered(measures, self.expected(), by_criteria(CRITERIA))

    # ------------------------------------------------------------ in words

    def headlines(self, measures: Sequence[Measure]) -> Iterator[Headline]:
        """yes: the whole interval of set accuracy is above one half; in part: above the quarter that
        chance can reach; no: at or below that; cannot tell: it holds the quarter, or there is none.
        """
        index = Index(measures)
        for reader in index.readers:
            found = index.get(reader, "set_accuracy")
            if found is None:
                continue
            same = index.known(reader, "confusion")
            numbers = f"both pictures right in {rate(found, 'set accuracy')} of the pairs"
            if same is not None:
                numbers += f", the same answer to both in {rate(same, 'confusion')}"
            if side_of(found, HALF) == "above":
                told = Told("yes", f"It tells most pairs apart: {numbers}.", found)
            elif side_of(found, CHANCE) == "above":
                told = Told(
                    "in part", f"It tells more pairs apart than chance can: {numbers}.", found
                )
            elif side_of(found, CHANCE) == "below":
                told = Told("no", f"It does no better than who does not look: {numbers}.", found)
            else:
                told = Told(
                    "cannot tell", f"The interval holds the quarter of chance: {numbers}.", found
                )
            yield told.headline(reader, self.question)

    def methods(self, asked_under: str | None = None) -> Sequence[str]:
        if asked_under == "":
            asked = taken_over("answers", "pictures, questions and decoding")
        else:
            order = (
                "in an order drawn for each pair" if self.rules.order == "drawn" else "as printed"
            )
            asked = (
                "Following MediConfusion, one question with its options was put to every reader "
                f"about each of two pictures with different right answers; options stood {order}, "
                f"pictures were shrunk to at most {self.options.px} pixels on the longer side."
            )
        counted = (
            "Set accuracy is the share of pairs with both pictures right, confusion that of pairs "
            "with one answer to both; a reply that names no option is wrong. Intervals are at 95 %, "
            "Wilson's, pairs that share a picture or a patient counted together."
        )
        return (asked, counted, TESTS, edition_line(self.rules))

    def limitations(self, measures: Sequence[Measure]) -> Sequence[str]:
        index = Index(measures)
        refused = {
            "refused": "refused some questions",
            "unparsed": "named no option in some replies",
        }
        return (
            *made_up(self.dataset),
            *reply_limits(index, refused),
            "Who answers by chance gets up to a quarter of the pairs, and who never looks none.",
            IN_TRAINING,
        )

    # ------------------------------------------------------------ cards

    def card_index(self, tables: Tables) -> pl.DataFrame:
        import polars as pl

        truth = tables.cases.select("case", "group", "answers")
        right = pl.col("choice") == pl.col("answers").list.get(pl.col("picture") - 1)
        both = pl.col("choice").drop_nulls()
        flipped = pl.when(both.len() == 2).then(both.n_unique() == 2)
        return (
            tables.answers.join(truth, on="case")
            .group_by("case", "reader", "group", maintain_order=True)
            .agg(right=right.fill_null(False).all(), flipped=flipped)
        )

    def cards(self, tables: Tables, chosen: Sequence[str]) -> Iterator[Card]:
        rows = tables.answers.filter(tables.answers["case"].is_in(list(chosen)))
        answers = rows.partition_by("case", as_dict=True)
        cases = {row["case"]: row for row in tables.cases.iter_rows(named=True)}
        for name in chosen:
            case = cases[name]
            own = answers[(name,)].sort("picture") if (name,) in answers else rows.head(0)
            truth = [case["options"][at] for at in case["answers"]]
            yield Card(
                case=name,
                title=name,
                facts={"group": case["group"]} if case["group"] else {},
                texts=(("question", case["question"]), ("options", "; ".join(case["options"]))),
                slides=tuple(
                    Slide(label=f"picture {at + 1}: {truth[at]}", picture=self.picture_of(self.by_id[name], at))
                    for at in range(2)
                ) if self.path else (),
                said=tuple(
                    _line(reader, own.filter(reader=reader).to_dicts(), case)
                    for reader in own["reader"].unique(maintain_order=True)
                ),
            )  # fmt: skip


def _line(reader: str, rows: Sequence[Mapping[str, Any]], case: Mapping[str, Any]) -> Line:
    """What one reader said of both pictures."""
    said = [
        (f"picture {row['picture']}", row["outcome"] if row["choice"] is None else case["options"][row["choice"]])
        for row in rows
    ]  # fmt: skip
    right = [row["choice"] == case["answers"][row["picture"] - 1] for row in rows]
    choices = {row["choice"] for row in rows}
    flipped = None if None in choices or len(rows) < 2 else len(choices) > 1
    return Line(reader=reader, lines=tuple(said), right=all(right), flipped=flipped)


CRITERIA: Final = {
    "looks": (
        Criterion(measure="set_accuracy", end="low", least=HALF, reason="it knows every picture"),
    ),
    **dict.fromkeys(
        ("prior", "first-option"),
        (
            Criterion(measure="set_accuracy", end="high", most=CHANCE, reason="it never looks"),
            Criterion(measure="confusion", end="low", least=HALF, reason="it says one thing"),
        ),
    ),
}
