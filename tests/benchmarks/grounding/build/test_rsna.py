"""The RSNA challenge's official files as films and boxes."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest

from overread.benchmarks.grounding.build.films import LABELS, FilmsRead, box_schema, film_schema
from overread.benchmarks.grounding.build.nih_rsna import rsna_films
from support.damage import DAMAGES, edit, refusal, rename, repeat
from support.datasets import Rsna, read_rows, write_rsna

LABELS_FILE = "stage_2_train_labels.csv"
CLASSES_FILE = "stage_2_detailed_class_info.csv"


@pytest.fixture
def tree(tmp_path: Path) -> Rsna:
    return write_rsna(tmp_path)


def films(tree: Rsna) -> FilmsRead:
    return rsna_films(tree.root)


def present_row(tree: Rsna) -> int:
    rows = read_rows(tree.root / LABELS_FILE)
    return 2 + next(n for n, row in enumerate(rows) if row["Target"] == "1")


def test_a_film_is_an_image_and_its_class_decides(tree) -> None:
    read = films(tree)
    classes = {row["patientId"]: row["class"] for row in read_rows(tree.root / CLASSES_FILE)}
    assert dict(read.films.schema) == dict(film_schema())
    assert read.films["dicom_id"].to_list() == list(classes)
    for film in read.films.iter_rows(named=True):
        name = film["dicom_id"]
        assert film["image_path"] == f"stage_2_train_images/{name}.dcm"
        assert film["lung_opacity"] == (classes[name] == "Lung Opacity")
        assert film["no_finding"] == (classes[name] == "Normal")
        # Of other findings, of the patient and of the view the tables say nothing.
        assert {film[label] for label in LABELS} - {0, 1} == {None}
        assert film["pneumonia"] is film["subject_id"] is film["view"] is film["age"] is None
    assert any("Patients are unknown" in line for line in read.provenance)
    assert any("DICOM images were not there" in line for line in read.provenance)


def test_boxes_are_the_rows_with_target_1(tree) -> None:
    boxes = films(tree).boxes
    assert boxes is not None
    assert boxes.columns == [*box_schema(), "finding"]
    rows = [row for row in read_rows(tree.root / LABELS_FILE) if row["Target"] == "1"]
    names = ("patientId", "x", "y", "width", "height")
    assert boxes.select("dicom_id", *"xywh").rows() == [
        (row["patientId"], *(float(row[name]) for name in names[1:])) for row in rows
    ]
    assert set(boxes["finding"]) == {"lung_opacity"}
    assert set(boxes["image_width"]) == set(boxes["image_height"]) == {1024.0}


@pytest.mark.filterwarnings("error")
def test_view_sex_and_age_come_from_the_dicom_headers(tmp_path) -> None:
    tree = write_rsna(tmp_path, films=9, images=True)
    read = films(tree).films
    assert set(read["view"]) <= {"PA", "AP"}
    assert set(read["gender"]) <= {"M", "F"}
    assert read["age"].is_between(18, 90).all()
    assert read.select("view", "gender", "age").null_count().row(0) == (0, 0, 0)


@pytest.mark.parametrize("form", ["mapping", "mapping_csv"])
def test_the_patient_is_the_number_before_the_nih_image(tree, form) -> None:
    read = rsna_films(tree.root, getattr(tree, form))
    mapped = {row["patientId"]: row["nih_image"] for row in read_rows(tree.mapping_csv)}
    for name, subject in read.films.select("dicom_id", "subject_id").iter_rows():
        assert subject == str(int(mapped[name].partition("_")[0]))
    assert read.films["subject_id"].n_unique() == read.films.height // 2
    assert any("known of 60 of 60" in line for line in read.provenance)


def test_a_missing_image_is_refused_or_counted(tmp_path) -> None:
    tree = write_rsna(tmp_path, films=6, images=True)
    whole = films(tree)
    assert whole.boxes is not None
    gone = whole.boxes["image_path"][0]
    (tree.root / gone).unlink()
    refusal(lambda: films(tree), gone, "1 of 6")
    left = rsna_films(tree.root, missing="exclude")
    assert left.films.height == 5
    assert left.boxes is not None
    assert left.boxes.equals(whole.boxes.filter(pl.col("image_path") != gone))
    assert [(x.reason, x.count) for x in left.exclusions] == [("the image is not there", 1)]


# ---------------------------------------------------------------- what is wrong is refused


@pytest.mark.parametrize("kind", DAMAGES)
@pytest.mark.parametrize("file", [LABELS_FILE, CLASSES_FILE])
def test_a_damaged_file_is_named(tree, file, kind) -> None:
    damage, words = DAMAGES[kind]
    damage(tree.root / file)
    refusal(lambda: films(tree), file, words)


@pytest.mark.parametrize("file", [LABELS_FILE, CLASSES_FILE])
def test_a_missing_file_or_column_is_named(tree, file) -> None:
    rename(tree.root / file, "patientId", "id")
    refusal(lambda: films(tree), f"{file} has no column patientId")
    (tree.root / file).unlink()
    refusal(lambda: films(tree), file)


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("patientId", "", "every row needs one"),
        ("patientId", "../../etc/passwd", "letters, digits"),
        ("Target", "", "every row needs one"),
        ("Target", "2", "it is 0 or 1"),
        ("Target", "0", "gives this image another class"),
        ("x", "", "a row with Target 1 has a box"),
        ("x", "-4", "it is a number of pixels"),
        ("y", "top", "it is a number of pixels"),
        ("width", "0", "a side is above 0"),
        ("height", "2000", "the box leaves the image"),
    ],
)
def test_a_bad_cell_of_the_labels_is_named(tree, column, value, words) -> None:
    row = present_row(tree)
    edit(tree.root / LABELS_FILE, row, column, value)
    refusal(lambda: films(tree), f"^{LABELS_FILE} row {row}: ", words)


def test_a_box_on_an_absent_film_and_the_same_box_twice_are_refused(tree) -> None:
    row = present_row(tree)
    repeat(tree.root / LABELS_FILE, row)
    refusal(lambda: films(tree), f"row {row + 1}: patientId .* stands in row {row} already")
    write_rsna(tree.root)
    edit(tree.root / LABELS_FILE, 2, "x", "5")
    refusal(lambda: films(tree), "row 2: x is .*; a row with Target 1 has a box, and no other")


def test_a_class_unknown_missing_or_at_odds_is_refused(tree) -> None:
    path = tree.root / CLASSES_FILE
    edit(path, 3, "class", "Sick")
    refusal(lambda: films(tree), f'^{CLASSES_FILE} row 3: class is "Sick"')
    write_rsna(tree.root)
    edit(path, 2, "patientId", "0")
    refusal(lambda: films(tree), f"^{LABELS_FILE} row 2: patientId .* has no class for it")
    write_rsna(tree.root)
    edit(path, 2, "class", "Lung Opacity")
    refusal(lambda: films(tree), f"^{LABELS_FILE} row 2: Target .* another class")
    write_rsna(tree.root)
    names = [row["patientId"] for row in read_rows(path)]
    twice = next(n for n, name in enumerate(names) if names.count(name) > 1)
    edit(path, twice + 3, "class", "Normal")
    refusal(lambda: films(tree), f"^{CLASSES_FILE} row {twice + 3}: class .* another row")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("patientId,nih_image\nx,film.png\n", "row 2: .film.png. is no NIH image"),
        ("patientId,nih_image\nx,00000001_000.png\nx,00000002_000.png\n", "row 3: .* another patient"),
        ("id,nih_image\nx,00000001_000.png\n", "no column subset_img_id or patientId or rsna_id"),
        ("patientId,file\nx,00000001_000.png\n", "no column img_id or Image Index or nih_image"),
        ("patientId,nih_image\n,00000001_000.png\n", "row 2: patientId .* every row needs one"),
        ("patientId,nih_image\nx,00000001_000.png\n", "maps none of these images"),
        ("patientId,nih_image\n", "no rows"),
    ],
)  # fmt: skip
def test_a_bad_mapping_is_refused(tree, text, words) -> None:
    tree.mapping_csv.write_text(text)
    refusal(lambda: rsna_films(tree.root, tree.mapping_csv), words)


@pytest.mark.parametrize("text", ["{}", "[", '[{"img_id": "00000001_000.png"}]', "[]"])
def test_a_bad_json_mapping_is_refused(tree, text) -> None:
    tree.mapping.write_text(text)
    refusal(lambda: rsna_films(tree.root, tree.mapping), tree.mapping.name)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("data", [b"", b"no film", b"\0" * 128 + b"DICM" + b"\xff" * 40])
def test_an_image_that_is_no_dicom_file_is_named(tmp_path, data) -> None:
    tree = write_rsna(tmp_path, films=3, images=True)
    path = next((tree.root / "stage_2_train_images").iterdir())
    path.write_bytes(data)
    refusal(lambda: films(tree), path.name, "DICOM")


def test_views_are_read_from_images_in_another_folder_than_the_tables(tmp_path) -> None:
    """Without them nothing would keep films with and without the finding alike in their views."""
    images = write_rsna(tmp_path / "images", images=True)
    tables = tmp_path / "tables"
    tables.mkdir()
    for table in images.root.glob("*.csv"):
        shutil.copy(table, tables)
    assert rsna_films(tables).films["view"].is_null().all()
    read = rsna_films(tables, images=images.root)
    assert read.films.equals(rsna_films(images.root).films)
    assert read.films["view"].is_not_null().all()
