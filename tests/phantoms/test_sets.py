"""Sets: whole or absent, made once, never in place of something else; every piece made once."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tomllib
from types import SimpleNamespace

import msgspec
import pytest

from overread.benchmarks import registry
from overread.benchmarks.base import Benchmark
from overread.benchmarks.registry import class_of
from overread.case import BadInput
from overread.phantoms import chest, heart, question, sets, vignette
from overread.phantoms.chest import plan_set
from overread.phantoms.sets import (
    Card,
    Job,
    SetMaker,
    make_all,
    work,
    worker_count,
    write_csv,
    write_once,
)
from overread.plugins import at
from overread.runs import phantom_cases

CARD = Card("chest", "cases.csv", 3, 7, 2)


def _fill(staging):
    (staging / "cases.csv").write_text("case_id\n")


def _never(staging):
    raise AssertionError("the set is there already")


def test_a_set_says_which_it_is_and_is_found_again(tmp_path):
    index = write_once(tmp_path / "deep" / "set", CARD, _fill)
    assert index == tmp_path / "deep" / "set" / "cases.csv"
    assert tomllib.loads((index.parent / "dataset.toml").read_text()) == {
        "name": "phantom-chest",
        "policy": "open",
        "licence": "Apache-2.0",
        "seed": 7,
        "n": 3,
        "generator": 2,
    }
    assert write_once(index.parent, CARD, _never) == index
    assert [path.name for path in index.parent.parent.iterdir()] == ["set"]


@pytest.mark.parametrize(
    "other",
    [
        Card("heart", "cases.csv", 3, 7, 2),
        Card("chest", "other.csv", 3, 7, 2),
        Card("chest", "cases.csv", 4, 7, 2),
        Card("chest", "cases.csv", 3, 8, 2),
        Card("chest", "cases.csv", 3, 7, 3),
    ],
)
def test_a_set_that_differs_in_anything_is_another_set(tmp_path, other):
    write_once(tmp_path / "set", CARD, _fill)
    with pytest.raises(BadInput) as refused:
        write_once(tmp_path / "set", other, _never)
    assert str(refused.value) == (
        f"{tmp_path / 'set'} holds something other than the {other.kind} set n={other.n}, "
        f"seed={other.seed}; name a new folder or remove this one."
    )


def test_an_empty_folder_is_filled_and_a_file_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    assert write_once(tmp_path / "empty", CARD, _fill).is_file()
    (tmp_path / "file").write_text("mine")
    with pytest.raises(BadInput, match="something other"):
        write_once(tmp_path / "file", CARD, _never)
    assert (tmp_path / "file").read_text() == "mine"


def test_the_folder_is_not_there_while_it_is_filled_nor_after_a_failure(tmp_path):
    def fails(staging):
        _fill(staging)
        assert tmp_path in staging.parents
        assert not (tmp_path / "set").exists()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_once(tmp_path / "set", CARD, fails)
    assert not any(tmp_path.iterdir())


def test_where_another_process_finished_the_same_set_meanwhile_theirs_is_kept(tmp_path):
    def meanwhile(staging):
        write_once(tmp_path / "set", CARD, _fill)
        (staging / "cases.csv").write_text("late\n")

    assert write_once(tmp_path / "set", CARD, meanwhile).read_text() == "case_id\n"
    assert [path.name for path in tmp_path.iterdir()] == ["set"]


def test_what_another_process_put_there_meanwhile_is_not_overwritten(tmp_path):
    def meanwhile(staging):
        _fill(staging)
        (tmp_path / "set").mkdir()
        (tmp_path / "set" / "mine.txt").write_text("mine")

    with pytest.raises(OSError, match="not empty"):
        write_once(tmp_path / "set", CARD, meanwhile)
    assert [path.name for path in tmp_path.iterdir()] == ["set"]
    assert [path.name for path in (tmp_path / "set").iterdir()] == ["mine.txt"]


def test_two_processes_at_once_make_one_set(tmp_path):
    # Each waits until both have begun, so that both fill and only one can move its own in.
    script = f"""
import sys, time
from pathlib import Path
from overread.phantoms.sets import Card, write_once
root = Path({str(tmp_path)!r})
def fill(staging):
    (staging / "cases.csv").write_text("case_id\\n")
    (root / ("began" + sys.argv[1])).touch()
    give_up = time.monotonic() + 30
    while len(list(root.glob("began?"))) < 2 and time.monotonic() < give_up:
        time.sleep(0.01)
print(write_once(root / "set", Card("chest", "cases.csv", 3, 7, 2), fill))
"""
    writers = [
        subprocess.Popen([sys.executable, "-c", script, k], stdout=subprocess.PIPE, text=True)
        for k in "12"
    ]
    said = [writer.communicate()[0].strip() for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0]
    assert said == [str(tmp_path / "set" / "cases.csv")] * 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["began1", "began2", "set"]


def test_a_table_leaves_empty_what_a_row_does_not_have(tmp_path):
    write_csv(tmp_path / "t.csv", ("a", "b"), [{"a": 1, "b": "x, y"}, {"b": 2}])
    assert (tmp_path / "t.csv").read_bytes() == b'a,b\n1,"x, y"\n,2\n'


# ---------------------------------------------------------------- workers


class Order(msgspec.Struct, frozen=True):
    number: int


def _one(folder, seed, order):
    (folder / str(order.number)).touch(exist_ok=False)
    return Order(seed * order.number)


JOB = Job("test", Order, Order, _one, "pieces", share=12)


def test_one_worker_makes_every_order_in_this_process(tmp_path, monkeypatch):
    monkeypatch.setattr(sets.subprocess, "run", None)
    made = make_all(JOB, tmp_path, 10, [Order(2), Order(1)], 1)
    assert made == [Order(20), Order(10)]
    assert {path.name for path in tmp_path.iterdir()} == {"1", "2"}


@pytest.mark.slow
def test_several_workers_make_every_order_once_and_in_other_processes(tmp_path):
    orders = plan_set(16, 0).films[:3]
    (tmp_path / "images").mkdir()
    made = make_all(chest.JOB, tmp_path, 5, orders, 2)
    assert sorted(one.name for one in made) == sorted(order.name for order in orders)
    assert all(isinstance(one, chest.Made) for one in made)
    assert len(list((tmp_path / "images").iterdir())) == 3


@pytest.mark.parametrize(
    ("module", "name"),
    [(chest, "film"), (heart, "clip"), (question, "question"), (vignette, "vignette")],
)
def test_a_job_is_found_by_another_process_and_its_worker_is_named(
    tmp_path, monkeypatch, module, name
):
    job = module.JOB
    assert sys.modules[job.one.__module__] is module

    def stops(*args, **how):
        return SimpleNamespace(returncode=3, stderr=b"Traceback\nOSError: full\n", stdout=b"")

    monkeypatch.setattr(sets.subprocess, "run", stops)
    with pytest.raises(RuntimeError) as stopped:
        make_all(job, tmp_path, 0, [Order(1), Order(2)], 2)
    assert str(stopped.value) == f"a {name} worker stopped (3): OSError: full"


def test_a_worker_stops_when_the_writer_is_gone(tmp_path, monkeypatch):
    share = (str(tmp_path), 1, [{"number": k} for k in range(3)])
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(msgspec.json.encode(share))))
    parents = iter([7, 7, 7, 1])
    monkeypatch.setattr(os, "getppid", lambda: next(parents))
    with pytest.raises(SystemExit, match="the set's writer is gone"):
        work(JOB)
    assert {path.name for path in tmp_path.iterdir()} == {"0", "1"}


def test_no_worker_is_started_for_less_than_a_share(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 2, 3}, raising=False)
    counts = [worker_count(None, n, share=12, drawn="films") for n in (0, 12, 23, 24, 47, 480)]
    assert counts == [1, 1, 1, 2, 3, 4]
    assert worker_count(9, 1, share=12, drawn="films") == 9


@pytest.mark.parametrize("asked", [0, -2])
def test_fewer_than_one_worker_is_refused(asked):
    with pytest.raises(BadInput) as refused:
        worker_count(asked, 5, share=12, drawn="clips")
    assert str(refused.value) == f"{asked} workers cannot draw clips; use 1 or more."


def test_the_door_to_the_phantoms_and_the_shared_jobs_load_no_numpy():
    script = (
        "import sys, overread.phantoms, overread.phantoms.sets; sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


@pytest.mark.slow
def test_a_full_disk_is_the_systems_refusal_from_any_process(tmp_path):
    """As the system would say it in this process: whoever asked for the set can tell the user."""
    orders = plan_set(16, 0).films[:4]
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="Not a directory.*file"):
        make_all(chest.JOB, tmp_path / "file", 5, orders, 2)


# ---------------------------------------------------------------- makers


def _write(folder, plan, made):
    assert sorted(made, key=lambda one: one.number) == [Order(7 * one.number) for one in plan]
    write_csv(folder / "cases.csv", ["number"], [{"number": one.number} for one in plan])


TOYS = SetMaker(
    kind="toy",
    index="cases.csv",
    revision=4,
    standard=3,
    least=2,
    cases="pieces",
    plan=lambda n, seed: [Order(k) for k in range(n)],
    orders=lambda plan: plan,
    job=JOB,
    folders=("parts",),
    write=_write,
)
MAKERS = {
    "grounding": chest.write_chest_set,
    "heartbeat": heart.write_heart_set,
    "m3cot": question.write_question_set,
    "medcmr": vignette.write_vignette_set,
}


def _gone(*how):
    raise RuntimeError("no pieces today")


def test_a_maker_writes_the_pieces_the_tables_and_what_the_set_is(tmp_path):
    index = TOYS(tmp_path / "set", seed=7, workers=1)
    assert index.read_text() == "number\n0\n1\n2\n"
    assert {path.name for path in index.parent.iterdir()} == {
        *("0", "1", "2", "parts", "cases.csv", "dataset.toml")
    }
    facts = tomllib.loads((index.parent / "dataset.toml").read_text())
    assert (facts["name"], facts["n"], facts["seed"], facts["generator"]) == (
        "phantom-toy",
        3,
        7,
        4,
    )


def test_a_finished_set_is_not_made_again_and_another_never_overwritten(tmp_path, monkeypatch):
    index = TOYS(tmp_path / "set", 2, 7, workers=1)
    monkeypatch.setattr(sets, "make_all", _gone)
    assert TOYS(tmp_path / "set", 2, 7) == index
    with pytest.raises(BadInput, match="holds something other than the toy set n=2, seed=8"):
        TOYS(tmp_path / "set", 2, 8)


def test_a_set_that_fails_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(sets, "make_all", _gone)
    with pytest.raises(RuntimeError, match="no pieces"):
        TOYS(tmp_path / "set", 2, 7)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("benchmark", "few"),
    [
        ("grounding", "a chest set of 15 cases is too small; ask for at least 16."),
        ("heartbeat", "a heart set of 0 clips is none; ask for at least 1."),
        ("m3cot", "a question set of 25 items is too small; ask for at least 26."),
        ("medcmr", "a vignette set of 27 items is too small; ask for at least 28."),
    ],
)
def test_bad_requests_are_refused_in_one_line(tmp_path, benchmark, few):
    maker = MAKERS[benchmark]
    drawn = maker.job.drawn
    for n, seed, workers, said in (
        (maker.least - 1, 0, None, few),
        (maker.least, -1, None, "seed -1 is negative; use 0 or above."),
        (maker.least, 0, 0, f"0 workers cannot draw {drawn}; use 1 or more."),
    ):
        with pytest.raises(BadInput) as refused:
            maker(tmp_path / "set", n, seed, workers)
        assert str(refused.value) == said
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("benchmark", MAKERS)
def test_a_benchmark_finds_its_phantoms(tmp_path, monkeypatch, benchmark):
    """In folders that differ by size, seed and revision."""
    maker, asked = MAKERS[benchmark], []
    monkeypatch.setattr(sets, "write_once", lambda *how: asked.append(how))
    for seed in (2, 3):
        at(class_of(benchmark).phantoms.maker)(tmp_path, maker.standard, seed)
    for seed, (folder, card, _) in zip((2, 3), asked, strict=True):
        name = f"phantom-{maker.kind}-{maker.standard}-{seed}-r{maker.revision}"
        assert folder == tmp_path / name
        assert card == Card(maker.kind, maker.index, maker.standard, seed, maker.revision)


def test_whoever_has_no_phantoms_is_told_who_has(monkeypatch):
    another = type("Another", (Benchmark,), {"name": "another"})
    found = registry.class_of
    monkeypatch.setattr(
        registry, "class_of", lambda one: another if one == "another" else found(one)
    )
    with pytest.raises(BadInput) as refused:
        phantom_cases("another", "phantom:48")
    assert str(refused.value) == (
        'benchmark "another" has no phantoms; grounding, heartbeat, m3cot, medcmr and pairs have.'
    )


def test_a_set_has_a_folder_of_its_own_below_those_that_are_kept(tmp_path):
    assert TOYS.below(tmp_path, 2, 7) == tmp_path / "phantom-toy-2-7-r4" / "cases.csv"
