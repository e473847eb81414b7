"""The authors' master lists become film tables, or one line says why not."""

from __future__ import annotations

import csv
import gzip

import pytest

from overread.benchmarks.grounding.build.films import FILM_SCHEMA, LABELS
from overread.benchmarks.grounding.build.paper_files import read_chexpert_list, read_mimic_list
from overread.case import BadInput

MIMIC = {
    "subject_id": "11",
    "study_id": "50",
    "jpg_rel_path": "mimic-cxr-jpg/files/p11/s50/a.b.jpg",
    "report_rel_path": "r.txt",
    "view": "PA",
    "age": "61.0",
    "gender": "F",
    "split": "test",
    **dict.fromkeys(LABELS, "3"),
}
CHEXPERT = {
    "jpg_rel_path": "CheXpert-v1.0/train/patient00007/study2/view1_frontal.jpg",
    "subject_id": "7",
    "view": "Frontal",
    "AP_PA": "PA",
    "age": "61",
    "gender": "Female",
    "split": "train",
    **dict.fromkeys(LABELS, "0"),
}
READ = {"mimic": (read_mimic_list, MIMIC), "chexpert": (read_chexpert_list, CHEXPERT)}


@pytest.fixture
def read(tmp_path):
    """Read a list whose rows are the good row with some cells changed; None drops a column."""

    def films(which: str, *rows: dict[str, str | None]):
        reader, good = READ[which]
        path = tmp_path / f"{which}.csv"
        columns = [name for name in good if all(row.get(name, "") is not None for row in rows)]
        with path.open("w", newline="", encoding="utf-8") as file:
            sheet = csv.DictWriter(file, columns, extrasaction="ignore")
            sheet.writeheader()
            sheet.writerows({**good, **row} for row in rows)
        return reader(path)

    return films


def complaint(read, which, *rows) -> str:
    with pytest.raises(BadInput) as error:
        read(which, *rows)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_the_golden_lists_are_read_row_by_row(golden):
    for name, reader in (
        ("mimic_master.csv", read_mimic_list),
        ("chexpert_master.csv", read_chexpert_list),
    ):
        path = golden / "builder" / name
        with path.open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        films = reader(path)
        assert films.schema == FILM_SCHEMA
        assert films["image_path"].to_list() == [row["jpg_rel_path"] for row in rows]
        assert films["subject_id"].to_list() == [row["subject_id"] for row in rows]
        assert films["age"].to_list() == [float(row["age"]) if row["age"] else None for row in rows]
        for label in LABELS:
            assert films[label].to_list() == [int(row[label]) for row in rows]


def test_a_film_of_mimic_is_named_by_its_file(read):
    film = read("mimic", {}).row(0, named=True)
    assert film["dicom_id"] == "a.b"
    assert (film["study_id"], film["report_path"], film["view"]) == ("50", "r.txt", "PA")


def test_ids_and_labels_may_have_been_saved_as_floats(read):
    film = read("mimic", {"subject_id": "11.0", "study_id": "50.0", "edema": "1.0"}).row(
        0, named=True
    )
    assert (film["subject_id"], film["study_id"], film["edema"]) == ("11", "50", 1)


def test_what_may_be_missing_is_null(read):
    empty = {"age": "", "gender": "", "view": "", "edema": "", "report_rel_path": ""}
    film = read("mimic", empty).row(0, named=True)
    assert [film[name] for name in ("age", "gender", "view", "edema", "report_path")] == [None] * 5


def test_the_official_word_for_the_second_split_is_known(read):
    assert read("mimic", {"split": "validate"})["split"].to_list() == ["valid"]


def test_a_film_of_chexpert_has_its_study_in_the_path_and_its_projection_as_view(read):
    films = read(
        "chexpert",
        {},
        {"AP_PA": ""},
        {"AP_PA": "LL"},
        {"view": "Lateral", "AP_PA": ""},
        {"gender": "Unknown"},
        {"gender": "Male"},
    )
    assert films["view"].to_list() == ["PA", "AP", "LL", "LATERAL", "PA", "PA"]
    assert films["gender"].to_list() == ["F", "F", "F", "F", None, "M"]
    assert set(films["study_id"]) == {"patient00007/study2"}
    assert set(films["dicom_id"]) == {"view1_frontal"}


def test_a_gzipped_list_is_the_same_list(golden, tmp_path):
    plain = golden / "builder" / "mimic_master.csv"
    packed = tmp_path / "mimic_master.csv.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert read_mimic_list(packed).equals(read_mimic_list(plain))


@pytest.mark.parametrize(
    ("which", "row", "words"),
    [
        ("mimic", {"view": None}, ["mimic.csv", "no column view"]),
        ("mimic", {"edema": None, "split": None}, ["no column split, edema"]),
        ("mimic", {"edema": "4"}, ["row 3", 'edema is "4"', "0, 1, 2, 3 or empty"]),
        ("mimic", {"edema": "-1.0"}, ["row 3", 'edema is "-1.0"']),
        ("mimic", {"gender": "Female"}, ["row 3", 'gender is "Female"', "M, F or empty"]),
        ("mimic", {"age": "old"}, ["row 3", 'age is "old"', "number"]),
        ("mimic", {"age": "-1"}, ["row 3", 'age is "-1"', "0 or more"]),
        ("mimic", {"age": "inf"}, ["row 3", 'age is "inf"']),
        ("mimic", {"split": "dev"}, ["row 3", 'split is "dev"', "train, valid or test"]),
        ("mimic", {"split": ""}, ["row 3", "split", "every row needs one"]),
        ("mimic", {"subject_id": ""}, ["row 3", "subject_id", "every row needs one"]),
        ("mimic", {"jpg_rel_path": " "}, ["row 3", "jpg_rel_path", "every row needs one"]),
        ("chexpert", {"AP_PA": None}, ["chexpert.csv", "no column AP_PA"]),
        ("chexpert", {"view": "AP"}, ["row 3", 'view is "AP"', "Frontal or Lateral"]),
        ("chexpert", {"view": ""}, ["row 3", "view", "every row needs one"]),
        ("chexpert", {"gender": "F"}, ["row 3", 'gender is "F"', "Female"]),
        ("chexpert", {"edema": "3"}, ["row 3", 'edema is "3"', "0, 1, 2 or empty"]),
        ("chexpert", {"jpg_rel_path": "a/b.jpg"}, ["row 3", "patientN/studyM/FILE"]),
    ],
)
def test_a_fault_is_one_line_with_file_row_and_remedy(read, which, row, words):
    said = complaint(read, which, {}, row)
    assert all(word in said for word in words), said
    assert said.endswith(".")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b"subject_id,subject_id\n1,2\n", "no column"),
        (b"\xff\xfes\0u\0", "row 1"),
        (b"\x1f\x8bnonsense", "gzip"),
    ],
)
def test_a_file_that_is_no_list_is_refused(tmp_path, data, words):
    path = tmp_path / "list.csv"
    path.write_bytes(data)
    for reader, _ in READ.values():
        with pytest.raises(BadInput, match=words) as error:
            reader(path)
        assert "\n" not in str(error.value)


def test_a_column_that_stands_twice_is_refused(golden, tmp_path):
    text = (golden / "builder" / "mimic_master.csv").read_text("utf-8")
    path = tmp_path / "twice.csv"
    path.write_text("".join(f"{line},view\n" for line in text.splitlines()), "utf-8")
    with pytest.raises(BadInput, match="more than one column view"):
        read_mimic_list(path)


def test_a_list_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(BadInput, match="no such file"):
        read_mimic_list(tmp_path / "absent.csv")
