"""Which cases a run takes: `--only` names them, `--limit` samples among them."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from support.commands import Overread, tree
from support.m3_trees import Item, write_m3cot
from support.medcmr_sets import item, mcq, write_release

pytestmark = pytest.mark.usefixtures("no_pages")

IDS = ("2", "5", "7")


@pytest.fixture
def cases(workspace: Path) -> Path:
    """Twelve questions of two tasks; the image of 13 is missing."""
    items = [
        Item(n, f"Specimen {n}: which organ?", label=("Diagnosis", "Cause")[n % 2], size=(8, 8))
        for n in range(1, 13)
    ]
    items.append(Item(13, suffix=None))
    return write_m3cot(workspace / "set", items)


def run_of(cases: Path, *words: object) -> tuple[object, ...]:
    reader = ("--reader", "control:clinician", "--set", "boot=100", "--set", "modes=cot")
    return ("run", "m3cot", "--cases", cases, *reader, "--out", "out", *words)


def asked(folder: str = "out") -> set[str]:
    frames = [pl.read_parquet(f"{folder}/{name}.parquet") for name in ("cases", "answers")]
    (one, two) = (set(frame["case"]) for frame in frames)
    assert one == two
    return one


def record_of(folder: str = "out") -> dict[str, Any]:
    return tomllib.loads(Path(folder, "run.toml").read_text("utf-8"))


FILES = {
    "ids.txt": "2\n5\n\n 7 \n5\n",
    "windows": "\ufeff2\r\n5\r\n7\r\n",
    "a.csv": 'note,case_id\n"x, y",2\n,5\n"two\nlines",7\n',
    "b.csv": "index,kind\n2,a\n5,b\n7,c\n",
    "c.tsv": "id\tnote\n2\tx\n5\ty\n7\tz\n",
    "our.csv": "reader,case\nm,2\nm,5\nn,7\nn,2\n",
    "d.jsonl": '{"case_id": "2"}\n{"id": 5}\n\n{"index": 7, "text": "x"}\n',
    "e.jsonl": '"2"\n5\n7\n',
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_names_cases_in_whichever_form(overread: Overread, cases: Path, name: str) -> None:
    Path(name).write_bytes(FILES[name].encode())
    done = overread("plan", *run_of(cases, "--only", name, "--json")[1:])
    assert done.code == 0
    assert json.loads(done.out)[0]["trials"] == len(IDS)


@pytest.mark.usefixtures("pages")
def test_only_the_named_are_asked_and_the_run_says_so(overread: Overread, cases: Path) -> None:
    Path("ids.txt").write_text("\n".join(IDS))
    assert overread(*run_of(cases, "--only", "ids.txt")).code == 0
    assert asked() == set(IDS)
    record = record_of()
    assert record["n_cases"] == 3
    name, _, digest = record["only"].partition("@")
    assert name == "ids.txt"
    assert record["signature"].endswith(f"|only:{digest}|partial")
    assert "partial: chosen cases" in Path("out/report.html").read_text("utf-8")
    # Other cases have another signature, the same in another order do not.
    Path("again.csv").write_text("case_id\n7\n5\n2\n")
    assert overread(*run_of(cases, "--only", "again.csv")).code == 0
    assert record_of()["signature"] == record["signature"]
    Path("ids.txt").write_text("2\n5\n8\n")
    assert overread(*run_of(cases, "--only", "ids.txt")).code == 0
    assert record_of()["signature"] != record["signature"]
    # Measured again it is as partial as before.
    assert overread("measure", "out").code == 0
    assert record_of()["signature"].endswith("|partial")


def test_a_limit_samples_among_the_named(overread: Overread, cases: Path) -> None:
    named = {str(n) for n in range(1, 9)}
    Path("ids.txt").write_text("\n".join(named))
    assert overread(*run_of(cases, "--only", "ids.txt", "--limit", 4)).code == 0
    sample = asked()
    assert sample < named
    assert (record_of()["n_cases"], record_of()["limit"]) == (4, 4)
    # In proportion: half of them are of either task.
    assert sorted(int(name) % 2 for name in sample) == [0, 0, 1, 1]
    # A limit beyond them leaves them all.
    assert overread(*run_of(cases, "--only", "ids.txt", "--limit", 40)).code == 0
    assert asked() == named


def test_a_study_names_its_cases_too(overread: Overread, cases: Path) -> None:
    Path("ids.txt").write_text("3\n")
    Path("study.toml").write_text(
        f'[[run]]\nbenchmark = "m3cot"\ncases = "{cases}"\nout = "out"\nonly = "ids.txt"\n'
        '[run.set]\nboot = "100"\n[[reader]]\nkind = "control"\nmodel = "clinician"\n'
    )
    assert overread("run", "study.toml").code == 0
    assert asked() == {"3"}
    done = overread("run", "study.toml", "--only", "ids.txt")
    assert (done.code, "does not go with a study file" in done.complaint) == (2, True)


def test_an_index_names_the_items_of_every_kind(overread: Overread, workspace: Path) -> None:
    write_release(workspace / "set", [mcq(n) for n in range(4)], [item(n) for n in range(3)])
    Path("ids.csv").write_text("index\n1\n3\n")
    words = ("medcmr", "--cases", "set", "--reader", "control:oracle", "--only", "ids.csv")
    assert json.loads(overread("plan", *words, "--json").out)[0]["trials"] == 3
    Path("ids.csv").write_text("case_id\n1\n")
    assert 'ids.csv: "1" is no case of the set' in overread("plan", *words).complaint


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("no.txt", None, "--only no.txt: there is no such file"),
        ("folder", "folder", "--only folder is a folder and no file"),
        ("pipe", "pipe", "--only pipe is a pipe and no file"),
        ("e.txt", "", "--only e.txt: it names no case"),
        ("e.csv", "", "it has none of the columns case_id, case, index, id"),
        ("h.csv", "case_id\n", "--only h.csv: it names no case"),
        ("o.csv", "name\n2\n", "it has none of the columns"),
        ("q.csv", 'case_id\n"2\n', "it is no csv file"),
        ("j.jsonl", '"2"\n{"case_id"\n', "j.jsonl line 2: it is no JSON"),
        ("k.jsonl", '{"name": 2}\n', "k.jsonl line 1: it has none of the columns"),
        ("l.jsonl", "[2]\n", "l.jsonl line 1: a case id is a text or a number"),
        ("l.jsonl", '{"id": null}\n', "l.jsonl line 1: a case id is a text or a number"),
        ("u.txt", "2\nx\n", '"x" is no case of the set'),
        ("u.txt", "\n".join("abcde"), '"a", "b", "c" and 2 more are no cases of the set'),
        ("u.txt", "13\n", '"13" is no case of the set (13 is left out:'),
        ("b.txt", b"2\n\xff\n", "b.txt row 2: byte 0xff is not UTF-8"),
    ],
)
def test_what_names_no_case_is_one_line_and_nobody_is_asked(
    overread: Overread, cases: Path, name: str, text: str | bytes | None, says: str
) -> None:
    if text == "folder":
        Path(name).mkdir()
    elif text == "pipe":
        os.mkfifo(name)
    elif text is not None:
        Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    before = tree(Path())
    done = overread(*run_of(cases, "--only", name))
    assert done.code == 2
    assert says in done.complaint
    assert tree(Path()) == before
