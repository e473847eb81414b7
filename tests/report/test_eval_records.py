"""Every Eval Ever records: what a run found of a reader, in the form that others collect.

The structs below are what the coalition's schema 0.3.0 asks for, field by field: which there are,
which must be, and what each may hold.
"""

from __future__ import annotations

import json
import math
from typing import Annotated, Any, Literal

import msgspec
import pytest

from overread.case import Decoding, Measure, Method, Traits
from overread.records import JudgeEntry, ReaderEntry
from overread.report import Metric, Reported
from overread.report.eval_records import eval_record, write_eval_records
from support.reported import reported_of

Strict = {"forbid_unknown_fields": True, "kw_only": True}
Words = dict[str, str]
Bound = float | Literal["Infinity", "-Infinity"] | None
NEEDED = ("deployment_type", "model_availability")


class Model(msgspec.Struct, **Strict):
    name: str
    id: str
    developer: str = ""
    inference_platform: str = ""
    additional_details: Words

    def __post_init__(self) -> None:
        deployed, weights = (self.additional_details[name] for name in NEEDED)
        assert deployed in ("self_deployed", "externally_managed", "unknown")
        assert weights in ("open_weights", "closed_weights", "unknown")


class Judge(msgspec.Struct, **Strict):
    model_info: Model
    temperature: float | None = None
    additional_details: Words = {}


class Scoring(msgspec.Struct, **Strict):
    judges: Annotated[list[Judge], msgspec.Meta(min_length=1)]
    input_prompt: str
    additional_details: Words = {}


class MetricConfig(msgspec.Struct, **Strict):
    lower_is_better: bool
    evaluation_description: str = ""
    metric_id: str
    metric_name: str
    metric_unit: str = ""
    metric_parameters: dict[str, str | float | bool | None]
    score_type: Literal["continuous"]
    min_score: Bound
    max_score: Bound
    llm_scoring: Scoring | None = None
    additional_details: Words = {}


class StandardError(msgspec.Struct, **Strict):
    value: float
    method: str


class Interval(msgspec.Struct, **Strict):
    lower: float
    upper: float
    confidence_level: Annotated[float, msgspec.Meta(ge=0, le=1)]
    method: str = ""


class Uncertainty(msgspec.Struct, **Strict):
    standard_error: StandardError | None = None
    confidence_interval: Interval | None = None
    num_samples: int | None = None
    num_bootstrap_samples: int | None = None


class Score(msgspec.Struct, **Strict):
    score: float
    details: Words = {}
    uncertainty: Uncertainty


class Arguments(msgspec.Struct, **Strict):
    temperature: float | None = None
    max_tokens: Annotated[int, msgspec.Meta(ge=1)] = 1
    reasoning: bool


class Generation(msgspec.Struct, **Strict):
    generation_args: Arguments
    additional_details: Words = {}


class Data(msgspec.Struct, **Strict):
    dataset_name: str
    source_type: Literal["other"]
    additional_details: Words = {}


class Result(msgspec.Struct, **Strict):
    evaluation_result_id: str
    evaluation_name: str
    source_data: Data
    metric_config: MetricConfig
    score_details: Score
    generation_config: Generation


class Source(msgspec.Struct, **Strict):
    source_name: str
    source_type: Literal["documentation", "evaluation_run"]
    source_organization_name: str
    evaluator_relationship: Literal["first_party", "third_party", "collaborative", "other"]


class Library(msgspec.Struct, **Strict):
    name: str
    version: str
    additional_details: Words = {}


class Record(msgspec.Struct, **Strict):
    schema_version: Literal["0.3.0"]
    evaluation_id: str
    evaluation_timestamp: str = ""
    retrieved_timestamp: str
    source_metadata: Source
    model_info: Model
    eval_library: Library
    evaluation_results: list[Result]


READER = ReaderEntry(
    name="m",
    spec="openai:org/m@https://api.example.org/v1",
    identity="m",
    traits=Traits(reasoning=True, system="Be careful."),
    params_b=7,
    asked=20,
    decoding=Decoding(max_tokens=50, seed=3),
    first_reply="2026-01-02 03:04:05 UTC",
    last_reply="2026-01-02 03:04:09 UTC",
    models=("m-2026",),
)
JUDGES = tuple(
    JudgeEntry(name=name, spec=f"openai:{name}@http://127.0.0.1:1/v1", identity=name, roles=(role,))
    for name, role in (("a", "score"), ("b", "score"), ("c", "order"))
)
MEASURES = [
    Measure(
        reader="m", measure="accuracy", by={"finding": "edema"}, value=0.75, n=20, k=15, se=0.1,
        low=0.5, high=0.9, method="wilson", left_out={"refused": 2}, flags=("few",),
    ),
    Measure(
        reader="m", measure="mae", value=3.5, n=20, sd_boot=0.2, low=3.0, high=4.0,
        how=Method(kind="bootstrap", boot=500, seed=0), method="bootstrap:500:0",
    ),
    Measure(reader="m", measure="clarity", value=4.0, n=20, se=0.0),
    Measure(reader="m", measure="clarity", by={"judge": "b"}, value=4.0, n=20),
    Measure(reader="m", measure="category", label="uses image"),
    Measure(reader="m", measure="diff_accuracy", by={"versus": "other"}, value=0.1),
    Measure(reader="other", measure="accuracy", value=0.5, n=20),
]  # fmt: skip
METRICS = {
    "accuracy": Metric(says="right", unit="proportion", low=0, high=1, better="higher"),
    "mae": Metric(unit="frames", low=0, better="lower"),
    "clarity": Metric(low=1, high=5, better="higher", questions=("scores",), roles=("score",)),
}


@pytest.fixture
def run() -> Reported:
    made = reported_of(measures=MEASURES)
    other = msgspec.structs.replace(READER, name="other", spec="control:other")
    record = msgspec.structs.replace(made.record, readers=(READER, other), judges=JUDGES)
    return msgspec.structs.replace(made, record=record, metrics=METRICS)


def read(run: Reported, reader: ReaderEntry = READER) -> Record:
    return msgspec.json.decode(msgspec.json.encode(eval_record(run, reader)), type=Record)


def test_a_number_keeps_its_interval_its_n_and_how_both_were_made(run: Reported) -> None:
    accuracy, mae, *_ = read(run).evaluation_results
    told = accuracy.score_details
    assert (told.score, told.uncertainty.num_samples) == (0.75, 20)
    assert told.uncertainty.confidence_interval == Interval(
        lower=0.5, upper=0.9, confidence_level=0.95, method="wilson"
    )
    assert told.uncertainty.standard_error == StandardError(value=0.1, method="analytic")
    assert told.details == {"right": "15", "left out: refused": "2", "flags": "few"}
    assert mae.score_details.uncertainty.standard_error == StandardError(
        value=0.2, method="bootstrap"
    )
    assert mae.score_details.uncertainty.num_bootstrap_samples == 500


def test_a_metric_says_which_way_is_better_and_what_it_can_be(run: Reported) -> None:
    accuracy, mae, *_ = (one.metric_config for one in read(run).evaluation_results)
    assert (accuracy.lower_is_better, mae.lower_is_better) == (False, True)
    assert (accuracy.min_score, accuracy.max_score) == (0, 1)
    assert (mae.min_score, mae.max_score) == (0, "Infinity")
    assert (accuracy.metric_unit, mae.metric_unit) == ("proportion", "frames")
    assert accuracy.metric_parameters == {"finding": "edema"}
    assert accuracy.metric_id == "overread.grounding.accuracy"


def test_judges_stand_with_what_they_judged_and_nowhere_else(run: Reported) -> None:
    accuracy, _, both, by_one = (one.metric_config for one in read(run).evaluation_results)
    assert accuracy.llm_scoring is None
    assert [judge.model_info.name for judge in both.llm_scoring.judges] == ["a", "b"]
    assert [judge.model_info.name for judge in by_one.llm_scoring.judges] == ["b"]
    assert "scores" in both.llm_scoring.input_prompt


def test_the_reader_how_it_decoded_and_what_the_numbers_stand_on(run: Reported) -> None:
    record = read(run)
    assert (record.model_info.id, record.model_info.inference_platform) == (
        "org/m", "api.example.org",
    )  # fmt: skip
    assert record.model_info.additional_details["deployment_type"] == "externally_managed"
    assert record.model_info.additional_details["reported_models"] == "m-2026"
    generation = record.evaluation_results[0].generation_config
    assert generation.generation_args == Arguments(temperature=0, max_tokens=50, reasoning=True)
    assert generation.additional_details["system"] == "Be careful."
    assert record.eval_library.additional_details["signature"] == run.record.signature
    assert record.evaluation_id == "grounding/org/m/1767323049"
    assert record.evaluation_timestamp == "1767323045"


def test_words_undefined_numbers_and_comparisons_have_no_place_there(run: Reported) -> None:
    ids = [one.evaluation_result_id for one in read(run).evaluation_results]
    assert ids == [
        "grounding/accuracy/finding=edema", "grounding/mae", "grounding/clarity",
        "grounding/clarity/judge=b",
    ]  # fmt: skip


def test_a_spread_of_nothing_is_not_told(run: Reported) -> None:
    assert read(run).evaluation_results[2].score_details.uncertainty.standard_error is None


def test_one_file_for_each_reader_of_each_run(run: Reported, tmp_path: Any) -> None:
    written = write_eval_records(tmp_path, [run, run])
    assert [one.file for one in written] == [
        "grounding-m.json", "grounding-other.json", "grounding-2-m.json", "grounding-2-other.json",
    ]  # fmt: skip
    held = json.loads((tmp_path / "grounding-other.json").read_text())
    assert held["model_info"]["additional_details"]["deployment_type"] == "unknown"
    for one in written:
        msgspec.json.decode((tmp_path / one.file).read_bytes(), type=Record)


def test_what_nothing_is_declared_of_has_no_direction_and_no_ends(run: Reported) -> None:
    bare = msgspec.structs.replace(run, metrics={})
    metric = read(bare).evaluation_results[0].metric_config
    assert (metric.min_score, metric.max_score) == ("-Infinity", "Infinity")
    assert metric.additional_details == {"direction": "neither end is better"}
    assert math.inf == Metric().high
