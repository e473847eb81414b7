"""Batches: requests written for a service, and its results taken into the store."""

from __future__ import annotations

import json
import stat
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from overread.benchmarks.registry import class_of
from overread.case import BadInput, Reply
from overread.readers.batch_lines import batch_limits
from overread.runs import import_batch, phantom_cases, plan_batch, run
from overread.runs._batches import Taken
from support.batch_service import Service
from support.commands import Overread, write_manifest
from support.readers import Scripted
from support.served import digest_of, served

pytestmark = [pytest.mark.usefixtures("no_pages", "workspace"), pytest.mark.slow]

CASES, FEW = "phantom:16", {"boot": "100"}


def control(benchmark: str, cases: str, name: str, *, judge: bool = False) -> Service:
    opened = class_of(benchmark).open(phantom_cases(benchmark, cases))
    found = opened.judges() if judge else opened.controls()
    return Service(found[name], f"served {name}")


@pytest.fixture
def looks(workspace: Path) -> Service:
    return control("grounding", CASES, "looks")


def planned(folder: str, reader: Service, **options: Any) -> list[Path]:
    plan_batch("grounding", CASES, [reader], folder=folder, settings=FEW, **options)
    return sorted(Path(folder).glob("*.jsonl"))


def write(path: str, results: Sequence[dict[str, Any] | str]) -> Path:
    lines = (one if isinstance(one, str) else json.dumps(one) for one in results)
    Path(path).write_text("\n".join(lines) + "\n")
    return Path(path)


def measures(*, store: str, out: str, reader: Service) -> bytes:
    done = run("grounding", CASES, [reader], store=store, out=out, settings=FEW)
    return (done.folder / "measures.json").read_bytes()


def test_a_round_trip_gives_the_measures_of_the_live_run_and_asks_nobody(looks: Service) -> None:
    files = planned("batch", looks, store="batch.sqlite")
    results = looks.answers(files)
    found = import_batch("batch", [write("out.jsonl", results)], store="batch.sqlite")
    assert found == Taken(lines=57, taken=57)
    by_batch = measures(store="batch.sqlite", out="by-batch", reader=looks)
    assert looks.live == 0
    assert by_batch == measures(store="live.sqlite", out="live", reader=looks)
    assert looks.live == 57
    # Nothing is left to write, and no folder is made of nothing.
    assert planned("again", looks, store="batch.sqlite") == []
    assert not Path("again").exists()


def test_bodies_are_to_the_byte_what_is_sent_live(overread: Overread) -> None:
    with served(control="looks", tally=True) as server:
        words = ("--cases", CASES, "--reader", f"openai:m@{server.base_url}", "--limit", "6")
        assert overread("plan", "grounding", *words, "--batch", "batch").code == 0
        overread("run", "grounding", *words, "--out", "run")
        live = set(server.bodies())
    lines = [line for file in Path("batch").glob("*.jsonl") for line in file.open("rb")]
    opening = b'"url":"/v1/chat/completions","body":'
    bodies = [line.partition(opening)[2].removesuffix(b"}\n") for line in lines]
    assert len(bodies) > 10
    assert {digest_of(body) for body in bodies} == live


def test_files_are_split_by_requests_and_by_bytes(looks: Service) -> None:
    made = plan_batch("grounding", CASES, [looks], folder="n", limits="20,", settings=FEW)
    assert [one.requests for one in made.files] == [20, 20, 17]
    by_size = plan_batch("grounding", CASES, [looks], folder="s", limits=",0.002MB", settings=FEW)
    bound = batch_limits(",0.002MB").size
    for one in by_size.files:
        size = (Path("s") / one.name).stat().st_size
        assert one.size == size <= bound
    assert sum(one.requests for one in by_size.files) == 57
    held = tomllib.loads(Path("n/batch.toml").read_text())
    assert (held["dataset"], held["limits"]) == (made.dataset, "20,")
    told: list[str] = []
    none = plan_batch("grounding", CASES, [looks], folder="t", limits=",0.0001MB", settings=FEW,
                      tell=told.append)  # fmt: skip
    assert none.files == ()
    assert "longer than a file may be" in told[0]
    assert told[-1].endswith("54 more are in no batch.")


def test_odd_results_are_counted_and_what_is_not_there_is_asked_later(looks: Service) -> None:
    files = planned("batch", looks)
    a, b, c, d, e, *rest = looks.answers(files)
    failed = c | {"response": None, "error": {"code": "batch_expired", "message": "late"}}
    other = json.loads(json.dumps(d).replace("content", "content", 1))
    other["response"]["body"]["choices"][0]["message"]["content"] = "Perhaps"
    refused = e | {"response": {"status_code": 400, "body": {"error": {"message": "no"}}}}
    lines = [
        b, b, failed, d, other, refused, *rest,
        a | {"custom_id": "0" * 32}, a | {"custom_id": "somebody else's"}, '{"custom_id": "cut o',
    ]  # fmt: skip
    told: list[str] = []
    found = import_batch("batch", [write("out.jsonl", lines)], tell=told.append)
    assert found == Taken(
        lines=len(lines), taken=54, doubled=1, contradicting=1, failed=2, foreign=2, malformed=1,
        missing=1, reasons={"batch_expired": 1, "HTTP 400": 1},
    )  # fmt: skip
    assert len(told) == 4
    assert any("cut off" in line and "line 61" in line for line in told)
    # The first of two results stays, and neither error is a reply.
    again = planned("rest", looks)
    assert {line["custom_id"] for file in again for line in map(json.loads, file.open())} == {
        one["custom_id"] for one in (a, c, e)
    }
    # A second file brings what failed, what was missing, and lines that are known.
    found = import_batch("batch", [write("later.jsonl", [a, c, e, b, other])])
    assert found == Taken(lines=5, taken=3, already=2, differing=1)
    measures(store=".overread/store.sqlite", out="run", reader=looks)
    assert looks.live == 0


def test_a_failure_that_a_later_line_mends_is_a_reply(looks: Service) -> None:
    a, *_ = looks.answers(planned("batch", looks))
    failed = a | {"response": None, "error": {"code": "x", "message": "y"}}
    found = import_batch("batch", [write("out.jsonl", [failed, a, failed])])
    assert (found.taken, found.failed, found.contradicting) == (1, 0, 2)
    assert found.missing == 56


def test_files_of_another_batch_are_refused_and_leave_nothing(
    looks: Service, overread: Overread
) -> None:
    files = planned("batch", looks)
    a, *_ = looks.answers(files)
    for path, why in (
        (write("foreign.jsonl", [a | {"custom_id": "f" * 32}]), "none of 1 lines is a result"),
        (files[0], "none of 57 lines is a result"),
        (write("empty.jsonl", [""]), "none of 0 lines"),
        (Path("nowhere.jsonl"), "there is no such file"),
        (Path("batch"), "is a folder and no file"),
    ):
        done = overread("import-batch", "batch", path)
        assert done.code == 2
        assert why in done.err.splitlines()[-1]
    assert "not the folder of a batch" in overread("import-batch", ".", files[0]).complaint
    assert planned("all", looks) != []


def test_the_command_says_what_became_of_every_line(looks: Service, overread: Overread) -> None:
    a, *rest = looks.answers(planned("batch", looks))
    done = overread("import-batch", "batch", write("out.jsonl", rest), "--json")
    assert (done.code, json.loads(done.out)["missing"]) == (3, 1)
    done = overread("import-batch", "batch", write("a.jsonl", [a]))
    assert done.code == 0
    assert "1 lines" in done.out


def test_judges_are_planned_once_there_is_something_to_judge() -> None:
    cases = "phantom:26"
    said = "It is a CT. It is brown. So it is the liver. Final answer: A"
    short = "Final answer: B"  # when it is shown its own reasoning
    script = Scripted(lambda prompt: Reply(short if "It is brown" in prompt.text else said))
    reader = Service(script, "thinker")
    judge = control("m3cot", cases, "lexical-judge", judge=True)
    words = {"boot": "100", "timing": "2", "checks": "2", "follow": "truncated"}
    same: dict[str, Any] = {"judges": [judge], "settings": words, "limit": 4}
    told: list[str] = []
    for number in range(6):
        folder = Path(f"batch-{number}")
        made = plan_batch(
            "m3cot", cases, [reader], folder=folder, store="b.sqlite", tell=told.append, **same
        )
        if not made.files:
            break
        # From the first on there are questions about the controls, by which the judge is checked.
        assert {one.reader for one in made.files} >= (
            {f"judge {judge.name}"} if number < 2 else set()
        )
        results = [
            one
            for file in sorted(folder.glob("*.jsonl"))
            for one in (judge if file.name.startswith("judge") else reader).answers([file])
        ]
        import_batch(folder, [write("out.jsonl", results)], store="b.sqlite")
    assert 2 < number < 6  # trials; what follows from them, and judging; judging of that
    assert told[-1] == f"{reader.name}: what is timed is in no batch; overread run asks it."
    made = run("m3cot", cases, [reader], store="b.sqlite", out="by-batch", **same)
    assert judge.live == 0
    assert reader.live == 4  # what is timed: two items, each directly and reasoned
    live = run("m3cot", cases, [reader], store="l.sqlite", out="live", **same)
    assert judge.live > 0
    untimed = [
        [one for one in each.records if one.measure not in ("latency", "efficiency")]
        for each in (made, live)
    ]
    assert untimed[0] == untimed[1]


def test_a_credentialed_set_is_written_for_nobody_who_was_not_named_twice(
    overread: Overread, monkeypatch: pytest.MonkeyPatch, workspace: Path
) -> None:
    cases = write_manifest(workspace / "closed", {})
    Image.new("L", (256, 256), 90).save(cases.parent / "film.png")
    words = ("plan", "grounding", "--cases", cases, "--batch", "batch")
    public = ("--reader", "openai:m@https://api.example.org/v1")
    config = workspace / "config.toml"
    monkeypatch.setenv("OVERREAD_CONFIG", str(config))
    config.write_text('share_with = ["api.example.org"]\n')
    said = overread(*words, *public).complaint
    assert 'add batch_with = ["api.example.org"]' in said
    assert not Path("batch").exists()
    config.write_text('share_with = ["api.example.org"]\nbatch_with = ["API.example.org"]\n')
    assert overread(*words, *public).code == 0
    assert {stat.S_IMODE(path.stat().st_mode) for path in Path("batch").iterdir()} == {0o600}
    assert stat.S_IMODE(Path("batch").stat().st_mode) == 0o700
    assert "holds other things" in overread(*words, *public).complaint


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--reader", "control:looks"), "nobody here is asked over HTTP"),
        (("--reader", "openai:m@http://127.0.0.1:9/v1", "--fresh"), "Leave --fresh out"),
        (("--reader", "openai:m@http://127.0.0.1:9/v1", "--requests", "r"), "one of the two"),
        (("--reader", "openai:m@http://127.0.0.1:9/v1", "--batch-limits", "lots"), "expected"),
    ],
)
def test_what_no_batch_can_be_made_of(overread: Overread, words: tuple[str, ...], why: str) -> None:
    done = overread("plan", "grounding", "--cases", CASES, *words, "--batch", "batch")
    assert (done.code, why in done.complaint) == (2, True)
    assert not Path("batch").exists()


def test_limits_without_a_folder(overread: Overread) -> None:
    words = ("--cases", CASES, "--reader", "control:looks", "--batch-limits", "openai")
    assert "there is no --batch" in overread("plan", "grounding", *words).complaint


def test_a_batch_that_was_damaged_is_refused(looks: Service) -> None:
    results = write("out.jsonl", looks.answers(planned("batch", looks)))
    Path("batch/requests.sqlite").write_bytes(b"no database" * 100)
    with pytest.raises(BadInput, match=r"requests\.sqlite: file is not a database"):
        import_batch("batch", [results])
    Path("batch/batch.toml").write_text("files = 3\n")
    with pytest.raises(BadInput, match="batch.toml: "):
        import_batch("batch", [results])
