"""What the header of a film says of it, without its pixels."""

from __future__ import annotations

import pytest
from PIL import Image

from overread.imaging import DicomFacts, dicom_facts, film_size, open_image
from support.damage import refusal
from support.datasets import write_dicom_film, write_film

# ---------------------------------------------------------------- DICOM headers
# What a DICOM header says of a film, and nothing more of the patient.


pytestmark = pytest.mark.filterwarnings("error")


def facts(tmp_path, **said: str) -> DicomFacts:
    return dicom_facts(write_dicom_film(tmp_path / "film.dcm", 0, said, side=40), "film.dcm")


def test_size_view_sex_and_age_are_read(tmp_path) -> None:
    found = facts(tmp_path, ViewPosition="ap", PatientSex="F", PatientAge="058Y")
    assert found == DicomFacts(width=40, height=40, view="AP", sex="F", age=58.0)


@pytest.mark.parametrize(
    ("word", "age"),
    [
        ("058Y", 58),
        ("58", 58),
        ("006M", 0.5),
        ("000D", 0),
        ("412Y", None),
        ("old", None),
        ("", None),
    ],
)
def test_an_age_that_makes_no_sense_is_none(tmp_path, word, age) -> None:
    assert facts(tmp_path, PatientAge=word).age == age


@pytest.mark.parametrize(("word", "sex"), [("M", "M"), ("O", None), ("", None), ("male", None)])
def test_a_sex_is_m_or_f(tmp_path, word, sex) -> None:
    assert facts(tmp_path, PatientSex=word).sex == sex


def test_what_is_not_said_is_none(tmp_path) -> None:
    assert facts(tmp_path) == DicomFacts(width=40, height=40)


# ---------------------------------------------------------------- sizes
# How large a film is, from its header.


@pytest.mark.parametrize("name", ["film.png", "film.jpg", "film.tiff", "film.bmp"])
def test_the_size_is_that_of_the_image_as_shown(tmp_path, name) -> None:
    path = write_film(tmp_path / name, 0, (50, 30))
    assert film_size(path, name) == (50, 30) == open_image(path.read_bytes(), name).size


@pytest.mark.parametrize("turn", range(1, 9))
def test_a_turned_image_has_the_size_it_is_shown_with(tmp_path, turn) -> None:
    exif = Image.Exif()
    exif[0x0112] = turn
    path = tmp_path / "film.jpg"
    Image.new("L", (50, 30)).save(path, exif=exif)
    assert film_size(path, "film.jpg") == open_image(path.read_bytes(), "film.jpg").size


def test_a_dicom_film_has_a_size_too(tmp_path) -> None:
    path = write_dicom_film(tmp_path / "film.dcm", 0, {}, side=40)
    assert film_size(path, "film.dcm") == (40, 40)


@pytest.mark.parametrize("data", [b"", b"text", b"\x89PNG\r\n\x1a\n", b"\0" * 128 + b"DICM"])
def test_what_is_no_image_is_named(tmp_path, data) -> None:
    path = tmp_path / "film.png"
    path.write_bytes(data)
    refusal(lambda: film_size(path, "ward/film.png"), "^ward/film.png")
    refusal(lambda: film_size(tmp_path / "no.png", "no.png"), "^no.png")
