"""One page of runs, whoever writes it; what it may show; what is never replaced."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest

from overread.case import BadInput, Card, Clip, Inline, Picture, Slide
from overread.records import read_measures, read_record, write_record
from overread.runs import checklist, measure, phantom_cases, report, run
from overread.runs._reporting import OWN_CARDS, Pictures, cards_with_slides
from overread.runs._serving import served
from support.clip_files import numbered
from support.commands import tree

SETTINGS = {"boot": "200"}
READERS = ["control:looks", "control:prior"]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory, phantom_cache: Path) -> Path:
    """One run for all tests of this file."""
    place = tmp_path_factory.mktemp("reported")
    store = place / "store.sqlite"
    run("grounding", "phantom:48", READERS, settings=SETTINGS, store=store, out=place / "run")
    return place / "run"


@pytest.fixture
def folder(kept: Path, workspace: Path) -> Path:
    """The run, in the working folder."""
    shutil.copytree(kept, workspace / "a")
    return Path("a")


def under(folder: Path, policy: str) -> None:
    path = folder / "run.toml"
    text = path.read_text("utf-8")
    assert 'policy = "open"' in text
    path.write_text(text.replace('policy = "open"', f'policy = "{policy}"'), "utf-8")


def cards_of(page: Path) -> list[dict[str, Any]]:
    """What the case browser of the page's first run is drawn from."""
    text = page.read_text("utf-8")
    found = re.search(r'<script type="application/json" id="cards-[^"]*">(.*?)</script>', text)
    data: dict[str, Any] = json.loads(found[1]) if found else {"cards": []}
    return list(data["cards"])


# ---------------------------------------------------------------- a checklist


def test_a_checklist_is_written_alone_and_as_its_name_ends(folder: Path, overread: Any) -> None:
    own = checklist([folder], "mi-clear-llm")
    assert own == folder / "checklist-mi-clear-llm.html"
    page = own.read_text()
    assert "0 of " in page
    assert "Is [finding] present in this chest X-ray?" in page
    before = own.read_bytes()
    assert overread("report", str(folder), "--checklist", "claim", "--out", "list.md").code == 0
    assert Path("list.md").read_text().startswith("# Overread: CLAIM (2024)")
    assert checklist([folder], "mi-clear-llm").read_bytes() == before  # it replaces its own
    many = checklist([folder, shutil.copytree(folder, "b")], "stard-ai", "both.csv")
    assert "grounding-2" in many.read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--checklist", "consort"), "known are claim, mi-clear-llm, stard-ai"),
        (("--checklist", "claim", "--latex", "t"), "Leave --latex to another call"),
        (("--checklist", "claim", "--out", "list.pdf"), "none of .html, .md, .csv"),
        (("--checklist", "claim", "--out", "mine.md"), "another file stands there"),
        (("--checklist", "claim", "--out", "no/such.md"), "no folder no"),
    ],
)
def test_a_checklist_that_cannot_be_written_is_one_line(
    folder: Path, overread: Any, words: Sequence[str], said: str
) -> None:
    Path("mine.md").write_text("mine")
    done = overread("report", str(folder), *words)
    assert done.code == 2
    assert said in done.err
    assert Path("mine.md").read_text() == "mine"


# ---------------------------------------------------------------- the page


def test_a_run_writes_of_itself_the_page_that_report_writes(folder: Path) -> None:
    own = (folder / "report.html").read_bytes()
    done = report([folder], "other.html", cards=OWN_CARDS)
    assert done.page == Path("other.html")
    assert done.page.read_bytes() == own
    measure(folder)
    assert (folder / "report.html").read_bytes() == own


def test_nothing_but_the_page_is_written(folder: Path) -> None:
    before = {one for one in tree(folder) if not one[0].endswith("report.html")}
    done = report([folder])
    assert done.page == folder / "report.html"
    after = {one for one in tree(folder) if not one[0].endswith("report.html")}
    assert {(name, size) for name, time, size in after if Path(name).is_file()} == {
        (name, size) for name, time, size in before if Path(name).is_file()
    }
    assert [*Path().glob(".unfinished*")] == []
    assert done.runs[0].measures == read_measures(folder).measures
    assert done.runs[0].edition == "corrected+boot=200"


def test_the_sample_goes_by_its_seed_and_its_size_is_told(folder: Path) -> None:
    done = report([folder], "five.html", cards=5)
    assert done.cards == [(5, 48)]
    cards = cards_of(Path("five.html"))
    assert len(cards) == 5
    assert "5 of 48 shown, sampled by seed 0" in Path("five.html").read_text("utf-8")
    report([folder], "again.html", cards=5)
    assert Path("again.html").read_bytes() == Path("five.html").read_bytes()
    report([folder], "other.html", cards=5, seed=1)
    assert [one["case"] for one in cards_of(Path("other.html"))] != [one["case"] for one in cards]


def test_measured_under_another_edition_cards_have_the_pictures_as_asked(folder: Path) -> None:
    measure(folder, edition="authors")
    report([folder], "page.html", cards=4)
    for card in cards_of(Path("page.html")):
        assert card["slides"]
        assert all(slide["picture"] is not None for slide in card["slides"])


class Shows:
    """As much of a benchmark as cards are made of."""

    facets = ()

    def __init__(self, title: str, slides: int) -> None:
        self._title = title
        self._slides = tuple(
            Slide(label=title, picture=Picture(Inline(b""))) for _ in range(slides)
        )

    def card_index(self, tables: object) -> object:
        raise NotImplementedError

    def cards(self, tables: object, chosen: Sequence[str]) -> Iterator[Card]:
        for case in chosen:
            yield Card(case=case, title=self._title, slides=self._slides)


def test_what_is_right_goes_by_the_measured_edition_and_pictures_by_the_asked() -> None:
    measured, asked = Shows("measured", 0), Shows("asked", 2)
    for opened, slides in ((asked, ("asked", "asked")), (None, ()), (measured, ())):
        (card,) = cards_with_slides(measured, opened, None, ["c"])  # type: ignore[arg-type]
        assert card.title == "measured"
        assert tuple(slide.label for slide in card.slides) == slides


def test_several_runs_stand_on_one_page_in_the_working_folder(folder: Path) -> None:
    shutil.copytree(folder, "b")
    done = report([folder, "b"], cards=3)
    assert done.page == Path("report.html")
    text = done.page.read_text("utf-8")
    assert 'id="grounding"' in text
    assert 'id="grounding-2"' in text
    report([folder, "b"], cards=3)  # its own page is replaced


# ---------------------------------------------------------------- what a set allows


SETS = {
    "grounding": ("phantom:16", "control:looks"),
    "heartbeat": ("phantom:8", "control:area"),
    "m3cot": ("phantom:26", "control:clinician"),
    "medcmr": ("phantom:28", "control:oracle"),
}


@pytest.fixture(scope="module")
def own_run(tmp_path_factory: pytest.TempPathFactory, phantom_cache: Path) -> Callable[[str], Path]:
    """Of a benchmark a folder with an open `set` and a `run` over it, made when first wanted."""
    place = tmp_path_factory.mktemp("own")

    @functools.cache
    def ran(benchmark: str) -> Path:
        home, (phantoms, reader) = place / benchmark, SETS[benchmark]
        made = phantom_cases(benchmark, phantoms)
        shutil.copytree(made.parent, home / "set")
        folders = {"store": place / "store.sqlite", "out": home / "run"}
        run(benchmark, home / "set" / made.name, [reader], settings={"boot": "100"}, **folders)
        return home

    return ran


@pytest.fixture
def own(own_run: Callable[[str], Path], workspace: Path) -> Callable[[str], tuple[Path, Path]]:
    """(run, card of its set), copied: the record names the set where it is now."""

    def copied(benchmark: str) -> tuple[Path, Path]:
        home = own_run(benchmark)
        shutil.copytree(home, workspace / "own")
        folder = workspace / "own" / "run"
        record = read_record(folder)
        at = record.cases.replace(str(home), str(workspace / "own"))
        assert at != record.cases
        write_record(folder / "run.toml", msgspec.structs.replace(record, cases=at))
        return folder, workspace / "own" / "set" / "dataset.toml"

    return copied


@pytest.mark.slow
@pytest.mark.parametrize("card", ['policy = "credentialed"\n', 'policy = "ope', None])
@pytest.mark.parametrize("benchmark", SETS)
def test_a_card_that_was_corrected_holds_for_pages_of_older_runs(
    own: Callable[[str], tuple[Path, Path]],
    benchmark: str,
    card: str | None,
    workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where it is gone or spoilt, and wherever the command is given."""
    folder, place = own(benchmark)
    names = pl.read_parquet(folder / "cases.parquet")["case"].to_list()
    before = report([folder], "before.html")
    assert before.cards != [(0, 0)]
    assert before.page.stat().st_mode & 0o044
    if card is None:
        place.unlink()
    else:
        place.write_text(card)
    (workspace / "elsewhere").mkdir()
    monkeypatch.chdir(workspace / "elsewhere")
    done = report([folder], "page.html", csv="c")
    text = done.page.read_text("utf-8")
    assert done.cards == [(0, 0)]
    assert done.runs[0].policy == "credentialed"
    assert "data:image" not in text
    assert not [name for name in names if len(name) > 3 and name in text]
    written = [done.page, *(path for files in done.files.values() for path in files)]
    assert {path.stat().st_mode & 0o777 for path in (*written, *folder.iterdir())} == {0o600}
    assert folder.stat().st_mode & 0o777 == 0o700
    made = served([folder])
    assert made.runs == [None]
    assert "data:image" not in made.page
    assert measure(folder).record.policy == read_record(folder).policy == "credentialed"
    assert "data:image" not in (folder / "report.html").read_text("utf-8")


def test_of_a_set_that_is_gone_the_record_says_who_may_see_it(
    own: Callable[[str], tuple[Path, Path]],
) -> None:
    folder, place = own("grounding")
    shutil.rmtree(place.parent)
    done = report([folder], "page.html")
    assert done.runs[0].policy == "open"
    assert done.cards != [(0, 0)]
    assert "data:image" not in done.page.read_text("utf-8")


@pytest.mark.parametrize("root", ["gone", "images"])
def test_films_that_are_gone_make_their_set_no_stricter(
    own: Callable[[str], tuple[Path, Path]], root: str
) -> None:
    folder, place = own("grounding")
    if root == "gone":
        place.write_text(place.read_text("utf-8") + 'root = "nowhere"\n')
    else:
        shutil.rmtree(place.parent / "images")
    assert report([folder], "page.html").runs[0].policy == "open"
    place.write_text('policy = "credentialed"\nroot = "nowhere"\n')
    assert report([folder], "page.html").runs[0].policy == "credentialed"


def test_a_root_is_found_again_from_another_folder(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, phantom_cache: Path
) -> None:
    """Its card was corrected after the run, and a command says that it holds."""
    made = phantom_cases("grounding", "phantom:16")
    shutil.copytree(made.parent, workspace / "set")
    shutil.copytree(workspace / "set", workspace / "films")
    words = {"boot": "100", "root": "films"}
    run("grounding", "set", ["control:looks"], settings=words, store="s.sqlite", out="run")
    folder = workspace / "run"
    assert read_record(folder).settings["root"] == str(workspace / "films")
    (workspace / "elsewhere").mkdir()
    monkeypatch.chdir(workspace / "elsewhere")
    said: list[str] = []
    report([folder], "page.html", tell=said.append)
    measure(folder, settings={"root": str(workspace / "films")})
    assert said == []
    (workspace / "films" / "dataset.toml").write_text('policy = "credentialed"\n')
    assert report([folder], "page.html", tell=said.append).runs[0].policy == "credentialed"
    assert measure(folder, tell=said.append).record.policy == "credentialed"
    line = f"{workspace / 'set'} is credentialed by its cards today; when it was run it was open."
    assert said == [f"{line} The stricter holds."] * 2
    measure(folder, tell=said.append)
    assert len(said) == 2


def test_a_card_that_became_looser_loosens_no_older_run(
    own: Callable[[str], tuple[Path, Path]],
) -> None:
    folder, _ = own("grounding")
    under(folder, "credentialed")
    assert report([folder], "page.html").cards == [(0, 0)]


def test_items_without_their_images_are_as_open_as_their_card_says(
    own: Callable[[str], tuple[Path, Path]],
) -> None:
    folder, place = own("m3cot")
    shutil.rmtree(place.parent / "images")
    done = report([folder], "page.html")
    assert done.runs[0].policy == "open"
    assert done.cards != [(0, 0)]


def test_a_credentialed_set_shows_neither_pictures_nor_texts_nor_names(folder: Path) -> None:
    names = pl.read_parquet(folder / "cases.parquet")["case"].to_list()
    under(folder, "credentialed")
    done = report([folder], "page.html", csv="c", latex="l", figures="f")
    text = done.page.read_text("utf-8")
    assert "data:image" not in text
    assert done.cards == [(0, 0)]
    assert "--include-images puts them in" in text
    exported = [path for files in done.files.values() for path in files]
    for path in (done.page, *(path for path in exported if path.suffix in (".csv", ".tex"))):
        words = path.read_text("utf-8")
        assert not [name for name in names if name in words]
        assert "Answer Yes or No" not in words
    assert {path.stat().st_mode & 0o777 for path in (done.page, *exported)} == {0o600}


def test_remarks_of_a_credentialed_set_stay_in_the_record(folder: Path) -> None:
    under(folder, "credentialed")
    record = read_record(folder)
    remarks = ("3 of 51 are left out; patient-4711: no film.",)
    record = msgspec.structs.replace(record, remarks=remarks, left_out=3)
    write_record(folder / "run.toml", record)
    report([folder])
    text = (folder / "report.html").read_text("utf-8")
    assert "patient-4711" not in text
    assert "3 of the set are left out" in text
    measure(folder)
    assert read_record(folder).remarks == remarks
    assert "patient-4711" not in (folder / "report.html").read_text("utf-8")
    report([folder], include_images=True)
    assert "patient-4711" in (folder / "report.html").read_text("utf-8")


def test_where_nothing_is_left_out_nothing_is_said_of_it(folder: Path) -> None:
    under(folder, "credentialed")
    record = read_record(folder)
    remarks = ("patient-4711 has no sex.",)
    write_record(folder / "run.toml", msgspec.structs.replace(record, remarks=remarks, left_out=0))
    text = report([folder], "page.html").page.read_text("utf-8")
    assert "Remarks that may name cases are in run.toml." in text
    assert "0 of the set" not in text
    assert "patient-4711" not in text


def test_a_pipe_is_no_place_for_a_page_and_is_not_waited_for(folder: Path) -> None:
    os.mkfifo("pipe.html")
    with pytest.raises(BadInput, match=r"--out pipe\.html: it is no file"):
        report([folder], "pipe.html")


def test_with_include_images_they_are_there_and_the_page_says_so(folder: Path) -> None:
    under(folder, "credentialed")
    done = report([folder], "page.html", include_images=True, cards=4)
    text = done.page.read_text("utf-8")
    assert "data:image/webp" in text
    assert "keep it where the data set may be" in text
    assert done.page.stat().st_mode & 0o777 == 0o600


def test_a_research_set_shows_texts_and_no_pictures(folder: Path) -> None:
    under(folder, "research")
    report([folder], "page.html", cards=4)
    assert "data:image" not in Path("page.html").read_text("utf-8")
    cards = cards_of(Path("page.html"))
    assert len(cards) == 4
    assert all(not slide["picture"] for card in cards for slide in card["slides"])


def test_a_page_of_earlier_pictures_does_not_claim_to_show_them(folder: Path) -> None:
    under(folder, "credentialed")
    measure(folder, include_images=True)
    assert read_record(folder).pictures
    report([folder], "page.html")
    assert "keep it where" not in Path("page.html").read_text("utf-8")


def test_pictures_that_are_gone_are_left_out_unless_they_were_asked_for(folder: Path) -> None:
    path = folder / "run.toml"
    path.write_text(path.read_text("utf-8").replace("phantom:48", "gone/manifest.csv"), "utf-8")
    report([folder], "page.html", cards=4)
    assert len(cards_of(Path("page.html"))) == 4
    assert "data:image" not in Path("page.html").read_text("utf-8")
    with pytest.raises(BadInput, match="--include-images: the cases cannot be opened again"):
        report([folder], "other.html", include_images=True)
    assert not Path("other.html").exists()


# ---------------------------------------------------------------- pictures of cards


def test_pictures_are_rendered_on_demand_and_frames_of_a_film_are_decoded_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    film = Inline(numbered(12))
    slides = tuple(Slide(label=str(n), picture=Clip(film, (n,), form="video")) for n in (0, 5, 9))
    sheet = Slide(label="all", picture=Clip(film, (0, 5, 9)))
    broken = Slide(label="broken", picture=Picture(Inline(b"no picture")))
    pictures = Pictures([Card(case="c", title="c", slides=(*slides, sheet, broken))])
    from overread.imaging import _clips

    decoded = []
    real = _clips.decode
    monkeypatch.setattr(_clips, "decode", lambda *a: decoded.append(a[2]) or real(*a))
    assert len(pictures) == 5
    assert decoded == []
    shown = [pictures[key] for key in list(pictures)[:4]]
    assert {one.media_type for one in shown} == {"image/png"}
    assert [sorted(wanted) for wanted in decoded] == [[0, 5, 9]]
    assert pictures.get(("c", 4)) is None
    assert pictures.get(("d", 0)) is None


# ---------------------------------------------------------------- files for a paper


def test_exports_are_replaced_and_what_is_no_longer_made_goes(folder: Path) -> None:
    first = report([folder], "page.html", csv="out/csv", latex="tex")
    assert set(first.files) == {"csv", "latex"}
    for files in first.files.values():
        assert {path.name for path in files} == {p.name for p in files[0].parent.iterdir()}
    measures = read_measures(folder).measures
    rows = pl.read_csv("out/csv/measures.csv", infer_schema_length=None)
    assert rows["value"].to_list() == [record.value for record in measures]
    shutil.copytree(folder, "b")
    both = report([folder, "b"], "page.html", csv="out/csv")
    assert len(both.files["csv"]) > len(first.files["csv"])
    report([folder], "page.html", csv="out/csv")
    assert {path.name for path in Path("out/csv").iterdir()} == {
        path.name for path in first.files["csv"]
    }


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"csv": "mine"}, "--csv mine: the folder holds other things"),
        ({"csv": "a"}, "--csv a: it is a run's folder"),
        ({"latex": "note.txt"}, "--latex note.txt: a file stands there"),
        ({"csv": "x", "figures": "./x"}, "--csv and --figures name the same folder"),
        ({"out": "note.txt"}, "--out note.txt: another file stands there"),
        ({"out": "mine"}, "--out mine: a folder stands there"),
        ({"out": "no/where.html"}, "there is no folder no"),
        ({"cards": -1}, "--cases -1: it must be from 0"),
        ({"seed": -1}, "--seed -1: it must be from 0"),
    ],
)
def test_a_place_that_is_taken_is_refused_before_anything_is_made(
    folder: Path, words: dict[str, Any], says: str
) -> None:
    Path("mine").mkdir()
    Path("mine/thesis.tex").touch()
    Path("note.txt").write_text("mine")
    before = tree(Path())
    with pytest.raises(BadInput, match=re.escape(says)):
        report([folder], **words)
    assert tree(Path()) == before


def test_a_run_that_cannot_be_read_is_one_line(folder: Path) -> None:
    for folders, says in (
        ([], "no run was given"),
        (["nowhere"], "nowhere: not a run folder"),
        ([folder, "./a"], "the run is given twice"),
    ):
        with pytest.raises(BadInput, match=says):
            report(folders)
    text = (folder / "measures.json").read_text("utf-8")
    (folder / "measures.json").write_text(text.replace("boot=200", "boot=300"), "utf-8")
    with pytest.raises(BadInput, match="of different measurings"):
        report([folder])


def test_a_page_that_cannot_be_finished_leaves_the_old_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import overread.report.exports as exports

    before = (folder / "report.html").read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    shutil.copytree(folder, "b")
    report([folder, "b"], "both.html", cards=0, latex="tex")
    kept = {path.name for path in Path("tex").iterdir()}
    monkeypatch.setattr(exports, "latex_table", full)
    with pytest.raises(OSError, match="No space"):
        report([folder], csv="out", latex="tex", cards=0)
    assert (folder / "report.html").read_bytes() == before
    assert not Path("out").exists()
    assert {path.name for path in Path("tex").iterdir()} == kept
    assert [path for path in folder.iterdir() if path.name.startswith(".")] == []
