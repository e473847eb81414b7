"""Probe sets from the datasets a lab has, through the command, to a measured run."""

from __future__ import annotations

import csv
import json
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

import overread as ov
from integration.commands import overread
from overread.benchmarks.grounding.cases import GroundingCase, load_cases
from overread.case import Box, Traits
from overread.imaging import body_mask, overlap, pixels, render
from overread.runs import open_cases
from support import datasets

CONTROLS = ("control:looks", "control:always-yes", "control:unstable")
Grey = npt.NDArray[np.uint8]


# ---------------------------------------------------------------- every kind of set


def mimic(place: Path) -> tuple[list[object], Path]:
    tree = datasets.write_mimic(place / "jpg", patients=40, images=True)
    boxes = datasets.write_mscxr(place / "ms", tree)
    sentences = datasets.write_rexerr(place / "rexerr", tree)
    files = ["--patients", tree.patients, "--ms-cxr", boxes.csv, "--rexerr", sentences]
    return ["--mimic", tree.root, *files, "--per-finding", 6], tree.root


def mimic_of_the_authors(place: Path) -> tuple[list[object], Path]:
    words, root = mimic(place)
    return [*words, "--edition", "authors", "--labels", "negbio"], root


def master_list(place: Path) -> tuple[list[object], Path]:
    """The authors' layout: a list of their own, and all images below one folder."""
    builder = Path(__file__).parents[1] / "golden" / "grounding" / "builder"
    names = ("mimic_master.csv", "mscxr.csv", "rexerr.csv")
    master, boxes, sentences = (builder / name for name in names)
    for row in datasets.read_rows(master):
        datasets.write_film(place / row["jpg_rel_path"], row["jpg_rel_path"])
    for row in datasets.read_rows(boxes):
        path = place / "mimic-cxr-jpg" / row["path"]
        if not path.exists():
            datasets.write_film(path, row["path"])
    files = ["--ms-cxr", boxes, "--rexerr", sentences, "--images", place]
    few = ["--per-finding", 4, "--boxes-per-finding", 2, "--normals", 3, "--sentences", 20]
    return ["--master-list", master, *files, *few, "--edition", "authors"], place


def chexpert(place: Path) -> tuple[list[object], Path]:
    tree = datasets.write_chexpert(place, patients=50, small=True, images=True)
    plus = datasets.write_chexpert_plus(place / "plus", like=tree)
    return ["--chexpert", tree.train.parent, "--chexpert-plus", plus.root], place


def chexpert_master_list(place: Path) -> tuple[list[object], Path]:
    builder = Path(__file__).parents[1] / "golden" / "grounding" / "builder"
    master = builder / "chexpert_master.csv"
    for row in datasets.read_rows(master):
        datasets.write_film(place / row["jpg_rel_path"], row["jpg_rel_path"], (40, 40))
    few = ["--per-finding", 4, "--normals", 3]
    return ["--chexpert-master-list", master, "--images", place, *few], place


def nih(place: Path) -> tuple[list[object], Path]:
    return ["--nih", datasets.write_nih(place, images=True, archives=True)], place


def rsna(place: Path) -> tuple[list[object], Path]:
    tree = datasets.write_rsna(place, images=True)
    return ["--rsna", tree.root, "--nih-mapping", tree.mapping], place


def folder(place: Path) -> tuple[list[object], Path]:
    return ["--folder", datasets.write_folder(place), "--name", "ward"], place


KINDS = {
    mimic: ("mimic", "credentialed", {"ms_cxr", "mimic_cxr", "rexerr"}),
    mimic_of_the_authors: ("mimic", "credentialed", {"ms_cxr", "mimic_cxr", "rexerr"}),
    master_list: ("mimic", "credentialed", {"ms_cxr", "mimic_cxr", "rexerr"}),
    chexpert: ("chexpert", "credentialed", {"chexpert"}),
    chexpert_master_list: ("chexpert", "credentialed", {"chexpert"}),
    nih: ("nih", "open", {"nih"}),
    rsna: ("rsna", "research", {"rsna"}),
    folder: ("ward", "credentialed", {"ward"}),
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_of_set_is_built_and_can_be_asked_about(
    kind: Callable[[Path], tuple[list[object], Path]], tmp_path: Path
) -> None:
    words, root = kind(tmp_path / "data")
    name, policy, sources = KINDS[kind]
    out = tmp_path / "set"
    built = overread("build", "grounding", *words, "--out", out, "--json")
    assert built.returncode == 0, built.stderr
    told = json.loads(built.stdout)
    assert (told["name"], told["policy"]) == (name, policy)
    cases = list(load_cases(out))
    assert {case.source for case in cases} == sources
    assert told["facts"]["cases"] == len(cases)
    assert all(case.image_digest for case in cases)
    # What a lab would type next asks about every case: its pictures are where the set says.
    words = shlex.split(told["next"])
    assert "--set" not in words
    edition = words[words.index("--edition") + 1] if "--edition" in words else "corrected"
    bench = open_cases("grounding", words[words.index("--cases") + 1], edition, {})
    assert bench.root == str(root.absolute())
    asked = [list(bench.trials(case, Traits())) for case in bench.cases()]
    assert len(asked) == len(cases)
    for trials in asked[:: len(asked) // 5]:
        for trial in trials:
            assert pixels(render(trial.request.pictures[0])).shape[:2] == (224, 224)


# ---------------------------------------------------------------- from ward to measures


def test_controls_over_a_set_of_ones_own(tmp_path: Path) -> None:
    csv_file = datasets.write_folder(tmp_path / "ward", films=60)
    out, run = tmp_path / "set", tmp_path / "run"
    built = overread("build", "grounding", "--folder", csv_file, "--out", out)
    assert built.returncode == 0, built.stderr
    readers = [word for control in CONTROLS for word in ("--reader", control)]
    done = overread("run", "grounding", "--cases", out, "--set", f"root={csv_file.parent}",
                    *readers, "--out", run, "--store", tmp_path / "store.sqlite")  # fmt: skip
    assert done.returncode == 0, done.stderr
    records = json.loads((run / "measures.json").read_text("utf-8"))["measures"]
    overall = {(r["reader"], r["measure"]): r["value"] for r in records if not r["by"]}
    cases = list(load_cases(out))
    yes = "control:always-yes"
    share = sum(case.label for case in cases) / len(cases)
    assert overall[yes, "accuracy"] == pytest.approx(share)
    assert overall[yes, "uar"] == overall[yes, "is"] == 1
    assert overall[yes, "cgr"] == 0
    assert overall["control:unstable", "cgr"] > 0
    assert overall["control:unstable", "is"] < 1


# ---------------------------------------------------------------- real radiographs


@pytest.fixture(scope="module")
def films(shared: Path) -> Path:
    folder = shared / "data" / "cxr"
    if not folder.is_dir():
        pytest.skip("needs ../shared/data/cxr: not here")
    return folder


@pytest.fixture(scope="module")
def real(films: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pneumonia on 183 real films, with every box that radiologists drew; small ones too."""
    place = tmp_path_factory.mktemp("real")
    boxes: dict[str, list[list[str]]] = {}
    for row in datasets.read_rows(films / "boxes.csv"):
        if row["kind"] == "pathology":
            boxes.setdefault(row["image"], []).append([row[side] for side in "xywh"])
    facts = ("image", "pneumonia", "patient", "view_norm", "sex", "age", "width", "height")
    rows = []
    for film in datasets.read_rows(films / "manifest.csv"):
        present = film["pneumonia"] == "1"
        for box in (boxes.get(film["image"]) if present else None) or [[""] * 4]:
            rows.append([*(film[fact] for fact in facts), *box])
    header = (*facts, "box_x", "box_y", "box_w", "box_h")
    table = datasets.write_csv(place / "films.csv", header, rows)
    columns = {"label": "pneumonia", "view": "view_norm"}
    columns |= {"image_width": "width", "image_height": "height"}
    built = overread(
        *("build", "grounding", "--folder", table, "--images", films, "--out", place / "set"),
        *("--finding", "pneumonia", "--name", "cxr", "--minimum-side", 20),
        *(word for pair in columns.items() for word in ("--column", "=".join(pair))),
    )
    assert built.returncode == 0, built.stderr
    return place / "set"


@pytest.fixture(scope="module")
def shown(real: Path, films: Path) -> dict[str, tuple[GroundingCase, dict[str, Grey]]]:
    """What a reader is shown of every case with a box, by condition."""
    settings = {"root": str(films), "conditions": "+matched,+opposite_swap"}
    bench = open_cases("grounding", real, "corrected", settings)
    found = {}
    for case in bench.cases():
        assert isinstance(case, GroundingCase)
        if case.box is not None:
            found[case.case_id] = (
                case,
                {
                    str(trial.condition["image"]): pixels(render(trial.request.pictures[0]))
                    for trial in bench.trials(case, Traits())
                },
            )
    return found


def plain(path: Path) -> Grey:
    """The film as it should be shown, by Pillow alone."""
    image = Image.open(path).convert("L")
    return np.asarray(image.resize((224, 224), Image.Resampling.BILINEAR))


def blacked(film: Grey, boxes: tuple[Box, ...]) -> Grey:
    painted = film.copy()
    for box in boxes:
        painted[box.y : box.y + box.h, box.x : box.x + box.w] = 0
    return painted


def masks(case: GroundingCase) -> Iterator[tuple[str, tuple[Box, ...]]]:
    assert len(case.targets) == len(case.controls) > 0
    yield "target_mask", case.targets
    yield "irrelevant_mask", case.controls
    for number, boxes in enumerate(case.draws[:3], 1):
        yield f"matched_{number}", boxes


def test_real_cases_are_what_the_csv_says(real: Path, films: Path) -> None:
    rows = {row["image"]: row for row in datasets.read_rows(films / "manifest.csv")}
    cases = list(load_cases(real))
    assert len(cases) > 60
    for case in cases:
        row = rows[case.image_path]
        assert str(case.label) == row["pneumonia"]
        assert (case.view, case.gender or "") == (row["view_norm"], row["sex"])
        assert case.age is None or case.age == float(row["age"])
        for other, label in ((case.swap_image_path, "same"), (case.opposite_image_path, "other")):
            assert other is not None
            assert rows[other]["patient"] != row["patient"]
            assert (rows[other]["pneumonia"] == row["pneumonia"]) == (label == "same")
    # Films without the finding are paired with films that have it, view by view.
    for view in ("PA", "AP"):
        labels = [case.label for case in cases if case.view == view]
        assert 0 < labels.count(0) <= labels.count(1)


def test_the_pictures_of_real_cases_are_what_they_should_be(
    shown: dict[str, tuple[GroundingCase, dict[str, Grey]]], films: Path
) -> None:
    assert len(shown) > 10
    for case, pictures in shown.values():
        film = plain(films / case.image_path)
        assert (pictures["original"] == film).all()
        assert (pictures["swap"] == plain(films / str(case.swap_image_path))).all()
        assert (pictures["opposite_swap"] == plain(films / str(case.opposite_image_path))).all()
        for condition, boxes in masks(case):
            assert (pictures[condition] == blacked(film, boxes)).all(), condition


def test_matched_boxes_on_real_films_hide_patient_and_no_finding(
    shown: dict[str, tuple[GroundingCase, dict[str, Grey]]], films: Path
) -> None:
    boxes: dict[str, list[Box]] = {}
    with (films / "boxes.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["kind"] == "pathology":
                width, height = float(row["image_width"]), float(row["image_height"])
                scales = (224 / width, 224 / height) * 2
                sides = (float(row[side]) for side in "xywh")
                box = Box(*(round(v * s) for v, s in zip(sides, scales, strict=True)))
                boxes.setdefault(row["image"], []).append(box)
    with_room = 0
    for case, pictures in shown.values():
        body = body_mask(pictures["original"])
        with_room += bool(case.matched_boxes)
        for box in case.matched_boxes:
            assert body[box.y : box.y + box.h, box.x : box.x + box.w].mean() >= 0.95
            assert not any(overlap(box, known) for known in boxes[case.image_path])
    assert with_room > len(shown) / 2


def test_controls_over_real_films(real: Path, films: Path, tmp_path: Path) -> None:
    run = ov.run(
        "grounding",
        cases=real,
        readers=list(CONTROLS),
        out=tmp_path / "run",
        store=tmp_path / "store.sqlite",
        settings={"root": str(films)},
    )
    overall = {(r.reader, r.measure): r for r in run.records if not r.by}
    cases = list(load_cases(real))
    boxed = sum(case.box is not None for case in cases)
    yes = "control:always-yes"
    assert overall[yes, "accuracy"].k == sum(case.label for case in cases)
    assert overall[yes, "accuracy"].n == len(cases)
    assert (overall[yes, "cgr"].k, overall[yes, "cgr"].n) == (0, boxed)
    assert overall[yes, "uar"].value == overall[yes, "is"].value == 1
    for reader in CONTROLS:
        assert overall[reader, "parse_rate"].value == 1
    # Half of all coins fall the other way when any pixel changes.
    unstable = overall["control:unstable", "uar"]
    assert unstable.low is not None
    assert unstable.high is not None
    assert unstable.low < 0.5 < unstable.high
    assert run.unanswered == 0
