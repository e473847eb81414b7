"""Heads: the paper's to the digit, C by folds of patients, one-class findings said, no pickles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from overread.case import BadInput
from overread.readers.probe import heads
from overread.readers.probe.heads import Labelled
from support.installed import needs

pytestmark = needs("sklearn", "needs the extra probe: not installed")


def films(n: int = 120, width: int = 6, *, each: int = 2, seed: int = 0) -> tuple[Any, Labelled]:
    """Vectors of which the first number tells, `each` films a patient."""
    draw = np.random.default_rng(seed)
    x = draw.standard_normal((n, width)).astype(np.float32) * 3 + 1
    present = (x[:, 0] + draw.standard_normal(n) > 1).astype(np.int8)
    return x, Labelled("edema", np.arange(n), present, np.arange(n) // each)


def test_the_authors_head_is_that_of_their_scaler_and_their_regression() -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    x, one = films()
    found, (head,), missing = heads.fit(x.__getitem__, len(x), [one], edition="authors", seed=0)
    scaler = StandardScaler().fit(x)
    theirs = LogisticRegression(C=1.0, max_iter=1000, random_state=42).fit(
        scaler.transform(x), one.present
    )
    said = [found.probability("edema", vector) for vector in x]
    assert np.allclose(said, theirs.predict_proba(scaler.transform(x))[:, 1], atol=1e-5)
    assert (head.c, head.converged, missing) == (1.0, True, [])
    assert head.auroc is not None
    assert 0.8 < head.auroc < 1
    assert head.brier is not None
    assert head.ece is not None


def test_c_is_chosen_by_folds_that_share_no_patient() -> None:
    """Patients of many films alike: by film a probe would know each by heart, by patient it can't."""
    draw = np.random.default_rng(1)
    faces = draw.standard_normal((30, 40))
    whose = np.repeat(np.arange(30), 20)
    x = (faces[whose] + 0.01 * draw.standard_normal((600, 40))).astype(np.float32)
    present = draw.integers(0, 2, 30)[whose].astype(np.int8)
    one = Labelled("edema", np.arange(600), present, whose)
    _, (head,), _ = heads.fit(x.__getitem__, len(x), [one], edition="corrected", seed=0)
    assert head.c <= 1e-3
    assert head.auroc is not None
    assert head.auroc < 0.8
    for train, held in heads._folds(present.astype(np.int64), whose, 0):
        assert not set(whose[train]) & set(whose[held])


def test_many_films_are_sampled_by_patient_for_the_folds_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(heads, "_MOST_IN_FOLDS", 50)
    x, one = films(300, each=3)
    chosen = heads._sample(one.patients, 0)
    assert len(chosen) == 50
    assert len(set(one.patients[chosen])) == 17
    _, (head,), _ = heads.fit(x.__getitem__, len(x), [one], edition="corrected", seed=0)
    assert head.films == 300


def test_a_finding_of_one_kind_has_no_head_and_is_said() -> None:
    x, one = films()
    never = one._replace(finding="fracture", present=np.zeros_like(one.present))
    always = one._replace(finding="pneumonia", present=np.ones_like(one.present))
    nobody = Labelled("edema2", np.arange(0), np.zeros(0, np.int8), np.zeros(0, np.int64))
    found, told, missing = heads.fit(
        x.__getitem__, len(x), [never, one, always, nobody], edition="authors", seed=0
    )
    assert [head.finding for head in told] == ["edema"]
    reasons = {m.finding: m.reason for m in missing}
    assert reasons == {
        "fracture": "no film shows it",
        "pneumonia": "no film is without it",
        "edema2": "no film says",
    }
    assert found.probability("fracture", x[0]) is None
    with pytest.raises(BadInput, match="no finding has films with it and films without"):
        heads.fit(x.__getitem__, len(x), [never], edition="authors", seed=0)


def test_one_patient_of_a_kind_gives_a_head_without_numbers() -> None:
    x, one = films(40)
    one = one._replace(patients=np.where(one.present == 1, 0, one.patients + 1))
    _, (head,), _ = heads.fit(x.__getitem__, len(x), [one], edition="corrected", seed=0)
    assert (head.auroc, head.brier, head.ece, head.c) == (None, None, None, 1.0)


def test_absence_is_asked_by_the_same_head() -> None:
    x, one = films()
    found, _, _ = heads.fit(x.__getitem__, len(x), [one], edition="authors", seed=0)
    there, absent = (found.probability(topic, x[3]) for topic in ("edema", "not edema"))
    assert there is not None
    assert absent is not None
    assert there + absent == pytest.approx(1)
    far = np.full(x.shape[1], 1e30, np.float32)
    assert found.probability("edema", far) in (0.0, 1.0)


def _write(folder: Path, **changed: Any) -> None:
    x, one = films()
    found, told, _ = heads.fit(x.__getitem__, len(x), [one], edition="authors", seed=0)
    card = {"edition": "authors", "part": "whole", "encoder": "builtin", "px": 224, "seed": 0}
    card |= {"encoder_identity": "builtin-1", "encoder_runs_as": "float32 on cpu"}
    card |= {"train": "t@0", "films": 1, "patients": 1, "unreadable": 0}
    card |= {"excluded_patients": 0, "excluded_films": 0}
    heads.write(folder, {**card, **changed}, found, told)


def test_a_probe_is_read_back_as_it_was_written_without_pickles(tmp_path: Path) -> None:
    _write(tmp_path / "one")
    card, _, digest = heads.read(tmp_path / "one")
    assert card.head[0].finding == "edema"
    with np.load(tmp_path / "one" / heads.WEIGHTS, allow_pickle=False) as kept:
        assert set(kept) == {"coef", "intercept", "mean", "scale"}
    _write(tmp_path / "two")
    assert heads.read(tmp_path / "two")[2] == digest
    _write(tmp_path / "three", seed=1)
    assert heads.read(tmp_path / "three")[2] != digest
    with pytest.raises(BadInput, match="something is there already"):
        _write(tmp_path / "one")


@pytest.mark.parametrize("damage", ["cut", "pickle", "shape", "nan", "card", "format", "gone"])
def test_a_damaged_probe_is_one_line(tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "probe"
    _write(folder)
    weights, card = folder / heads.WEIGHTS, folder / heads.CARD
    arrays = dict(np.load(weights))
    if damage == "cut":
        weights.write_bytes(weights.read_bytes()[:-400])
    elif damage == "pickle":
        np.savez(weights, **{**arrays, "coef": np.array([{}], object)})
    elif damage == "shape":
        np.savez(weights, **{**arrays, "mean": arrays["mean"][:-1]})
    elif damage == "nan":
        np.savez(weights, **{**arrays, "intercept": arrays["intercept"] * np.nan})
    elif damage == "card":
        card.write_text("px = 3\n")
    elif damage == "format":
        card.write_text(card.read_text().replace("format = 1", "format = 9"))
    else:
        card.unlink()
    with pytest.raises(BadInput, match=r"(?i)probe") as refused:
        heads.read(folder)
    assert "\n" not in str(refused.value)
