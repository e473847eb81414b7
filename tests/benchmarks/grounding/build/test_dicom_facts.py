"""What a DICOM header says of a film, and nothing more of the patient."""

from __future__ import annotations

import pytest

from overread.benchmarks.grounding.build.films import DicomFacts, dicom_facts
from support.datasets import write_dicom_film

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
