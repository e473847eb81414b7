"""One L2 logistic head for each finding: fitted, reported on, and kept without pickles.

`authors` is the paper's: one scaler over all training rows, C = 1, lbfgs, at most 1,000 iterations.
`corrected` chooses C by folds in which no patient stands on both sides. Either way AUROC and
calibration are of predictions for patients that a fold did not see.
"""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

import msgspec
import tomli_w

from overread.case import BadInput
from overread.files import read_bytes, read_toml
from overread.scratch import scratch_folder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Part: TypeAlias = Literal["whole", "local"]
Edition: TypeAlias = Literal["corrected", "authors"]
Take: TypeAlias = "Callable[[NDArray[np.int64]], NDArray[np.float32]]"
CARD, WEIGHTS = "probe.toml", "heads.npz"
_FORMAT: Final = 1
_FOLDS: Final = 5
_STRENGTHS: Final = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)
# Patients are drawn until they have so many films, for choosing C and for what is reported: with
# more rows the choice hardly changes, and the head itself is fitted on all of them.
_MOST_IN_FOLDS: Final = 4_000
# Newton's steps solve for every number of a vector at once; beyond this lbfgs is quicker.
_WIDEST: Final = 4_096
_SEED_OF_AUTHORS: Final = 42
_BLOCK: Final = 8_192
_LARGEST_WEIGHTS: Final = 1 << 30


class Head(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A finding, what its head was fitted on, and how it does on patients of other folds.

    AUROC with its interval by patient; Brier and ECE (ten bins, P against the label) of the same
    predictions. `c` is the inverse strength of the penalty.
    """

    finding: str
    films: int
    present: int
    patients: int
    c: float
    converged: bool
    auroc: float | None = None
    auroc_low: float | None = None
    auroc_high: float | None = None
    brier: float | None = None
    ece: float | None = None


class Missing(msgspec.Struct, frozen=True, kw_only=True):
    """A finding without a head, and why."""

    finding: str
    films: int
    present: int
    reason: str


class Card(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`probe.toml`: all that is known of a probe but its numbers."""

    format: int
    edition: Edition
    part: Part
    encoder: str
    encoder_identity: str
    encoder_runs_as: str
    px: int
    seed: int
    train: str
    films: int
    patients: int
    excluded_patients: int
    excluded_films: int
    unreadable: int
    overread: str
    scikit_learn: str
    head: tuple[Head, ...]
    missing: tuple[Missing, ...] = ()


class Heads(NamedTuple):
    """Weights by finding, over vectors less `mean` and by `scale`."""

    findings: tuple[str, ...]
    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]
    mean: NDArray[np.float64]
    scale: NDArray[np.float64]

    def probability(self, topic: str, vector: NDArray[np.float32]) -> float | None:
        """P that what a topic asks for is there; None without a head. "not F" is F's absence."""
        finding = topic.removeprefix("not ")
        if finding not in self.findings:
            return None
        at = self.findings.index(finding)
        logit = float((vector - self.mean) / self.scale @ self.coef[at] + self.intercept[at])
        if topic != finding:
            logit = -logit
        # Written so that neither end overflows.
        return 1 / (1 + math.exp(-logit)) if logit >= 0 else 1 - 1 / (1 + math.exp(logit))


class Labelled(NamedTuple):
    """A finding's films: rows of the vectors, whether it is there (0 or 1), and whose they are."""

    finding: str
    rows: NDArray[np.int64]
    present: NDArray[np.int8]
    patients: NDArray[np.int64]


# ---------------------------------------------------------------- fitting


def fit(
    take: Take, films: int, labelled: Sequence[Labelled], *, edition: Edition, seed: int
) -> tuple[Heads, list[Head], list[Missing]]:
    """A head for every finding whose films show both: with it and without.

    `take` copies rows out of wherever the vectors of so many films are, so that no more than one
    finding's are in memory. The scaler is of all of them, whatever their labels, as the paper's.
    """
    import numpy as np

    if not find_spec("sklearn"):
        raise BadInput("fitting needs an extra. Run pip install 'overread[probe]'.")
    mean, scale = _scaler(take, films)
    heads, missing, weights = [], [], []
    for one in labelled:
        n, present = len(one.rows), int(one.present.sum())
        if not 0 < present < n:
            which = "shows it" if not present else "is without it"
            reason = f"no film {which}" if n else "no film says"
            missing.append(Missing(finding=one.finding, films=n, present=present, reason=reason))
            continue
        x = take(one.rows)
        x -= mean.astype(np.float32)
        x /= scale.astype(np.float32)
        head, coef, intercept = _head(x, one, edition, seed)
        heads.append(head)
        weights.append((coef, intercept))
    if not heads:
        raise BadInput("no finding has films with it and films without it. Check the labels.")
    coefs = np.stack([coef for coef, _ in weights])
    intercepts = np.array([intercept for _, intercept in weights])
    found = Heads(tuple(head.finding for head in heads), coefs, intercepts, mean, scale)
    return found, heads, missing


def _scaler(take: Take, films: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and spread of every number, block by block; a constant one is left as it is."""
    import numpy as np

    blocks = [np.arange(at, min(at + _BLOCK, films)) for at in range(0, films, _BLOCK)]
    mean = sum(take(rows).sum(axis=0, dtype=np.float64) for rows in blocks)
    mean = np.asarray(mean) / films
    spread = sum(((take(rows) - mean) ** 2).sum(axis=0) for rows in blocks)
    scale = np.sqrt(np.asarray(spread) / films)
    scale[scale < 1e-7 * np.maximum(1, np.abs(mean))] = 1.0
    return mean, scale


def _head(
    x: NDArray[np.float32], one: Labelled, edition: Edition, seed: int
) -> tuple[Head, NDArray[np.float64], float]:
    import numpy as np

    folded = _sample(one.patients, seed)
    tried: dict[float, NDArray[np.float64]] = {}
    strengths = _STRENGTHS if edition == "corrected" else (1.0,)
    y, patients = one.present[folded].astype(np.int64), one.patients[folded]
    folds = _folds(y, patients, seed)
    for c in strengths if folds else ():
        tried[c] = _out_of_fold(x[folded], y, folds, c, edition)
    chosen = min(tried, key=lambda c: _log_loss(tried[c], y)) if tried else 1.0
    model, converged = _logistic(x, one.present, chosen, edition)
    facts: dict[str, Any] = _judged(tried[chosen], y, patients)._asdict() if tried else {}
    head = Head(
        finding=one.finding,
        films=len(one.rows),
        present=int(one.present.sum()),
        patients=len(np.unique(one.patients)),
        c=chosen,
        converged=converged,
        **facts,
    )
    return head, np.asarray(model.coef_[0], np.float64), float(model.intercept_[0])


def _sample(patients: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """All rows, or those of patients drawn until there are as many as folds need."""
    import numpy as np

    if len(patients) <= _MOST_IN_FOLDS:
        return np.arange(len(patients))
    order = np.random.default_rng(seed).permutation(np.unique(patients))
    place = np.empty(int(order.max()) + 1, np.int64)
    place[order] = np.arange(len(order))
    return np.sort(np.argsort(place[patients], kind="stable")[:_MOST_IN_FOLDS])


def _folds(
    y: NDArray[np.int64], patients: NDArray[np.int64], seed: int
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Five folds, or as many as there are patients of the rarer class; none with fewer than two."""
    import numpy as np
    from sklearn.model_selection import StratifiedGroupKFold

    fewest = min(len(np.unique(patients[y == label])) for label in (0, 1))
    if fewest < 2:
        return []
    split = StratifiedGroupKFold(min(_FOLDS, fewest), shuffle=True, random_state=seed)
    found = list(split.split(y, y, patients))
    # Patients with films of both kinds may leave a fold's training without one of them.
    return found if all(0 < y[train].sum() < len(train) for train, _ in found) else []


def _out_of_fold(
    x: NDArray[np.float32],
    y: NDArray[np.int64],
    folds: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]],
    c: float,
    edition: Edition,
) -> NDArray[np.float64]:
    import numpy as np

    said = np.full(len(y), np.nan)
    for train, held in folds:
        model, _ = _logistic(x[train], y[train], c, edition)
        said[held] = model.predict_proba(x[held])[:, 1]
    return said


def _logistic(
    x: NDArray[np.float32], y: NDArray[Any], c: float, edition: Edition
) -> tuple[Any, bool]:
    """The fitted model, and whether it converged."""
    import numpy as np
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    solver = "lbfgs" if edition == "authors" or x.shape[1] > _WIDEST else "newton-cholesky"
    model = LogisticRegression(C=c, solver=solver, max_iter=1000, random_state=_SEED_OF_AUTHORS)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model.fit(x, np.asarray(y, np.int64))
    return model, not any(issubclass(one.category, ConvergenceWarning) for one in said)


def _log_loss(said: NDArray[np.float64], y: NDArray[np.int64]) -> float:
    import numpy as np

    p = np.clip(np.where(y == 1, said, 1 - said), 1e-12, 1)
    return float(-np.log(p).mean())


class _OutOfFold(NamedTuple):
    """Fields of a `Head` that stand on predictions for patients of other folds."""

    auroc: float | None
    auroc_low: float | None
    auroc_high: float | None
    brier: float
    ece: float | None


def _judged(
    said: NDArray[np.float64], y: NDArray[np.int64], patients: NDArray[np.int64]
) -> _OutOfFold:
    from overread.stats import auroc, ece

    area = auroc(said, y, patients)
    brier = float(((said - y) ** 2).mean())
    return _OutOfFold(area.point, area.low, area.high, brier, ece(said, y))


# ---------------------------------------------------------------- the folder


def write(folder: Path, card: Mapping[str, Any], heads: Heads, told: Sequence[Head]) -> Card:
    """Write a probe beside its place and move it there whole."""
    import numpy as np

    from overread import __version__

    whole = msgspec.convert(
        {
            **card,
            "format": _FORMAT,
            "overread": __version__,
            "scikit_learn": version("scikit-learn"),
            "head": told,
        },
        Card,
    )
    folder.parent.mkdir(parents=True, exist_ok=True)
    with scratch_folder(folder.parent) as scratch:
        made = scratch / "probe"
        made.mkdir()
        plain = msgspec.to_builtins(whole)
        text = tomli_w.dumps({key: value for key, value in plain.items() if value is not None})
        (made / CARD).write_text(text, encoding="utf-8", newline="\n")
        arrays = {name: getattr(heads, name) for name in Heads._fields if name != "findings"}
        with (made / WEIGHTS).open("wb") as file:
            np.savez(file, **arrays)
        check_free(folder)
        if folder.is_dir():
            folder.rmdir()
        made.rename(folder)
    return whole


def check_free(folder: Path) -> None:
    """Refuse a place where something is already."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadInput(f"--out {folder}: something is there already. Give a new folder.")


def read(folder: Path) -> tuple[Card, Heads, str]:
    """A probe's card and weights, and a digest of both; a damaged one is refused in a line."""
    import zipfile
    from hashlib import blake2b

    import numpy as np

    if not (folder / CARD).is_file():
        raise BadInput(f"{folder} holds no {CARD}. Make a probe with overread probe fit.")
    try:
        card = msgspec.convert(read_toml(folder / CARD), Card)
    except msgspec.ValidationError as error:
        raise BadInput(f"{folder / CARD}: {error}. Fit the probe again.") from None
    if card.format != _FORMAT:
        raise BadInput(f"{folder / CARD}: format {card.format} is not read. Fit the probe again.")
    data = read_bytes(folder / WEIGHTS, at_most=_LARGEST_WEIGHTS)
    findings = tuple(head.finding for head in card.head)
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as kept:
            arrays = [np.asarray(kept[name], np.float64) for name in Heads._fields[1:]]
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile) as error:
        said = " ".join(str(error).split())[:120]
        raise BadInput(f"{folder / WEIGHTS} is damaged ({said}). Fit the probe again.") from None
    width = arrays[2].size
    shapes = [(len(findings), width), (len(findings),), (width,), (width,)]
    finite = all(np.isfinite(one).all() for one in arrays) and (arrays[3] > 0).all()
    if [one.shape for one in arrays] != shapes or not finite:
        raise BadInput(f"{folder / WEIGHTS} does not fit {CARD}. Fit the probe again.")
    digest = blake2b(data + msgspec.json.encode(card), digest_size=16).hexdigest()
    return card, Heads(findings, *arrays), digest
