"""The numbers of the sampling scheme, and the account of what is left out."""

from __future__ import annotations

import polars as pl
import pytest

from overread.benchmarks.grounding.build.films import Exclusion
from overread.benchmarks.grounding.build.scheme import Account, Sampling, by_dicom
from overread.benchmarks.grounding.prompts import FINDINGS
from overread.case import BadInput
from support.probe_tables import film_table


def test_the_defaults_are_the_papers():
    numbers = Sampling()
    assert (numbers.resolution, numbers.minimum_side, numbers.seed) == (224, 50, 42)
    assert numbers.mscxr_per_finding == numbers.mimic_per_finding == numbers.mimic_normals == 100
    assert numbers.chexpert_per_finding == numbers.chexpert_normals == 100
    assert (numbers.rexerr_total, numbers.rexerr_image, numbers.rexerr_text) == (800, 0.70, 0.15)
    assert numbers.findings == FINDINGS


@pytest.mark.parametrize(
    "wrong",
    [
        {"mimic_normals": -1},
        {"mscxr_per_finding": -5},
        {"rexerr_total": -1},
        {"seed": -1},
        {"minimum_side": -1},
        {"resolution": 0},
        {"rexerr_image": 0.9, "rexerr_text": 0.2},
        {"rexerr_text": -0.1},
        {"findings": ("edema", "scar")},
        {"findings": ("edema", "edema")},
    ],
)
def test_a_number_that_cannot_be_is_named(wrong):
    with pytest.raises(BadInput, match=next(iter(wrong))) as error:
        Sampling(**wrong)
    assert "\n" not in str(error.value)


def test_an_account_notes_what_a_step_drops_and_only_that():
    account = Account("ms_cxr")
    table = pl.DataFrame({"n": [1, 2, None, 4]})
    kept = account.keep(table, pl.col("n") > 1, "too low")
    account.keep(kept, pl.col("n") > 0, "never")
    assert kept["n"].to_list() == [2, 4]
    assert account.exclusions == [Exclusion("ms_cxr", "too low", 2)]


def test_a_dicom_id_stands_for_its_first_film_with_age_and_sex():
    films = film_table(
        {"dicom_id": "a", "age": None, "view": "AP"},
        {"dicom_id": "a", "age": 40.0, "view": "PA"},
        {"dicom_id": "a", "age": 50.0, "view": "AP"},
        {"dicom_id": "b", "gender": None},
    )
    assert by_dicom(films).select("dicom_id", "age").rows() == [("a", 40.0)]
