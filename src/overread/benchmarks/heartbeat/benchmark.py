"""The heartbeat benchmark: one edition of its rules over one set of clips."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

import overread.case as oc
from overread.benchmarks.base import Benchmark, ComparedWords, Left, Loaded, Phantoms, Tables
from overread.benchmarks.heartbeat import controls
from overread.benchmarks.heartbeat.answers import Answer, answer_of, reread, truth_of
from overread.benchmarks.heartbeat.cases import FACETS, CaseRow, HeartbeatCase, Window, row_of
from overread.benchmarks.heartbeat.edition import BOOK, CONTEXTS, FORMATS, TASKS, Edition, Options
from overread.benchmarks.heartbeat.loading import load, policy_at, root_of
from overread.benchmarks.heartbeat.trials import clip_of, trials, window_of
from overread.benchmarks.tables import cells_of

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.base import Recovered

# Controls leave little to chance: a few seeds show as much as thirty turns.
_FEW_SEEDS = {"seeds": "2020-2022", "passes": "1"}


def _nearer_to(measure: str, phase: str) -> ComparedWords:
    return ComparedWords(
        measure,
        f"finding {phase}",
        f"is {{d}} nearer to {phase} on the same {{n}} cases than {{other}}",
        "frames",
        less=True,
    )


class Heartbeat(Benchmark):
    """Can it follow a beating heart? Over an official dataset's folder, or clips with a csv."""

    name = "heartbeat"
    question = "Can it follow a heart?"
    book = BOOK
    phantoms = Phantoms(
        maker="overread.phantoms.heart:write_phantoms", size=40, settings=_FEW_SEEDS
    )
    metrics = "overread.benchmarks.heartbeat.measures:SPECS"
    importer = "overread.benchmarks.heartbeat.importing:import_results"
    exhibited = "overread.benchmarks.heartbeat.exhibits:exhibits"
    sentences = "overread.benchmarks.heartbeat.sentences"
    asked_words = "overread.benchmarks.heartbeat.sentences:asked"
    published = "heartbeat"
    pictures = True
    compared = (
        _nearer_to("mae_ed", "end-diastole"),
        _nearer_to("mae_es", "end-systole"),
        ComparedWords.share("accuracy_ed", "telling end-diastole", "tells end-diastole right on"),
        ComparedWords.share("accuracy_es", "telling end-systole", "tells end-systole right on"),
    )
    case_type = CaseRow
    owner_fields = ("patient",)
    answer_type = Answer
    facets = FACETS
    rules: Edition
    options: Options

    # ------------------------------------------------------------ cases

    def load(self) -> Loaded[HeartbeatCase]:
        """The clips of the sample, and those that are not asked about, with the reason."""
        cases, left = load(self.kept_path, self.rules, self.options)
        without: list[Left] = []
        if "t1" in self.options.tasks:
            found = [window_of(case, self.rules, self.options) for case in cases]
            # Which of two frames needs no window.
            also = "; asked in T2 only" if "t2" in self.options.tasks else ""
            without = [Left(w.case, f"{w.reason}{also}") for w in found if isinstance(w, Left)]
            if len(without) == len(cases) and not also:
                raise oc.BadInput(
                    f"{self.path}: no clip fits a window; the first is {without[0].case}: "
                    f"{without[0].reason}. Choose another --set frames=N."
                )
        # Those that are not asked about stay among the cases: who is left out is counted.
        return Loaded(cases, [*left, *without], list(self._not_shown(cases)))

    def _not_shown(self, cases: Sequence[HeartbeatCase]) -> Iterator[str]:
        """What a user should know before the numbers: contexts that cannot be asked."""
        wanted = [context for context in self.options.contexts if context != "original"]
        bare = sum(case.mask is None for case in cases)
        if wanted and bare:
            not_asked = f"{' and '.join(wanted)} {'is' if len(wanted) == 1 else 'are'} not asked"
            some = f"{bare} of {len(cases)} clips have no masks: {not_asked} of them."
            yield f"no clip has masks: {not_asked}." if bare == len(cases) else some

    def policy_at(self, path: str | Path) -> oc.Policy:
        return policy_at(path, self.options)

    def policy_opened(self) -> oc.Policy:
        return policy_at(self.kept_path, self.options, self.loaded.cases)

    def check_opened(self) -> None:
        if self.options.specialist is not None:
            from overread.benchmarks.heartbeat.ejection import read_specialists

            read_specialists(self.options.specialist)

    @cached_property
    def root(self) -> str:
        return str(root_of(self.kept_path, self.options).absolute())

    @cached_property
    def _placed(self) -> dict[str, tuple[int, Window | None]]:
        """Each case's place in the set, which decides its order in T2, and its window if any."""
        placed: dict[str, tuple[int, Window | None]] = {}
        for place, case in enumerate(self.loaded.cases):
            window = window_of(case, self.rules, self.options)
            placed[case.case_id] = (place, None if isinstance(window, Left) else window)
        return placed

    def case_row(self, case: HeartbeatCase) -> Sequence[Any]:
        """The case with the volumes of its frames, so that EF can be measured without the data."""
        window = self._placed[case.case_id][1]
        if "t1" not in self.options.tasks or window is None:
            return cells_of(row_of(case))
        from overread.benchmarks.heartbeat.volumes import kept_volumes

        return cells_of(kept_volumes(case, window, self.root, self.options.volume))

    def stratum(self, case: HeartbeatCase) -> tuple[str, ...]:
        return case.split or "", case.view or ""

    # ------------------------------------------------------------ asking and measuring

    def trials(self, case: HeartbeatCase, traits: oc.Traits) -> Iterator[oc.Trial]:
        place, window = self._placed[case.case_id]
        return trials(case, window, place, traits, self.rules, self.options, self.root)

    def answer(
        self, trial: oc.Trial, reply: oc.Reply | None, traits: oc.Traits, reason: str = ""
    ) -> Sequence[Any]:
        place, window = self._placed[trial.case]
        truth = truth_of(trial.condition, window, place)
        return cells_of(answer_of(trial, reply, truth, self.rules, reason))

    def reread(self, tables: Tables, *, reparse: bool = False) -> Tables:
        answers = reread(tables.answers, self.rules, reparse=reparse)
        return msgspec.structs.replace(tables, answers=answers)

    def numbers(self, tables: Tables) -> list[oc.Measure]:
        from overread.benchmarks.heartbeat.measures import measure

        return measure(tables, self.rules, self.options.specialist)

    def controls(self) -> Mapping[str, oc.Reader]:
        return controls.heartbeat_controls()

    def expected(self) -> Mapping[str, str]:
        return controls.expected(self.rules.window)

    def recovered(self, measures: Sequence[oc.Measure]) -> list[Recovered]:
        return controls.recovered_controls(measures, self.rules.window)

    def signature_parts(self, tables: Tables) -> Sequence[str]:
        """What was asked the answers say: an import may hold less than the settings name."""
        answers = tables.answers
        # Whose words were asked, whatever edition measures; an import's are its runner's own.
        wording = "theirs"
        if tables.asked_under:
            wording = BOOK.asked_under(tables.asked_under).wording
        # How many frames the windows of T1 have: `24`, `21-64`, or `-` where none was shown.
        lengths = answers.filter(answers["task"] == "t1")["count"].drop_nulls()
        ends = dict.fromkeys(() if lengths.is_empty() else (lengths.min(), lengths.max()))
        return (
            *(
                f"{name}s:{','.join(word for word in words if word in set(answers[name]))}"
                for name, words in (("task", TASKS), ("context", CONTEXTS), ("format", FORMATS))
            ),
            f"seeds:{answers['seed'].n_unique()}x{answers['pass'].n_unique()}",
            f"window:{'-'.join(map(str, ends)) or '-'}",
            f"wording:{wording}" + f":{self.options.family}" * (wording == "published"),
        )

    # ------------------------------------------------------------ reporting

    def pictured(self, tables: Tables, signature: str) -> Iterator[oc.Table | oc.Figure]:
        """Strips of frames of a few cases, with truth and answers marked."""
        from overread.benchmarks.heartbeat.exhibits import strips

        def frames(name: str, start: int, count: int, context: str) -> Sequence[Any] | None:
            return shown_frames(self.by_id[name], start, count, context, self.root)

        return strips(tables, frames, self.rules, signature)

    def limitations(self, measures: Sequence[oc.Measure]) -> Sequence[str]:
        from overread.benchmarks.heartbeat.sentences import limitations
        from overread.benchmarks.sentences import made_up

        return [*made_up(self.dataset), *limitations(measures, self.rules, self.options)]

    def per_case(self, tables: Tables) -> Mapping[str, pl.DataFrame]:
        from overread.benchmarks.heartbeat.measures import per_case

        return per_case(tables, self.rules)

    @property
    def higher_is_better(self) -> Mapping[str, bool]:
        return {words.measure: not words.less for words in self.compared}

    def card_index(self, tables: Tables) -> pl.DataFrame:
        from overread.benchmarks.heartbeat.cards import card_index

        return card_index(tables, self.rules)

    def cards(self, tables: Tables, chosen: Sequence[str]) -> Iterator[oc.Card]:
        from overread.benchmarks.heartbeat.cards import cards

        def as_shown(name: str, frames: tuple[int, ...], context: str) -> oc.Clip | None:
            case = self.by_id.get(name)
            return None if case is None else clip_of(case, frames, context, self.root)

        return cards(tables, chosen, self.rules, None if self.path is None else as_shown)


def shown_frames(
    case: HeartbeatCase, start: int, count: int, context: str, root: str
) -> Sequence[Any] | None:
    """The frames of a window as a reader saw them, as pixels; None where they cannot be had."""
    from overread.imaging import Films, clip_frames

    clip = clip_of(case, tuple(range(start, start + count)), context, root)
    try:
        return clip_frames(clip, Films(0))
    except oc.BadInput:
        return None
