"""A run under one edition, and the one resampling of its items behind all intervals.

A measure is drafted with the columns its interval needs; all drafts of a reader are finished
together, so the items (patients, where they are known) are drawn once, and two readers' drafts see
the same draws.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import msgspec
import numpy as np

from overread.benchmarks.drafts import (
    Draft,
    Resampling,
    agreeing,
    apart,
    columns_of,
    counted_in,
    defined_mean,
    drafted,
    joined,
    left_open,
    noted,
    panel,
    quotients,
    settled,
    share,
    unseen,
    widened,
)
from overread.benchmarks.m3cot.edition import Edition
from overread.benchmarks.m3cot.marks import (
    COT,
    IMPORTED,
    Cell,
    Facts,
    Marks,
    Mask,
    facts_of,
    marks_of,
)
from overread.case import Measure
from overread.judging.fitness import NOT_CHECKED, UNFIT

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.base import Tables

__all__ = [
    "Draft",
    "Labels",
    "Making",
    "Metric",
    "Study",
    "agreeing",
    "apart",
    "columns_of",
    "counted_in",
    "defined_mean",
    "drafted",
    "joined",
    "left_open",
    "noted",
    "panel",
    "quotients",
    "settled",
    "share",
    "unseen",
    "widened",
]

# The label of a judge for a question, where it has one: what its verdicts are worth.
Labels: TypeAlias = Mapping[tuple[str, str], str | None]
_T = TypeVar("_T")
# What names an examination and nobody: a text of no other words may be told of any set.
_EXAMINATION_WORDS: Final = """
a an and from image images is it of or photo photograph photographs photography picture scan
scanning shows slice study taken the this type view with
ct cta cbct hrct mri mr mra fmri pet spect xray x ray rays radiograph radiography radiogram
plain film fluoroscopy mammogram mammography dsa angiogram angiography computed tomography
magnetic resonance imaging emission positron nuclear medicine scintigraphy bone
t1 t2 t1w t2w t1weighted t2weighted weighted flair dwi adc swi stir sequence diffusion
contrast enhanced noncontrast non without unenhanced axial coronal sagittal transverse frontal
lateral pa ap posteroanterior anteroposterior
ultrasound ultrasonic ultrasonography sonography sonogram doppler color colour bmode mode
echocardiography echocardiogram echo transthoracic transesophageal ecg electrocardiogram
oct octa optical coherence slit lamp fundus fluorescein laser ophthalmoscopy infrared
reflectance retinal
endoscopy endoscopic gastroscopy colonoscopy bronchoscopy capsule laparoscopy laparoscopic
fetoscopy cystoscopy hysteroscopy arthroscopy laryngoscopy ent
histology histologic histological histopathology histopathological pathology pathological
cytology cytological microscopy microscopic fluorescence immunofluorescence electron light
h e he hematoxylin haematoxylin eosin stain stained staining slide smear section biopsy
immunohistochemistry ihc
dermoscopy dermoscopic dermatoscopy clinical intraoral panoramic dental oral examination
chest abdominal abdomen pelvic pelvis brain head neck spine spinal cervical lumbar thoracic knee
hip hand foot wrist ankle shoulder elbow cardiac breast thyroid liver renal skin eye
"""
_TOLD_OF: Final = 5  # patients
_OTHER: Final = "other"


class Study:
    """The readers of a run. A class, for what is worked out once serves all measures."""

    def __init__(
        self,
        tables: Tables,
        verdicts: pl.DataFrame | None,
        edition: Edition,
        labels: Labels | None = None,
        *,
        veiled: bool = False,
    ) -> None:
        self.edition = edition
        self._veiled: Final = veiled
        self.facts: Final[Facts] = facts_of(tables.cases)
        readers = tuple(reader.name for reader in tables.readers)
        # Readers that get no picture: nothing of theirs can depend on one.
        self.unseeing: Final = frozenset(
            reader.name for reader in tables.readers if reader.traits.modality == "text"
        )
        self.answers: Final = tables.answers
        elsewhere = frozenset(one.name for one in tables.readers if one.identity == IMPORTED)
        self.marks: Final = marks_of(readers, self.facts, tables.answers, verdicts, elsewhere)
        self.labels: Final[Labels] = labels or {}
        self._resampling: Final = Resampling(
            self.facts.patients, boot=edition.boot, seed=edition.seed
        )
        self._kept: Final[dict[tuple[object, ...], Any]] = {}

    def once(self, key: tuple[object, ...], make: Callable[[], _T]) -> _T:
        """What `make` makes, made once for this key."""
        if key not in self._kept:
            self._kept[key] = make()
        made: _T = self._kept[key]
        return made

    @property
    def tasks(self) -> list[str]:
        return sorted(set(self.facts.tasks.tolist()) - {""})

    @property
    def groups(self) -> Iterator[tuple[dict[str, str], Mask]]:
        """All items, those of each task, and those of each kind of question."""
        yield {}, np.ones(self.facts.n, dtype=bool)
        for task in self.tasks:
            yield {"task": task}, self.facts.tasks == task
        for kind in sorted(set(self.facts.kinds.tolist())):
            yield {"kind": kind}, self.facts.kinds == kind

    @property
    def modalities(self) -> Iterator[tuple[dict[str, str], Mask]]:
        """The items of each examination, told by its first spelling; as published by the letter.

        Of a set that is not open, free words that only few patients have are all one `other`.
        """
        folded = self.edition.step_types == "folded"
        names = self.facts.modalities.tolist()
        keys = [" ".join(name.split()).casefold().strip(" .") if folded else name for name in names]
        if self._veiled:
            names, keys = self._without_texts(names, keys)
        shown = dict(zip(reversed(keys), reversed(names), strict=True))
        for key in sorted(set(keys) - {""}):
            yield {"modality": shown[key]}, np.array([one == key for one in keys], dtype=bool)

    def _without_texts(self, names: list[str], keys: list[str]) -> tuple[list[str], list[str]]:
        patients: dict[str, set[int]] = {}
        for key, patient in zip(keys, self.facts.patients.tolist(), strict=True):
            patients.setdefault(key, set()).add(patient)
        told = [
            not key or len(patients[key]) >= _TOLD_OF or _names_examinations(name)
            for name, key in zip(names, keys, strict=True)
        ]
        return (
            [name if tell else _OTHER for name, tell in zip(names, told, strict=True)],
            [key if tell else _OTHER for key, tell in zip(keys, told, strict=True)],
        )

    def judges(self, marks: Marks, question: str, cell: Cell = COT) -> list[str]:
        """Who judged the reader here; where it said nothing at all, whoever judges others.

        A silent reader's replies are sent to nobody, and are wrong all the same (M3COT 10). Of
        results made elsewhere nothing hangs on what others are imported.
        """
        own = marks.judges(question, cell)
        if own or marks.elsewhere or cell not in marks.said or not marks.silent(cell).all():
            return own
        cells = {at for other in self.marks for _, at in other.verdicts}
        return sorted({judge for other in self.marks for judge in other.judges(question, *cells)})

    def label(self, judges: Sequence[str], *questions: str) -> str | None:
        """What these judges are worth at these questions: the worst that is said of any."""
        found = {self.labels.get((judge, one)) for judge in judges for one in questions}
        return next((label for label in (UNFIT, NOT_CHECKED) if label in found), None)

    def finish(self, drafts: Sequence[Draft]) -> list[Measure]:
        """The drafts with their intervals, in their order."""
        return self._resampling.finish(drafts)

    def left_open(self, counted: Mask) -> float:
        """What Wilson's bound at 0 leaves open of as many patients as these items have."""
        return self._resampling.left_open(counted)


Making: TypeAlias = Callable[[Marks, Study], Iterator[Draft | Measure]]


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """One registered measure: its name, its definition in a line, and what makes it."""

    name: str
    says: str
    make: Making


def _names_examinations(text: str) -> bool:
    words = re.findall(r"[^\W_]+", text.casefold())
    return bool(words) and set(words) <= set(_EXAMINATION_WORDS.split())
