"""The benchmark: pairs in, questions and answers out, and what is said of each reader."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import msgspec

import overread.case as oc
from overread.benchmarks import rules, sentences
from overread.benchmarks.base import Benchmark, ComparedWords, Phantoms, Recovered, Tables
from overread.benchmarks.controls import Control, Criterion, Said, by_criteria, known_of, recovered
from overread.benchmarks.curated import Curated
from overread.benchmarks.draws import lot
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.letter_parser import LETTERS, read_choice
from overread.benchmarks.pairs.cases import READER, PairCase
from overread.benchmarks.tables import Int8, cells_of, joined_notes, notes_of

if TYPE_CHECKING:
    from overread.measuring.arrays import RunArrays
    from overread.measuring.specs import SpokenFor

# Two answers by chance, whatever the odds p of the first: p (1 - p) is at most a quarter.
CHANCE: Final = 0.25
HALF: Final = 0.5
LEVELS: Final = (
    sentences.Level(HALF, "yes", "It tells most pairs apart"),
    sentences.Level(CHANCE, "in part", "It tells more pairs apart than chance can"),
)
NEVER_LOOKS: Final = (
    Criterion(measure="set_accuracy", end="high", most=CHANCE, reason="it never looks"),
    Criterion(measure="confusion", end="low", least=HALF, reason="it says one thing"),
)
KNOWS_EACH: Final = Criterion(measure="set_accuracy", end="low", least=HALF, reason="it knows each")


class Edition(rules.EditionRules, frozen=True, kw_only=True):
    """One set of rules. docs/editions.md gives the reason for every difference."""

    table = """
        rule    | authors | corrected | decides
        order * | printed | drawn     | Options stand as in the set, or as drawn for each pair.
        boot    | 10000   | 10000     | Resamples of every bootstrap.
        seed    | 0       | 0         | It draws bootstraps and the options' order.
    """

    order: Literal["printed", "drawn"]
    boot: rules.Boot
    seed: rules.Seed


class Options(rules.AskedOptions, frozen=True, kw_only=True):
    """What is asked."""

    table = """
        option     | kind  | says
        px         |       | The longer side of a picture at most.
        max_tokens |       | Tokens of a reply.
        root       | files | Where pictures stand, if not beside the list.
    """

    px: Annotated[int, rules.whole(16, 8192)] = 768
    max_tokens: Annotated[int, rules.whole(1, 1_000_000)] = 32
    root: rules.Folder = None


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A row of `answers.parquet`; `order` are the options as shown, `choice` one in the set's."""

    case: str
    picture: Int8
    order: str
    outcome: oc.Outcome
    choice: Int8 | None = None
    text: str | None = None
    reason: str | None = None


class Pairs(Benchmark):
    """One question, two pictures, two different right answers."""

    name = "pairs"
    question = "Does it tell pictures apart?"
    metrics = "overread.benchmarks.pairs.measures:SPECS"
    phantoms = Phantoms(maker="overread.phantoms.chest:write_phantoms", size=120)
    book = rules.Rulebook("pairs", Edition, Options)
    sets = READER
    case_type = PairCase
    owner_fields = ("patients",)
    answer_type = Answer
    pictures = True
    curated = Curated.of("overread.benchmarks.pairs.curated", "pair")
    facets = ("group",)
    right_by = ("set_accuracy", "confusion")
    compared = (
        ComparedWords.share("set_accuracy", "set accuracy", "gets both pictures right in"),
        ComparedWords.share("accuracy", "accuracy", "is right on"),
        ComparedWords.share("confusion", "confusion", "gives one answer to both in"),
    )

    def order_of(self, case: PairCase) -> list[int]:
        """The options' places in the order they are shown, the same for both pictures."""
        places = list(range(len(case.options)))
        if self.rules.order == "drawn":
            places.sort(key=lambda at: lot("options", self.rules.seed, f"{case.case_id}|{at}"))
        return places

    def picture_of(self, case: PairCase, number: int) -> oc.Picture:
        return oc.Picture(oc.Source(self.root, case.images[number]), (oc.Within(self.options.px),))

    def trials(self, case: PairCase, traits: oc.Traits) -> Iterator[oc.Trial]:
        places = self.order_of(case)
        order = "".join(LETTERS[at] for at in places)
        shown = (f"{LETTERS[n]}. {case.options[at]}" for n, at in enumerate(places))
        asked = "\n".join((case.question, *shown, "Answer with the letter of one option alone."))
        for number in (0, 1):
            message = oc.Message("user", (self.picture_of(case, number), asked))
            request = oc.Request((message,), oc.Decoding(max_tokens=self.options.max_tokens))
            yield oc.Trial(case.case_id, {"picture": number + 1, "order": order}, request)

    def answer(
        self, trial: oc.Trial, reply: oc.Reply | None, traits: oc.Traits, reason: str = ""
    ) -> Sequence[Any]:
        order, notes = str(trial.condition["order"]), list(notes_of(reply, reason))
        outcome: oc.Outcome = "unanswered" if reply is None else "refused"
        choice = None
        if reply is not None and not reply.refused:
            options = self.by_id[trial.case].options
            named = read_choice(reply.text, [options[LETTERS.index(at)] for at in order])
            outcome = "unparsed" if named.letter is None else "answered"
            if named.letter is None:
                notes.insert(0, named.reason)
            else:
                choice = LETTERS.index(order[LETTERS.index(named.letter)])
        made = Answer(
            case=trial.case, picture=int(trial.condition["picture"]), order=order, outcome=outcome,
            choice=choice, text=None if reply is None else reply.text, reason=joined_notes(notes),
        )  # fmt: skip
        return cells_of(made)

    def arrays(self, tables: Tables) -> tuple[RunArrays, Sequence[SpokenFor]]:
        from overread.benchmarks.pairs.measures import pair_arrays

        return pair_arrays(tables, self.rules)

    def signature_parts(self, tables: Tables) -> Sequence[str]:
        return f"order:{self.rules.order}", f"px:{self.options.px}"

    def controls(self) -> Mapping[str, Control]:
        """`looks` knows a picture when it sees it; `prior` and `first-option` never look."""
        known = known_of(self.cases() if self.path else (), lambda case: case)

        def looks(prompt: oc.Prompt) -> Said:
            from overread.imaging import render

            case = known.by_id[prompt.case]
            for number, place in enumerate(case.answers):
                if render(self.picture_of(case, number)).data == prompt.pictures[0].data:
                    return Said(LETTERS[self.order_of(case).index(place)])
            return Said("I do not know this picture.")

        def prior(prompt: oc.Prompt) -> Said:
            lines = [line for line in prompt.text.splitlines() if line[1:3] == ". "]
            return Said(min(lines, key=lambda line: line[3:])[0])

        sees, blind = oc.Traits(knows_truth=True, told_case=True), oc.Traits(modality="text")
        return {
            "looks": Control(key="looks", says=looks, revision=f"1:{known.digest}", traits=sees),
            "prior": Control(key="prior", says=prior, revision="1", traits=blind),
            "first-option": Control(key="first-option", says=lambda p: Said("A"), revision="1"),
        }

    def expected(self) -> Mapping[str, str]:
        ignores = "ignores the picture"
        return {"looks": "looks at the picture", "prior": ignores, "first-option": ignores}

    def recovered(self, measures: Sequence[oc.Measure]) -> list[Recovered]:
        criteria = {"looks": (KNOWS_EACH,), "prior": NEVER_LOOKS, "first-option": NEVER_LOOKS}
        return recovered(measures, self.expected(), by_criteria(criteria))

    def headlines(self, measures: Sequence[oc.Measure]) -> Iterator[oc.Headline]:
        """By set accuracy: above one half, above the quarter that chance can reach, or not."""
        index = Index(measures)
        for reader in index.readers:
            found, same = index.get(reader, "set_accuracy"), index.known(reader, "confusion")
            if found is None:
                continue
            numbers = f"both pictures right in {sentences.rate(found, 'set accuracy')} of the pairs"
            if same is not None:
                numbers += f", one answer to both in {sentences.rate(same, 'confusion')}"
            words = "It does no better than chance", "It cannot be told from chance", numbers
            yield sentences.by_levels(found, LEVELS, *words).headline(reader, self.question)

    def asked(self, asked_under: str | None = None) -> Sequence[str]:
        if asked_under == "":
            return ()
        order = {"drawn": "in an order drawn for each pair", "printed": "as printed"}
        return (
            "Following MediConfusion, each question was put with each of two pictures that have "
            f"different right answers, its options {order[self.rules.order]}, pictures at most "
            f"{self.options.px} pixels on the longer side.",
        )

    def methods(self, asked_under: str | None = None) -> Sequence[str]:
        counted = (
            "Set accuracy is the share of pairs with both pictures right, confusion that with one "
            "answer to both; a reply that names no option is wrong. Intervals of 95 % are "
            "Wilson's, pairs of one patient counted together."
        )
        first = self.asked(asked_under) or (sentences.taken_over("answers"),)
        return *first, counted, sentences.TESTS, sentences.edition_line(self.rules)

    def limitations(self, measures: Sequence[oc.Measure]) -> Sequence[str]:
        lost = {"refused": "refused some questions", "unparsed": "named no option in some replies"}
        return (
            *sentences.made_up(self.dataset),
            *sentences.reply_limits(Index(measures), lost),
            "Who guesses gets up to a quarter of the pairs, and who always says the same none.",
            sentences.IN_TRAINING,
        )

    def card_title(self, case: PairCase) -> str:
        return case.question

    def card_options(self, case: PairCase) -> Iterator[oc.CardOption]:
        for place, text in enumerate(case.options):
            # Which is right depends on the picture, and stands above each.
            yield oc.CardOption(key=LETTERS[place], text=text)

    def card_conditions(self, case: PairCase) -> Mapping[str, str]:
        return {
            str(number): f"picture {number}: {case.options[place]}"
            for number, place in enumerate(case.answers, start=1)
        }

    def card_slides(self, case: PairCase) -> Iterator[oc.Slide]:
        for number, (shown, label) in enumerate(self.card_conditions(case).items()):
            yield oc.Slide(label=label, picture=self.picture_of(case, number), shown=shown)

    def card_answers(
        self, case: PairCase, rows: Sequence[Mapping[str, Any]]
    ) -> Sequence[oc.CardAnswer]:
        from overread.benchmarks.cards import with_changes

        def answer(row: Mapping[str, Any]) -> oc.CardAnswer:
            shown, choice = str(row["picture"]), row["choice"]
            if choice is None:
                return oc.CardAnswer(
                    shown=shown, text=str(row["outcome"]), reply=(row["text"] or "").strip()
                )
            right = choice == case.answers[row["picture"] - 1]
            named = case.options[choice]
            return oc.CardAnswer(shown=shown, text=named, option=LETTERS[choice], right=right)

        return with_changes([answer(row) for row in rows], "1", lambda one: one.option or None)
