"""A run: what it writes, what it asks, and that the same recipe gives the same bytes."""

from __future__ import annotations

import asyncio
import json
import shutil
import stat
import threading
import tomllib
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

import overread as ov
from overread.case import Measure, Prompt, Reply
from overread.engine import Sources, Store, Studio, ask
from overread.runs import open_cases
from overread.runs._asking import run_async
from overread.runs._opening import stratified_sample
from support.commands import GOLDEN, Overread
from support.readers import Scripted, questions
from support.served import served

pytestmark = pytest.mark.usefixtures("no_pages")

FILES = {"run.toml", "cases.parquet", "answers.parquet", "measures.json", "report.html"}
FIELDS = [
    "reader", "measure", "by", "value", "n", "k", "se", "sd_boot", "sd_seeds", "sd_videos", "low",
    "high", "method", "p", "q", "family", "label", "note", "how", "flags", "left_out", "as_wrong",
    "beside", "against", "pooled",
]  # fmt: skip
CASES = ("--cases", "phantom:16")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def record_of(folder: str | Path) -> dict:
    return tomllib.loads(Path(folder, "run.toml").read_text(encoding="utf-8"))


def strict(text: str) -> dict:
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


# ---------------------------------------------------------------- from Python


def test_from_python(workspace: Path) -> None:
    run = ov.run("grounding", cases="phantom:16", readers=["control:looks", "control:prior"])
    assert run.measures.columns == FIELDS
    assert run.measures.schema["value"] == pl.Float64
    assert run.measures.schema["n"] == pl.Int64
    assert run.measures.height == len(run.records)
    accuracy = run.measures.filter(measure="accuracy", reader="control:looks", by="{}")
    assert accuracy["value"].to_list() == [1.0]
    assert next(iter(run.exhibits)) == "summary"
    assert {made.signature for made in run.exhibits.values()} == {run.record.signature}
    assert {path.name for path in run.folder.iterdir()} == FILES


def test_from_inside_a_running_loop(workspace: Path) -> None:
    async def notebook() -> ov.Run:
        return ov.run("grounding", "phantom:16", ["control:looks"], limit=4, out="run")

    assert asyncio.run(notebook()).record.n_cases == 4


def test_from_inside_a_running_loop_a_failure_comes_out_as_it_is(workspace: Path) -> None:
    async def work(outcome: object) -> object:
        await asyncio.sleep(0)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    async def notebook(outcome: object) -> object:
        return run_async(work(outcome))

    assert asyncio.run(notebook(3)) == 3
    assert asyncio.run(notebook(None)) is None
    for failure in (ValueError("odd"), ov.BadInput("mend it"), SystemExit(4)):
        with pytest.raises(type(failure)) as caught:
            asyncio.run(notebook(failure))
        assert caught.value is failure


def test_an_interrupt_inside_a_running_loop_ends_the_calls_and_keeps_what_came_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hangs, cancelled = threading.Event(), []

    class Hanging(Scripted):
        async def reply(self, prompt: Prompt) -> Reply:
            if len(self.asked) < 20:
                return await super().reply(prompt)
            hangs.set()
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                cancelled.append(prompt.text)
                raise
            raise AssertionError("nobody stopped the call")

    def interrupted(_: object) -> None:
        assert hangs.wait(10)
        raise KeyboardInterrupt

    monkeypatch.setattr("overread.runs._asking.wait", interrupted)

    async def notebook(store: Store, studio: Studio) -> None:
        run_async(ask(questions(100), Hanging(), store, studio, dataset=1))

    with Store(tmp_path / "store.sqlite") as store:
        studio = Studio(Sources(store, 1))
        with pytest.raises(KeyboardInterrupt):
            asyncio.run(notebook(store, studio))
        assert cancelled
        assert store.count() == 20
        studio.close()


def test_an_interrupt_before_the_first_call_ends_the_work_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    finished = []

    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("overread.runs._asking.wait", interrupted)

    async def work() -> None:
        await asyncio.sleep(5)
        finished.append(True)

    async def notebook() -> None:
        run_async(work())

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(notebook())
    assert not finished


def test_bad_input_from_python_is_an_exception(workspace: Path) -> None:
    with pytest.raises(ov.BadInput, match="nope"):
        ov.run("grounding", "phantom:16", ["control:nope"])


def test_a_recipe_has_its_own_folder(workspace: Path) -> None:
    def folder(**options) -> Path:
        return ov.run("grounding", "phantom:16", ["control:always-yes"], **options).folder

    recipes = [
        {},
        {"limit": 4},
        {"edition": "authors", "settings": {"boot": "100"}},
        {"settings": {"px": "112"}},
    ]
    assert len({folder(**recipe) for recipe in recipes}) == 4
    assert folder() == folder()


# ---------------------------------------------------------------- the folder


@pytest.fixture
def closed_set(workspace: Path) -> Path:
    """The phantoms as somebody's own data, without a word on who may see them."""
    made = open_cases("grounding", "phantom:16", "corrected", {}).kept_path.parent
    shutil.copytree(made, "hospital")
    Path("hospital/dataset.toml").unlink()
    return Path("hospital")


def test_a_set_that_declares_nothing_is_credentialed(overread: Overread, closed_set: Path) -> None:
    assert overread("run", "grounding", "--cases", closed_set, "--reader", "control:looks", "--out", "run").code == 0  # fmt: skip
    assert record_of("run")["policy"] == "credentialed"
    assert mode(Path("run")) == 0o700
    assert {mode(path) for path in Path("run").iterdir()} == {0o600}
    assert (mode(Path(".overread")), mode(Path(".overread/store.sqlite"))) == (0o700, 0o600)


def test_an_open_set_may_be_read_by_others(overread: Overread) -> None:
    overread("run", "grounding", *CASES, "--reader", "control:looks", "--out", "run")
    assert record_of("run")["policy"] == "open"
    assert mode(Path("run")) & 0o077
    assert mode(Path("run/report.html")) & 0o044


def test_credentialed_cases_do_not_leave_for_a_host_nobody_named(
    overread: Overread, closed_set: Path
) -> None:
    spec = "openai:m@http://203.0.113.7/v1?attempts=1&timeout=2"
    done = overread("run", "grounding", "--cases", closed_set, "--reader", spec, "--out", "run")
    assert done.code == 3
    assert "credentialed" in done.err
    assert "Nothing was sent" in done.err
    assert not Path("run").exists()


def test_measures_are_strict_json_with_the_documented_fields(overread: Overread) -> None:
    done = overread("run", "grounding", *CASES, "--reader", "control:looks", "--out", "run", "--json")  # fmt: skip
    text = Path("run/measures.json").read_text(encoding="utf-8")
    assert done.out == text
    found = strict(text)
    assert list(found) == ["overread", "benchmark", "edition", "signature", "measures"]
    assert list(Measure.__struct_fields__) == FIELDS
    assert all(list(record) == FIELDS for record in found["measures"])
    assert found["signature"] == record_of("run")["signature"]
    rates = [r["value"] for r in found["measures"] if r["k"] is not None and r["value"] is not None]
    assert rates
    assert all(0 <= rate <= 1 for rate in rates)


# ---------------------------------------------------------------- once asked, never again


@pytest.mark.usefixtures("pages")
def test_two_runs_over_one_store_are_the_same_to_the_byte(overread: Overread) -> None:
    with served(control="looks", tally=True) as server:
        spec = f"openai:m@{server.base_url}"
        for out in ("one", "two"):
            assert overread("run", "grounding", *CASES, "--reader", spec, "--out", out).code == 0
            asked = server.stats()
            assert asked["histogram"] == {"1": asked["bodies"]}
    for name in ("measures.json", "cases.parquet", "answers.parquet", "report.html", "run.toml"):
        assert Path("one", name).read_bytes() == Path("two", name).read_bytes()


def test_a_text_only_reader_costs_one_call_a_question(overread: Overread) -> None:
    with served("instant", tally=True) as server:
        spec = f"openai:m@{server.base_url}?modality=text"
        assert overread("run", "grounding", *CASES, "--reader", spec, "--out", "run").code == 0
        stats = server.stats()
    answers = pl.read_parquet("run/answers.parquet")
    findings = pl.read_parquet("run/cases.parquet")["finding"].n_unique()
    assert answers.height == 63
    assert stats["requests"] == findings
    assert stats["pictures"] == {"0": findings}


@pytest.fixture(scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory, phantom_cache: Path) -> Path:
    """A run for tests of what is done with one afterwards."""
    place = tmp_path_factory.mktemp("made")
    return ov.run(
        "grounding",
        "phantom:16",
        ["control:always-yes"],
        settings={"boot": "100"},
        out=place / "run",
        store=place / "store.sqlite",
    ).folder


@pytest.fixture
def kept(made_once: Path, workspace: Path) -> None:
    """The folder `run`, as `overread run` left it."""
    shutil.copytree(made_once, workspace / "run")


def test_measuring_under_the_other_edition_and_back(overread: Overread) -> None:
    overread("run", "grounding", *CASES, "--reader", "control:looks", "--out", "run")
    first = {name: Path("run", name).read_bytes() for name in FILES}
    assert overread("measure", "run", "--edition", "authors", "--set", "boot=100").code == 0
    assert strict(Path("run/measures.json").read_text())["edition"].startswith("authors")
    assert Path("run/answers.parquet").read_bytes() == first["answers.parquet"]
    assert overread("measure", "run", "--edition", "corrected").code == 0
    for name in FILES:
        assert Path("run", name).read_bytes() == first[name]


@pytest.mark.parametrize("word", ["masks=closed", "wire=jpeg:75", "conditions=original", "draws=2"])
def test_measuring_cannot_change_what_was_shown(overread: Overread, kept: None, word: str) -> None:
    first = Path("run/measures.json").read_bytes()
    done = overread("measure", "run", "--set", word)
    assert done.code == 2
    assert f"--set {word}: it says what readers are shown" in done.err
    assert Path("run/measures.json").read_bytes() == first


def test_a_signature_says_under_which_edition_pictures_were_shown(
    overread: Overread, kept: None
) -> None:
    signature = strict(Path("run/measures.json").read_text())["signature"]
    assert "|shown:" not in signature
    done = overread("measure", "run", "--edition", "authors", "--json")
    assert "|shown:corrected" in strict(done.out)["signature"]


def test_settings_of_an_earlier_measuring_are_forgotten(overread: Overread, kept: None) -> None:
    first = {name: Path("run", name).read_bytes() for name in FILES}
    assert overread("measure", "run", "--set", "normals=yes").code == 0
    assert record_of("run")["measured"] == {"normals": "yes"}
    assert overread("measure", "run").code == 0
    assert {name: Path("run", name).read_bytes() for name in FILES} == first


def test_a_sub_sample_is_drawn_from_the_limited_cases(overread: Overread) -> None:
    import polars as pl

    words = ("--limit", "12", "--set", "px=224,112", "--set", "subset=4", "--out", "run")
    done = overread("run", "grounding", *CASES, "--reader", "control:always-yes", *words)
    assert done.code == 0
    answers = pl.read_parquet("run/answers.parquet")
    assert answers.filter(pl.col("px") == 112)["case"].n_unique() == 4


def test_there_and_back_without_a_setting_restores_every_byte(overread: Overread) -> None:
    overread("run", "grounding", *CASES, "--reader", "control:looks", "--out", "run", "--set", "boot=100")  # fmt: skip
    first = {name: Path("run", name).read_bytes() for name in FILES}
    assert overread("measure", "run", "--edition", "authors").code == 0
    assert overread("measure", "run", "--edition", "corrected").code == 0
    assert {name: Path("run", name).read_bytes() for name in FILES} == first


def test_a_changed_rule_is_in_the_name_of_the_edition(overread: Overread) -> None:
    words = ("--reader", "control:looks", "--set", "normals=yes", "--out", "run", "--json")
    done = overread("run", "grounding", *CASES, *words)
    assert strict(done.out)["edition"] == "corrected+normals=yes"
    assert "|edition:corrected+normals=yes|" in strict(done.out)["signature"]
    assert record_of("run")["settings"] == {"normals": "yes"}


# ---------------------------------------------------------------- samples


def test_a_limit_takes_a_stratified_sample(overread: Overread) -> None:
    words = ("--cases", "phantom:48", "--reader", "control:always-yes", "--limit", "24")
    overread("run", "grounding", *words, "--out", "one")
    overread("run", "grounding", *words, "--out", "two", "--store", "other.sqlite")
    record = record_of("one")
    assert (record["limit"], record["n_cases"]) == (24, 24)
    assert record["signature"].endswith("|partial")
    assert "|cases:24@" in record["signature"]
    assert Path("one/measures.json").read_bytes() == Path("two/measures.json").read_bytes()
    bench = open_cases("grounding", "phantom:48", "corrected", {})
    whole = Counter(map(bench.stratum, bench.cases()))
    chosen = set(pl.read_parquet("one/cases.parquet")["case"])
    taken = Counter(bench.stratum(case) for case in bench.cases() if case.case_id in chosen)
    assert all(abs(taken[name] - count / 2) < 1 for name, count in whole.items())


def test_a_limit_beyond_the_cases_is_all_of_them(overread: Overread) -> None:
    overread("run", "grounding", *CASES, "--reader", "control:prior", "--limit", "10000000", "--out", "run")  # fmt: skip
    assert record_of("run")["n_cases"] == 16


def test_samples_keep_proportions() -> None:
    strata = {("a",): [f"a{n}" for n in range(60)], ("b",): [f"b{n}" for n in range(30)], ("c",): ["c0"]}  # fmt: skip
    for limit in (1, 2, 10, 45, 90, 91, 500):
        chosen = stratified_sample(strata, limit)
        assert len(chosen) == min(limit, 91)
        for (name,), ids in strata.items():
            share = min(limit, 91) * len(ids) / 91
            assert abs(sum(i.startswith(name) for i in chosen) - share) < 1
    assert stratified_sample(strata, 10) == stratified_sample(strata, 10)
    assert stratified_sample(strata, 10) != stratified_sample(strata, 10, seed=1)


# ---------------------------------------------------------------- studies


def test_a_study_makes_a_folder_per_run(overread: Overread) -> None:
    Path("paper.toml").write_bytes(
        b"\xef\xbb\xbf"  # as some editors save it
        + b"""
store = "kept.sqlite"
concurrency = 2
[[run]]
benchmark = "grounding"
cases = "phantom:16"
[[run]]
benchmark = "grounding"
cases = "phantom:16"
edition = "authors"
out = "theirs"
limit = 8
set = {boot = 100}
[[reader]]
kind = "control"
model = "looks"
[[reader]]
kind = "control"
model = "prior"
""".replace(b"\n", b"\r\n")
    )
    done = overread("run", "paper.toml")
    assert done.code == 0
    assert done.out.count("report.html") == 2
    ours, theirs = record_of("runs/paper-grounding"), record_of("theirs")
    assert [r["name"] for r in ours["readers"]] == ["control:looks", "control:prior"]
    assert (theirs["edition"], theirs["limit"]) == ("authors+boot=100", 8)
    assert Path("kept.sqlite").is_file()
    assert not Path(".overread").exists()


# ---------------------------------------------------------------- imports


def test_the_golden_study_through_the_command(overread: Overread) -> None:
    mimic = GOLDEN / "mimic"
    done = overread(
        "import", "grounding", "--cases", mimic / "manifest.csv", "--replies", mimic / "responses",
        "--readers", GOLDEN / "models.json", "--edition", "authors", "--out", "run", "--json",
    )  # fmt: skip
    assert done.code == 0
    found = strict(done.out)
    assert found["edition"] == "authors"
    records = {(r["reader"], r["measure"]): r for r in found["measures"] if not r["by"]}
    names = {"accuracy": "accuracy", "CGR": "cgr", "UAR": "uar", "irrelevant_stable": "is"}
    expected = json.loads((mimic / "expected" / "unrounded.json").read_text("utf-8"))
    for model, wanted in expected.items():
        for theirs, ours in names.items():
            record, want = records[model, ours], wanted[theirs]
            assert record["n"] == want["n"]
            for field, key in (("value", "point"), ("low", "ci_lower"), ("high", "ci_upper")):
                value = want[key]
                assert record[field] == (None if value is None else pytest.approx(value, abs=1e-9))
    assert record_of("run")["imported"] is True
    assert {path.name for path in Path("run").iterdir()} == FILES
