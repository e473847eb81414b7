"""A run under one edition: its items, what readers said and judges made of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np

from overread.benchmarks.importing import IMPORTED
from overread.benchmarks.m3cot.edition import Edition
from overread.benchmarks.m3cot.marks import COT, Asking, Facts, Marks, facts_of, marks_of
from overread.measuring.arrays import RunArrays, Words, group_names
from overread.measuring.estimates import Resampling

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.base import Tables

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


class Study(RunArrays):
    """The readers of a run. Items are grouped by task, kind of question and examination.

    Of a set that is not open (`veiled`), an examination in free words that only few patients have
    is `other`.
    """

    def __init__(
        self,
        tables: Tables,
        verdicts: pl.DataFrame | None,
        edition: Edition,
        labels: Mapping[tuple[str, str], str | None] | None = None,
        *,
        veiled: bool = False,
    ) -> None:
        facts = facts_of(tables.cases)
        modalities, order = _examinations(facts, edition, veiled=veiled)
        super().__init__(
            facts.cases,
            facts.patients,
            tables.readers,
            Resampling(facts.patients, boot=edition.boot, seed=edition.seed),
            columns={"task": facts.tasks, "kind": facts.kinds, "modality": modalities},
            orders={"modality": order},
            labels=labels,
        )
        self.edition: Final = edition
        self.facts: Final = facts
        elsewhere = frozenset(one.name for one in tables.readers if one.identity == IMPORTED)
        self.marks: Final = marks_of(self.readers, facts, tables.answers, verdicts, elsewhere)

    @property
    def tasks(self) -> list[str]:
        return group_names(self.facts.tasks)

    def judges(self, marks: Marks, question: str, asking: Asking = COT) -> list[str]:
        """Who judged the reader here; where it said nothing at all, whoever judges others.

        A silent reader's replies are sent to nobody, and are wrong all the same (M3COT 10). Of
        results made elsewhere nothing hangs on what others are imported.
        """
        own = marks.judges(question, asking)
        if own or marks.elsewhere or asking not in marks.said or not marks.silent(asking).all():
            return own
        every = {at for other in self.marks for _, at in other.verdicts}
        return sorted({judge for other in self.marks for judge in other.judges(question, *every)})

    def both_judge(self, question: str, *places: tuple[Marks, Asking]) -> list[str]:
        """The judges that all of these have in common."""
        found = [set(self.judges(marks, question, asking)) for marks, asking in places]
        return sorted(set.intersection(*found))


def _examinations(facts: Facts, edition: Edition, *, veiled: bool) -> tuple[Words, list[str]]:
    """The examination of each item by its first spelling (as published, by letter); their order."""
    names = facts.modalities.tolist()
    keys = names
    if edition.step_types == "folded":
        keys = [" ".join(name.split()).casefold().strip(" .") for name in names]
    if veiled:
        patients: dict[str, set[int]] = {}
        for key, patient in zip(keys, facts.patients.tolist(), strict=True):
            patients.setdefault(key, set()).add(patient)
        told = [
            not key or len(patients[key]) >= _TOLD_OF or _names_examinations(name)
            for name, key in zip(names, keys, strict=True)
        ]
        names = [name if tell else _OTHER for name, tell in zip(names, told, strict=True)]
        keys = [key if tell else _OTHER for key, tell in zip(keys, told, strict=True)]
    shown = dict(zip(reversed(keys), reversed(names), strict=True))
    shown[""] = ""
    column = np.array([shown[key] for key in keys], dtype=np.str_)
    return column, [shown[key] for key in sorted(shown)]


def _names_examinations(text: str) -> bool:
    words = re.findall(r"[^\W_]+", text.casefold())
    return bool(words) and set(words) <= set(_EXAMINATION_WORDS.split())
