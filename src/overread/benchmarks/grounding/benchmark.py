"""The causal audit as a benchmark: one edition of its rules over one set of cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

import overread.case as oc
from overread.benchmarks import base
from overread.benchmarks.curated import Curated
from overread.benchmarks.files.card import Held, held_at, policy_of, read_card
from overread.benchmarks.files.sheets import rows_of
from overread.benchmarks.grounding import answers, cards, cases, exhibits, report_sentences, trials
from overread.benchmarks.grounding.cards import ReviewRow
from overread.benchmarks.grounding.cases import GroundingCase, boxed, truth
from overread.benchmarks.grounding.edition import BOOK, Edition, Options
from overread.benchmarks.grounding.exhibits import figures
from overread.benchmarks.grounding.exhibits import tables as shown_tables
from overread.benchmarks.grounding.prompts import FINDINGS, NORMAL
from overread.benchmarks.grounding.trials import Subset
from overread.benchmarks.people import PeopleMeasured
from overread.benchmarks.sentences import PHANTOM, made_up
from overread.benchmarks.tables import cells_of, read_again
from overread.measuring.units import declared

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.people import Decided, ForPeople


MISPLACED = "Controls are made for phantoms: what they do on these films says nothing of either."


class Grounding(base.Benchmark):
    """Did it look at the image?"""

    name = "grounding"
    question = "Did it look?"
    phantoms = base.Phantoms(maker="overread.phantoms.chest:write_phantoms", size=480)
    curated = Curated.of("overread.benchmarks.grounding.curated", "candidates")
    metrics = "overread.benchmarks.grounding.measures:METRICS"
    builder = "overread.benchmarks.grounding.build.probe_set"
    word_power = "overread.benchmarks.grounding.category_power"
    importer = "overread.benchmarks.grounding.importing:import_results"
    published = "grounding"
    diagnostic = ("sensitivity", "specificity", "auroc")
    steady = "retest"
    asked_words = "overread.benchmarks.grounding.report_sentences:asked"
    pictures = True
    transfers = True
    book = BOOK
    case_type = cases.CaseRow
    owner_fields = ("subject_id", "image_path")
    people_kinds: ClassVar = {
        "presence": "is the finding there, on the film as it is and with parts of it hidden?",
        "boxes": "does the box hold the finding?",
        "failures": "why did models err, in a word?",
    }
    people_measured: ClassVar = {
        "boxes": PeopleMeasured(setting="ratings", measures=("cgr",), by="coverage")
    }
    people_sheets = "overread.benchmarks.grounding.paper_readers:of_sheets"
    # People look at more of a film than models are sent.
    people_settings: ClassVar = {"px": "512"}
    patient_field = "subject_id"
    topics = (*FINDINGS, NORMAL)
    answer_type = answers.Answer
    drawn = ("_subset",)
    facets = cards.FACETS
    compared = (
        base.ComparedWords.share("accuracy", "accuracy", "is right on"),
        base.ComparedWords.share("cgr", "CGR", "changes its answer when the finding is covered on"),
        base.ComparedWords.share(
            "uar", "UAR", "keeps its answer to a like image of another patient on"
        ),
        base.ComparedWords.share("is", "IS", "keeps its answer when something else is covered on"),
    )
    units_beside = declared(signed="rho")

    rules: Edition
    options: Options

    def dataset_at(self, path: Path) -> str:
        """The set of a manifest, or of a folder that holds `manifest.csv`."""
        self.path = cases.manifest_path(path)
        return "@".join(cases.dataset_at(self.path))

    def check_opened(self) -> None:
        _ = self.root  # a wrong folder is better known now than at the first picture
        if self.options.ratings is not None:  # so is a sheet that cannot be read
            from overread.benchmarks.grounding.comparisons import read_ratings

            read_ratings(self.options.ratings)

    def policy_at(self, path: str | Path) -> oc.Policy:
        """Who may see the set: the strictest card where its manifest and its images stand."""
        manifest = cases.manifest_path(path)
        rows = rows_of(manifest, cases.NEEDED)
        images = (row.get(name, "").strip() for _, row in rows for name in cases.IMAGE_COLUMNS)
        return self._policy_of(manifest, images)

    def policy_opened(self) -> oc.Policy:
        """The same by the cases, so that the manifest is read once."""
        images = (getattr(case, name) for case in self.cases() for name in cases.IMAGE_COLUMNS)
        return self._policy_of(self.kept_path, images)

    def _policy_of(self, manifest: Path, images: Iterable[str | None]) -> oc.Policy:
        return policy_of(
            Held(manifest.parent, (manifest.name,)),
            held_at(self._root_of(manifest), ("", *filter(None, images))),
        )

    def load(self) -> base.Loaded[GroundingCase]:
        name = self.kept_path.name
        loaded = cases.load_cases(self.kept_path, self.rules)
        return base.Loaded(list(trials.askable(loaded, self.rules, self.options, name)))

    def case_row(self, case: GroundingCase) -> Sequence[Any]:
        return cells_of(cases.row_of(case))

    def can_show(
        self, cases: Sequence[GroundingCase], effect: Callable[[Sequence[Any]], float]
    ) -> Iterator[str]:
        if self.rules.category == "tested":
            from overread.benchmarks.grounding.category_power import reachable_words

            yield from reachable_words(cases, self.rules, self.options, effect)

    def stands_on(self, cases: Sequence[GroundingCase]) -> Mapping[str, Sequence[GroundingCase]]:
        keyed = [case for case in cases if truth(case, self.rules) >= 0]
        there = [case for case in keyed if truth(case, self.rules) == 1]
        with_box = [case for case in keyed if boxed(case, self.rules)]
        return {
            "accuracy": keyed,
            "sensitivity": there,
            "specificity": [case for case in keyed if truth(case, self.rules) == 0],
            "CGR": [case for case in there if boxed(case, self.rules)],
            "UAR": [case for case in keyed if case.swap_image_path],
            "IS": with_box,
        }

    def stratum(self, case: GroundingCase) -> tuple[str, ...]:
        return case.source, case.finding or "", str(case.label)

    def trials(self, case: GroundingCase, traits: oc.Traits) -> Iterator[oc.Trial]:
        return trials.trials(case, traits, self.rules, self.options, self.root, self._subset)

    def for_people(
        self, kind: str, tables: base.Tables | None = None, readers: Sequence[str] = ()
    ) -> Iterator[ForPeople]:
        from overread.benchmarks.grounding.for_people import for_people

        return for_people(self, kind, tables, readers)

    def people_as_published(
        self, kind: str, tables: base.Tables | None, readers: Sequence[str], cases: int
    ) -> Iterator[ForPeople] | None:
        from overread.benchmarks.grounding.for_people import as_published

        return as_published(self, kind, tables, readers, cases)

    def people_packets(
        self,
        kind: str,
        tables: base.Tables | None,
        readers: Sequence[str],
        cases: int,
        given: Sequence[Decided],
        *,
        second: bool,
    ) -> Mapping[str, Sequence[Mapping[str, str]]] | None:
        from overread.benchmarks.grounding.for_people import packets_filled

        return packets_filled(self, kind, tables, readers, cases, given, second=second)

    @classmethod
    def people_rows(cls, kind: str, decided: Sequence[Decided]) -> list[tuple[str, ...]]:
        """Ratings of boxes; one that readers did not agree on has none."""
        rows = ((one.case, one.values.get("rating", "")) for one in decided)
        return [("case_id", "rating"), *rows]

    @cached_property
    def _subset(self) -> Subset:
        """The cases that further resolutions and phrasings are asked of."""
        if not self.options.more_px and not self.options.more_phrasings:
            return Subset()
        chosen = self._chosen
        among = (case for case in self.cases() if chosen is None or case.case_id in chosen)
        return trials.robustness_subset(among, self.rules, self.options.subset)

    @cached_property
    def root(self) -> str:
        """The folder image paths start from: `--set root=`, the card's, or the manifest's own.

        A root on the card may be relative to it: a set can be moved together with its images.
        """
        root = self.options.root
        named = self._root_of(self.kept_path) if root is None else Path(root)
        if named.is_dir():
            return str(named)
        if root is not None:
            raise oc.BadInput(
                f"--set root={root}: there is no such folder. Give the images' folder."
            )
        card = self.kept_path.absolute().parent / "dataset.toml"
        raise oc.BadInput(
            f"{card} has the images in {named}, and there is no such folder. Give --set "
            "root=FOLDER, or mend its root."
        )

    def _root_of(self, manifest: Path) -> Path:
        if self.options.root is not None:
            return Path(self.options.root)
        home = manifest.absolute().parent
        return home / read_card(home / "dataset.toml").get("root", "")

    def answer(
        self, trial: oc.Trial, reply: oc.Reply | None, traits: oc.Traits, reason: str = ""
    ) -> Sequence[Any]:
        return cells_of(answers.answer_of(trial, reply, traits, self.rules, reason))

    def reread(self, tables: base.Tables, *, reparse: bool = False) -> base.Tables:
        """Kept replies read again under this edition; `reparse` those too that a file recorded."""
        traits = {record.name: record.traits for record in tables.readers}

        def read(row: answers.KeptReply) -> answers.Reading | None:
            known = traits.get(row.reader, oc.Traits())
            return answers.read_kept(row, known, self.rules, reparse=reparse)

        again = read_again(tables.answers, answers.KeptReply, answers.Reading, read)
        return msgspec.structs.replace(tables, answers=again)

    def numbers(self, tables: base.Tables) -> list[oc.Measure]:
        from overread.benchmarks.grounding.measures import measure

        return measure(tables, self.rules, self.options)

    def exhibits(
        self, measures: Sequence[oc.Measure], signature: str
    ) -> Iterator[oc.Table | oc.Figure]:
        made = exhibits.exhibits(measures, signature)
        if not any(self._misplaced(measure.reader) for measure in measures):
            return made
        return (msgspec.structs.replace(each, notes=(*each.notes, MISPLACED)) for each in made)

    def _misplaced(self, reader: str) -> bool:
        """Whether a reader is a control shown films it was not made for."""
        return reader.startswith("control:") and not self.dataset.startswith(PHANTOM)

    def controls(self) -> Mapping[str, oc.Reader]:
        from overread.benchmarks.grounding.controls import grounding_controls

        return grounding_controls()

    def expected(self) -> Mapping[str, str]:
        """The category each control belongs to by construction."""
        from overread.benchmarks.grounding.controls import EXPECTED

        return EXPECTED

    def recovered(self, measures: Sequence[oc.Measure]) -> list[base.Recovered]:
        """Each control's category. The published rule's words are shown, not held against it."""
        found = {m.reader: m for m in measures if m.measure == "category" and not m.by}
        return [
            base.Recovered(
                control=name,
                expected=word,
                found=record.label or "",
                ok=record.label == word or self.rules.name == "authors",
                note=record.note,
            )
            for name, word in self.expected().items()
            if (record := found.get(f"control:{name}")) is not None
        ]

    # ------------------------------------------------------------ for the report

    def headlines(self, measures: Sequence[oc.Measure]) -> Iterator[oc.Headline]:
        for told in report_sentences.headlines(measures, self.rules):
            more = f" {MISPLACED}" if self._misplaced(told.reader) else ""
            yield msgspec.structs.replace(told, sentence=told.sentence + more)

    def methods(self, asked_under: str | None = None) -> Sequence[str]:
        return report_sentences.methods(self.rules, self.options, asked_under)

    def limitations(self, measures: Sequence[oc.Measure]) -> Sequence[str]:
        first = made_up(self.dataset)
        if any(self._misplaced(measure.reader) for measure in measures):
            first.append(MISPLACED)
        return [*first, *report_sentences.limitations(measures, self.rules, self.options)]

    def per_case(self, tables: base.Tables) -> Mapping[str, pl.DataFrame]:
        from overread.benchmarks.grounding.measures import per_case

        return per_case(tables, self.rules, self.options)

    def card_index(self, tables: base.Tables) -> pl.DataFrame:
        return cards.card_index(tables, self.rules, self.options)

    def cards(self, tables: base.Tables, chosen: Sequence[str]) -> Iterator[oc.Card]:
        def opened(name: str) -> tuple[GroundingCase, Sequence[oc.Trial]] | None:
            case = self.by_id.get(name) if self.path is not None else None
            return None if case is None else (case, self.shown_of(name))

        misplaced = frozenset(r.name for r in tables.readers if self._misplaced(r.name))
        return cards.cards(tables, chosen, self.rules, self.options, opened, misplaced)

    def transferred(
        self, first: Sequence[oc.Measure], second: Sequence[oc.Measure], vision_only: frozenset[str]
    ) -> base.Transferred:
        exact = self.rules.name != "authors"
        return shown_tables.transferred(first, second, vision_only, exact=exact)

    def transfer_table(
        self, found: base.Transferred, names: tuple[str, str], signature: str
    ) -> oc.Table:
        return shown_tables.transfer_table(found, names, signature)

    def transfer_figure(self, found: base.Transferred, names: tuple[str, str]) -> oc.Figure:
        drawn = [(reader, x, y) for reader, name, x, y in found.pairs if name == "uar"]
        return figures.transfer_figure(drawn, names)

    @classmethod
    def error_sheet(cls) -> base.ErrorSheet:
        """Right answers that a person should look at."""
        return base.ErrorSheet(
            file="ungrounded.csv",
            holds="right answers stayed with their finding hidden",
            nothing="no right answer of {reader} stayed with its finding hidden.",
        )

    def errors(
        self, tables: base.Tables, reader: str, n: int, seed: int, right_for: str | None = None
    ) -> Sequence[ReviewRow]:
        return cards.ungrounded(tables, reader, n, seed, self.rules, self.options)

    def write_errors(self, path: Path, rows: Sequence[ReviewRow]) -> None:
        cards.write_review(path, rows)

    # ------------------------------------------------------------ what the numbers stand on

    def signature(self, tables: base.Tables) -> str:
        """One line that says whether two numbers may be compared."""
        options = self.options
        # What nobody named was asked if the set had it, which the answers know.
        matched = tables.answers["image"].str.starts_with("matched").any()
        conditions = [
            word for word in options.conditions if word not in options.where_there or matched
        ]
        parts = [
            f"conditions:{','.join(conditions)}",
            f"phrasing:{','.join((options.phrasing, *options.more_phrasings))}",
            f"px:{','.join(map(str, (options.px, *options.more_px)))}",
            "fill:black",
            f"parser:{self._parser(tables)}",
            f"intervals:{self.rules.intervals}",
        ]
        then = [f"draws:{options.draws}"] * ("matched" in conditions)
        if options.more_px or options.more_phrasings:
            then.append(f"subset:{options.subset}")
        twice = ["asked:twice"] * bool((tables.answers["repeat"] > 0).any())
        return self.signed(tables, parts, then, twice)

    def _parser(self, tables: base.Tables) -> str:
        """Which parser the answers come from: ours, or that of whoever recorded them."""
        import polars as pl

        blind = [r.name for r in tables.readers if r.traits.modality == "vision"]
        read = tables.answers.filter(~pl.col("reader").is_in(blind))
        recorded = (read["rung"] == answers.RECORDED).fill_null(False)
        if recorded.is_empty() or not recorded.any():
            return str(self.rules.parser)
        return answers.RECORDED if recorded.all() else f"{self.rules.parser}+{answers.RECORDED}"
