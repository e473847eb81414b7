"""What is published loads, says what it is, and is valid for those who read its metadata."""

from __future__ import annotations

import io
import tomllib
from pathlib import Path

import msgspec
import polars as pl
import pytest
from PIL import Image
from tests.support import curated
from tests.support.readers import Scripted

from overread import runs
from overread.benchmarks.curated import Item, Step
from overread.benchmarks.registry import class_of
from overread.case import BadInput, Reply
from overread.curate import folder as kept
from overread.curate.folder import Model
from overread.curate.records import record
from overread.records import read_record

STEPS = (Step("modality", "a test card"), Step("feature", "a grey patch"))


def _items(pictures: Path) -> list[Item]:
    made = [curated.candidate_at(pictures, number) for number in range(6)]
    short, single, several, judged, bare, two = map(curated.item_of, made)
    change = msgspec.structs.replace
    options = ("black", "shade 1", "white")
    return [
        change(short, steps=STEPS, patients=("p1",), origins=("https://a.example/1",)),
        change(single, kind="single", options=options, steps=STEPS),
        change(several, kind="multiple", options=(*options, "shade 2"), answers=("shade 1", "shade 2"), steps=STEPS),
        change(judged, kind="bool", question="It is dark.", answers=("true",), steps=STEPS),
        bare,
        change(two, pictures=(two.pictures[0], short.pictures[0]), steps=STEPS, flags=("blind_solvable",)),
    ]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A set whose items were filtered by a model and reviewed by nobody."""
    place = curated.set_folder(tmp_path / "set", n=6)
    items = _items(place / "pictures")
    kept.write_step(place, "ask", [record(one, parents=one.candidates) for one in items])
    model = Model(identity="m", name="qwen-7b", seats=("filters.1",), served=("Qwen/7B",))
    dropped = record(items[0], verdict="dropped", reason="all_right", facts={"note": "a secret"})
    kept.write_step(place, "filter", [*map(record, items), dropped], [model])
    runs.curate_review(place, unreviewed=True)
    return place


def _form(folder: Path, form: str) -> None:
    text = (folder / "curate.toml").read_text().partition("[publish]")[0]
    (folder / "curate.toml").write_text(f'{text}[publish]\nform = "{form}"\n')


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_each_benchmark_takes_what_it_can(folder: Path, form: str) -> None:
    _form(folder, form)
    done = runs.curate_publish(folder)
    assert done.items == {"m3cot": 5, "medcmr": 5}
    assert done.left_out == {"m3cot": {"no_steps": 1}, "medcmr": {"several_right": 1}}
    m3cot = {case.kind: case for case in class_of("m3cot").open(done.folder).cases()}
    assert m3cot["single"].question.splitlines()[1:] == ["A. black", "B. shade 1", "C. white"]
    assert (m3cot["single"].answer, m3cot["multiple"].answer) == ("B", "B, D")
    assert (m3cot["bool"].question, m3cot["bool"].answer) == ("True or false: It is dark.", "True")
    assert [step.text for step in m3cot["short"].steps] == ["a test card", "a grey patch"]
    medcmr = list(class_of("medcmr").open(done.folder).cases())
    assert [case.kind for case in medcmr] == ["open", "mcq", "mcq", "open", "open"]
    assert medcmr[1].truth == "shade 1"
    assert medcmr[0].dimension == "FDD"


def test_pictures_are_shared_bare_and_side_by_side_where_one_is_shown(folder: Path) -> None:
    done = runs.curate_publish(folder)
    m3cot, medcmr = Path(done.folder, "m3cot"), Path(done.folder, "medcmr")
    rows = pl.read_ndjson(m3cot / "items.jsonl")
    with Image.open(m3cot / rows["image"][-1]) as both:
        assert both.size == (24 + 8 + 24, 24)
    assert len(list((medcmr / "images").iterdir())) == 5
    assert [len(names) for names in pl.read_ndjson(medcmr / "items.jsonl")["images"]][-1] == 2


def test_parquet_has_pictures_as_hugging_face_lays_them_out(folder: Path) -> None:
    _form(folder, "parquet")
    done = runs.curate_publish(folder)
    frame = pl.read_parquet(Path(done.folder, "m3cot", "items.parquet"))
    assert frame.schema["image"] == pl.Struct({"bytes": pl.Binary, "path": pl.String})
    with Image.open(io.BytesIO(frame["image"][0]["bytes"])) as image:
        assert (image.format, image.size) == ("PNG", (24, 24))
    front = _front(Path(done.folder))
    info = {one["config_name"]: one for one in front["dataset_info"]}
    assert [one["name"] for one in info["m3cot"]["features"]] == frame.columns
    assert {"name": "image", "dtype": "image"} in info["m3cot"]["features"]
    size = Path(done.folder, "medcmr", "items.parquet").stat().st_size
    split = {"name": "test", "num_examples": 5, "num_bytes": size}
    assert info["medcmr"]["splits"] == [split]
    paths = [one["data_files"][0]["path"] for one in front["configs"]]
    assert paths == ["m3cot/items.parquet", "medcmr/items.parquet"]


def _front(place: Path) -> dict:  # type: ignore[type-arg]
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((place / "README.md").read_text().split("---")[1])  # type: ignore[no-any-return]


@pytest.mark.slow
def test_the_metadata_is_valid_croissant(folder: Path) -> None:
    croissant = pytest.importorskip("mlcroissant")
    for form in ("jsonl", "parquet"):
        _form(folder, f'{form}"\npublished = "2026-11-18"\ncite = "Nobody, 2026')
        place = Path(runs.curate_publish(folder).folder)
        data = croissant.Dataset(jsonld=str(place / "croissant.json"))
        assert (data.metadata.ctx.issues.errors, data.metadata.ctx.issues.warnings) == (
            set(),
            set(),
        )
        assert "reviewed by nobody" in data.metadata.data_annotation_protocol[0]
        if form == "jsonl":  # that of parquet would need one package more
            records = list(data.records("m3cot"))
            assert len(records) == 5
            assert records[0]["m3cot/question"] == b"Which shade is it?"


def test_the_datasheet_says_what_is_in_it_who_looked_and_why_the_rest_is_not(folder: Path) -> None:
    place = Path(runs.curate_publish(folder).folder)
    text = (place / "README.md").read_text()
    for said in (
        "**6 of 6 items were reviewed by nobody.**", "filtered by Qwen/7B, qwen-7b",
        "| CC0-1.0 | 6 |", "| FDD | 6 |", "| filter | filters.1 | qwen-7b | Qwen/7B |",
        "| filter | 6 | 6 | 6 | 0 | 0 | 1 | all right 1 |", "![The funnel, drawn](funnel.svg)",
    ):  # fmt: skip
        assert said in text, said
    assert (place / "funnel.svg").read_text().startswith("<svg")
    drops = [msgspec.json.decode(line) for line in (place / "drops.jsonl").open("rb")]
    assert [(one["step"], one["reason"]) for one in drops] == [("filter", "all_right")]
    assert "secret" not in (place / "drops.jsonl").read_text()


def test_every_run_says_that_a_model_filtered_the_set(folder: Path, tmp_path: Path) -> None:
    place = runs.curate_publish(folder).folder
    told: list[str] = []
    reader = Scripted(lambda prompt: Reply(text="A"), name="qwen-7b")
    run = runs.run(
        "medcmr", cases=place, readers=[reader, "control:letter-a"], out=tmp_path / "run",
        store=tmp_path / "s.sqlite", settings={"kinds": "mcq"}, tell=told.append,
    )  # fmt: skip
    record_ = read_record(Path(run.folder))
    assert any("filtered by what qwen-7b answered" in line for line in record_.remarks)
    assert any("6 items of this set were reviewed by nobody" in line for line in told)
    facts = {one.name: one.facts or {} for one in record_.readers}
    assert facts["qwen-7b"]["filtered_this_set"] is True
    assert "filtered_this_set" not in facts["control:letter-a"]


def test_nothing_unreviewed_stale_or_somebody_else_s_is_published_over(folder: Path) -> None:
    other = folder.parent / "other"
    other.mkdir()
    (other / "mine.txt").write_text("mine")
    with pytest.raises(BadInput, match="holds other things"):
        runs.curate_publish(folder, other)
    first = runs.curate_publish(folder)
    before = {
        path.name: path.read_bytes() for path in Path(first.folder).iterdir() if path.is_file()
    }
    again = runs.curate_publish(folder)
    after = {
        path.name: path.read_bytes() for path in Path(again.folder).iterdir() if path.is_file()
    }
    assert before == after
    kept.write_step(folder, "ask", kept.read_step(folder, "ask")[1:])
    with pytest.raises(BadInput, match=r"filter.jsonl was not made of the ask.jsonl"):
        runs.curate_publish(folder)
    kept.file_of(folder, "review").unlink()
    with pytest.raises(BadInput, match="not reviewed. Run overread curate review"):
        runs.curate_publish(folder)


def test_a_credentialed_set_is_its_makers_alone_and_no_served_name_breaks_its_card(
    folder: Path,
) -> None:
    assert {one.stat().st_mode & 0o077 for one in folder.glob("*.json*")} == {0}
    captions = folder.parent / "reports"  # in no open folder, though the pictures are
    captions.mkdir()
    (captions / "t.csv").write_text("image,caption\n")
    with (folder / "curate.toml").open("a") as file:
        file.write(f'[[sources]]\nname = "shades"\npath = "{captions}/t.csv"\n')
    model = Model(identity="m", name="qwen", seats=("filters.1",), served=("Q\x7f",))
    items = kept.read_step(folder, "ask")
    kept.write_step(folder, "filter", items, [model])
    runs.curate_review(folder, unreviewed=True)
    out = Path(runs.curate_publish(folder).folder)
    assert {one.stat().st_mode & 0o077 for one in (out, *out.rglob("*"))} == {0}
    card = tomllib.loads((out / "dataset.toml").read_text())
    assert (card["policy"], card["curated"]["filters"]) == ("credentialed", ["Q\x7f", "qwen"])
    (folder / "review.json").write_bytes(b"[")
    with pytest.raises(BadInput, match="review.json"):
        runs.curate_publish(folder)


def test_it_is_published_here_and_where_a_link_leads(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, link = folder.parent / "here", folder.parent / "link"
    here.mkdir()
    link.symlink_to(here)
    runs.curate_publish(folder, link)
    assert link.is_symlink()
    monkeypatch.chdir(here)
    runs.curate_publish(folder, ".")
    assert (here / "README.md").is_file()


def test_a_picture_counts_once_under_its_own_licence(folder: Path) -> None:
    first, second, *rest = kept.read_step(folder, "collect")
    other = msgspec.structs.replace(second.candidate, licence="MIT")
    kept.write_step(folder, "collect", [first, record(other, parents=()), *rest])
    two = msgspec.structs.replace(
        curated.item_of(first.candidate),
        candidates=(first.id, other.id),
        licences=("CC0-1.0", "MIT"),
    )
    kept.write_step(folder, "ask", [record(two, parents=two.candidates)])
    for step in ("filter", "review"):
        kept.file_of(folder, step).unlink()
    runs.curate_review(folder, unreviewed=True)
    text = (Path(runs.curate_publish(folder).folder) / "README.md").read_text()
    assert "| CC0-1.0 | 1 |\n| MIT | 1 |" in text
