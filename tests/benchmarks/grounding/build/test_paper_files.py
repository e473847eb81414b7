"""MIMIC-CXR-JPG's official files as films, MS-CXR's boxes and ReXErr's sentences."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from overread.benchmarks.grounding.build.films import (
    BOX_SCHEMA,
    FILM_SCHEMA,
    LABELS,
    SENTENCE_SCHEMA,
    FilmsRead,
    with_images,
)
from overread.benchmarks.grounding.build.paper_files import (
    identifiers,
    mimic_films,
    read_boxes,
    read_sentences,
)
from overread.case import BadInput
from support.damage import DAMAGES, edit, refusal, rename, repeat
from support.datasets import MIMIC_ORDER, Mimic, read_rows, write_mimic

CODES = {"1.0": 1, "0.0": 0, "-1.0": 2, "": 3}


@pytest.fixture
def tree(tmp_path: Path) -> Mimic:
    return write_mimic(tmp_path / "jpg")


def file_of(tree: Mimic, kind: str) -> Path:
    (path,) = tree.root.glob(f"mimic-cxr-*-{kind}.csv*")
    return path


def obvious(tree: Mimic, labeler: str) -> list[dict[str, object]]:
    """Film by film with dictionaries."""
    splits = {row["dicom_id"]: row["split"] for row in read_rows(file_of(tree, "split"))}
    labels = {row["study_id"]: row for row in read_rows(file_of(tree, labeler))}
    people = {row["subject_id"]: row for row in read_rows(tree.patients)}
    films = []
    for row in read_rows(file_of(tree, "metadata")):
        subject, study, dicom = row["subject_id"], row["study_id"], row["dicom_id"]
        person, codes = people.get(subject), labels.get(study)
        age = None
        if person:
            years = int(row["StudyDate"][:4]) - int(person["anchor_year"])
            age = float(int(person["anchor_age"]) + years)
        folder = f"p{subject[:2]}/p{subject}/s{study}"
        films.append(
            {
                "image_path": f"files/{folder}/{dicom}.jpg",
                "report_path": f"files/{folder}.txt",
                "dicom_id": dicom,
                "subject_id": subject,
                "study_id": study,
                "view": row["ViewPosition"] or None,
                "gender": person["gender"] if person else None,
                "split": {"validate": "valid"}.get(splits[dicom], splits[dicom]),
                "age": age,
                **{
                    name.lower().replace(" ", "_"): CODES[codes[name]] if codes else None
                    for name in MIMIC_ORDER
                },
            }
        )
    return films


@pytest.mark.parametrize("labeler", ["chexpert", "negbio"])
@pytest.mark.parametrize("version", ["2.0.0", "2.1.0"])
@pytest.mark.parametrize("gz", [True, False])
def test_films_are_what_a_slow_join_gives(tmp_path, labeler, version, gz) -> None:
    tree = write_mimic(tmp_path / "jpg", version=version, gz=gz, seed=7)
    read = mimic_films(tree.root, tree.patients, labeler)
    assert dict(read.films.schema) == FILM_SCHEMA
    assert read.films.to_dicts() == obvious(tree, labeler)
    assert read.exclusions == []
    assert (read.name, read.policy) == ("mimic_cxr", "credentialed")
    assert any(labeler in line and "sha256" in line for line in read.provenance)


def test_a_patient_not_in_mimic_iv_has_no_age_and_no_sex(tree) -> None:
    films = mimic_films(tree.root, tree.patients).films
    last = tree.films[-1][1]
    lost = films.filter(films["subject_id"] == last)
    assert lost.height
    assert lost["age"].null_count() == lost["gender"].null_count() == lost.height
    assert films["age"].null_count() == lost.height


def test_a_study_without_labels_is_kept_with_null_labels_and_said(tree) -> None:
    read = mimic_films(tree.root, tree.patients)
    last = read.films.filter(read.films["study_id"] == tree.films[-1][2])
    assert last.select(LABELS).null_count().row(0) == (last.height,) * len(LABELS)
    assert any("1 studies have no row of labels" in line for line in read.provenance)


def test_labels_belong_to_a_patient_and_a_study_together(tree) -> None:
    edit(file_of(tree, "chexpert"), 2, "subject_id", "19999999")
    read = mimic_films(tree.root, tree.patients)
    first = read.films.filter(read.films["study_id"] == tree.films[0][2])
    assert first["edema"].null_count() == first.height
    assert any("2 studies have no row of labels" in line for line in read.provenance)


def test_patients_may_be_given_as_mimic_ivs_folder(tree) -> None:
    by_file = mimic_films(tree.root, tree.patients).films
    for folder in (tree.patients.parent, tree.patients.parent.parent):
        assert mimic_films(tree.root, folder).films.equals(by_file)
    refusal(lambda: mimic_films(tree.root, tree.root), "patients.csv")


def test_a_film_dated_before_birth_has_no_age(tree) -> None:
    edit(file_of(tree, "metadata"), 2, "StudyDate", "18000506")
    read = mimic_films(tree.root, tree.patients)
    assert read.films["age"][0] is None
    assert any("before their patient's birth" in line for line in read.provenance)


def test_a_film_without_a_split_is_left_out_and_counted(tree) -> None:
    path = file_of(tree, "split")
    lines = read_rows(path)
    edit(path, len(lines) + 1, "dicom_id", "of-no-film")
    read = mimic_films(tree.root, tree.patients)
    assert read.films.height == len(lines) - 1
    assert [(x.reason, x.count) for x in read.exclusions] == [("no row in the split file", 1)]


# ---------------------------------------------------------------- images


def test_images_are_looked_for_where_asked(tmp_path) -> None:
    tree = write_mimic(tmp_path / "jpg", images=True, patients=4)
    read = mimic_films(tree.root, tree.patients)
    assert with_images(read, tree.root, "refuse").films.equals(read.films)
    gone = read.films["image_path"][1]
    (tree.root / gone).unlink()
    refusal(lambda: with_images(read, tree.root, "refuse"), gone, "1 of ", "Fetch")
    left = with_images(read, tree.root, "exclude")
    assert left.films.height == read.films.height - 1
    assert [(x.source, x.count) for x in left.exclusions] == [("mimic_cxr", 1)]


def test_a_root_one_folder_too_deep_is_told_apart_from_missing_images(tmp_path) -> None:
    tree = write_mimic(tmp_path / "jpg", images=True, patients=4)
    read = mimic_films(tree.root, tree.patients)
    refusal(lambda: with_images(read, tree.root / "files", "refuse"), "Give the folder above")
    refusal(lambda: with_images(read, tmp_path / "no", "refuse"), "not a folder")


# ---------------------------------------------------------------- what is wrong is refused


def films(tree: Mimic) -> FilmsRead:
    return mimic_films(tree.root, tree.patients)


@pytest.mark.parametrize("kind", DAMAGES)
@pytest.mark.parametrize("file", ["metadata", "split", "chexpert", "patients"])
def test_a_damaged_file_is_named(tree, file, kind) -> None:
    damage, words = DAMAGES[kind]
    path = tree.patients if file == "patients" else file_of(tree, file)
    damage(path)
    refusal(lambda: films(tree), path.name, words)


@pytest.mark.parametrize("file", ["metadata", "split", "chexpert"])
def test_a_missing_file_and_a_missing_column_are_named(tree, file) -> None:
    path = file_of(tree, file)
    rename(path, "study_id", "study")
    refusal(lambda: films(tree), path.name, "no column study_id")
    path.unlink()
    refusal(lambda: films(tree), f"mimic-cxr-.*-{file}.csv")


@pytest.mark.parametrize(
    ("file", "column", "value", "words"),
    [
        ("metadata", "dicom_id", "", "every row needs one"),
        ("metadata", "subject_id", "p1000", "8 digits"),
        ("metadata", "study_id", "", "every row needs one"),
        ("metadata", "StudyDate", "2180-05-06", "YYYYMMDD"),
        ("split", "split", "valid", "train, validate or test"),
        ("split", "split", "", "every row needs one"),
        ("split", "subject_id", "19999999", "another one"),
        ("split", "study_id", "59999999", "another one"),
        ("chexpert", "Edema", "2.0", "a label is"),
        ("chexpert", "No Finding", "yes", "a label is"),
        ("chexpert", "study_id", "", "every row needs one"),
        ("patients", "gender", "X", "it is M or F"),
        ("patients", "anchor_age", "old", "a whole number"),
        ("patients", "anchor_age", "-1", "a whole number"),
        ("patients", "anchor_year", "2180?", "a whole number"),
        ("patients", "subject_id", "", "every row needs one"),
    ],
)
def test_a_bad_cell_is_named_with_its_file_row_and_column(tree, file, column, value, words) -> None:
    path = tree.patients if file == "patients" else file_of(tree, file)
    edit(path, 3, column, value)
    refusal(lambda: films(tree), f'^{path.name} row 3: {column} is "', words)


@pytest.mark.parametrize("file", ["metadata", "split", "chexpert", "patients"])
def test_a_row_that_stands_twice_is_refused(tree, file) -> None:
    path = tree.patients if file == "patients" else file_of(tree, file)
    repeat(path, 4)
    refusal(lambda: films(tree), f"{path.name} row 5: .* stands in row 4 already")


def test_files_of_two_versions_are_refused(tree) -> None:
    path = file_of(tree, "chexpert")
    path.with_name("mimic-cxr-2.1.0-chexpert.csv.gz").write_bytes(path.read_bytes())
    refusal(lambda: films(tree), "2.0.0-chexpert", "2.1.0-chexpert", "Keep one")


def test_a_folder_that_is_not_there_is_refused(tmp_path) -> None:
    refusal(lambda: mimic_films(tmp_path / "no", tmp_path / "patients.csv"), "not a folder")


# ---------------------------------------------------------------- MS-CXR
# MS-CXR's boxes are the same from csv v1.0, csv v1.1 and COCO json; a fault is one line.


V10 = (
    *("dicom_id", "category_name", "label_text", "path", "x", "y", "w", "h"),
    *("image_width", "image_height"),
)
V11 = (*V10, "split")
BOXES = [
    ("d1", "Edema", "hazy, both sides", "files/p1/s1/d1.jpg", 10, 20, 300, 400, 2000, 2500, "test"),
    (
        "d1",
        "Edema",
        "hazy, both sides",
        "files/p1/s1/d1.jpg",
        900,
        20,
        310,
        420,
        2000,
        2500,
        "test",
    ),
    ("d2", "Lung Opacity", "", "files/p2/s2/d2.jpg", 0, 0, 99, 98, 1000, 1100, "train"),
]


def row(box: tuple[Any, ...]) -> dict[str, str]:
    return dict(zip(V11, map(str, box), strict=True))


@pytest.fixture
def sheet(tmp_path):
    """Write the boxes as csv, some cells of the second changed, and read them."""

    def read(columns=V10, **changes: str):
        path = tmp_path / "MS_CXR_Local_Alignment.csv"
        rows = [row(box) for box in BOXES]
        rows[1] |= changes
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, columns, extrasaction="ignore")
            writer.writeheader()
            writer.writerows(rows)
        return read_boxes(path)

    return read


def coco() -> dict[str, list[dict[str, Any]]]:
    images, names = {}, sorted({box[1] for box in BOXES})
    for box in BOXES:
        facts = {"file_name": f"{box[0]}.jpg", "path": box[3], "width": box[8], "height": box[9]}
        images.setdefault(box[0], {"id": len(images) + 1, **facts})
    return {
        "images": list(images.values()),
        "categories": [{"id": i, "name": name} for i, name in enumerate(names)],
        "annotations": [
            {
                "id": i,
                "image_id": images[box[0]]["id"],
                "category_id": names.index(box[1]),
                "bbox": list(box[4:8]),
                "label_text": box[2],
            }
            for i, box in enumerate(BOXES)
        ],
    }


@pytest.fixture
def written(tmp_path):
    def read(data: dict[str, Any] | bytes):
        path = tmp_path / "MS_CXR_Local_Alignment.json"
        path.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
        return read_boxes(path)

    return read


def complaint(reading, *args, **kwargs) -> str:
    with pytest.raises(BadInput) as error:
        reading(*args, **kwargs)
    assert "\n" not in str(error.value)
    assert "MS_CXR_Local_Alignment" in str(error.value)
    return str(error.value)


def test_both_csv_versions_and_the_json_hold_the_same_boxes(sheet, written):
    old, new, other = sheet(V10), sheet(V11), written(coco())
    assert old.schema == BOX_SCHEMA
    assert old.equals(new)
    assert old.equals(other)
    assert old.rows()[0] == (
        *("d1", "Edema", "hazy, both sides", "mimic-cxr-jpg/files/p1/s1/d1.jpg"),
        *(10.0, 20.0, 300.0, 400.0, 2000.0, 2500.0),
    )
    assert old["label_text"].to_list()[2] is None


def test_the_golden_csv_is_read_row_by_row(golden):
    path = golden / "builder" / "mscxr.csv"
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    boxes = read_boxes(path)
    assert boxes["image_path"].to_list() == ["mimic-cxr-jpg/" + row["path"] for row in rows]
    assert boxes["category"].to_list() == [row["category_name"] for row in rows]
    assert boxes["w"].to_list() == [float(row["w"]) for row in rows]


@pytest.mark.parametrize(
    "path", ["files/p1/s1/d1.jpg", "p1/s1/d1.jpg", "mimic-cxr-jpg/files/p1/s1/d1.jpg"]
)
def test_the_leading_folder_may_be_there_or_not(sheet, written, path):
    place = "mimic-cxr-jpg/files/p1/s1/d1.jpg"
    assert sheet(path=path)["image_path"][1] == place
    given = coco()
    given["images"][0]["path"] = path
    assert written(given)["image_path"][1] == place


def test_a_gzipped_csv_is_the_same_csv(golden, tmp_path):
    plain = golden / "builder" / "mscxr.csv"
    packed = tmp_path / "mscxr.csv.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert read_boxes(packed).equals(read_boxes(plain))


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("x", "left", ["row 3", 'x is "left"', "number"]),
        ("w", "-3", ["row 3", 'w is "-3"', "above 0"]),
        ("h", "0", ["row 3", 'h is "0"', "above 0"]),
        ("h", "nan", ["row 3", 'h is "nan"', "number"]),
        ("w", "", ["row 3", "w is", "every row needs one"]),
        ("image_width", "0", ["row 3", 'image_width is "0"', "above 0"]),
        ("dicom_id", "", ["row 3", "dicom_id", "every row needs one"]),
    ],
)
def test_a_bad_cell_of_the_csv_is_one_line_with_its_row(sheet, column, value, words):
    said = complaint(sheet, **{column: value})
    assert all(word in said for word in words), said


def test_a_column_of_the_csv_that_is_missing_or_twice_there_is_named(sheet):
    assert "no column image_height" in complaint(sheet, V10[:-1])
    assert "more than one column path" in complaint(sheet, (*V10, "path"))


@pytest.mark.parametrize(
    ("data", "word"),
    [(b"", "empty"), ("é".encode("utf-16"), "row 1"), (b"a,b\n\xe9,1\n", "row 2")],
)
def test_a_csv_that_is_none_is_refused(tmp_path, data, word):
    path = tmp_path / "MS_CXR_Local_Alignment.csv"
    path.write_bytes(data)
    assert word in complaint(read_boxes, path)


@pytest.mark.parametrize(
    ("where", "field", "value", "words"),
    [
        ("annotations", "image_id", 99, ["annotations[1]", "image_id 99", "no image"]),
        ("annotations", "category_id", 99, ["annotations[1]", "category_id 99", "no category"]),
        ("annotations", "bbox", [1, 2, -3, 4], ["annotations[1]", "bbox", "above 0"]),
        ("annotations", "bbox", [1, 2, 3], ["annotations[1].bbox", "length"]),
        ("annotations", "bbox", ["left", 2, 3, 4], ["annotations[1].bbox[0]", "float"]),
        ("annotations", "label_text", 5, ["annotations[1].label_text"]),
        ("images", "width", 0, ["0 x 1100", "above 0"]),
        ("images", "height", "tall", ["images[1].height", "float"]),
        ("categories", "name", None, ["categories[1].name"]),
    ],
)
def test_a_bad_value_of_the_json_is_one_line_with_its_place(written, where, field, value, words):
    given = coco()
    given[where][1][field] = value
    said = complaint(written, given)
    assert all(word in said for word in words), said


@pytest.mark.parametrize("part", ["images", "annotations", "categories"])
def test_a_part_of_the_json_that_is_missing_is_named(written, part):
    given = coco()
    del given[part]
    assert part in complaint(written, given)


def test_a_json_that_is_none_is_refused(written):
    whole = json.dumps(coco()).encode()
    for data in (b"", whole[: len(whole) // 2], b"\xff" + whole, b"[]"):
        assert "is not COCO json" in complaint(written, data)
    assert "no annotations" in complaint(written, coco() | {"annotations": []})


def test_a_file_that_is_not_there_is_refused(tmp_path):
    for name in ("absent.csv", "absent.json"):
        with pytest.raises(BadInput, match="no such file"):
            read_boxes(tmp_path / name)


# ---------------------------------------------------------------- ReXErr
# ReXErr's sentence-level file becomes a sentence table, or one line says why not.


# The order of the published file differs from that of the authors' copy.
COLUMNS = (
    *("dicom_id", "study_id", "subject_id", "original_sentence"),
    *("error_sentence", "error_present", "error_type"),
)
GOOD = dict(
    zip(COLUMNS, ("d1", "50", "10", "Clear.", "Not clear.", "1.0", "Add typo"), strict=True)
)


@pytest.fixture
def read(tmp_path):
    def sentences(*rows: dict[str, str], columns=COLUMNS):
        path = tmp_path / "rexerr.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            sheet = csv.DictWriter(file, columns, extrasaction="ignore")
            sheet.writeheader()
            sheet.writerows({**GOOD, **row} for row in rows)
        return read_sentences(path)

    return sentences


def test_the_golden_file_is_read_row_by_row(golden):
    path = golden / "builder" / "rexerr.csv"
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    sentences = read_sentences(path)
    assert sentences.schema == SENTENCE_SCHEMA
    for column in ("dicom_id", "study_id", "subject_id", "original_sentence", "error_type"):
        assert sentences[column].to_list() == [row[column] or None for row in rows]
    assert sentences["error_present"].to_list() == [int(float(r["error_present"])) for r in rows]


def test_flags_are_floats_or_whole_numbers_and_two_is_kept(read):
    rows = [{"error_present": word} for word in ("0.0", "1.0", "2.0", "0", "1", "2", "")]
    assert read(*rows)["error_present"].to_list() == [0, 1, 2, 0, 1, 2, None]


def test_lists_of_films_and_missing_sentences_are_kept_for_the_sampling(read):
    row = read({"dicom_id": "d1, d2,d3", "original_sentence": "", "error_type": ""}).row(
        0, named=True
    )
    assert (row["dicom_id"], row["original_sentence"], row["error_type"]) == (
        "d1, d2,d3",
        None,
        None,
    )


def test_a_sentence_may_hold_commas_quotes_and_line_breaks(read):
    text = 'No "new",\nor old, effusion.'
    assert read({"error_sentence": text})["error_sentence"].to_list() == [text]


def test_ids_may_have_been_saved_as_floats(read):
    row = read({"study_id": "50.0", "subject_id": "10.0"}).row(0, named=True)
    assert (row["study_id"], row["subject_id"]) == ("50", "10")


def test_a_gzipped_file_is_the_same_file(golden, tmp_path):
    plain = golden / "builder" / "rexerr.csv"
    packed = tmp_path / "rexerr.csv.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert read_sentences(packed).equals(read_sentences(plain))


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"error_present": "3.0"}, ["row 3", 'error_present is "3.0"', "0, 1, 2 or empty"]),
        ({"error_present": "yes"}, ["row 3", 'error_present is "yes"']),
        ({"study_id": ""}, ["row 3", "study_id", "every row needs one"]),
        ({"subject_id": ""}, ["row 3", "subject_id", "every row needs one"]),
    ],
)
def test_a_fault_is_one_line_with_file_and_row(read, row, words):
    with pytest.raises(BadInput) as error:
        read({}, row)
    assert all(word in str(error.value) for word in ("rexerr.csv", *words)), str(error.value)
    assert "\n" not in str(error.value)


def test_a_row_after_one_with_line_breaks_is_named_by_its_line(read):
    with pytest.raises(BadInput, match="row 4: error_present"):
        read({"error_sentence": "two\nlines"}, {"error_present": "no"})


def test_a_column_that_is_missing_or_twice_there_is_named(read):
    with pytest.raises(BadInput, match="no column error_type"):
        read({}, columns=COLUMNS[:-1])
    with pytest.raises(BadInput, match="more than one column study_id"):
        read({}, columns=(*COLUMNS, "study_id"))


@pytest.mark.parametrize("data", [b"", b"dicom_id\n\xff\n", b'dicom_id,"study_id\n1,2\n'])
def test_a_file_that_is_no_csv_is_refused(tmp_path, data):
    path = tmp_path / "rexerr.csv"
    path.write_bytes(data)
    with pytest.raises(BadInput) as error:
        read_sentences(path)
    assert "\n" not in str(error.value)
    assert "rexerr.csv" in str(error.value)


def test_a_whole_number_kept_as_a_float_is_the_same_id() -> None:
    ids = pl.Series("id", ["1213", "1213.0", "1213.00", "p12.0", "1.5", "0012", None])
    found = ids.to_frame().select(identifiers(pl.col("id")))["id"]
    assert found.to_list() == ["1213", "1213", "1213", "p12.0", "1.5", "0012", None]
