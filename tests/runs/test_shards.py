"""Parts of a run: together the whole, no question in two, and nothing measured of one alone."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from overread.benchmarks.base import Benchmark
from overread.case import BadInput, Traits
from overread.runs import open_cases, part_of
from overread.runs._asking import trials_of
from overread.runs._shards import Part, store_of
from support.answering import raw_server, response
from support.commands import Overread

pytestmark = pytest.mark.usefixtures("no_pages")
PARTS = [Part(number, 3) for number in (1, 2, 3)]
TRAITS = [Traits(), Traits(modality="text"), Traits(modality="vision")]


@pytest.fixture(scope="module")
def films(phantom_cache: Path) -> Benchmark:
    return open_cases("grounding", "phantom:48", "corrected", {})


@pytest.fixture(scope="module")
def questions(phantom_cache: Path) -> Benchmark:
    return open_cases("m3cot", "phantom:26", "corrected", {})


@pytest.mark.parametrize("traits", TRAITS, ids=lambda traits: traits.modality)
def test_the_parts_are_the_whole_and_no_question_is_in_two(
    films: Benchmark, traits: Traits
) -> None:
    reader = SimpleNamespace(traits=traits)
    whole = sorted(map(repr, trials_of(films, None, reader)()))  # type: ignore[arg-type]
    asked = [list(trials_of(films, None, reader, part)()) for part in PARTS]  # type: ignore[arg-type]
    assert sorted(repr(trial) for part in asked for trial in part) == whole
    requests = [{trial.request.for_reader(traits) for trial in part} for part in asked]
    pictures = [{p.source.name for one in part for p in one.pictures} for part in requests]
    assert sum(map(len, requests)) == len(set().union(*requests))
    assert sum(map(len, pictures)) == len(set().union(*pictures))  # each is opened in one part
    assert min(map(len, requests)) > 0 or traits.modality == "text"


def test_where_something_follows_from_replies_a_case_is_whole(questions: Benchmark) -> None:
    reader = SimpleNamespace(traits=Traits())
    asked = [
        {trial.case for trial in trials_of(questions, None, reader, part)()}  # type: ignore[arg-type]
        for part in PARTS
    ]
    assert sum(map(len, asked)) == len(set().union(*asked)) == 26
    assert all(asked)


def test_a_part_does_not_hang_on_where_the_files_are(films: Benchmark) -> None:
    """A case is named, and its folder is not: on another host it is another."""
    reader = SimpleNamespace(traits=Traits())
    first = [list(trials_of(films, None, reader, part)()) for part in PARTS]  # type: ignore[arg-type]
    root, films.root = films.root, "/elsewhere"
    try:
        moved = [list(trials_of(films, None, reader, part)()) for part in PARTS]  # type: ignore[arg-type]
    finally:
        films.root = root
    assert first != moved
    assert [[(t.case, t.condition) for t in part] for part in first] == [
        [(t.case, t.condition) for t in part] for part in moved
    ]


@pytest.mark.parametrize("words", ["0/4", "5/4", "1/0", "-1/4", "1/4/2", "1", "", "1/99999", "x/y"])
def test_no_part_is_one_line(words: str) -> None:
    with pytest.raises(BadInput, match=r"^--shard .*expected I/N.*2/4\.$"):
        part_of(words)


def slurm(task: int, first: int, last: int, step: int = 1, count: int | None = None):
    count = (last - first) // max(1, step) + 1 if count is None else count
    named = {"ID": task, "MIN": first, "MAX": last, "STEP": step, "COUNT": count}
    return {f"SLURM_ARRAY_TASK_{name}": str(value) for name, value in named.items()}


@pytest.mark.parametrize(
    ("variables", "part"),
    [
        ({}, None),
        (slurm(0, 0, 3), Part(1, 4)),
        (slurm(3, 0, 3), Part(4, 4)),
        (slurm(7, 1, 10, 3), Part(3, 4)),
        ({"SLURM_ARRAY_TASK_ID": "2", "SLURM_ARRAY_TASK_COUNT": "4"}, Part(2, 4)),
    ],
)
def test_a_task_of_a_slurm_array_asks_its_part(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], part: Part | None
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    told: list[str] = []
    assert part_of(None, told.append) == part
    assert len(told) == (part is not None)
    assert part_of("2/3") == Part(2, 3)  # what is said goes before
    assert part_of("1/1") is None


@pytest.mark.parametrize(
    "variables",
    [
        slurm(2, 2, 2),  # one failed task, sent again
        slurm(1, 1, 5, 1, count=3),  # --array=1,3,5
        slurm(2, 1, 7, 2),  # not on a step
        slurm(9, 1, 4),
        slurm(1, 1, 4, 0),
        {"SLURM_ARRAY_TASK_ID": "one", "SLURM_ARRAY_TASK_COUNT": "4"},
    ],
)
def test_what_is_left_of_an_array_is_no_part(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(BadInput, match=r"^SLURM_ARRAY_TASK_.*--shard I/N"):
        part_of(None)


def test_where_a_part_keeps_its_replies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text("")
    monkeypatch.setenv("OVERREAD_CONFIG", str(config))
    part = Part(2, 4)
    assert store_of(part, None) == Path(".overread/store.shard-2-of-4.sqlite")
    assert store_of(part, "own.sqlite") == "own.sqlite"
    assert store_of(part, None, "study.db") == Path("study.shard-2-of-4.db")
    config.write_text('store = "http://10.0.0.5:8717"\n')
    assert store_of(part, None) == "http://10.0.0.5:8717"  # a served one is for all


@pytest.mark.slow
def test_a_part_ends_with_a_store_and_no_measures(overread: Overread, workspace: Path) -> None:
    words = ["grounding", "--cases", "phantom:16", "--reader", "control:looks"]
    whole = overread("plan", *words, "--json").out
    calls = [
        int(line.partition('"calls":')[2].partition(",")[0])
        for line in (whole, *(overread("plan", *words, "--shard", f"{n}/2", "--json").out for n in (1, 2)))
    ]  # fmt: skip
    assert calls[0] == calls[1] + calls[2]
    done = overread("run", *words, "--shard", "2/2", "--out", "out")
    assert (done.code, "A part is not measured" in done.out) == (0, True)
    assert {path.name for path in workspace.iterdir()} == {".overread"}
    assert [path.name for path in (workspace / ".overread").iterdir()] == [
        "store.shard-2-of-2.sqlite"
    ]
    again = overread("run", *words, "--shard", "2/2", "--json").out
    assert '"answered":0' in again
    refused = overread("run", *words, "--shard", "2/2", "--watch")
    assert (refused.code, "--watch" in refused.complaint) == (2, True)


def test_a_part_that_is_not_answered_is_exit_code_3(overread: Overread) -> None:
    with raw_server(lambda _, out: out.write(response(b"{}", 400))) as url:
        words = ["--cases", "phantom:16", "--limit", 2, "--reader", f"openai:m@{url}"]
        for number in (1, 2):
            done = overread("run", "grounding", *words, "--shard", f"{number}/2")
            if "unanswered" in done.err:
                break
    assert done.code == 3
    assert re.search(r"trials of part ./2 are unanswered .HTTP 400 × .*resume", done.err)


@pytest.mark.slow
def test_the_parts_of_a_study_are_merged_to_the_study(overread: Overread, workspace: Path) -> None:
    (workspace / "study.toml").write_text(
        '[[run]]\nbenchmark = "grounding"\ncases = "phantom:16"\n'
        '[[reader]]\nkind = "control"\nmodel = "looks"\n'
    )
    for number in (1, 2):
        done = overread("run", "study.toml", "--shard", f"{number}/2")
        assert (done.code, f"Part {number}/2" in done.out) == (0, True)
    stores = sorted((workspace / ".overread").glob("*.sqlite"))
    assert overread("store", "merge", *stores).code == 0
    done = overread("run", "study.toml")
    assert done.code == 0
    assert (workspace / "runs" / "study-grounding" / "measures.json").exists()
    assert "60 kept" in done.err  # nobody was asked
