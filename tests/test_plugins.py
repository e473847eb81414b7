"""Benchmarks and kinds of reader that installed packages add."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest

from overread import plugins
from overread.benchmarks import registry
from overread.case import BadInput, Prompt, PromptMessage, ReaderFailure
from overread.readers import Guard, open_reader
from overread.readers.spec import KINDS, known_kinds, parse_spec
from overread.runs import run_async
from support.commands import Overread, overread, phantom_cache, workspace
from support.packages import install

__all__ = ["overread", "phantom_cache", "workspace"]

SAYS_YES = """
import overread.case as oc


class SaysYes:
    def __init__(self, spec, guard, environment):
        self.name, self.identity, self.traits = spec.name, f"yes:{spec.model}", spec.traits
        self.limits = oc.Limits()

    async def reply(self, prompt):
        return oc.Reply("Yes")

    async def close(self): ...
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "packages"


def test_our_own_are_listed_without_any_package() -> None:
    assert registry.benchmark_names() == sorted(registry.BENCHMARKS)
    with pytest.raises(BadInput) as refused:
        registry.class_of("m3")
    listed = ", ".join(sorted(registry.BENCHMARKS))
    assert str(refused.value) == f'benchmark is "m3"; the benchmarks are {listed}.'


@pytest.mark.parametrize("name", registry.BENCHMARKS)
def test_what_is_known_beforehand_is_what_the_class_says(name: str) -> None:
    found = registry.class_of(name)
    assert (found.name, found.question) == (name, registry.BENCHMARKS[name].question)


def test_an_unknown_name_is_answered_with_all_there_are_and_where_they_come_from(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(place, monkeypatch, "some-lights", "", "0.3", benchmarks="lights = some_lights:Lights")
    with pytest.raises(BadInput) as refused:
        registry.class_of("candles")
    ours = " and ".join(", ".join(sorted(registry.BENCHMARKS)).rsplit(", ", 1))
    assert str(refused.value) == (
        f'benchmark is "candles"; the benchmarks are {ours} of overread; lights of some-lights 0.3.'
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("raise RuntimeError('two\\nlines')", "RuntimeError: two lines"),
        ("", "AttributeError"),
    ],
)
def test_one_that_cannot_be_imported_is_named_and_breaks_nothing_else(
    place: Path, monkeypatch: pytest.MonkeyPatch, workspace: Path, overread: Overread,
    code: str, said: str,
) -> None:  # fmt: skip
    install(place, monkeypatch, "broken", code, benchmarks="lights = broken:Lights")
    done = overread("run", "lights", "--cases", "c.jsonl", "--reader", "control:points")
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert 'benchmark "lights" of the package broken 1.0 cannot be imported' in done.err
    assert said in done.err
    assert "Mend or uninstall broken." in done.err
    words = ("--cases", "phantom:16", "--reader", "control:looks", "--set", "boot=100")
    assert overread("run", "grounding", *words, "--out", "run").code == 0
    told: list[str] = []
    assert {one.name for one in registry.classes(told.append)} == set(registry.BENCHMARKS)
    assert len(told) == 1


@pytest.mark.parametrize(
    "code", ["Lights = 3", "class Lights: name = 'lights'",
             "from overread.benchmarks.base import Benchmark as Lights"],
)  # fmt: skip
def test_what_is_no_benchmark_of_that_name_is_refused(
    place: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    install(place, monkeypatch, "odd", code, benchmarks="lights = odd:Lights")
    with pytest.raises(BadInput, match="is no benchmark of that name: odd:Lights"):
        registry.class_of("lights")


def test_a_name_that_two_claim_is_refused_with_both(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(place, monkeypatch, "one-lights", "", benchmarks="lights = one_lights:Lights")
    install(place, monkeypatch, "other", "", "2.0", benchmarks="lights = other:Lights")
    install(place, monkeypatch, "third", "", benchmarks="grounding = third:Grounding")
    with pytest.raises(BadInput, match=r"one-lights 1\.0 and other 2\.0\. Uninstall one"):
        registry.class_of("lights")
    with pytest.raises(BadInput, match=r"comes from overread and third 1\.0"):
        registry.class_of("grounding")
    assert registry.class_of("medcmr").name == "medcmr"


def test_nothing_is_imported_before_it_is_named(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(place, monkeypatch, "loud", "raise SystemExit", benchmarks="loud = loud:Loud")
    assert "loud" in registry.benchmark_names()
    assert set(registry.questions(["grounding"])) == set(registry.BENCHMARKS)


# ---------------------------------------------------------------- readers


@pytest.mark.slow
def test_a_package_adds_a_kind_of_reader(
    place: Path, monkeypatch: pytest.MonkeyPatch, workspace: Path, overread: Overread
) -> None:
    install(place, monkeypatch, "yes", SAYS_YES, readers="yes = yes:SaysYes")
    run = ("run", "grounding", "--cases", "phantom:16", "--set", "boot=100", "--out", "run")
    done = overread(*run, "--reader", "yes:loudly?label=nods", "--json")
    assert done.code == 0, done
    said = {m["measure"]: m["value"] for m in json.loads(done.out)["measures"] if not m["by"]}
    assert (said["sensitivity"], said["specificity"]) == (1.0, 0.0)
    table = {"kind": "yes", "model": "loudly"}
    assert parse_spec(table).name == "yes:loudly"


def test_an_unknown_kind_is_answered_with_all_there_are(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for spec in ("no:thing", {"kind": "no", "model": "thing"}):
        with pytest.raises(BadInput, match=rf"expected one of {':…, '.join(KINDS)}:…, for"):
            parse_spec(spec)
    install(place, monkeypatch, "yes", SAYS_YES, readers="yes = yes:SaysYes")
    with pytest.raises(BadInput, match=r"…, yes:… \(.* of overread; yes of yes 1\.0\)"):
        parse_spec("no:thing")
    assert list(known_kinds())[-1] == "yes"


@pytest.mark.slow
def test_a_kind_that_two_claim_is_refused(
    place: Path, monkeypatch: pytest.MonkeyPatch, workspace: Path, overread: Overread
) -> None:
    install(place, monkeypatch, "mine", SAYS_YES, readers="control = mine:SaysYes")
    done = overread("run", "grounding", "--cases", "phantom:16", "--reader", "control:looks")
    assert (done.code, "comes from overread and mine 1.0" in done.err) == (2, True), done


def _told(overread: Overread, what: str) -> str:
    done = overread("doctor", "--json")
    return {one["what"]: one["detail"] for one in json.loads(done.out)}.get(what, "")


@pytest.mark.slow
def test_the_reader_of_the_page_is_installed_asked_and_listed(
    place: Path, monkeypatch: pytest.MonkeyPatch, workspace: Path, overread: Overread
) -> None:
    page = (Path(__file__).parents[1] / "docs" / "readers.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.S)
    (points,) = re.findall(r'"overread\.readers"\]\n(.*?)\n```', page, re.S)
    install(place, monkeypatch, "shouting", code, readers=points.replace('"', ""))
    words = ("--cases", "phantom:16", "--limit", "2", "--set", "boot=100", "--out", "run")
    done = overread("run", "grounding", *words, "--reader", "shouting:loudly")
    assert done.code == 0, done
    said = pl.read_parquet("run/answers.parquet")
    assert said["reader"].unique().to_list() == ["shouting:loudly"]
    assert all(text == text.upper() for text in said["text"])
    assert _told(overread, "kinds of reader").endswith("; shouting of shouting 1.0")


BROKEN = """
import overread.case as oc

class Broken:
    limits, traits = oc.Limits(), oc.Traits()
    def __init__(self, spec, guard, environment):
        if spec.model == "opening":
            raise KeyError("where")
        self.name = self.identity = spec.name
        self.model = spec.model
    async def reply(self, prompt):
        if self.model == "raises":
            raise ValueError("two\\nlines")
        return "Yes"
    async def close(self): ...

def half(spec, guard, environment):
    return object()
"""


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("broken:opening", r"of the package broken 1\.0 cannot be opened \(KeyError: 'where'\)"),
        ("half:x", r"makes no reader \(TypeError: it has to have name, identity, "),
    ],
)
def test_what_cannot_be_opened_is_one_line(
    place: Path, monkeypatch: pytest.MonkeyPatch, spec: str, why: str
) -> None:
    points = "broken = broken:Broken\nhalf = broken:half"
    install(place, monkeypatch, "broken", BROKEN, readers=points)
    with pytest.raises(BadInput, match=why) as refused:
        open_reader(spec, guard=Guard("open"), environment={}, controls={})
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("broken:raises", "ValueError: two lines (broken 1.0)"),
        ("broken:returns", "no Reply: broken 1.0 returned str"),
    ],
)
def test_what_its_code_raises_or_returns_is_a_failure_of_one_trial(
    place: Path, monkeypatch: pytest.MonkeyPatch, spec: str, why: str
) -> None:
    install(place, monkeypatch, "broken", BROKEN, readers="broken = broken:Broken")
    reader = open_reader(spec, guard=Guard("open"), environment={}, controls={})
    with pytest.raises(ReaderFailure) as failed:
        run_async(reader.reply(Prompt((PromptMessage("user", ("?",)),))))
    assert failed.value.reason == why
    assert not failed.value.heals


@pytest.mark.slow
@pytest.mark.parametrize("code", ["import no_such_module", "raise SystemExit(3)"])
def test_doctor_names_a_broken_one_and_goes_on(
    place: Path, monkeypatch: pytest.MonkeyPatch, overread: Overread, code: str
) -> None:
    points = {"readers": "loud = loud:Loud", "benchmarks": "lights = loud:Lights"}
    install(place, monkeypatch, "loud", code, **points)
    assert "loud of loud 1.0" in _told(overread, "kinds of reader")
    assert "lights of loud 1.0" in _told(overread, "benchmarks")
    for what in ("kind of reader loud", "benchmark lights"):
        assert "of the package loud 1.0 cannot be imported" in _told(overread, what)


def test_places_may_be_members_of_members() -> None:
    assert plugins.at("overread.case:Measure.__name__") == "Measure"
