"""A hospital's own films: a csv with one row per film, finding and box, and a folder of images.

Columns: `image`, `finding` and `label` are needed; `patient`, `view`, `sex`, `age`, `box_x`,
`box_y`, `box_w`, `box_h`, `box_label`, `image_width` and `image_height` may be there. A film may
have several rows, one for each finding and each box; what they say of the film must agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import polars as pl

from overread.benchmarks.files import tables
from overread.benchmarks.files.tables import FIX, Table, first, numbers, refuse, refuse_first
from overread.benchmarks.grounding.build import films
from overread.benchmarks.grounding.build.films import PRESENT, SIDES, SIZES, FilmsRead, Missing
from overread.benchmarks.grounding.build.manifest import Exclusion
from overread.benchmarks.grounding.build.nih_rsna import FINDING_OF
from overread.benchmarks.grounding.prompts import FINDINGS
from overread.case import BadInput, Policy, Source
from overread.imaging import film_size, locate

# What the sides of a box are called.
_BOX: Final = {side: f"box_{side}" for side in SIDES}
# A box drawn by hand may leave the image by a hair.
_HAIR: Final = 0.02
_NEEDED: Final = ("image", "finding", "label")

_LABELS: Final = {
    **dict.fromkeys(("1", "1.0", "present", "yes", "true", "positive"), 1),
    **dict.fromkeys(("0", "0.0", "absent", "no", "false", "negative"), 0),
    **dict.fromkeys(("2", "2.0", "-1", "-1.0", "uncertain"), 2),
    **dict.fromkeys(("3", "3.0", "not mentioned"), 3),
}
_LABEL_NEED: Final = "it is 1 (present), 0 (absent), 2 (uncertain) or 3 (not mentioned)"
_SEXES: Final = {"M": ("M", "MALE"), "F": ("F", "FEMALE"), None: ("U", "O", "UNKNOWN", "OTHER")}
_SEX_WORDS: Final = {
    form: sex
    for sex, words in _SEXES.items()
    for word in words
    for form in (word, word.lower(), word.title())
}
# What may be told of a film, under our name.
_FACTS: Final = {
    "patient": ("subject_id", films.TEXT),
    "view": ("view", films.VIEW),
    "sex": ("gender", films.Column("it is M, F or empty", _SEX_WORDS)),
    "age": ("age", films.AGE),
}
_OPTIONAL: Final = (*_FACTS, *_BOX.values(), "box_label", *SIZES)


def read_folder(
    csv_file: Path,
    root: Path,
    columns: Mapping[str, str] | None = None,
    *,
    finding: str | None = None,
    name: str | None = None,
    policy: Policy = "credentialed",
    missing: Missing = "refuse",
) -> FilmsRead:
    """Films, labels and boxes of a csv; `image` is a path below `root`.

    `columns` says what the csv calls a column, {"label": "pneumonia", "view": "projection"}; an
    optional column given as "" is left aside. `finding` is that of every row, where the csv has no
    such column. Any name is a finding; a question shows it with spaces for underscores.

    A label is 1, 0, 2 or 3, or a word such as present, absent, uncertain. Boxes are in pixels of
    the image; its size is read from the file where the csv does not say.
    """
    if not root.is_dir():
        raise BadInput(f"{root} is not a folder. Give the folder that holds the images.")
    table, said = _folder_table(csv_file, dict(columns or {}), finding)
    images, gone = _folder_images(table, said["image"], root, missing)
    findings = _folder_findings(table, said.get("finding"), finding)
    words = dict(_LABELS)
    if findings.n_unique() == 1:  # "pneumonia_present", where that is all a row can mean
        words |= {f"{findings[0].lower()}_{word}": code for word, code in _LABELS.items()}
    spelled = {
        form: code for word, code in words.items() for form in (word, word.title(), word.upper())
    }
    values = tables.codes(table, said["label"], spelled, _LABEL_NEED, pl.Int8)
    refuse_first(table, values.is_null(), said["label"], _LABEL_NEED)
    rows = pl.DataFrame({"image": images, "finding": findings, "value": values})
    _check_agreement(table, said["label"], rows.select("image", "finding"), values)
    listed = _film_facts(table, said, rows)
    for each in rows["finding"].unique(maintain_order=True):
        own = rows.filter(pl.col("finding") == each).unique("image", keep="first")
        labelled = own.select("image", pl.col("value").alias(each))
        listed = listed.join(labelled, on="image", how="left", maintain_order="left")
    boxes, lost = _folder_boxes(table, said, rows, root, gone)
    listed = listed.with_columns(dicom_id=pl.col("image").str.extract(films.STEM))
    name = name or csv_file.stem
    found = FilmsRead(
        name=name,
        policy=policy,
        films=films.film_frame(listed.rename({"image": "image_path"})),
        boxes=boxes,
        exclusions=[Exclusion(name, reason, count) for reason, count in lost.items() if count],
        provenance=[f"Films, labels and boxes of {table.label}."],
        files=[csv_file],
    )
    if "patient" not in said:
        found.provenance.append("Patients are unknown, so one may occur several times.")
    lacking = found.films["image_path"].is_in(gone)
    return films.leave_out(found, lacking, "the image is not there")


def _folder_table(
    path: Path, columns: dict[str, str], finding: str | None
) -> tuple[Table, dict[str, str]]:
    """The csv, and what it calls each of our columns."""
    known = (*_NEEDED, *_OPTIONAL)
    if strange := sorted(set(columns) - set(known)):
        raise BadInput(f"column {strange[0]} is none of {', '.join(known)}. Name one of these.")
    has = tables.columns_of(path)
    needed = [name for name in _NEEDED if name != "finding" or finding is None]
    said = {ours: columns.get(ours, ours) for ours in needed}
    for ours in _OPTIONAL:
        if columns.get(ours, ours) in has or columns.get(ours):
            said[ours] = columns.get(ours, ours)
    given = [ours for ours in _BOX.values() if ours in said]
    if given and len(given) < len(_BOX):
        raise BadInput(
            f"{path} has {', '.join(given)} alone; a box needs {', '.join(_BOX.values())}."
        )
    table = tables.read_table(path, list(dict.fromkeys(said.values())), remedy=FIX)
    tables.filled(table, *(said[ours] for ours in needed))
    return table, said


def _folder_images(
    table: Table, column: str, root: Path, missing: Missing
) -> tuple[pl.Series, list[str]]:
    """The image of each row, and those that are not there."""
    images = table.frame[column].str.replace_all("\\", "/", literal=True).str.strip_prefix("./")
    gone: list[str] = []
    for image in images.unique(maintain_order=True):
        try:
            locate(Source(str(root), image))
        except BadInput as error:
            if missing == "refuse" or ".." in image or (root / image).exists():
                row = table.row(first(images == image) or 0)
                raise BadInput(f"{table.path.name} row {row}: {error}") from None
            gone.append(image)
    return images.alias("image"), gone


def _folder_findings(table: Table, column: str | None, constant: str | None) -> pl.Series:
    """Our name of each row's finding: one spelling each, without spaces."""
    said = pl.repeat(constant, pl.len(), dtype=pl.String) if column is None else pl.col(column)
    words = table.frame.select(said).to_series()
    names = {label: label for label in films.LABELS}
    own = words.str.strip_chars().str.replace_all(r"\s+", "_")
    spelled = {
        word: names.setdefault(word.lower(), word) for word in own.unique(maintain_order=True)
    }
    facts = set(films.FILM_SCHEMA) - set(films.LABELS)
    if taken := [word for word in spelled if word in facts]:
        where = f"row {table.row(first(own == taken[0]) or 0)}: " if column else ""
        raise BadInput(
            f"{table.path.name} {where}{taken[0]} is the name of a fact and of no finding. {FIX}."
        )
    return own.replace_strict(spelled, return_dtype=pl.String).alias("finding")


def _check_agreement(table: Table, column: str, keys: pl.DataFrame, values: pl.Series) -> None:
    """What rows with one key say must be one thing, but for those that say nothing."""
    told = keys.with_row_index("row").with_columns(value=values).drop_nulls("value")
    earliest = pl.col("value", "row").first().over(keys.columns).name.prefix("first_")
    odd = told.with_columns(earliest).filter(pl.col("value") != pl.col("first_value"))
    for row in odd.head(1).to_dicts():
        key = " and ".join(row[name] for name in keys.columns)
        need = f"row {table.row(row['first_row'])} says otherwise of {key}"
        refuse(table, row["row"], column, need)


def _film_facts(table: Table, said: Mapping[str, str], rows: pl.DataFrame) -> pl.DataFrame:
    """One row per image: patient, view, sex and age."""
    facts = rows.select("image")
    for theirs, (ours, column) in _FACTS.items():
        if theirs in said:
            values = column.values(table, said[theirs])
            _check_agreement(table, said[theirs], rows.select("image"), values)
            facts = facts.with_columns(values.alias(ours))
    return facts.group_by("image", maintain_order=True).agg(pl.all().drop_nulls().first())


# ---------------------------------------------------------------- boxes
# The boxes of a hospital's own csv, in pixels of each image.


def _folder_boxes(
    table: Table, said: Mapping[str, str], rows: pl.DataFrame, root: Path, gone: list[str]
) -> tuple[pl.DataFrame | None, dict[str, int]]:
    """The boxes of films whose finding is present, and a count of the others.

    `rows` has the image, finding and value of each row; `said` what the csv calls our columns.
    """
    if "box_x" not in said:
        return None, {}
    sides = {side: numbers(table, said[column], films.PIXELS) for side, column in _BOX.items()}
    frame = rows.with_columns(**sides).with_row_index("index")
    some = pl.any_horizontal(pl.col(SIDES).is_not_null())
    for side, column in _BOX.items():
        partial = frame.select(some & pl.col(side).is_null()).to_series()
        need = f"a box needs all of {', '.join(_BOX.values())}, or none"
        refuse_first(table, partial, said[column], need)
        if side in "wh":
            refuse_first(table, frame[side] <= 0, said[column], "a side is above 0")
    frame = frame.filter(some)
    present = frame.filter(pl.col("value") == PRESENT)
    there = present.filter(~pl.col("image").is_in(gone))
    once = there.unique(["image", "finding", *SIDES], keep="first", maintain_order=True)
    lost = {
        "a box on a film whose finding is not present": frame.height - present.height,
        "the same box twice": there.height - once.height,
    }
    once = once.hstack(_image_sizes(table, said, once, root))
    for side, along, across in (("w", "x", "image_width"), ("h", "y", "image_height")):
        for index, start, length, whole in once.select("index", along, side, across).iter_rows():
            if start < -_HAIR * whole or start + length > (1 + _HAIR) * whole:
                need = f"the box leaves its image of {whole:g} pixels"
                refuse(table, index, said[_BOX[side]], need)
    texts = table.frame[said["box_label"]] if "box_label" in said else rows["finding"]
    once, others = _of_their_finding(once.with_columns(label_text=texts.gather(once["index"])))
    boxes = once.with_columns(
        dicom_id=pl.col("image").str.extract(films.STEM), category="finding", image_path="image"
    )
    return boxes.select(*films.BOX_SCHEMA, "finding"), lost | others


def _of_their_finding(boxes: pl.DataFrame) -> tuple[pl.DataFrame, Counter[str]]:
    """The boxes that show their row's finding, and why the others do not.

    A box label that names another finding is taken at its word; free text is not judged.
    """
    known = {name.lower(): ours for name, ours in FINDING_OF.items()}
    known |= {name.lower(): name for name in (*FINDINGS, *boxes["finding"].unique())}
    lost: Counter[str] = Counter()
    kept = []
    for finding, text in boxes.select("finding", "label_text").iter_rows():
        named = known.get("_".join((text or "").lower().split()), finding)
        kept.append(named == finding)
        if named != finding:
            lost[f'a box labelled "{text}" on a row of {finding}'] += 1
    return boxes.filter(pl.Series(kept, dtype=pl.Boolean)), lost


def _image_sizes(
    table: Table, said: Mapping[str, str], boxes: pl.DataFrame, root: Path
) -> pl.DataFrame:
    """The size of each box's image: the csv's, or the file's."""
    need = "it is a number of pixels above 0"
    given = [numbers(table, said[name], need, least=1) for name in SIZES if name in said]
    known: dict[str, tuple[float, float]] = {}
    rows = []
    for index, image in boxes.select("index", "image").iter_rows():
        size = [column[index] for column in given]
        if len(size) < len(SIZES) or None in size:
            if image not in known:
                known[image] = film_size(locate(Source(str(root), image)), image)
            size = [*known[image]]
        rows.append([float(side) for side in size])
    return pl.DataFrame(rows, schema=dict.fromkeys(SIZES, pl.Float64), orient="row")
