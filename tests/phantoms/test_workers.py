"""Workers: every order is made once, here or elsewhere, and nobody works for a writer gone."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from types import SimpleNamespace

import msgspec
import pytest

from overread.case import BadInput
from overread.phantoms import chest_worker, heart_worker, question_worker, workers
from overread.phantoms.chest_plan import plan_set
from overread.phantoms.workers import Job, make_all, work, worker_count


class Order(msgspec.Struct, frozen=True):
    number: int


def _one(folder, seed, order):
    (folder / str(order.number)).touch(exist_ok=False)
    return Order(seed * order.number)


JOB = Job("test", __name__, Order, Order, _one)


def test_one_worker_makes_every_order_in_this_process(tmp_path, monkeypatch):
    monkeypatch.setattr(workers.subprocess, "run", None)
    made = make_all(JOB, tmp_path, 10, [Order(2), Order(1)], 1)
    assert made == [Order(20), Order(10)]
    assert {path.name for path in tmp_path.iterdir()} == {"1", "2"}


def test_several_workers_make_every_order_once_and_in_other_processes(tmp_path):
    orders = plan_set(16, 0).films[:3]
    made = make_all(chest_worker.JOB, tmp_path, 5, orders, 2)
    assert sorted(one.name for one in made) == sorted(order.name for order in orders)
    assert all(isinstance(one, chest_worker.Made) for one in made)
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize(
    ("module", "name"),
    [(chest_worker, "film"), (heart_worker, "clip"), (question_worker, "question")],
)
def test_a_job_is_found_by_another_process_and_its_worker_is_named(
    tmp_path, monkeypatch, module, name
):
    job = module.JOB
    assert sys.modules[job.module].JOB is job

    def stops(*args, **how):
        return SimpleNamespace(returncode=3, stderr=b"Traceback\nOSError: full\n", stdout=b"")

    monkeypatch.setattr(workers.subprocess, "run", stops)
    with pytest.raises(RuntimeError) as stopped:
        make_all(job, tmp_path, 0, [Order(1), Order(2)], 2)
    assert str(stopped.value) == f"a {name} worker stopped (3): OSError: full"


def test_a_worker_stops_when_the_writer_is_gone(tmp_path, monkeypatch):
    share = {"folder": str(tmp_path), "seed": 1, "orders": [{"number": k} for k in range(3)]}
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
        "import sys, overread.phantoms, overread.phantoms.set_folder, overread.phantoms.workers; "
        "sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_a_full_disk_is_the_systems_refusal_from_any_process(tmp_path):
    """As the system would say it in this process: whoever asked for the set can tell the user."""
    orders = plan_set(16, 0).films[:4]
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="Not a directory"):
        make_all(chest_worker.JOB, tmp_path / "file", 5, orders, 2)
