"""A set of real and drawn pictures goes through every step, against a server, people and kill -9."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from tests.support.curation_server import Server, curation_server

from overread import runs
from overread.curate import folder as kept
from overread.curate.records import items_of
from overread.door import bound
from overread.runs import Unfinished
from overread.study import Journal, open_study
from overread.study.app import serving_study

pytestmark = pytest.mark.slow

CURATE = """
name = "whole"
[models]
writer = "openai:writer@{url}"
distractors = ["openai:one@{url}", "openai:two@{url}", "openai:three@{url}"]
steps = ["openai:writer@{url}", "openai:two@{url}"]
merge = "openai:writer@{url}"
checker = "openai:checker@{url}"
filters = ["openai:filter-a@{url}", "openai:filter-b@{url}"]
blind = ["openai:filter-a@{url}?modality=text&label=blind-a"]
leakage = ["openai:suspect@{url}"]
[review]
reviewers = ["anna", "ben"]
auditor = "carla"
[publish]
published = "2026-11-18"
[[sources]]
path = "{shared}/bccd"
boxes = "{shared}/bccd/boxes.csv"
caption = "Smear of peripheral blood with red cells around a white cell under the microscope."
modality = "Pathology / Microscopy"
system = "Other / NA"
take = 10
[[sources]]
path = "{shared}/cxr/manifest.csv"
name = "cxr"
columns = {{ labels = "label" }}
where = {{ label_source = "ieee8023_case_metadata" }}
permitted = "NIH: with attribution"
modality = "X-ray & Fluoroscopy"
system = "Respiratory"
take = 10
[[sources]]
path = "{shared}/misc/manifest.csv"
name = "misc"
columns = {{ caption = "detail" }}
take = 40
[[sources]]
path = "phantom:28"
benchmark = "medcmr"
name = "vignettes"
licence = "CC0-1.0"
[[sources]]
path = "phantom:26"
benchmark = "m3cot"
name = "questions"
licence = "CC0-1.0"
take = 6
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with curation_server() as found:
        yield found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, server: Server, shared: Path) -> Path:
    """The set up to its filter, one of the steps killed on the way."""
    data = shared / "data"
    if not (data / "bccd").is_dir():
        pytest.skip("the real pictures are not there")
    place = tmp_path_factory.mktemp("whole") / "set"
    place.mkdir()
    (place / "curate.toml").write_text(CURATE.format(url=server.url, shared=data))
    runs.curate_collect(place)
    runs.curate_step(place, "ask")
    killed(server, place, "distract")
    chosen(server, place)
    runs.curate_step(place, "steps")
    runs.curate_step(place, "filter")
    return place


def killed(server: Server, place: Path, step: str) -> None:
    """Kill the step once it has some replies, run it again, and count what was asked twice."""
    before, server.pause = server.asked.total(), 0.2
    words = [sys.executable, "-m", "overread", "curate", step, str(place)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while server.asked.total() < before + 100 and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not kept.file_of(place, step).is_file()
    server.pause = 0.0
    time.sleep(0.3)
    asked_before = Counter(server.asked)
    runs.curate_step(place, step)
    twice = [name for name, times in server.asked.items() if times > 1 and name in asked_before]
    # Only what was under way when it was killed (16 calls a model), what had come in the last tenth
    # of a second and was not committed yet (half as many), or was turned away for good.
    assert len(twice) <= 3 * 16 * 3 // 2 + server.fates["turned away"] * 2


def chosen(server: Server, place: Path) -> None:
    """People choose among the options; the step takes them without asking anybody."""
    with pytest.raises(Unfinished, match="ready"):
        runs.curate_choose(place)
    read_over_http(place / "review-distract" / "1", by_the_words)
    many = runs.curate_choose(place)
    before = server.asked.total() - server.fates["turned away"]
    runs.curate_step(place, "distract")
    assert server.asked.total() - server.fates["turned away"] == before
    items = items_of(kept.read_step(place, "distract"))
    assert sum("distractors_unreviewed" in item.flags for item in items) == 0 < many


# ---------------------------------------------------------------- people


def read_over_http(study: Path, decide: Any) -> None:
    """Everybody reads a study through its own page's requests."""

    async def whole() -> None:
        opened, at = open_study(study), bound("127.0.0.1", 0)
        async with serving_study(opened, at, journal=Journal(study)) as links:
            origin = at.address.origin
            for reader, link in links.readers.items():
                async with aiohttp.ClientSession(
                    cookie_jar=aiohttp.CookieJar(unsafe=True)
                ) as session:
                    await (await session.get(link)).read()
                    async with session.get(f"{origin}/state") as reply:
                        order = (await reply.json())["order"]
                    for display in order:
                        async with session.get(f"{origin}/display/{display}") as reply:
                            shown = await reply.json()
                        values = decide(reader, shown)
                        sent = {"values": values}
                        async with session.put(f"{origin}/display/{display}", json=sent) as reply:
                            assert reply.status == 200, await reply.text()

    asyncio.run(whole())


def by_the_words(reader: str, shown: dict[str, Any]) -> dict[str, str]:
    """Keep nearly all; drop what asks of a smear in vain; the second reviewer is stricter."""
    text = " ".join(part for pair in shown["texts"] for part in pair)
    asks = {ask["name"] for ask in shown["asks"]}
    if "picked" in asks:
        (ask,) = shown["asks"]
        return {"picked": "\n".join(ask["options"][: ask["least"]])}
    if "decision" not in asks:
        return dict.fromkeys(asks, "no" if "same" in asks else "yes")
    if len(text) % 11 == 0:
        return {"decision": "drop", "reasons": "ambiguous"}
    if len(text) % 13 == 0 and reader == "ben":
        return {"decision": "drop", "reasons": "needs no image"}
    if len(text) % 17 == 0:
        return {"decision": "fix", "reasons": "other", "question_text": "As mended: what is shown?"}
    return {"decision": "keep"}


@pytest.fixture(scope="module")
def reviewed(folder: Path) -> Path:
    with pytest.raises(Unfinished, match="ready"):
        runs.curate_review(folder)
    read_over_http(folder / "review" / "1" / "first", by_the_words)
    with pytest.raises(Unfinished, match="carla decides"):
        runs.curate_review(folder)
    read_over_http(folder / "review" / "1" / "audit", by_the_words)
    runs.curate_review(folder)
    return folder


def test_a_whole_set_is_made_of_real_pictures_and_runs(
    reviewed: Path, server: Server, tmp_path: Path
) -> None:
    items = items_of(kept.read_step(reviewed, "review"))
    assert len(items) >= 60
    assert len({item.modality for item in items}) >= 5
    assert {"single", "short", "bool"} <= {item.kind for item in items}
    assert any(item.pair for item in items)
    assert all(server.fates[fate] for fate in ("turned away", "refused", "prose"))
    # What a model said wrongly cost its own item.
    reasons = Counter(
        one.reason
        for step in ("ask", "distract", "steps")
        for one in kept.read_step(reviewed, step)
        if one.verdict == "dropped"
    )
    assert {"malformed", "refused", "unanswered"} & set(reasons)
    runs.curate_leakage(reviewed)
    place = Path(runs.curate_publish(reviewed).folder)
    assert kept.stale(reviewed) == []
    text = (place / "README.md").read_text()
    for said in ("filtered by", "anna", "carla", "| kappa |", "Signs of leakage", "writer-0718"):
        assert said in text, said
    for benchmark, control in (("medcmr", "control:oracle"), ("m3cot", "control:clinician")):
        run = runs.run(
            benchmark, cases=place, readers=[f"openai:filter-a@{server.url}", control],
            out=tmp_path / benchmark, store=tmp_path / "store.sqlite",
        )  # fmt: skip
        assert "filtered by what filter-a" in (tmp_path / benchmark / "run.toml").read_text()
        answered = run.measures.filter(run.measures["reader"] == control)
        assert len(answered)
    assert (tmp_path / "medcmr" / "report.html").is_file()


def test_no_step_asks_anything_twice(reviewed: Path, server: Server) -> None:
    """Run again, every step finds its replies, and writes the same bytes."""
    for step in ("ask", "distract", "steps", "filter"):
        before, bytes_before = Counter(server.asked), kept.file_of(reviewed, step).read_bytes()
        turned = server.fates["turned away"]
        runs.curate_step(reviewed, step)
        again = sum((server.asked - before).values())
        # Only those are asked again that had no reply at all.
        assert again == server.fates["turned away"] - turned
        assert kept.file_of(reviewed, step).read_bytes() == bytes_before
