"""A run of the Med-CMR benchmark as a user makes it: asked, kept, measured again, brought in."""

from __future__ import annotations

import json
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest

import overread as ov
from overread.benchmarks.registry import class_of
from overread.phantoms.vignette import LEAST
from support.commands import Overread
from support.served import Served, served

pytestmark = pytest.mark.usefixtures("no_pages")

CASES = ("--cases", f"phantom:{LEAST}")
FEW = ("--set", "boot=100", "--set", "checks=2")
JUDGE = ("--judge", "control:lexical-judge")
RUN = ("run", "medcmr", *CASES, *FEW)
READERS = ("--reader", "control:oracle", "--reader", "control:longest-option")
EDITIONS = ("corrected", "authors")


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served(control="chat_server.letters:draws") as running:
        yield running


def measures(folder: str | Path, **about: str) -> list[dict[str, Any]]:
    kept = json.loads(Path(folder, "measures.json").read_text(encoding="utf-8"))["measures"]
    own = {key: about.pop(key) for key in ("reader", "measure") if key in about}
    return [m for m in kept if m | own == m and m["by"] == about]


def value(folder: str | Path, measure: str, reader: str, **by: str) -> float | None:
    (found,) = measures(folder, measure=measure, reader=reader, **by)
    number: float | None = found["value"]
    return number


def record(folder: str | Path) -> dict[str, Any]:
    return tomllib.loads(Path(folder, "run.toml").read_text(encoding="utf-8"))


def same(one: str, other: str, *names: str) -> bool:
    return all(Path(one, name).read_bytes() == Path(other, name).read_bytes() for name in names)


# ---------------------------------------------------------------- asked and measured


@pytest.mark.parametrize("edition", EDITIONS)
def test_the_files_of_a_run_and_its_numbers(
    overread: Overread, workspace: Path, edition: str
) -> None:
    done = overread(*RUN, *READERS, *JUDGE, "--edition", edition, "--out", "r")
    assert done.code == 0, done.err
    assert {path.name for path in Path("r").iterdir()} == {
        "run.toml", "cases.parquet", "answers.parquet", "verdicts.parquet", "measures.json",
        "report.html", "left_out.csv",
    }  # fmt: skip
    assert value("r", "accuracy", "control:oracle") == 1
    assert value("r", "score", "control:oracle") == 1
    other = value("r", "accuracy", "control:longest-option")
    assert other is not None
    assert other < 0.5
    kept = record("r")
    assert kept["n_cases"] == LEAST
    assert f"edition:{edition}+boot=100|" in kept["signature"]
    assert kept["signature"] in done.out.replace("\n  ", "")  # folded to the terminal's width
    # The same over the same store, elsewhere: nothing is asked, and no byte differs.
    again = overread(*RUN, *READERS, *JUDGE, "--edition", edition, "--out", "s")
    assert again.code == 0, again.err
    assert "kept" in again.err
    names = {path.name for path in Path("r").iterdir()} - {"run.toml"}
    assert same("r", "s", *names)


def test_a_part_of_the_set_is_seeded_and_in_proportion(overread: Overread, workspace: Path) -> None:
    for out in ("a", "b"):
        assert overread(*RUN, *READERS, "--limit", 21, "--out", out).code == 0
    assert same("a", "b", "cases.parquet", "measures.json")
    cases = pl.read_parquet("a/cases.parquet")
    assert cases.height == 21
    assert cases["dimension"].n_unique() == 7
    assert set(cases["kind"]) == {"mcq", "open"}
    assert "cases:21@" in record("a")["signature"]


@pytest.mark.usefixtures("pages")
def test_the_other_edition_from_kept_answers_is_a_run_under_it(
    overread: Overread, workspace: Path
) -> None:
    images = ("--set", "images=original,text", "--set", "orders=1", "--set", "reformulate=7")
    words = (*READERS, *JUDGE, *images)
    assert overread(*RUN, *words, "--out", "ours").code == 0
    assert overread(*RUN, *words, "--edition", "authors", "--out", "theirs").code == 0
    assert not same("ours", "theirs", "measures.json")
    shutil.copytree("ours", "before")
    # Told by the signature: who was asked under which words.
    done = overread("measure", "ours", "--edition", "authors")
    assert done.code == 0, done.err
    one, other = (json.loads(Path(out, "measures.json").read_text()) for out in ("ours", "theirs"))
    assert one["measures"] == other["measures"]
    assert one["signature"] == other["signature"] + "|shown:corrected"
    # And back.
    assert overread("measure", "ours", "--edition", "corrected").code == 0
    assert same("ours", "before", "measures.json", "report.html")


def test_letters_by_their_probabilities_from_kept_answers_are_a_run_made_so(
    overread: Overread, workspace: Path, server: Served
) -> None:
    words = ("--reader", f"openai:m@{server.base_url}", "--set", "kinds=mcq")
    likely = ("--set", "letters=logprobs")
    assert overread(*RUN, *words, "--out", "said").code == 0
    assert overread(*RUN, *words, *likely, "--out", "likely").code == 0
    said, held = (value(out, "accuracy", "m") for out in ("said", "likely"))
    # What it says and what it holds likeliest differ, and the latter was known all along.
    assert said != held == value("said", "accuracy_logprobs", "m")
    done = overread("measure", "said", *likely)
    assert done.code == 0, done.err
    assert same("said", "likely", "measures.json")
    assert "letters=logprobs" in record("said")["signature"]


def test_what_was_shown_cannot_be_changed_afterwards(overread: Overread, workspace: Path) -> None:
    assert overread(*RUN, *READERS, "--out", "r").code == 0
    before = Path("r/measures.json").read_bytes()
    for setting in ("images=blank", "orders=2", "reformulate=3", "reask=0", "px=64"):
        done = overread("measure", "r", "--set", setting)
        assert done.code == 2
        assert f"{setting}: it says what readers are shown" in done.complaint
    assert Path("r/measures.json").read_bytes() == before


def test_readers_are_set_beside_each_other(overread: Overread, workspace: Path) -> None:
    done = overread(*RUN, *READERS, "--set", "pairs=control:oracle>control:longest-option", "--out", "r")  # fmt: skip
    assert done.code == 0, done.err
    right = value("r", "accuracy", "control:longest-option")
    lost = value("r", "only_base", "control:longest-option", versus="control:oracle")
    assert right is not None
    assert lost == pytest.approx(1 - right)
    assert value("r", "only_medical", "control:longest-option", versus="control:oracle") == 0
    done = overread("measure", "r", "--set", "pairs=nobody>control:oracle")
    assert done.code == 2
    assert "nobody" in done.complaint
    # Of a run without pairs, the same by measuring.
    assert overread(*RUN, *READERS, "--out", "s").code == 0
    assert (
        overread("measure", "s", "--set", "pairs=control:oracle>control:longest-option").code == 0
    )
    assert same("r", "s", "measures.json")


# ---------------------------------------------------------------- gone wrong


def test_what_was_not_answered_is_wrong_in_no_number_and_heals(
    overread: Overread, workspace: Path
) -> None:
    with served("hostile", trouble=("400",), permanent_share=0.3, seed=5) as hostile:
        words = ("--reader", f"openai:m@{hostile.base_url}?identity=one", "--out", "r")
        done = overread(*RUN, *words)
        refused = hostile.stats()["refused_bodies"]
    assert refused
    assert done.code == 3
    assert "Run the same command again to resume." in done.err
    answers = pl.read_parquet("r/answers.parquet")
    assert answers.filter(outcome="unanswered").height == refused
    assert record("r")["readers"][0]["unanswered"] == refused
    rates = [measures("r", measure="unanswered_rate", kind=kind)[0] for kind in ("mcq", "open")]
    assert sum(rate["k"] for rate in rates) == refused
    assert sum(rate["n"] for rate in rates) == LEAST
    with served("instant", tally=True) as mended:
        words = ("--reader", f"openai:m@{mended.base_url}?identity=one", "--out", "r")
        assert overread(*RUN, *words).code == 0
        assert mended.stats()["requests"] == refused
    assert pl.read_parquet("r/answers.parquet").filter(outcome="unanswered").is_empty()


# ---------------------------------------------------------------- brought in


def test_the_texts_of_a_run_brought_in_give_the_same_numbers(
    overread: Overread, workspace: Path, server: Served
) -> None:
    images = ("--set", "images=original,blank", "--set", "orders=1", "--set", "reformulate=7")
    asked = (*images, "--set", "logprobs=0", "--reader", f"openai:m@{server.base_url}")
    assert overread(*RUN, *asked, "--out", "r").code == 0
    index = dict(pl.read_parquet("r/cases.parquet").select("case", "index").iter_rows())
    with Path("m.jsonl").open("w", encoding="utf-8") as file:
        for row in pl.read_parquet("r/answers.parquet").iter_rows(named=True):
            line = {"index": index[row["case"]], "kind": row["form"], "text": row["text"]}
            file.write(json.dumps(line | {"image": row["image"], "order": row["order"]}) + "\n")
    made = ov.runs.phantom_cases("medcmr", f"phantom:{LEAST}")
    words = ("--cases", made, "--replies", "m.jsonl", "--set", "boot=100")
    done = overread("import", "medcmr", *words, "--out", "i")
    assert done.code == 0, done.err
    assert record("i")["imported"] is True
    assert value("i", "accuracy", "m") == value("r", "accuracy", "m")

    def numbers(folder: str) -> list[dict[str, Any]]:
        # A file does not say how a reply ended.
        found = json.loads(Path(folder, "measures.json").read_text())["measures"]
        return [one for one in found if one["measure"] not in ("cut_off", "cut_off_rate")]

    assert numbers("i") == numbers("r")
    before = Path("i/measures.json").read_bytes()
    assert overread("measure", "i").code == 0
    assert Path("i/measures.json").read_bytes() == before


# ---------------------------------------------------------------- the instrument checks itself


@pytest.mark.parametrize("seed", [0, 1])
def test_selfcheck_recovers_every_control_in_both_editions(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    medcmr = class_of("medcmr")
    few = {"boot": "100", "checks": "4"}
    changed = msgspec.structs.replace(medcmr.phantoms, size=LEAST, settings=few)
    monkeypatch.setattr(medcmr, "phantoms", changed)
    (found,) = ov.runs.selfcheck("medcmr", seed=seed)
    assert [one.control for one in found] == [
        "oracle", "letter-a", "longest-option", "reads-caption", "format-breaker",
    ]  # fmt: skip
    for one in found:
        assert one.recovered, one
        assert one.found == one.authors == one.expected


# ---------------------------------------------------------------- what may be passed on


@pytest.mark.usefixtures("pages")
def test_the_page_of_a_credentialed_set_has_none_of_its_texts_unless_told(
    overread: Overread, workspace: Path
) -> None:
    made = ov.runs.phantom_cases("medcmr", f"phantom:{LEAST}")
    Path("kept").mkdir()
    shutil.copy(made, "kept/dataset.zip")  # and nothing beside it that says it is open
    done = overread("run", "medcmr", "--cases", "kept/dataset.zip", *FEW, *READERS, *JUDGE, "--out", "r")  # fmt: skip
    assert done.code == 0, done.err
    assert record("r")["policy"] == "credentialed"
    cases = pl.read_parquet("r/cases.parquet")
    texts = [*cases["question"], *cases["caption"].drop_nulls(), *cases["images"].explode()]
    texts += [text for text in cases.filter(kind="open")["answer"] if " " in text]

    def told() -> list[str]:
        page = Path("r/report.html").read_text(encoding="utf-8")
        return [text for text in set(texts) if text in page]

    assert told() == []
    for suffix in ("html", "md", "csv"):
        place = f"list.{suffix}"
        assert overread("report", "r", "--checklist", "claim", "--out", place).code == 0
        assert not any(text in Path(place).read_text() for text in set(texts))
        assert Path(place).stat().st_mode & 0o077 == 0
    assert not any(text in Path("r/measures.json").read_text() for text in set(texts))
    assert overread("measure", "r", "--include-images").code == 0
    assert told()
    assert "keep it where the data set may be" in Path("r/report.html").read_text(encoding="utf-8")
    assert overread("measure", "r").code == 0
    assert told() == []
