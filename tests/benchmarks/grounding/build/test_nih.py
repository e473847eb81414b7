"""NIH ChestX-ray14's official files as films and boxes."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from overread.benchmarks.grounding.build.films import LABELS, box_schema, film_schema
from overread.benchmarks.grounding.build.nih_rsna import FINDING_OF, nih_films
from support.damage import DAMAGES, refusal, rename, repeat
from support.datasets import NIH_FINDINGS, write_nih

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
    assert dict(read.films.schema) == dict(film_schema())
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
    assert read.boxes.columns == [*box_schema(), "finding"]
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
