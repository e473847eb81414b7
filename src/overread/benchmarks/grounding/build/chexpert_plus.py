"""CheXpert Plus: films and report texts of `df_chexpert_plus_240401.csv`, labels of CheXbert.

Labels are JSON lines, `chexbert_labels/{findings,impression,report}_fixed.json`, keyed by
`path_to_image`. The images are distributed as PNG although the paths say jpg.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from overread.benchmarks.files.tables import (
    LABEL_CODES,
    LABEL_NEED,
    Table,
    ages,
    codes,
    distinct,
    filled,
    inflated,
    read_table,
)
from overread.benchmarks.grounding.build.chexpert import COLUMNS, PLACE, SEXES, place_of, view_of
from overread.benchmarks.grounding.build.films_read import (
    FilmsRead,
    Missing,
    film_frame,
    with_images,
)
from overread.case import BadInput
from overread.files import read_bytes

if TYPE_CHECKING:
    import polars as pl

__all__ = ["plus_films", "with_reports"]

_KEY: Final = "path_to_image"
_NEEDED: Final = (_KEY, "frontal_lateral", "ap_pa", "deid_patient_id", "age", "sex", "split")
_NOT_MENTIONED: Final = 3


def plus_films(
    csv_file: Path,
    labels_file: Path,
    root: Path | None = None,
    missing: Missing = "refuse",
    *,
    prefix: str = "",
    suffix: str = ".jpg",
) -> FilmsRead:
    """Every film of CheXpert Plus that has labels, with its report's text as `report_path`.

    `image_path` is `prefix` + `path_to_image`, ending in `suffix`: "PNG/" and ".png" for the
    images as distributed.
    """
    import polars as pl

    table = read_table(csv_file, _NEEDED, ("report",))
    filled(table, "frontal_lateral", "deid_patient_id")
    distinct(table, _KEY)
    place = place_of(table, _KEY)
    sides = codes(
        table,
        "frontal_lateral",
        {"Frontal": "Frontal", "Lateral": "Lateral"},
        "it is Frontal or Lateral",
        pl.String,
    )
    splits = {"train": "train", "valid": "valid", "test": "test"}
    years = ages(table, "age")
    key = _place(table.frame[_KEY])
    digest, labelled = _labels(labels_file)
    joined = pl.DataFrame({_KEY: key}).join(labelled, on=_KEY, how="left", maintain_order="left")
    frame = film_frame(
        {
            "image_path": prefix + table.frame[_KEY].str.replace(r"\.\w+$", suffix),
            "report_path": _reports(table),
            "dicom_id": place["view"],
            "subject_id": table.frame["deid_patient_id"],
            "study_id": place["patient"] + "/" + place["study"],
            "view": view_of(sides, table.frame["ap_pa"]),
            "gender": codes(table, "sex", SEXES, "it is Male, Female or Unknown", pl.String),
            "split": codes(table, "split", splits, "it is train, valid or test", pl.String),
            "age": years.set(years == 0, None),
            **{name: joined[name] for name in COLUMNS},
        }
    )
    read = FilmsRead(
        name="chexpert",
        policy="credentialed",
        films=frame,
        provenance=[
            f"CheXpert Plus: {table.label}. Labels are CheXbert's, mined from reports: "
            f"{labels_file.name} (sha256 {digest})."
        ],
    )
    bare = int(joined[next(iter(COLUMNS))].is_null().sum())
    if bare == frame.height:
        raise BadInput(
            f"{labels_file.name} names no image of {csv_file.name}. Give its own labels."
        )
    if bare:
        read.provenance.append(f"{bare} films have no line of labels; theirs are null.")
    return read if root is None else with_images(read, root, missing)


def with_reports(read: FilmsRead, csv_file: Path) -> FilmsRead:
    """CheXpert v1.0's films with the texts of CheXpert Plus as `report_path` (GROUNDING 1.2)."""
    import polars as pl

    table = read_table(csv_file, (_KEY, "report"))
    filled(table, _KEY)
    distinct(table, _KEY)
    texts = pl.DataFrame({_KEY: _place(table.frame[_KEY]), "text": table.frame["report"]})
    own = pl.DataFrame({_KEY: _place(read.films["image_path"])})
    found = own.join(texts, on=_KEY, how="left", maintain_order="left")["text"]
    line = (
        f"Report texts are CheXpert Plus's: {table.label}; {found.count()} of {len(found)} films."
    )
    return msgspec.structs.replace(
        read,
        films=read.films.with_columns(report_path=found),
        provenance=[*read.provenance, line],
    )


def _reports(table: Table) -> pl.Series:
    import polars as pl

    if "report" in table.frame.columns:
        return table.frame["report"]
    return pl.Series([None], dtype=pl.String).new_from_index(0, table.frame.height)


def _place(paths: pl.Series) -> pl.Series:
    """What stays the same whatever folder and format an image is kept in."""
    return paths.str.extract(f"({PLACE})", 1)


def _labels(path: Path) -> tuple[str, pl.DataFrame]:
    """The labels by image; a label that is null or not named was not mentioned."""
    import polars as pl

    data = read_bytes(path)
    digest = hashlib.sha256(data).hexdigest()[:8]
    decode = msgspec.json.Decoder(dict[str, Any]).decode
    paths: list[str] = []
    values: dict[str, list[int]] = {name: [] for name in COLUMNS}
    seen: dict[str, int] = {}
    for row, line in enumerate(inflated(path, data).split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            film = decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise BadInput(
                f"{path.name} row {row}: it is no JSON object: {error}. Fetch the file again."
            ) from None
        name = film.get(_KEY)
        if not isinstance(name, str):
            raise BadInput(f"{path.name} row {row}: it has no {_KEY}. Fetch the file again.")
        if seen.setdefault(name, row) != row:
            raise BadInput(
                f'{path.name} row {row}: {_KEY} "{name}" stands in row {seen[name]} already. '
                "Fetch the file again."
            )
        paths.append(name)
        for ours, theirs in COLUMNS.items():
            values[ours].append(_code(path, row, theirs, film.get(theirs)))
    if not paths:
        raise BadInput(f"{path} has no labels. Fetch the file again.")
    frame = pl.DataFrame(values, schema=dict.fromkeys(COLUMNS, pl.Int8))
    return digest, frame.insert_column(0, _place(pl.Series(_KEY, paths, dtype=pl.String)))


def _code(path: Path, row: int, label: str, value: object) -> int:
    if value is None or value == "":
        return _NOT_MENTIONED
    code = None if isinstance(value, bool) else LABEL_CODES.get(str(value))
    if code is None:
        raise BadInput(
            f'{path.name} row {row}: {label} is "{value}"; {LABEL_NEED}. Fetch the file again.'
        )
    return code
