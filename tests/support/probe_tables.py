"""Small tables of films, boxes and sentences to draw probe sets from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from overread.benchmarks.grounding.build.films import (
    BOX_SCHEMA,
    FILM_SCHEMA,
    LABELS,
    NOT_MENTIONED,
    SENTENCE_SCHEMA,
)

CATEGORIES = ("Edema", "Pneumonia", "Lung Opacity", "Scar")
ERROR_TYPES = ("Change location", "False negation", "Add typo", "Add Contradictions", None)


def film_table(*rows: Mapping[str, Any]) -> pl.DataFrame:
    """Each row is a frontal test film of a patient of its own that mentions nothing, changed."""
    films = []
    for i, row in enumerate(rows):
        name = row.get("dicom_id", f"d{i}")
        film: dict[str, Any] = dict.fromkeys(LABELS, NOT_MENTIONED)
        film |= {"dicom_id": name, "image_path": f"mimic-cxr-jpg/files/{name}.jpg"}
        film |= {"report_path": f"{name}.txt", "subject_id": f"p{i}", "study_id": f"s{i}"}
        film |= {"view": "PA", "gender": "F", "age": 60.0, "split": "test"}
        films.append({**film, **row})
    return pl.DataFrame(films, schema=FILM_SCHEMA)


def box_table(*rows: Mapping[str, Any]) -> pl.DataFrame:
    """Each row is a box of 200 x 160 of 448 x 448 on film d0, showing edema, changed."""
    box = {"category": "Edema", "label_text": "hazy", "x": 40.0, "y": 60.0, "w": 200.0, "h": 160.0}
    boxes = []
    for row in rows:
        name = row.get("dicom_id", "d0")
        where = {"dicom_id": name, "image_path": f"mimic-cxr-jpg/files/{name}.jpg"}
        boxes.append({**box, **where, "image_width": 448.0, "image_height": 448.0, **row})
    return pl.DataFrame(boxes, schema=BOX_SCHEMA)


def sentence_table(*rows: Mapping[str, Any]) -> pl.DataFrame:
    """Each row is a sentence of film and study 0 with a change of location, changed."""
    sentences = []
    for i, row in enumerate(rows):
        sentence = {"dicom_id": "d0", "study_id": "s0", "subject_id": "p0"}
        sentence |= {"original_sentence": f"Right {i}.", "error_sentence": f"Left {i}."}
        sentences.append({**sentence, "error_type": "Change location", "error_present": 1, **row})
    return pl.DataFrame(sentences, schema=SENTENCE_SCHEMA)


def random_tables(
    seed: int, films: int = 150, boxes: int = 60, sentences: int = 80
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Films, boxes and sentences with everything a step may drop among them."""
    random = np.random.default_rng(seed)

    def pick(values: Sequence[Any]) -> Any:
        return values[random.integers(len(values))]

    listed = film_table(
        *(
            {
                "subject_id": f"p{random.integers(max(1, films // 3))}",
                "view": pick(["PA", "AP", "AP", "LATERAL", None]),
                "age": pick([None, 20.0, 50.0, 70.0]),
                "gender": pick([None, "M", "F", "F"]),
                "split": pick(["train", "valid", "test", "test"]),
                **{label: pick([0, 1, 2, 3, None]) for label in LABELS},
            }
            for _ in range(films)
        )
    )
    # A few ids that are not in the film list.
    ids = [f"d{i}" for i in range(films + 5)]
    marked = box_table(
        *(
            {
                "dicom_id": pick(ids),
                "category": pick(CATEGORIES),
                "w": float(random.integers(60, 300)),
                "h": float(random.integers(60, 300)),
            }
            for _ in range(boxes)
        )
    )
    said = []
    for _ in range(sentences):
        film = int(random.integers(films))
        patient = listed["subject_id"][film]
        lists = [f"d{film}", f"{pick(ids)}, d{film}", f"{pick(ids)},,{pick(ids)} ", None, ","]
        text = f"Text {random.integers(sentences)}."
        said.append(
            {
                "dicom_id": pick(lists),
                "study_id": f"s{film}",
                "subject_id": patient,
                "original_sentence": pick([text, text, None]),
                "error_sentence": pick([text, text, text, None]),
                "error_type": pick(ERROR_TYPES),
                "error_present": pick([0, 1, 1, 2, None]),
            }
        )
    return listed, marked, sentence_table(*said)
