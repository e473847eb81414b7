"""A hospital's own csv and images as films and boxes."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest

from overread.benchmarks.grounding.build import folder
from overread.benchmarks.grounding.build.films import BOX_SCHEMA, FILM_SCHEMA
from overread.benchmarks.grounding.build.sampling import Sampling, boxed_probe_set
from overread.benchmarks.grounding.prompts import question
from support.damage import DAMAGES, edit, refusal, rename
from support.datasets import read_rows, write_csv, write_dicom_film, write_film, write_folder


@pytest.fixture
def own(tmp_path: Path) -> Path:
    return write_folder(tmp_path)


@pytest.fixture
def write(tmp_path: Path):
    """A csv of rows given as dictionaries, and an image of 72 x 64 for each film named."""

    def make(*rows: Mapping[str, object], draw: bool = True) -> Path:
        header = list(dict.fromkeys(name for row in rows for name in row))
        for row in rows if draw else ():
            write_film(tmp_path / str(row["image"]), row["image"])
        return write_csv(
            tmp_path / "own.csv", header, [[r.get(n, "") for n in header] for r in rows]
        )

    return make


def read(path: Path, **options):
    return folder.read_folder(path, path.parent, **options)


def film(image: str = "a.png", finding: str = "nodule", label: object = 1, **more: object):
    return {"image": image, "finding": finding, "label": label, **more}


# ---------------------------------------------------------------- what is read


def test_films_labels_facts_and_boxes_are_what_the_rows_say(own) -> None:
    found = read(own)
    rows = read_rows(own)
    assert found.films.columns == [*FILM_SCHEMA, "line_tip"]
    assert found.films["image_path"].to_list() == list(dict.fromkeys(r["image"] for r in rows))
    films = {row["image_path"]: row for row in found.films.iter_rows(named=True)}
    for row in rows:
        one = films[row["image"]]
        assert one[row["finding"].replace(" ", "_")] == int(row["label"])
        assert (one["subject_id"], one["view"]) == (row["patient"], row["view"])
        assert (one["gender"], one["age"]) == (row["sex"], float(row["age"]))
        assert one["edema"] is None
    boxed = [row for row in rows if row["box_x"]]
    assert found.boxes is not None
    assert found.boxes.columns == [*BOX_SCHEMA, "finding"]
    assert found.boxes.select("image_path", *"xywh").rows() == [
        (row["image"], *(float(row[f"box_{side}"]) for side in "xywh")) for row in boxed
    ]
    assert set(found.boxes["image_width"]) == {72.0}
    assert set(found.boxes["image_height"]) == {64.0}
    assert (found.name, found.policy, found.exclusions) == ("films", "credentialed", [])


def test_three_columns_are_enough(write) -> None:
    found = read(write(film(), film("b.png", label=0)), name="ward", policy="research")
    assert found.films.select("image_path", "nodule").rows() == [("a.png", 1), ("b.png", 0)]
    assert found.boxes is None
    assert (found.name, found.policy) == ("ward", "research")
    assert any("Patients are unknown" in line for line in found.provenance)


def test_any_name_is_a_finding_and_is_asked_with_spaces(write) -> None:
    path = write(
        film(finding="Kerley B lines"), film(finding="Lung Opacity"), film(finding="EDEMA")
    )
    films = read(path).films
    assert films.columns == [*FILM_SCHEMA, "Kerley_B_lines"]
    assert films.select("Kerley_B_lines", "lung_opacity", "edema").row(0) == (1, 1, 1)
    assert "Is Kerley B lines present" in question("ward", "Kerley_B_lines")


@pytest.mark.parametrize(
    ("word", "value"),
    [("1", 1), ("1.0", 1), ("Present", 1), ("YES", 1), ("0", 0), ("absent", 0), ("False", 0),
     ("2", 2), ("-1", 2), ("uncertain", 2), ("3", 3), ("Not Mentioned", 3)],
)  # fmt: skip
def test_labels_are_codes_or_words(write, word, value) -> None:
    assert read(write(film(label=word))).films["nodule"].to_list() == [value]


def test_columns_of_other_names_are_mapped_and_one_finding_can_stand_for_all(write) -> None:
    path = write(
        {"file": "a.png", "image": "a.png", "ptx": 1, "projection": "ap", "w": 5, "view": "PA"},
        {"file": "b.png", "image": "b.png", "ptx": 0, "projection": "pa", "w": 5, "view": "PA"},
    )
    columns = {"image": "file", "label": "ptx", "view": "projection"}
    films = read(path, columns=columns, finding="pneumothorax").films
    assert films.select("image_path", "view", "pneumothorax").rows() == [
        ("a.png", "AP", 1),
        ("b.png", "PA", 0),
    ]
    aside = read(path, columns={**columns, "view": ""}, finding="pneumothorax").films
    assert aside["view"].null_count() == 2


def test_facts_left_empty_on_some_rows_are_taken_from_the_others(write) -> None:
    path = write(film(sex="", age="44", patient="p"), film(finding="mass", sex="Female", age=""))
    films = read(path).films
    assert films.select("gender", "age", "subject_id").rows() == [("F", 44.0, "p")]


def test_back_slashes_and_a_leading_dot_are_paths_too(write) -> None:
    path = write(film("ward/a.png"), film("ward/b.png"))
    edit(path, 2, "image", "ward\\a.png")
    edit(path, 3, "image", "./ward/b.png")
    assert read(path).films["image_path"].to_list() == ["ward/a.png", "ward/b.png"]


def test_several_boxes_are_kept_one_twice_is_counted_and_so_is_one_without_its_finding(
    write,
) -> None:
    box = {"box_x": 1, "box_y": 2, "box_w": 30, "box_h": 20}
    path = write(
        film(**box),
        film(**{**box, "box_x": 5}),
        film(**box),
        film("b.png", label=0, **box),
        film("c.png"),
    )
    found = read(path)
    assert found.boxes is not None
    assert found.boxes.select("image_path", "x").rows() == [("a.png", 1.0), ("a.png", 5.0)]
    assert {(x.reason, x.count) for x in found.exclusions} == {
        ("a box on a film whose finding is not present", 1),
        ("the same box twice", 1),
    }


def test_the_size_of_an_image_is_the_csvs_or_the_files(write, tmp_path) -> None:
    box = {"box_x": 0, "box_y": 0, "box_w": 30, "box_h": 20}
    path = write(film(**box, image_width=300, image_height=200), film("b.png", **box))
    write_dicom_film(tmp_path / "c.dcm", 0, {}, side=50)
    rows = [*csv.reader(path.open()), ["c.dcm", "nodule", "1", "0", "0", "30", "20", "", ""]]
    write_csv(path, rows[0], rows[1:])
    boxes = read(path).boxes
    assert boxes is not None
    sizes = boxes.select("image_width", "image_height").rows()
    assert sizes == [(300.0, 200.0), (72.0, 64.0), (50.0, 50.0)]


def test_a_missing_image_is_refused_or_counted(own) -> None:
    gone = read(own).films["image_path"][3]
    (own.parent / gone).unlink()
    refusal(lambda: read(own), r"^films.csv row 8: ", gone)
    left = read(own, missing="exclude")
    assert left.films.height == 39
    assert gone not in set(left.films["image_path"]) | set(left.boxes["image_path"])
    assert [(x.reason, x.count) for x in left.exclusions] == [("the image is not there", 1)]


# ---------------------------------------------------------------- what is wrong is refused


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_file_is_named(own, kind) -> None:
    damage, words = DAMAGES[kind]
    damage(own)
    refusal(lambda: read(own), "films.csv", words)


@pytest.mark.parametrize("column", ["image", "finding", "label"])
def test_a_missing_column_is_named(own, column) -> None:
    rename(own, column, "something")
    refusal(lambda: read(own), f"films.csv has no column {column}")


@pytest.mark.parametrize("missing", ["refuse", "exclude"])
@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("image", "", "every row needs one"),
        ("image", "../secret.png", "leaves its data root"),
        ("image", "/etc/passwd", "leaves its data root"),
        ("image", "films", "is not a file"),
        ("finding", "", "every row needs one"),
        ("finding", "age", "is the name of a fact"),
        ("label", "", "every row needs one"),
        ("label", "maybe", r"it is 1 \(present\)"),
        ("sex", "woman", "it is M, F or empty"),
        ("age", "old", "an age is"),
        ("patient", "someone else", "row 2 says otherwise"),
        ("age", "99", "row 2 says otherwise"),
        ("box_x", "", "a box needs all of"),
        ("box_x", "left", "it is a number of pixels"),
        ("box_w", "0", "a side is above 0"),
        ("box_h", "-3", "a side is above 0"),
        ("box_w", "500", "the box leaves its image of 72 pixels"),
        ("box_y", "-9", "the box leaves its image of 64 pixels"),
    ],
)
def test_a_bad_cell_is_named_with_its_row(write, column, value, words, missing) -> None:
    box = {"box_x": 1, "box_y": 2, "box_w": 30, "box_h": 20}
    facts = {"patient": "p", "view": "PA", "sex": "M", "age": 30}
    path = write(film("films/a.png", **facts), film("films/a.png", "mass", **facts, **box))
    edit(path, 3, column, value)
    refusal(lambda: read(path, missing=missing), "^own.csv row 3: ", words)


def test_two_labels_of_one_finding_are_refused(write) -> None:
    path = write(film(), film("b.png"), film(label=0))
    refusal(lambda: read(path), "row 4: label is .0.; row 2 says otherwise of a.png and nodule")


def test_a_box_with_a_column_missing_is_refused(own) -> None:
    rename(own, "box_h", "height")
    refusal(lambda: read(own), "a box needs box_x, box_y, box_w, box_h")


def test_a_mapping_of_no_column_of_ours_or_theirs_is_refused(own) -> None:
    refusal(lambda: read(own, columns={"labels": "label"}), "column labels is none of image")
    refusal(lambda: read(own, columns={"sex": "gender"}), "no column gender")
    refusal(lambda: folder.read_folder(own, own.parent / "no"), "not a folder")


def test_an_image_that_is_none_is_named_where_its_size_is_needed(write, tmp_path) -> None:
    path = write(film(box_x=1, box_y=2, box_w=30, box_h=20))
    (tmp_path / "a.png").write_bytes(b"text")
    refusal(lambda: read(path), "a.png")


# ---------------------------------------------------------------- real radiographs


def test_real_radiographs_become_a_probe_set(shared: Path) -> None:
    root = shared / "data" / "cxr"
    if not root.is_dir():
        pytest.skip("needs ../shared/data/cxr: not here")
    found = folder.read_folder(
        root / "manifest.csv",
        root,
        {
            "label": "pneumonia",
            "view": "view_norm",
            "image_width": "width",
            "image_height": "height",
        },
        finding="Lung Opacity",
        name="cxr",
        policy="research",
    )
    with (root / "manifest.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert found.films.height == len(rows)
    assert found.films["lung_opacity"].sum() == sum(row["pneumonia"] == "1" for row in rows)
    built = boxed_probe_set(found, Sampling(minimum_side=20))
    views = {(case.view, label): 0 for case in built.cases for label in (0, 1)}
    for case in built.cases:
        views[case.view, case.label] += 1
        assert (root / case.image_path).is_file()
        assert case.swap_image_path != case.image_path
    assert views["PA", 0] == views["PA", 1] > 0
    assert views["AP", 0] == views["AP", 1] > 0
    assert any(case.box for case in built.cases)
    patients = pl.Series([case.subject_id for case in built.cases])
    assert patients.n_unique() == len(patients)


# ---------------------------------------------------------------- whose box it is


def test_a_box_labelled_with_another_finding_is_no_box_of_the_row_s(write) -> None:
    sides = {"box_x": 1, "box_y": 2, "box_w": 30, "box_h": 20}
    labels = ("Pneumonia", "Cardiomegaly", "Infiltrate", "white patch, left base", "")
    rows = [
        film(f"{n}.png", "pneumonia", 1, **sides, box_label=label) for n, label in enumerate(labels)
    ]
    found = read(write(*rows))
    assert found.boxes["image_path"].to_list() == ["0.png", "3.png", "4.png"]
    assert {each.reason: each.count for each in found.exclusions} == {
        'a box labelled "Cardiomegaly" on a row of pneumonia': 1,
        'a box labelled "Infiltrate" on a row of pneumonia': 1,
    }


def test_a_label_may_say_its_finding_where_there_is_one(write) -> None:
    rows = [film("a.png", "edema", "edema_present"), film("b.png", "edema", "Edema_Absent")]
    assert read(write(*rows)).films["edema"].to_list() == [1, 0]
    rows.append(film("c.png", "pneumonia", 1))
    refusal(lambda: read(write(*rows)), 'row 2: label is "edema_present"')
