"""Runs served: every case is there once, as whole tables have it, and only what may be shown."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import polars as pl
import pytest

import overread as ov
from overread.case import BadInput, Picture, Policy
from overread.imaging import render
from overread.records import read_record, write_record
from overread.report.serving import Filter, Serving, find
from overread.runs._kept import kept_runs
from overread.runs._measuring import measure, with_pictures
from overread.runs._serving import _a_row_of_each_setting, browsable, served
from support.browsed import when_served

BENCHMARKS = {
    "grounding": ("phantom:24", ["looks", "always-yes"], {}),
    "heartbeat": ("phantom:4", ["area"], {"seeds": "2020", "passes": "1", "formats": "edv_esv"}),
    "m3cot": ("phantom:26", ["clinician", "contradicts"], {"images": "original,blank"}),
    "medcmr": ("phantom:42", ["oracle", "letter-a"], {"orders": "1"}),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, phantom_cache: Path) -> Iterator[Path]:
    """A folder with a run of controls over phantoms, of every benchmark that has them."""
    folder = tmp_path_factory.mktemp("served")
    for benchmark, (cases, controls, settings) in BENCHMARKS.items():
        judged = benchmark in ("m3cot", "medcmr")
        ov.run(
            benchmark,
            cases,
            [f"control:{name}" for name in controls],
            judges=["control:lexical-judge"] if judged else [],
            out=folder / benchmark,
            store=folder / "store.sqlite",
            settings={"boot": "100", "checks": "10", **settings}
            if judged
            else {"boot": "100", **settings},
        )
    return folder


def under(policy: Policy, run: Path, folder: Path) -> Path:
    """The same run, of a set of this policy."""
    shutil.copytree(run, folder)
    write_record(folder / "run.toml", msgspec.structs.replace(read_record(run), policy=policy))
    return folder


def of_page(page: str) -> list[dict[str, Any]]:
    """What the page was given for each of its browsers of cases."""
    found = re.findall(r'id="cards-[^"]*">(.*?)</script>', page, re.DOTALL)
    return [json.loads(one) for one in found]


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_a_few_cases_have_the_cards_that_whole_tables_give(made: Path, benchmark: str) -> None:
    (kept,) = kept_runs([made / benchmark])
    _, opened = with_pictures(kept.bench, kept.record, False)
    assert opened is not None
    run = browsable(kept, opened)
    assert run is not None
    everything = kept.tables.cases["case"].to_list()
    assert run.cases == set(everything)
    whole = {card.case: card for card in opened.cards(kept.tables, everything)}
    paged: list[str] = []
    for page in range(len(everything)):
        cases = find(run.index, Filter(), page, 3)[1]
        assert run.cards(cases) == [whole[case] for case in cases]
        paged.extend(cases)
    assert sorted(paged) == sorted(everything)


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_filters_agree_with_what_the_cards_say(made: Path, benchmark: str) -> None:
    (kept,) = kept_runs([made / benchmark])
    run = browsable(kept, None)
    assert run is not None
    cards = run.cards(find(run.index, Filter(), 0, 1_000)[1])
    for reader in (None, *(reader.name for reader in kept.record.readers)):
        for right in (None, True, False):
            for flipped in (None, True, False):
                wanted = Filter(reader=reader, right=right, flipped=flipped)
                expected = [
                    card.case
                    for card in cards
                    if any(
                        (reader is None or said.reader == reader)
                        and (right is None or said.right is right)
                        and (flipped is None or said.flipped is flipped)
                        for said in card.said
                    )
                ]
                assert find(run.index, wanted, 0, 1_000)[1] == expected
    for facet in run.facets:
        for value in run.index[facet].unique():
            expected = [card.case for card in cards if card.facts[facet] == value]
            assert find(run.index, Filter(facts={facet: value}), 0, 1_000)[1] == expected


@pytest.mark.slow
def test_pages_and_pictures_over_http(made: Path) -> None:
    folders = [made / benchmark for benchmark in BENCHMARKS]
    page = served(folders)

    async def look(server: Serving, session: aiohttp.ClientSession) -> None:
        async with session.get("/") as answer:
            told = of_page(await answer.text())
        assert [one["run"] for one in told] == [1, 2, 3, 4]
        assert all(one["served"] and not one["cards"] for one in told)
        for one in told:
            seen: list[str] = []
            for number in range(one["total"] // one["page"] + 1):
                query = {"run": one["run"], "page": number}
                async with session.get("/cards", params=query) as answer:
                    found = await answer.json()
                assert found["count"] == one["total"]
                seen.extend(card["case"] for card in found["cards"])
            assert len(set(seen)) == len(seen) == one["total"]
            for slide in found["cards"][0]["slides"]:
                async with session.get(f"/{slide['picture']}") as answer:
                    assert answer.status == 200
                    assert answer.content_type == "image/png"
            many = {"run": one["run"], "case": seen[0], "n": 99}
            async with session.get("/picture", params=many) as answer:
                assert answer.status == 404

    when_served(page.runs, look, page=page.page)


@pytest.mark.slow
def test_a_picture_is_the_one_a_reader_was_shown(made: Path) -> None:
    (kept,) = kept_runs([made / "grounding"])
    run = browsable(kept, with_pictures(kept.bench, kept.record, False)[1])
    assert run is not None
    assert run.picture is not None
    case = sorted(run.cases)[0]
    first = run.picture(case, 1)  # before its card was made
    slide = run.cards([case])[0].slides[1]
    assert isinstance(slide.picture, Picture)
    assert first == run.picture(case, 1) == render(slide.picture)


@pytest.mark.slow
def test_measured_again_cards_follow_the_new_edition_and_pictures_stay(
    made: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(made / "grounding", folder)
    measure(folder, edition="authors", settings={"boot": "100"})
    (kept,) = kept_runs([folder])
    assert kept.bench.edition != kept.record.answers_edition
    assert kept.bench.facets
    run = browsable(kept, with_pictures(kept.bench, kept.record, False)[1])
    assert run is not None
    cases = find(run.index, Filter(), 1, 5)[1]
    cards = run.cards(cases)
    plain = list(kept.bench.cards(kept.tables, cases))
    assert [msgspec.structs.replace(card, slides=()) for card in cards] == plain
    assert all(card.slides for card in cards)


# ---------------------------------------------------------------- what may be shown


@pytest.mark.slow
def test_of_a_credentialed_set_there_are_no_cases_unless_asked_for(
    made: Path, tmp_path: Path
) -> None:
    folder = under("credentialed", made / "m3cot", tmp_path / "run")
    page = served([folder])
    assert page.runs == [None]
    assert of_page(page.page) == []
    assert "--include-images puts them in" in page.page
    questions = pl.read_parquet(folder / "cases.parquet")["question"].to_list()
    assert not any(question in page.page for question in questions)
    (run,) = served([folder], include_images=True).runs
    assert run is not None
    assert run.picture is not None


@pytest.mark.slow
def test_of_a_research_set_there_are_cases_without_pictures(made: Path, tmp_path: Path) -> None:
    folder = under("research", made / "grounding", tmp_path / "run")
    (run,) = served([folder]).runs
    assert run is not None
    assert run.picture is None
    assert all(not card.slides for card in run.cards(sorted(run.cases)))


@pytest.mark.slow
def test_cases_that_have_gone_away_are_shown_without_pictures(made: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(made / "grounding", folder)
    gone = msgspec.structs.replace(read_record(folder), cases="no-such-manifest.csv")
    write_record(folder / "run.toml", gone)
    (run,) = served([folder]).runs
    assert run is not None
    assert run.picture is None
    with pytest.raises(BadInput, match="--include-images"):
        served([folder], include_images=True)


# ---------------------------------------------------------------- settings of the whole run


def test_every_setting_keeps_a_row() -> None:
    answers = pl.DataFrame(
        {
            "case": [f"c{number}" for number in range(400)],
            "reader": ["r"] * 400,
            "context": ["original"] * 399 + ["masked"],
            "format": ["edv", "esv"] * 200,
            "text": [f"words {number}" for number in range(400)],
        }
    )
    rows = _a_row_of_each_setting(answers)
    assert set(rows.select("context", "format").iter_rows()) == {
        ("original", "edv"),
        ("original", "esv"),
        ("masked", "esv"),
    }
    assert rows.height == 3
