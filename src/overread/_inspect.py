"""Every benchmark as an Inspect task: `inspect eval overread/BENCHMARK --model PROVIDER/MODEL`.

Inspect finds this module by the entry point `inspect_ai`; nothing else imports it. A sample is a
trial. Its pictures are rendered when it is asked, as for any reader; its score is the row of
answers that the benchmark's parser makes of the reply; the task's metrics are the benchmark's
measures over all rows. What follows from replies, what is timed and what is judged is asked by
`overread run` alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import Model, get_model
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver

from overread.benchmarks.base import Benchmark, ReaderRecord, Tables
from overread.benchmarks.registry import benchmark_names, class_of
from overread.case import BadInput, Clip, Measure, Prompt, PromptMessage, Request, Traits, Trial
from overread.imaging import Films, render, render_clip
from overread.readers import Guard
from overread.readers.inspect_models import check_provider, decoding_of, messages_of, reply_of
from overread.runs import open_cases
from overread.runs._environment import load_config
from overread.runs._opening import survey

_READER: Final = "model"


class Asked:
    """A benchmark's trials for one model, by the id of their samples. A class, for solver, scorer
    and metrics need all of it.
    """

    def __init__(self, bench: Benchmark, chosen: frozenset[str] | None, traits: Traits) -> None:
        self.bench, self.chosen, self.traits = bench, chosen, traits
        self.guard = Guard(bench.policy, load_config().share_with)
        self.cases = [case for case in bench.cases() if chosen is None or case.case_id in chosen]
        self.trials: dict[str, Trial] = {
            f"{case.case_id}/{number}": trial
            for case in self.cases
            for number, trial in enumerate(bench.trials(case, traits), 1)
        }
        self._films = Films()

    def samples(self) -> Iterator[Sample]:
        for name, trial in self.trials.items():
            about = {"case": trial.case, "condition": dict(trial.condition)}
            texts = [
                part
                for message in trial.request.messages
                for part in message.parts
                if isinstance(part, str)
            ]
            yield Sample(id=name, input="\n".join(texts), metadata=about)

    def prompt(self, request: Request) -> Prompt:
        """What the model is shown: rendered, never kept."""
        return Prompt(
            tuple(
                PromptMessage(
                    message.role,
                    tuple(
                        part
                        if isinstance(part, str)
                        else render_clip(part, self._films)
                        if isinstance(part, Clip)
                        else render(part)
                        for part in message.parts
                    ),
                )
                for message in request.messages
            ),
            request.decoding,
        )

    def row(self, name: str, state: TaskState | None, reason: str = "") -> dict[str, Any]:
        """The row of answers of a sample; of one that was not answered, with the reason."""
        reply = None if state is None or not state.output.choices else reply_of(state.output)
        cells = self.bench.answer(self.trials[name], reply, self.traits, reason)
        return dict(zip(self.bench.answer_schema, cells, strict=True))

    def measures(self, rows: Mapping[str, Mapping[str, Any]]) -> list[Measure]:
        """The benchmark's measures of all trials; who has no row went unanswered."""
        import polars as pl

        bench = self.bench
        schema = {"reader": pl.String, **bench.answer_schema}
        every = [
            (_READER, *dict(rows.get(name) or self.row(name, None, "no sample")).values())
            for name in self.trials
        ]
        cases = [bench.case_row(case) for case in self.cases]
        return bench.measure(
            Tables(
                cases=pl.DataFrame(cases, schema=dict(bench.case_schema), orient="row"),
                answers=pl.DataFrame(every, schema=schema, orient="row"),
                readers=(ReaderRecord(name=_READER, traits=self.traits),),
                partial=self.chosen is not None,
                asked_under=bench.edition,
            )
        )

    def check(self, model: Model) -> None:
        """Refuse a model that may not see the set, before anything is sent."""
        check_provider(self.guard, str(model).partition("/")[0], model.api.base_url)


def _asking(asked: Asked) -> Solver:
    @solver(name="overread_trial")
    def trial() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            asked.check(get_model())
            request = asked.trials[str(state.sample_id)].request.for_reader(asked.traits)
            prompt = await asyncio.to_thread(asked.prompt, request)
            state.messages = messages_of(prompt)
            return await generate(state, **decoding_of(prompt.decoding))

        return solve

    return trial()


def _scoring(asked: Asked) -> Scorer:
    @metric(name="measures")
    def measures() -> Metric:
        def over(scores: list[SampleScore]) -> dict[str, float]:
            rows = {
                str(one.sample_id): (one.score.metadata or {})["row"]
                for one in scores
                if one.score.metadata
            }
            return dict(_told(asked.bench, asked.measures(rows)))

        return over

    @scorer(metrics=[measures()], name="overread_answer")
    def answer() -> Scorer:
        async def score(state: TaskState, target: Target) -> Score:
            row = asked.row(str(state.sample_id), state)
            return Score(
                value=1 if row.get("outcome", "answered") == "answered" else 0,
                answer=state.output.completion[:200],
                explanation="1: the reply could be read. What it means is in the metadata.",
                metadata={"row": msgspec.to_builtins(row)},
            )

        return score

    return answer()


def _told(bench: Benchmark, measures: Sequence[Measure]) -> Iterator[tuple[str, float]]:
    """The numbers with the fewest groups, which are those of the whole set where there are any,
    and whatever the headline stands on.
    """
    there = [one for one in measures if one.value is not None and "versus" not in one.by]
    fewest = min((len(one.by) for one in there), default=0)
    first = [one for one in there if len(one.by) == fewest]
    for one in (*first, *(headline.measure for headline in bench.headlines(measures))):
        if one.value is not None:
            groups = ",".join(f"{key}={value}" for key, value in sorted(one.by.items()))
            yield (f"{one.measure}[{groups}]" if groups else one.measure), one.value


def _task(benchmark: str) -> Any:
    def made(
        cases: str | None = None,
        edition: str = "corrected",
        limit: int | None = None,
        modality: str = "multimodal",
        reasoning: bool = False,
        logprobs: int | None = None,
        **settings: Any,
    ) -> Task:
        phantoms = class_of(benchmark).phantoms
        if cases is None and phantoms is None:
            raise BadInput(f"{benchmark}: give its cases with -T cases=PATH.")
        place = cases or f"phantom:{phantoms.size if phantoms else 0}"
        words = {key: str(value) for key, value in settings.items()}
        bench = open_cases(benchmark, str(place), edition, words)
        chosen = survey(bench, limit).cases
        known = {"modality": modality, "reasoning": reasoning, "logprobs": logprobs}
        try:
            traits = msgspec.convert(known, Traits)
        except msgspec.ValidationError as error:
            raise BadInput(f"-T: {error}. See docs/other-tools.md.") from None
        asked = Asked(bench, chosen, traits)
        return Task(
            dataset=MemoryDataset(list(asked.samples()), name=bench.dataset),
            solver=_asking(asked),
            scorer=_scoring(asked),
            metadata={"edition": bench.edition, "dataset": bench.dataset, "policy": bench.policy},
        )

    made.__name__ = made.__qualname__ = benchmark
    made.__doc__ = f"Overread's {benchmark}: one sample for each trial, scored by its own parser."
    return task(name=benchmark)(made)


for _name in benchmark_names():
    globals()[_name] = _task(_name)
