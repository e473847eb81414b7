"""How large a film is, from its header."""

from __future__ import annotations

import pytest
from PIL import Image

from overread.benchmarks.grounding.build.films import film_size
from overread.imaging import open_image
from support.damage import refusal
from support.datasets import write_dicom_film, write_film

pytestmark = pytest.mark.filterwarnings("error")


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
