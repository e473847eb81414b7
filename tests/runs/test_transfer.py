"""Two run folders compared reader by reader, or refused with a reason."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from overread.case import BadInput
from overread.runs import Transfer, transfer
from support.commands import tree
from support.kept_runs import kept_run

HERE = {
    "a": {"uar": 0.9, "accuracy": 0.6, "cgr": 0.1, "is": 0.95},
    "b": {"uar": 0.8, "accuracy": 0.7, "cgr": 0.2, "is": 0.9},
    "c": {"uar": 0.7, "accuracy": 0.65, "cgr": 0.3, "is": 0.85},
    "probe": {"uar": 0.6, "accuracy": 0.8, "cgr": None, "is": None},
}
# Another set without boxes: CGR and IS are undefined there.
THERE = {
    "c": {"uar": 0.71, "accuracy": 0.6, "cgr": None, "is": None},
    "b": {"uar": 0.83, "accuracy": 0.62, "cgr": None, "is": None},
    "a": {"uar": 0.92, "accuracy": 0.61, "cgr": None, "is": None},
    "probe": {"uar": 0.99, "accuracy": 0.9, "cgr": None, "is": None},
    "stranger": {"uar": 0.5, "accuracy": 0.5, "cgr": None, "is": None},
}


@pytest.fixture
def here(tmp_path: Path) -> Path:
    return kept_run(tmp_path / "here", HERE, modality={"probe": "vision"})


def refusal(first: Path, second: Path) -> str:
    before = tree(first, second)
    with pytest.raises(BadInput) as error:
        transfer(first, second)
    assert "\n" not in str(error.value)
    assert tree(first, second) == before
    return str(error.value)


def test_the_readers_of_both_runs_are_put_side_by_side(here: Path, tmp_path: Path) -> None:
    there = kept_run(tmp_path / "there", THERE, modality={"probe": "vision"})
    found = transfer(here, str(there))
    assert (found.first, found.second, found.edition) == (str(here), str(there), "corrected")
    own = [(reader, x.value, y.value) for reader, name, x, y in found.pairs if name == "uar"]
    assert own == [("a", 0.9, 0.92), ("b", 0.8, 0.83), ("c", 0.7, 0.71), ("probe", 0.6, 0.99)]
    assert "stranger" not in {reader for reader, *_ in found.pairs}
    rho = {(r.by["of"], r.by["readers"]): r for r in found.correlations}
    assert set(rho) == {
        (name, readers)
        for name in ("uar", "accuracy")
        for readers in ("all", "without_vision_only")
    }
    assert rho["uar", "without_vision_only"].value == 1
    assert rho["uar", "all"].value < 0.5
    assert {record.method for record in found.correlations} == {"exact"}
    assert found.table.columns == ("reader", "measure", "here@0", "there@0")
    assert found.table.signature.splitlines() == [
        "grounding|edition:corrected|cases:100@here",
        "grounding|edition:corrected|cases:100@there",
    ]


def test_a_probe_known_as_one_in_either_run_is_one(here: Path, tmp_path: Path) -> None:
    there = kept_run(tmp_path / "there", THERE)
    for pair in ((here, there), (there, here)):
        sets = {record.by["readers"] for record in transfer(*pair).correlations}
        assert sets == {"all", "without_vision_only"}


def test_under_the_authors_edition_p_is_theirs(tmp_path: Path) -> None:
    """[D25]"""
    here, there = (
        kept_run(tmp_path / name, rates, edition="authors+boot=100")
        for name, rates in (("here", HERE), ("there", THERE))
    )
    assert {record.method for record in transfer(here, there).correlations} == {"asymptotic t"}


def test_it_can_be_told_as_json_and_back(here: Path) -> None:
    found = transfer(here, here)
    assert msgspec.json.decode(msgspec.json.encode(found), type=Transfer) == found
    assert {record.value for record in found.correlations} == {1}


def test_two_editions_are_not_compared(here: Path, tmp_path: Path) -> None:
    for edition in ("authors", "corrected+normals=yes"):
        there = kept_run(tmp_path / edition, THERE, edition=edition)
        said = refusal(here, there)
        assert said == (
            f"{here} stands under corrected, {there} under {edition}. "
            "Measure one again: overread measure RUN --edition …"
        )


def test_runs_without_a_reader_in_common(here: Path, tmp_path: Path) -> None:
    there = kept_run(tmp_path / "there", {"A": HERE["a"]})
    assert refusal(here, there) == f"{here} and {there} have no reader in common by name."


def test_a_run_of_another_benchmark(here: Path, tmp_path: Path) -> None:
    other = kept_run(tmp_path / "other", HERE, benchmark="heartbeat")
    for pair in ((here, other), (other, here)):
        said = refusal(*pair)
        assert said == f"{other} is a run of heartbeat; transfer takes grounding runs."


def test_what_is_no_run(here: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for place in (tmp_path / "empty", tmp_path / "nowhere"):
        assert str(place) in refusal(here, place)
    (here / "measures.json").unlink()
    assert str(here) in refusal(here, here)
