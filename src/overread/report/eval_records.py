"""Runs as Every Eval Ever records: one JSON file for each reader, as its schema 0.3.0 has them.

The schema is that of the EvalEval coalition (arXiv 2606.14516). A record holds every number of a
reader with its interval, n, method and direction; comparisons of two readers, and findings that are
words, have no place there.
"""

from __future__ import annotations

import calendar
import time
from collections.abc import Iterator, Sequence
from math import isinf
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from overread.case import Measure, Traits
from overread.readers.guard import on_this_network
from overread.records import ReaderEntry
from overread.report.exports import Exported, free_name, leads
from overread.report.reported import Metric, Reported

SCHEMA: Final = "0.3.0"
_LEVEL: Final = 0.95
_MOMENT: Final = "%Y-%m-%d %H:%M:%S UTC"
# Kinds of reader that need no server.
_IN_PROCESS: Final = ("hf", "vllm", "probe")


def write_eval_records(folder: Path, runs: Sequence[Reported]) -> list[Exported]:
    """One file for each reader of each run."""
    written = []
    taken: set[str] = set()
    for lead, run in zip(leads(runs), runs, strict=True):
        for reader in run.record.readers:
            name = f"{free_name(f'{lead}-{reader.name}', taken)}.json"
            held = msgspec.json.format(msgspec.json.encode(eval_record(run, reader)), indent=2)
            (folder / name).write_bytes(held + b"\n")
            title = f"{reader.name} in {run.record.benchmark}, as an Every Eval Ever record"
            written.append(
                Exported(file=name, kind="record", title=title, signature=run.record.signature)
            )
    return written


def eval_record(run: Reported, reader: ReaderEntry) -> dict[str, Any]:
    """What a run found of one reader.

    The same run gives the same bytes: the time is that of the reader's last reply.
    """
    record = run.record
    asked, last = _seconds(reader.first_reply), _seconds(reader.last_reply)
    model = _model(reader)
    made: dict[str, Any] = {
        "schema_version": SCHEMA,
        "evaluation_id": f"{record.benchmark}/{model['id']}/{last}",
        "retrieved_timestamp": str(last),
        "source_metadata": {
            "source_name": f"overread run of {record.benchmark}",
            "source_type": "evaluation_run",
            # Whoever hands the record on knows better.
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
        },
        "eval_library": {
            "name": "overread",
            "version": record.overread,
            "additional_details": {"edition": record.edition, "signature": record.signature},
        },
        "model_info": model,
        "evaluation_results": list(_results(run, reader)),
    }
    return made | ({"evaluation_timestamp": str(asked)} if asked else {})


def _results(run: Reported, reader: ReaderEntry) -> Iterator[dict[str, Any]]:
    record = run.record
    source = {
        "dataset_name": record.dataset.partition("@")[0],
        "source_type": "other",
        "additional_details": {
            "dataset": record.dataset,
            "cases": str(record.n_cases),
            "policy": record.policy,
        }
        | ({"part": record.only or f"sample of {record.limit}"} if record.partial else {}),
    }
    decoding = _decoding(reader)
    for one in run.measures:
        if one.reader != reader.name or one.value is None or "versus" in one.by:
            continue
        groups = ",".join(f"{key}={value}" for key, value in sorted(one.by.items()))
        yield {
            "evaluation_result_id": f"{record.benchmark}/{one.measure}"
            + f"/{groups}" * bool(groups),
            "evaluation_name": record.benchmark,
            "source_data": source,
            "metric_config": _metric(run, one),
            "score_details": {
                "score": one.value,
                "details": _details(one),
                "uncertainty": _uncertainty(one),
            },
            "generation_config": decoding,
        }


def _metric(run: Reported, one: Measure) -> dict[str, Any]:
    about = run.metrics.get(one.measure, Metric())
    made: dict[str, Any] = {
        "metric_id": f"overread.{run.record.benchmark}.{one.measure}",
        "metric_name": one.measure,
        "metric_parameters": dict(one.by),
        "lower_is_better": about.better == "lower",
        "score_type": "continuous",
        "min_score": _bound(about.low),
        "max_score": _bound(about.high),
        "additional_details": {"direction": about.better or "neither end is better"},
    }
    if about.says:
        made["evaluation_description"] = about.says
    if about.unit:
        made["metric_unit"] = about.unit
    judges = [
        judge
        for judge in run.record.judges
        if one.by.get("judge") in (None, judge.name) and set(about.roles) & set(judge.roles)
    ]
    if judges:
        made["llm_scoring"] = {
            "judges": [
                {
                    "model_info": _model(judge),
                    "additional_details": {
                        "roles": ", ".join(judge.roles),
                        "rubric": judge.rubric or "usual",
                        "verdicts": str(judge.asked),
                        "unreadable": str(judge.invalid),
                        "unanswered": str(judge.unanswered),
                    },
                }
                for judge in judges
            ],
            "input_prompt": (
                f"the rubrics of overread {run.record.overread} for {run.record.benchmark}: "
                f"{', '.join(about.questions)}"
            ),
        }
    return made


def _bound(value: float) -> float | str:
    return value if not isinf(value) else "Infinity" if value > 0 else "-Infinity"


def _details(one: Measure) -> dict[str, str]:
    """What else is known of a number; the schema has strings there, and strings only."""
    told: dict[str, Any] = {"right": one.k, "label": one.label, "p": one.p, "q": one.q}
    told |= {f"left out: {why}": count for why, count in one.left_out.items()}
    told |= {f"counted as wrong: {why}": count for why, count in one.as_wrong.items()}
    told["flags"] = ", ".join(one.flags) or None
    return {name: str(value) for name, value in told.items() if value is not None}


def _uncertainty(one: Measure) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if one.n is not None:
        made["num_samples"] = one.n
    spread = one.se if one.se is not None else one.sd_boot
    if spread:  # where all cases agree the formula gives 0, and the interval alone tells
        how = "analytic" if one.se is not None else "bootstrap"
        made["standard_error"] = {"value": spread, "method": how}
    if one.low is not None and one.high is not None:
        interval = {"lower": one.low, "upper": one.high, "confidence_level": _LEVEL}
        made["confidence_interval"] = interval | ({"method": one.method} if one.method else {})
    if one.how is not None and one.how.boot is not None:
        made["num_bootstrap_samples"] = one.how.boot
    return made


def _model(reader: ReaderEntry) -> dict[str, Any]:
    kind, _, rest = reader.spec.partition(":")
    name, _, url = rest.rpartition("@") if "://" in rest else (rest, "", "")
    host = urlsplit(url).hostname or ""
    if host:
        deployed = "self_deployed" if on_this_network(host) else "externally_managed"
    else:
        deployed = "self_deployed" if kind in _IN_PROCESS else "unknown"
    told = {
        "spec": reader.spec,
        "kind": kind,
        "modality": reader.traits.modality,
        "parameters_billion": None if reader.params_b is None else f"{reader.params_b:g}",
        "group": reader.group,
        "reported_models": ", ".join(reader.models) or None,
        "fingerprints": ", ".join(reader.fingerprints) or None,
        "trials": str(reader.asked),
        "unanswered": str(reader.unanswered),
    }
    made = {
        "name": reader.name,
        "id": name or reader.name,
        "additional_details": {
            "deployment_type": deployed,
            "model_availability": "unknown",
            **{key: value for key, value in told.items() if value is not None},
        },
    }
    developer, slash, _ = name.partition("/")
    plain = slash and not host and kind not in ("control", "recorded")
    return made | ({"inference_platform": host} if host else {}) | (
        {"developer": developer} if plain and developer else {}
    )  # fmt: skip


def _decoding(reader: ReaderEntry) -> dict[str, Any]:
    """How replies were decoded: the last one's, and whatever was put around the questions."""
    usual, traits = msgspec.structs.asdict(Traits()), msgspec.structs.asdict(reader.traits)
    told = {name: value for name, value in traits.items() if value != usual[name]}
    args: dict[str, Any] = {"reasoning": reader.traits.reasoning}
    if reader.decoding is not None:
        args |= {
            "temperature": reader.decoding.temperature,
            "max_tokens": reader.decoding.max_tokens,
        }
        told |= {"top_logprobs": reader.decoding.top_logprobs}
        told |= {} if reader.decoding.seed is None else {"seed": reader.decoding.seed}
    return {
        "generation_args": args,
        "additional_details": {name: str(value) for name, value in told.items()},
    }


def _seconds(moment: str | None) -> int:
    """A time of the record as seconds since 1970; 0 for one that is not known."""
    try:
        return calendar.timegm(time.strptime(moment or "", _MOMENT))
    except ValueError:
        return 0
