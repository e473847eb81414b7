"""NIH ChestX-ray14's official files as films and boxes."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest

from overread.benchmarks.grounding.build.films import BOX_SCHEMA, FILM_SCHEMA, LABELS, FilmsRead
from overread.benchmarks.grounding.build.nih_rsna import FINDING_OF, nih_films, rsna_films
from support.damage import DAMAGES, edit, refusal, rename, repeat
from support.datasets import NIH_FINDINGS, Rsna, read_rows, write_nih, write_rsna

ENTRY = "Data_Entry_2017_v2020.csv"
BOXES = "BBox_List_2017.csv"
UNMAPPED = {"Emphysema", "Fibrosis", "Hernia"}
SOUGHT = set(FINDING_OF.values())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_nih(tmp_path / "nih")


def lines(path: Path) -> list[list[str]]:
    return [line.split(",") for line in path.read_text().splitlines()[1:]]


def test_findings_that_mean_the_same_have_one_name() -> None:
    same = {"Effusion": "pleural_effusion", "Pleural_Thickening": "pleural_other"}
    same |= dict.fromkeys(("Infiltrate", "Infiltration"), "lung_opacity")
    same |= dict.fromkeys(("Mass", "Nodule"), "lung_lesion")
    alike = ("Atelectasis", "Cardiomegaly", "Consolidation", "Edema", "Pneumonia", "Pneumothorax")
    assert same | {word: word.lower() for word in alike} == FINDING_OF


@pytest.mark.parametrize("first_release", [False, True])
def test_films_are_what_the_rows_say_in_their_order(tmp_path, first_release: bool) -> None:
    root = write_nih(tmp_path, first_release=first_release, seed=2)
    read = nih_films(root)
    (entry,) = root.glob("Data_Entry*")
    assert dict(read.films.schema) == FILM_SCHEMA
    for row, film in zip(lines(entry), read.films.iter_rows(named=True), strict=True):
        name, words, follow, patient, age, sex, view = row[:7]
        assert film["image_path"] == f"images/{name}"
        assert film["dicom_id"] == name.removesuffix(".png")
        assert (film["subject_id"], film["study_id"]) == (patient, f"{patient}_{follow}")
        assert (film["gender"], film["view"]) == (sex, view)
        assert film["age"] == float(age.removesuffix("Y"))
        assert film["split"] == ("test" if int(patient) % 5 == 0 else "train")
        normal = words == "No Finding"
        found = {FINDING_OF[word] for word in words.split("|") if word in FINDING_OF}
        for label in SOUGHT:
            assert film[label] == (1 if label in found else 0 if normal else 3)
        assert film["no_finding"] == int(normal)
        # NIH has no word for these, so nothing is known of them.
        for label in set(LABELS) - SOUGHT - {"no_finding"}:
            assert film[label] is None


def test_boxes_are_in_pixels_of_1024_and_infiltrate_is_infiltration(root) -> None:
    read = nih_films(root)
    assert read.boxes is not None
    assert read.boxes.columns == [*BOX_SCHEMA, "finding"]
    rows = lines(root / BOXES)
    assert read.boxes.height == len(rows)
    for row, box in zip(rows, read.boxes.iter_rows(named=True), strict=True):
        assert box["image_path"] == f"images/{row[0]}"
        assert (box["category"], box["finding"]) == (row[1], FINDING_OF[row[1]])
        assert [box[side] for side in "xywh"] == [float(cell) for cell in row[2:6]]
        assert box["image_width"] == box["image_height"] == 1024
    assert "lung_opacity" in set(read.boxes["finding"])
    joined = read.boxes.join(read.films, on="image_path")
    assert joined.filter(pl.col("finding") == "lung_opacity")["lung_opacity"].eq(1).all()


def test_findings_without_a_name_of_ours_are_counted(root) -> None:
    assert set(NIH_FINDINGS) - set(FINDING_OF) == UNMAPPED
    read = nih_films(root)
    listed = [word for row in lines(root / ENTRY) for word in row[1].split("|")]
    for word in UNMAPPED:
        line = f"{listed.count(word)} films list {word}, which has no name here."
        assert line in read.provenance


def test_boxes_with_trailing_commas_are_the_same(root) -> None:
    before = nih_films(root).boxes
    text = (root / BOXES).read_text().splitlines()
    (root / BOXES).write_text("\n".join([text[0], *(f"{line},,," for line in text[1:])]) + "\n")
    assert nih_films(root).boxes.equals(before)


def test_an_impossible_age_is_null_and_said(root) -> None:
    edit_entry(root, 2, 4, "411")
    read = nih_films(root)
    assert read.films["age"][0] is None
    assert "1 ages above 120 are taken as missing." in read.provenance


def test_a_box_on_a_film_not_listed_is_counted(root) -> None:
    edit_cell(root / BOXES, 2, 0, "00099999_000.png")
    read = nih_films(root)
    assert [(x.reason, x.count) for x in read.exclusions] == [("a box on a film not listed", 1)]


@pytest.mark.parametrize("archives", [False, True])
def test_images_are_found_in_one_folder_or_in_the_archives(tmp_path, archives) -> None:
    root = write_nih(tmp_path, patients=6, images=True, archives=archives)
    read = nih_films(root)
    assert all((root / path).is_file() for path in read.films["image_path"])
    assert read.boxes is not None
    assert set(read.boxes["image_path"]) <= set(read.films["image_path"])
    gone = read.boxes["image_path"][0]
    (root / gone).unlink()
    refusal(lambda: nih_films(root), Path(gone).name, "1 of")
    left = nih_films(root, "exclude")
    assert left.films.height == read.films.height - 1
    assert gone not in set(left.boxes["image_path"])
    assert [(x.reason, x.count) for x in left.exclusions] == [("the image is not there", 1)]


# ---------------------------------------------------------------- what is wrong is refused


def edit_cell(path: Path, row: int, place: int, value: str) -> None:
    text = [line.split(",") for line in path.read_text().splitlines()]
    text[row - 1][place] = value
    path.write_text("\n".join(map(",".join, text)) + "\n")


def edit_entry(root: Path, row: int, place: int, value: str) -> None:
    edit_cell(root / ENTRY, row, place, value)


@pytest.mark.parametrize("kind", DAMAGES)
@pytest.mark.parametrize("file", [ENTRY, BOXES])
def test_a_damaged_file_is_named(root, file, kind) -> None:
    damage, words = DAMAGES[kind]
    damage(root / file)
    refusal(lambda: nih_films(root), file, words)


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (0, "", 'Image Index is ""; every row needs one'),
        (0, "film.png", "a name is like 00000001_000.png"),
        (1, "", "every row needs one"),
        (1, "Infiltrations", 'Finding Labels is "Infiltrations"; the findings are'),
        (1, "No Finding|Mass", "No Finding stands alone"),
        (3, "x", "Patient ID is .*; it is a number"),
        (3, "77777", "Image Index begins with another"),
        (4, "58X", "an age is"),
        (5, "male", "Patient Gender is .*; it is M or F"),
    ],
)
def test_a_bad_cell_of_the_entries_is_named(root, place, value, words) -> None:
    edit_entry(root, 4, place, value)
    refusal(lambda: nih_films(root), f"^{ENTRY} row 4: ", words)


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (0, "", "every row needs one"),
        (1, "Rib", 'Finding Label is "Rib"'),
        (2, "", "every row needs one"),
        (2, "-5", "it is a number of pixels of 1024"),
        (3, "low", "it is a number of pixels of 1024"),
        (4, "0", "a side is above 0"),
        (5, "1100", "the box leaves the image"),
    ],
)
def test_a_bad_cell_of_the_boxes_is_named(root, place, value, words) -> None:
    edit_cell(root / BOXES, 4, place, value)
    refusal(lambda: nih_films(root), f"^{BOXES} row 4: ", words)


def test_a_film_twice_is_refused(root) -> None:
    repeat(root / ENTRY, 3)
    refusal(lambda: nih_films(root), "row 4: Image Index .* stands in row 3 already")


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("Patient Gender", "no column Patient Gender or Patient Sex"),
        ("Patient Age", "no column Patient Age"),
        ("Finding Labels", "no column Finding Labels"),
    ],
)
def test_a_missing_column_is_named(root, column, words) -> None:
    rename(root / ENTRY, column, "Something")
    refusal(lambda: nih_films(root), ENTRY, words)


@pytest.mark.parametrize("file", [ENTRY, BOXES])
def test_a_missing_file_is_named(root, file) -> None:
    (root / file).unlink()
    refusal(lambda: nih_films(root), file.partition("_v2020")[0])


def test_two_releases_at_once_are_refused(root) -> None:
    write_nih(root, first_release=True)
    refusal(lambda: nih_films(root), "Keep one")


@pytest.mark.parametrize("archives", [False, True])
def test_images_may_lie_in_another_folder_than_the_tables(tmp_path, archives) -> None:
    tables = write_nih(tmp_path / "tables")
    images = write_nih(tmp_path / "images", images=True, archives=archives)
    read = nih_films(tables, images=images)
    assert read.films.equals(nih_films(images).films)
    gone = read.films["image_path"][0]
    (images / gone).unlink()
    refusal(lambda: nih_films(tables, images=images), Path(gone).name, "--skip-missing")
    left = nih_films(tables, "exclude", images)
    assert gone not in left.films["image_path"]
    assert left.films.height == read.films.height - 1


# ---------------------------------------------------------------- RSNA 2018
# The RSNA challenge's official files as films and boxes.


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
    assert dict(read.films.schema) == FILM_SCHEMA
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
    assert boxes.columns == [*BOX_SCHEMA, "finding"]
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
def test_a_damaged_rsna_file_is_named(tree, file, kind) -> None:
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
