"""The heartbeat benchmark: one edition of its rules over one set of clips."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

import overread
from overread.benchmarks.base import Benchmark, ComparedWords, Loaded, Phantoms, Recovered, Tables
from overread.benchmarks.heartbeat.answers import (
    answer_row,
    answer_schema,
    case_row,
    case_schema,
    reread,
    truth_of,
)
from overread.benchmarks.heartbeat.cases import HeartbeatCase, Left, Window
from overread.benchmarks.heartbeat.edition import (
    CONTEXTS,
    FORMATS,
    SHOWS,
    TASKS,
    Edition,
    Options,
    edition,
    settings,
)
from overread.benchmarks.heartbeat.loading import load, policy_at, root_of
from overread.benchmarks.heartbeat.trials import clip_of, trials, window_of
from overread.benchmarks.heartbeat.volumes import areas_in, kept_volumes, volumes_in
from overread.benchmarks.ranges import declared
from overread.case import (
    BadInput,
    Card,
    Clip,
    Figure,
    Headline,
    Measure,
    Policy,
    Reader,
    Reply,
    Table,
    Traits,
    Trial,
)

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Heartbeat"]

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
    """Can it follow a beating heart?"""

    name = "heartbeat"
    question = "Can it follow a heart?"
    phantoms = Phantoms(
        maker="overread.phantoms.heart:write_phantoms", size=40, settings=_FEW_SEEDS
    )
    metrics = "overread.benchmarks.heartbeat.measures:SPECS"
    importer = "overread.benchmarks.heartbeat.importing:import_results"
    published = "heartbeat"
    pictures = True
    shows = SHOWS
    compared = (
        _nearer_to("mae_ed", "end-diastole"),
        _nearer_to("mae_es", "end-systole"),
        ComparedWords.share("accuracy_ed", "telling end-diastole", "tells end-diastole right on"),
        ComparedWords.share("accuracy_es", "telling end-systole", "tells end-systole right on"),
    )
    ranges = declared(
        share="accuracy accuracy_lenient precision recall f1 chance_accuracy seed_agreement parsed "
        "parsed_lenient out_of_range r2 left_out accuracy_seed answered unparsed refused "
        "unanswered",
        signed="r order_bias diff_accuracy",
        skill="skill",
        amount="mae mae_videos mae_clipped mae_median mae_lenient constant_mae chance_mae "
        "chance_mae_shipped ef_mae ef_mae_clipped distinct seed_sd mae_seed asked",
        any="predicted middle_bias diff_mae",
    )

    rules: Edition
    options: Options

    @classmethod
    def settings(cls, edition: str, words: Mapping[str, str] | None) -> tuple[Edition, Options]:
        return settings(edition, words)

    @classmethod
    def open(
        cls, path: str | Path, edition: str = "corrected", words: Mapping[str, str] | None = None
    ) -> Heartbeat:
        """The benchmark over an official dataset's folder, or over clips with a csv."""
        place = Path(path)
        opened = cls(dataset="", policy="credentialed", path=place, edition=edition, words=words)
        folder = place if place.is_dir() else place.parent
        opened.dataset = f"{folder.absolute().name}@{opened._digest()}"
        opened.policy = policy_at(place, opened.options, opened.loaded[0])
        if opened.options.specialist is not None:  # a sheet that cannot be read is found before
            from overread.benchmarks.heartbeat.ejection import read_specialists

            read_specialists(opened.options.specialist)
        return opened

    def policy_at(self, path: str | Path) -> Policy:
        return policy_at(path, self.options)

    @property
    def case_schema(self) -> Mapping[str, Any]:
        return case_schema()

    @property
    def answer_schema(self) -> Mapping[str, Any]:
        return answer_schema()

    def load(self) -> Loaded[HeartbeatCase]:
        """The clips of the sample, and those that are not asked about, with the reason."""
        cases, left = load(self._kept_path(), self.rules, self.options)
        if "t1" not in self.options.tasks:
            return Loaded(cases, [(one.clip, one.reason) for one in left])
        found = [window_of(case, self.rules, self.options) for case in cases]
        # Which of two frames needs no window.
        also = "; asked in T2 only" if "t2" in self.options.tasks else ""
        without = [Left(w.clip, f"{w.reason}{also}") for w in found if isinstance(w, Left)]
        if len(without) == len(cases) and not also:
            raise BadInput(
                f"{self.path}: no clip fits a window; the first is {without[0].clip}: "
                f"{without[0].reason}. Choose another --set frames=N."
            )
        # Those that are not asked about stay among the cases: who is left out is counted.
        return Loaded(cases, [(one.clip, one.reason) for one in (*left, *without)])

    @cached_property
    def _placed(self) -> dict[str, tuple[int, Window | None]]:
        """Each case's place in the set, which decides its order in T2, and its window if any."""
        placed: dict[str, tuple[int, Window | None]] = {}
        for place, case in enumerate(self.loaded[0]):
            window = window_of(case, self.rules, self.options)
            placed[case.case_id] = (place, None if isinstance(window, Left) else window)
        return placed

    def case_row(self, case: HeartbeatCase) -> Sequence[Any]:
        """The case with the volumes of its frames, so that EF can be measured without the data."""
        window = self._placed[case.case_id][1]
        if "t1" not in self.options.tasks or window is None:
            return case_row(case)
        volumes = kept_volumes(case, window, self.root, self.options.volume)
        return case_row(case, volumes)

    @cached_property
    def remarks(self) -> Sequence[str]:
        """What a user should know before the numbers: contexts that cannot be asked."""
        wanted = [context for context in self.options.contexts if context != "original"]
        cases = self.loaded[0]
        bare = sum(case.mask is None for case in cases)
        if not wanted or not bare:
            return ()
        not_asked = f"{' and '.join(wanted)} {'is' if len(wanted) == 1 else 'are'} not asked"
        if bare == len(cases):
            return (f"no clip has masks: {not_asked}.",)
        return (f"{bare} of {len(cases)} clips have no masks: {not_asked} of them.",)

    def stratum(self, case: HeartbeatCase) -> tuple[str, ...]:
        return case.split or "", case.view or ""

    def trials(self, case: HeartbeatCase, traits: Traits) -> Iterator[Trial]:
        place, window = self._placed[case.case_id]
        return trials(case, window, place, traits, self.rules, self.options, self.root)

    @cached_property
    def root(self) -> str:
        return str(root_of(self._kept_path(), self.options).absolute())

    def answer(
        self, trial: Trial, reply: Reply | None, traits: Traits, reason: str = ""
    ) -> Sequence[Any]:
        place, window = self._placed[trial.case]
        truth = truth_of(trial.condition, window, place)
        return answer_row(trial, reply, truth, self.rules, reason)

    def reread(self, tables: Tables, *, reparse: bool = False) -> Tables:
        answers = reread(tables.answers, self.rules, reparse=reparse)
        return msgspec.structs.replace(tables, answers=answers)

    def measure(self, tables: Tables) -> list[Measure]:
        from overread.benchmarks.heartbeat.ejection import predicted_ef, read_specialists
        from overread.benchmarks.heartbeat.measures import measure

        volumes, method = volumes_in(tables.cases)
        sheets = self.options.specialist
        return measure(
            tables,
            self.rules,
            volumes=volumes,
            volume_method=method,
            areas=areas_in(tables.cases),
            specialists=predicted_ef(read_specialists(sheets), tables.cases) if sheets else None,
        )

    def exhibits(self, measures: Sequence[Measure], signature: str) -> Iterator[Table | Figure]:
        from overread.benchmarks.heartbeat.exhibits import exhibits

        return exhibits(measures, signature)

    def pictured(self, tables: Tables, signature: str) -> Iterator[Table | Figure]:
        """Strips of frames of a few cases, with truth and answers marked."""
        from overread.benchmarks.heartbeat.exhibits import strips

        cases = {case.case_id: case for case in self.cases()}

        def frames(name: str, start: int, count: int, context: str) -> Sequence[Any] | None:
            return shown_frames(cases[name], start, count, context, self.root)

        return strips(tables, frames, self.rules, signature)

    # ------------------------------------------------------------ for the report

    def headlines(self, measures: Sequence[Measure]) -> Iterator[Headline]:
        from overread.benchmarks.heartbeat.sentences import headlines

        return headlines(measures)

    def methods(self, asked_under: str | None = None) -> Sequence[str]:
        """`asked_under` is the edition that readers were asked under, if not this one.

        Empty where somebody else asked them.
        """
        from overread.benchmarks.heartbeat.sentences import methods

        return methods(self.rules, self.options, asked_under)

    def limitations(self, measures: Sequence[Measure]) -> Sequence[str]:
        from overread.benchmarks.heartbeat.sentences import limitations
        from overread.benchmarks.reporting import MADE_UP, PHANTOM

        made_up = [MADE_UP] if self.dataset.startswith(PHANTOM) else []
        return [*made_up, *limitations(measures, self.rules, self.options)]

    def per_case(self, tables: Tables) -> Mapping[str, pl.DataFrame]:
        from overread.benchmarks.heartbeat.measures import per_case

        return per_case(tables, self.rules)

    @property
    def higher_is_better(self) -> Mapping[str, bool]:
        """Of the measures that `per_case` has."""
        from overread.benchmarks.heartbeat.measures import HIGHER_IS_BETTER

        return HIGHER_IS_BETTER

    @property
    def facets(self) -> tuple[str, ...]:
        from overread.benchmarks.heartbeat.cards import FACETS

        return FACETS

    def card_index(self, tables: Tables) -> pl.DataFrame:
        from overread.benchmarks.heartbeat.cards import card_index

        return card_index(tables, self.rules)

    def cards(self, tables: Tables, chosen: Sequence[str]) -> Iterator[Card]:
        from overread.benchmarks.heartbeat.cards import cards

        shown = None if self.path is None else self._as_shown
        return cards(tables, chosen, self.rules, shown)

    def _as_shown(self, name: str, frames: tuple[int, ...], context: str) -> Clip | None:
        case = self.by_id.get(name)
        return None if case is None else clip_of(case, frames, context, self.root)

    # ------------------------------------------------------------ controls and signature

    def controls(self) -> Mapping[str, Reader]:
        from overread.benchmarks.heartbeat.controls import heartbeat_controls

        return heartbeat_controls()

    def expected(self) -> Mapping[str, str]:
        from overread.benchmarks.heartbeat.controls import expected

        return expected(self.rules.window)

    def recovered(self, measures: Sequence[Measure]) -> list[Recovered]:
        from overread.benchmarks.heartbeat.controls import recovered

        return recovered(measures, self.rules.window)

    def signature(self, tables: Tables) -> str:
        """One line that says whether two numbers may be compared.

        What was asked the answers say: an import may hold less than the settings name.
        """
        rules, answers = self.rules, tables.answers
        parts = [
            "heartbeat",
            f"edition:{self.edition}",
            f"cases:{tables.cases.height}@{self.dataset.rpartition('@')[2]}",
            *(
                f"{name}s:{','.join(word for word in words if word in set(answers[name]))}"
                for name, words in (("task", TASKS), ("context", CONTEXTS), ("format", FORMATS))
            ),
            f"seeds:{answers['seed'].n_unique()}x{answers['pass'].n_unique()}",
            f"window:{_windows(answers)}",
            f"wording:{self._wording(tables)}",
            f"boot:{rules.boot}:{rules.seed}",
            f"overread:{overread.__version__}",
        ]
        asked = tables.asked_under.partition("+")[0]
        if asked and asked != rules.name:
            # Windows and words are those of the edition the readers were asked under.
            parts.append(f"shown:{asked}")
        return "|".join(parts + tables.part)

    def _wording(self, tables: Tables) -> str:
        """Whose words were asked, whatever edition measures; an import's are its runner's own."""
        if not tables.asked_under:
            return "theirs"
        asked, _, changed = tables.asked_under.partition("+")
        standard = edition(asked).wording
        words = dict(rule.split("=", 1) for rule in changed.split("+") if "=" in rule)
        wording = words.get("wording", standard)
        return f"published:{self.options.family}" if wording == "published" else wording

    def _digest(self) -> str:
        """Of what is asked about: every case's facts, in their order."""
        encoded = msgspec.json.encode(self.loaded[0])
        return hashlib.sha256(encoded).hexdigest()[:8]

    def _kept_path(self) -> Path:
        if self.path is None:
            raise BadInput("this run was opened from its tables. Give --cases to ask again.")
        return self.path


def _windows(answers: pl.DataFrame) -> str:
    """How many frames the windows of T1 have: `24`, `21-64`, or `-` where none was shown."""
    counts = answers.filter(answers["task"] == "t1")["count"].drop_nulls()
    if counts.is_empty():
        return "-"
    lengths = sorted(counts.unique().to_list())
    return "-".join(str(n) for n in dict.fromkeys((lengths[0], lengths[-1])))


def shown_frames(
    case: HeartbeatCase, start: int, count: int, context: str, root: str
) -> Sequence[Any] | None:
    """The frames of a window as a reader saw them, as pixels; None where they cannot be had."""
    import numpy as np

    from overread.imaging import Films, clip_images

    clip = clip_of(case, tuple(range(start, start + count)), context, root)
    try:
        return [np.asarray(image) for image in clip_images(clip, Films(0))]
    except BadInput:
        return None
