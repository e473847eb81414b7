"""ReXErr's sentence-level file becomes a sentence table, or one line says why not."""

from __future__ import annotations

import csv
import gzip

import pytest

from overread.benchmarks.grounding.build.films import sentence_schema
from overread.benchmarks.grounding.build.mimic import read_sentences
from overread.case import BadInput

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
    assert sentences.schema == dict(sentence_schema())
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
