"""A forecast: what a run would ask, to the number; it asks nothing and makes nothing."""

from __future__ import annotations

import json
import shutil
import stat
from pathlib import Path

import pytest

from overread.runs import open_cases, plan
from overread.runs._reach import Reach
from overread.stats import half_width
from support.commands import Overread, write_manifest
from support.served import served

pytestmark = pytest.mark.usefixtures("no_pages")

CASES = ("--cases", "phantom:16")


def forecast(overread: Overread, *words: object) -> list[dict]:
    done = overread("plan", "grounding", *CASES, *words, "--json")
    assert done.code == 0
    assert done.err == ""
    return json.loads(done.out)


def test_before_and_after_a_run(overread: Overread) -> None:
    with served(control="looks", tally=True) as server:
        reader = ("--reader", f"openai:m@{server.base_url}?price_in=1&price_out=2")
        (before,) = forecast(overread, *reader)
        assert not Path(".overread").exists()
        assert server.stats()["requests"] == 0
        overread("run", "grounding", *CASES, *reader, "--out", "run")
        assert server.stats()["requests"] == before["calls"]
        (after,) = forecast(overread, *reader)
    assert (before["trials"], before["answered"]) == (63, 0)
    assert before["undigested"] == before["calls"] == 57
    assert before["cost"] == pytest.approx((before["tokens_in"] + 2 * before["tokens_out"]) / 1e6)
    # Two trials that are one call are both answered by it.
    assert (after["trials"], after["answered"], after["calls"]) == (63, 63, 0)
    assert (after["undigested"], after["pictures"], after["tokens_in"], after["cost"]) == (
        0,
        0,
        0,
        0,
    )


@pytest.mark.parametrize("temperature", [0, 0.7])
def test_what_is_asked_again_is_counted_again(overread: Overread, temperature: float) -> None:
    """As the store tells replies apart: by repeat, and by case where they are drawn by chance."""
    more = ("--set", "conditions=+repeat,+blank")
    with served(control="looks", tally=True) as server:
        reader = ("--reader", f"openai:m@{server.base_url}?temperature={temperature}")
        (before,) = forecast(overread, *reader, *more)
        overread("run", "grounding", *CASES, *reader, *more, "--out", "run")
        assert server.stats()["requests"] == before["calls"]


def test_one_line_a_reader(overread: Overread) -> None:
    found = forecast(overread, "--reader", "control:looks", "--reader", "control:prior")
    assert [f["reader"] for f in found] == ["control:looks", "control:prior"]
    assert found[1]["pictures"] == 0
    assert found[1]["calls"] < found[0]["calls"]
    assert found[0]["cost"] is None


def test_a_sample(overread: Overread) -> None:
    (found,) = forecast(overread, "--reader", "control:looks", "--limit", "4")
    assert 0 < found["trials"] <= 16


def test_the_table(overread: Overread) -> None:
    done = overread("plan", "grounding", *CASES, "--reader", "control:looks")
    assert "nothing was asked" in done.out
    assert "not yet digested" in done.out


def test_what_the_cases_can_show_is_said_once(overread: Overread) -> None:
    two = ("--reader", "control:looks", "--reader", "control:prior")
    found = forecast(overread, *two)
    reach = found[0]["reach"]
    assert reach == found[1]["reach"]
    assert (reach["cases"], reach["half_width_at_50"]) == (
        16,
        pytest.approx(half_width(0.5, 16, effect=reach["effect"])),
    )
    assert reach["half_width_at_90"] < reach["half_width_at_50"] < reach["smallest_difference"]
    table = overread("plan", "grounding", *CASES, *two).out
    assert table.count("16 cases of ") == 1
    assert "with 80 % power" in table


def test_a_patient_with_many_cases_shows_less(workspace: Path) -> None:
    """The same twelve cases: of twelve patients, of four, and with nobody named."""

    def reach(*patients: str) -> Reach:
        rows = [
            {"subject_id": patient, "image_path": f"{n}.png"} for n, patient in enumerate(patients)
        ]
        made = plan("grounding", write_manifest(workspace / "set", *rows), ["control:prior"])
        assert made[0].reach is not None
        return made[0].reach

    alone, shared, nobody = reach(*"abcdefghijkl"), reach(*"aaabbbcccddd"), reach(*[""] * 12)
    assert (alone.patients, shared.patients, nobody.patients) == (12, 4, 12)
    assert (alone.effect, shared.effect, nobody.effect) == (1, 2, 1)
    assert alone.half_width_at_50 < shared.half_width_at_50
    # Signs of four patients are never told from chance, however many films they have.
    assert alone.smallest_difference is not None
    assert reach(*"aaaabbbbccccdddd" * 20).smallest_difference is None
    assert "they show no difference with 80 % power" in str(shared)
    assert "correlating by 0.5" in str(shared)
    assert "correlating" not in str(alone)


def test_requests_answered_elsewhere_come_back_as_recorded_replies(overread: Overread) -> None:
    """The whole way round: plan, answer each line somewhere else, run with the answers."""
    words = ("--reader", "control:looks", "--requests", "requests.jsonl")
    (found,) = forecast(overread, *words)
    requests = [json.loads(line) for line in Path("requests.jsonl").read_text().splitlines()]
    assert len(requests) == found["calls"]
    assert {"request", "case", "condition", "messages", "decoding"} == set(requests[0])
    with Path("replies.jsonl").open("w", encoding="utf-8") as file:
        for request in requests:
            file.write(json.dumps({"request": request["request"], "text": "Yes"}) + "\n")
    done = overread("run", "grounding", *CASES, "--reader", "recorded:replies.jsonl?label=elsewhere", "--out", "run", "--json")  # fmt: skip
    assert done.code == 0
    measures = {m["measure"]: m for m in json.loads(done.out)["measures"] if not m["by"]}
    assert measures["sensitivity"]["value"] == 1
    assert measures["specificity"]["value"] == 0
    assert measures["accuracy"]["reader"] == "elsewhere"


def test_requests_hold_no_truth(overread: Overread) -> None:
    forecast(overread, "--reader", "control:looks", "--requests", "requests.jsonl")
    for line in Path("requests.jsonl").read_text().splitlines():
        assert not {"label", "box", "truth", "answer"} & set(json.loads(line))


@pytest.mark.parametrize(("declares", "others"), [(True, 0o044), (False, 0)])
def test_requests_of_a_credentialed_set_are_private(
    overread: Overread, declares: bool, others: int
) -> None:
    shutil.copytree(open_cases("grounding", "phantom:16", "corrected", {}).kept_path.parent, "set")
    if not declares:  # a set that says nothing is credentialed
        Path("set/dataset.toml").unlink()
    Path("requests.jsonl").touch(0o644)  # from an earlier forecast of another set
    words = ("--cases", "set", "--reader", "control:looks", "--requests", "requests.jsonl")
    assert overread("plan", "grounding", *words).code == 0
    assert stat.S_IMODE(Path("requests.jsonl").stat().st_mode) & 0o077 == others


def test_ratings_that_cannot_be_read_are_known_before_anybody_is_asked(overread: Overread) -> None:
    words = ("--reader", "control:looks", "--set", "ratings=nowhere.csv")
    for command in ("plan", "run"):
        done = overread(command, "grounding", *CASES, *words)
        assert done.code == 2
        assert "there is no such file or folder" in done.complaint
    assert not Path(".overread").exists()


def test_a_duration_is_that_of_the_declared_or_the_measured_rate(overread: Overread) -> None:
    with served(control="looks") as server:
        spec = f"openai:m@{server.base_url}?price_in=1&currency=EUR"
        (unknown,) = forecast(overread, "--reader", spec)
        (declared,) = forecast(overread, "--reader", f"{spec}&rpm=60")
        assert (unknown["duration"], unknown["rate_is"]) == (None, None)
        assert (declared["rate"], declared["rate_is"]) == (1.0, "declared")
        assert declared["duration"] == declared["calls"]
        shown = overread("plan", "grounding", *CASES, "--reader", f"{spec}&rpm=60").out
    assert " EUR" in shown
    assert "57 s" in shown
    assert "1 calls a second, as declared" in shown


def test_the_measured_rate_is_that_of_the_last_burst(tmp_path: Path) -> None:
    from overread.case import Reply
    from overread.engine import Enrolment, Store

    with Store(tmp_path / "store.sqlite") as store:
        dataset = store.dataset_id("b", "d", "open")
        store.enrol([Enrolment(identity="i", label="l")], dataset)
        asker = next(iter(store._askers.values()))
        rows = [(bytes([n]) * 16, dataset, Reply("x")) for n in range(60)]
        store.commit(rows, [], asker)
        for n, (key, *_) in enumerate(rows):  # twenty long ago, then two a second
            at = 100 if n < 20 else 1000 + n // 2
            store._write.execute("UPDATE replies SET at=? WHERE key=?", (at, key))
        assert store.rate("i") == pytest.approx(40 / 19, rel=0.1)
        assert store.rate("another") is None
