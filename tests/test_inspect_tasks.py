"""Benchmarks as Inspect tasks, found by the entry point and asked with its mock provider."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from overread.benchmarks.registry import benchmark_names
from overread.runs import run
from support.commands import no_pages, overread, phantom_cache, workspace, write_manifest
from support.readers import Scripted

__all__ = ["no_pages", "overread", "phantom_cache", "workspace"]
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("workspace", "no_pages")]


def evaluated(name: str, said: str = "Yes", **options: Any) -> Any:
    from inspect_ai import eval as inspect_eval
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    def answer(messages: Any, *_: Any) -> Any:
        made = ModelOutput.from_content("mockllm/model", said)
        made.usage = ModelUsage(input_tokens=9, output_tokens=1, total_tokens=10)
        return made

    model = get_model("mockllm/model", custom_outputs=answer, memoize=False)
    (log,) = inspect_eval(
        name, model=model, task_args=options, log_dir="logs", display="none", log_level="error"
    )
    return log


def test_the_entry_point_leads_to_a_task_for_every_benchmark() -> None:
    (point,) = (p for p in entry_points(group="inspect_ai") if p.name == "overread")
    module = point.load()
    from inspect_ai._util.registry import registry_info

    for name in benchmark_names():
        assert registry_info(getattr(module, name)).name == f"overread/{name}"


def test_a_task_gives_the_measures_of_a_run() -> None:
    log = evaluated("overread/grounding", cases="phantom:16", limit=4, boot=100)
    assert log.status == "success"
    (score,) = log.results.scores
    found = {name: one.value for name, one in score.metrics.items()}
    from overread.case import Reply

    made = run(
        "grounding", "phantom:16", [Scripted(lambda _: Reply("Yes", tokens_out=1))],
        settings={"boot": "100"}, limit=4, out="run",
    )  # fmt: skip
    own = {one.measure: one.value for one in made.records if not one.by and one.value is not None}
    assert found.items() >= own.items()
    assert (found["sensitivity"], found["specificity"]) == (1.0, 0.0)
    assert len(log.samples) == made.record.readers[0].asked
    sample = log.samples[0]
    row = sample.scores["overread_answer"].metadata["row"]
    assert (row["outcome"], row["text"]) == ("answered", "Yes")
    assert [part.type for part in sample.messages[-2].content] == ["image", "text"]


def test_a_credentialed_set_is_shown_to_no_provider_that_was_not_named(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = write_manifest(workspace / "closed", {})
    Image.new("L", (256, 256), 90).save(cases.parent / "film.png")
    log = evaluated("overread/grounding", cases=str(cases), boot=100)
    assert log.status == "error"
    assert "the data set is credentialed and mockllm" in log.error.message
    config = workspace / "config.toml"
    config.write_text('share_with = ["mockllm"]\n')
    monkeypatch.setenv("OVERREAD_CONFIG", str(config))
    assert evaluated("overread/grounding", cases=str(cases), boot=100).status == "success"
