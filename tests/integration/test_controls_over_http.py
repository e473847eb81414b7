"""A control sees what any reader sees: behind HTTP it says and scores exactly the same."""

from __future__ import annotations

from contextlib import ExitStack

import polars as pl
import pytest

from overread.benchmarks.grounding.controls import grounding_controls
from overread.runs import Run, run
from support.commands import no_pages
from support.served import served

__all__ = ["no_pages"]
CONTROLS = sorted(grounding_controls())
CASES = "phantom:48"


@pytest.fixture(scope="module")
def runs(
    tmp_path_factory: pytest.TempPathFactory, no_pages: None
) -> tuple[Run, Run, dict[str, int]]:
    """All controls in process, all controls behind a server each, and the calls each server got."""
    folder = tmp_path_factory.mktemp("controls")
    near = run(
        "grounding",
        CASES,
        [f"control:{name}" for name in CONTROLS],
        out=folder / "near",
        store=folder / "near.sqlite",
    )
    with ExitStack() as stack:
        servers = {name: stack.enter_context(served(control=name)) for name in CONTROLS}
        readers = [
            {
                "kind": "openai",
                "model": name,
                "base_url": server.base_url,
                "label": f"control:{name}",
                "modality": grounding_controls()[name].traits.modality,
            }
            for name, server in servers.items()
        ]
        far = run("grounding", CASES, readers, out=folder / "far", store=folder / "far.sqlite")
        calls = {name: server.stats()["requests"] for name, server in servers.items()}
    return near, far, calls


def answers_of(made: Run, name: str) -> pl.DataFrame:
    answers = pl.read_parquet(made.folder / "answers.parquet")
    return answers.filter(pl.col("reader") == f"control:{name}")


def test_there_are_six_controls() -> None:
    assert CONTROLS == ["always-yes", "global", "looks", "prior", "shortcut", "unstable"]


@pytest.mark.slow
@pytest.mark.parametrize("name", CONTROLS)
def test_a_control_says_the_same_behind_http(
    runs: tuple[Run, Run, dict[str, int]], name: str
) -> None:
    near, far, calls = runs
    here, there = answers_of(near, name), answers_of(far, name)
    assert here.height == 188
    assert set(here["outcome"]) == {"answered"}
    assert here["logprobs"].null_count() == (0 if name in ("global", "looks") else here.height)
    for column in here.columns:  # column by column, to see which differs
        assert here[column].equals(there[column], null_equal=True), column
    assert calls[name] == (8 if name == "prior" else 140)  # findings; distinct pictures


@pytest.mark.slow
def test_the_measures_are_the_same_to_the_byte(runs: tuple[Run, Run, dict[str, int]]) -> None:
    near, far, _ = runs
    here, there = ((made.folder / "measures.json").read_bytes() for made in (near, far))
    assert here == there
