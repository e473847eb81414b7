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

from overread.benchmarks.files.tables import (
    FIX,
    Table,
    ages,
    codes,
    columns_of,
    filled,
    first,
    numbers,
    read_table,
    refuse,
    refuse_first,
)
from overread.benchmarks.grounding.build.films import (
    LABELS,
    PRESENT,
    SIDES,
    STEM,
    FilmsRead,
    Missing,
    box_schema,
    film_frame,
    film_schema,
    leave_out,
)
from overread.benchmarks.grounding.build.manifest import Exclusion
from overread.benchmarks.grounding.build.nih_rsna import FINDING_OF
from overread.benchmarks.grounding.prompts import FINDINGS
from overread.case import BadInput, Policy, Source

BOX_COLUMNS: Final = ("box_x", "box_y", "box_w", "box_h")
SIZE_COLUMNS: Final = ("image_width", "image_height")
# A box drawn by hand may leave the image by a hair.
_HAIR: Final = 0.02
NEEDED: Final = ("image", "finding", "label")
OPTIONAL: Final = ("patient", "view", "sex", "age", *BOX_COLUMNS, "box_label", *SIZE_COLUMNS)

_LABELS: Final = {
    **dict.fromkeys(("1", "1.0", "present", "yes", "true", "positive"), 1),
    **dict.fromkeys(("0", "0.0", "absent", "no", "false", "negative"), 0),
    **dict.fromkeys(("2", "2.0", "-1", "-1.0", "uncertain"), 2),
    **dict.fromkeys(("3", "3.0", "not mentioned"), 3),
}
_LABEL_NEED: Final = "it is 1 (present), 0 (absent), 2 (uncertain) or 3 (not mentioned)"
_SEXES: Final = {
    **dict.fromkeys(("M", "MALE"), "M"),
    **dict.fromkeys(("F", "FEMALE"), "F"),
    **dict.fromkeys(("U", "O", "UNKNOWN", "OTHER"), None),
}


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
    values = codes(table, said["label"], _any_spelling(words), _LABEL_NEED, pl.Int8)
    refuse_first(table, values.is_null(), said["label"], _LABEL_NEED)
    rows = pl.DataFrame({"image": images, "finding": findings, "value": values})
    _check_agreement(table, said["label"], rows.select("image", "finding"), values)
    films = _film_facts(table, said, rows)
    for each in rows["finding"].unique(maintain_order=True):
        own = rows.filter(pl.col("finding") == each).unique("image", keep="first")
        labelled = own.select("image", pl.col("value").alias(each))
        films = films.join(labelled, on="image", how="left", maintain_order="left")
    boxes, exclusions = folder_boxes(table, said, rows, root, set(gone), name or csv_file.stem)
    films = films.with_columns(dicom_id=pl.col("image").str.extract(STEM))
    frame = film_frame(films.rename({"image": "image_path"}))
    found = FilmsRead(
        name=name or csv_file.stem,
        policy=policy,
        films=frame,
        boxes=boxes,
        exclusions=exclusions,
        provenance=[f"Films, labels and boxes of {table.label}."],
        files=[csv_file],
    )
    if "patient" not in said:
        found.provenance.append("Patients are unknown, so one may occur several times.")
    return leave_out(found, frame["image_path"].is_in(gone), "the image is not there")


def _folder_table(
    path: Path, columns: dict[str, str], finding: str | None
) -> tuple[Table, dict[str, str]]:
    """The csv, and what it calls each of our columns."""
    strange = sorted(set(columns) - {*NEEDED, *OPTIONAL})
    if strange:
        known = ", ".join((*NEEDED, *OPTIONAL))
        raise BadInput(f"column {strange[0]} is none of {known}. Name one of these.")
    has = columns_of(path)
    needed = [name for name in NEEDED if name != "finding" or finding is None]
    said = {ours: columns.get(ours, ours) for ours in needed}
    for ours in OPTIONAL:
        if columns.get(ours, ours) in has or columns.get(ours):
            said[ours] = columns.get(ours, ours)
    given = [ours for ours in (*BOX_COLUMNS,) if ours in said]
    if given and len(given) < len(BOX_COLUMNS):
        raise BadInput(
            f"{path} has {', '.join(given)} alone; a box needs {', '.join(BOX_COLUMNS)}."
        )
    table = read_table(path, list(dict.fromkeys(said.values())), remedy=FIX)
    filled(table, *(said[ours] for ours in needed))
    return table, said


def _folder_images(
    table: Table, column: str, root: Path, missing: Missing
) -> tuple[pl.Series, list[str]]:
    """The image of each row, and those that are not there."""
    from overread.imaging import locate

    images = table.frame[column].str.replace_all("\\", "/", literal=True).str.strip_prefix("./")
    gone: list[str] = []
    seen: set[str] = set()
    for index, image in enumerate(images):
        if image in seen:
            continue
        seen.add(image)
        try:
            locate(Source(str(root), image))
        except BadInput as error:
            if missing == "exclude" and ".." not in image and not (root / image).exists():
                gone.append(image)
                continue
            raise BadInput(f"{table.path.name} row {table.row(index)}: {error}") from None
    return images.alias("image"), gone


def _folder_findings(table: Table, column: str | None, constant: str | None) -> pl.Series:
    """Our name of each row's finding: one spelling each, without spaces."""
    if column is None:
        words = table.frame.select(pl.repeat(constant, pl.len(), dtype=pl.String)).to_series()
    else:
        words = table.frame[column]
    names: dict[str, str] = {label: label for label in LABELS}
    own = words.str.strip_chars().str.replace_all(r"\s+", "_")
    spelled = {
        word: names.setdefault(word.lower(), word) for word in own.unique(maintain_order=True)
    }
    taken = [word for word in spelled if word in film_schema() and word not in LABELS]
    if taken:
        place = first(own == taken[0])
        where = f"row {table.row(place or 0)}: " if column else ""
        raise BadInput(
            f"{table.path.name} {where}{taken[0]} is the name of a fact and of no finding. {FIX}."
        )
    return own.replace_strict(spelled, return_dtype=pl.String).alias("finding")


def _any_spelling(words: Mapping[str, int]) -> dict[str, int]:
    return {
        form: code for word, code in words.items() for form in (word, word.title(), word.upper())
    }


def _check_agreement(table: Table, column: str, keys: pl.DataFrame, values: pl.Series) -> None:
    """What rows with one key say must be one thing, but for those that say nothing."""
    frame = keys.with_columns(value=values).with_columns(
        said=pl.col("value").drop_nulls().first().over(keys.columns)
    )
    place = first(frame["value"] != frame["said"])
    if place is not None:
        key = keys.row(place)
        same = keys.select(
            pl.all_horizontal(*(pl.col(c) == v for c, v in zip(keys.columns, key, strict=True)))
        )
        earlier = first(same.to_series() & values.is_not_null())
        need = f"row {table.row(earlier or 0)} says otherwise of {' and '.join(key)}"
        refuse(table, place, column, need)


def _film_facts(table: Table, said: Mapping[str, str], rows: pl.DataFrame) -> pl.DataFrame:
    """One row per image: patient, view, sex and age."""
    found: dict[str, pl.Series] = {}
    if "patient" in said:
        found["subject_id"] = table.frame[said["patient"]]
    if "view" in said:
        found["view"] = table.frame[said["view"]].str.to_uppercase()
    if "sex" in said:
        forms = {
            form: sex for word, sex in _SEXES.items() for form in (word, word.lower(), word.title())
        }
        found["gender"] = codes(table, said["sex"], forms, "it is M, F or empty", pl.String)
    if "age" in said:
        found["age"] = ages(table, said["age"])
    ours = {"subject_id": "patient", "gender": "sex"}
    for name, series in found.items():
        _check_agreement(table, said[ours.get(name, name)], rows.select("image"), series)
    facts = rows.select("image").with_columns(**found)
    return facts.group_by("image", maintain_order=True).agg(pl.all().drop_nulls().first())


# ---------------------------------------------------------------- boxes
# The boxes of a hospital's own csv, in pixels of each image.


def folder_boxes(
    table: Table,
    said: Mapping[str, str],
    rows: pl.DataFrame,
    root: Path,
    gone: set[str],
    name: str,
) -> tuple[pl.DataFrame | None, list[Exclusion]]:
    """The boxes of films whose finding is present, and a count of the others.

    `rows` has the image, finding and value of each row; `said` what the csv calls our columns.
    """
    if BOX_COLUMNS[0] not in said:
        return None, []
    sides = {
        side: numbers(table, said[column], "it is a number of pixels")
        for side, column in zip(SIDES, BOX_COLUMNS, strict=True)
    }
    frame = rows.with_columns(**sides).with_row_index("index")
    some = pl.any_horizontal(pl.col(*"xywh").is_not_null())
    for side, column in zip(SIDES, BOX_COLUMNS, strict=True):
        partial = frame.select(some & pl.col(side).is_null()).to_series()
        refuse_first(
            table, partial, said[column], f"a box needs all of {', '.join(BOX_COLUMNS)}, or none"
        )
        if side in "wh":
            refuse_first(table, frame[side] <= 0, said[column], "a side is above 0")
    frame = frame.filter(some)
    exclusions = []
    absent = frame.filter(pl.col("value") != PRESENT)
    if absent.height:
        reason = "a box on a film whose finding is not present"
        exclusions.append(Exclusion(name, reason, absent.height))
    frame = frame.filter((pl.col("value") == PRESENT) & ~pl.col("image").is_in(list(gone)))
    once = frame.unique(["image", "finding", *"xywh"], keep="first", maintain_order=True)
    if once.height < frame.height:
        exclusions.append(Exclusion(name, "the same box twice", frame.height - once.height))
    sizes = _image_sizes(table, said, once, root)
    once = once.hstack(sizes)
    for side, along, across in (("w", "x", "image_width"), ("h", "y", "image_height")):
        for index, start, length, whole in once.select("index", along, side, across).iter_rows():
            if start < -_HAIR * whole or start + length > (1 + _HAIR) * whole:
                need = f"the box leaves its image of {whole:g} pixels"
                refuse(table, index, said[f"box_{side}"], need)
    texts = table.frame[said["box_label"]] if "box_label" in said else rows["finding"]
    once, others = _of_their_finding(once.with_columns(text=texts.gather(once["index"])))
    exclusions += [Exclusion(name, reason, count) for reason, count in others.items()]
    boxes = once.select(
        dicom_id=pl.col("image").str.extract(STEM),
        category="finding",
        label_text="text",
        image_path="image",
        **{column: pl.col(column) for column in (*"xywh", *SIZE_COLUMNS)},
        finding="finding",
    )
    return boxes.select(*box_schema(), "finding"), exclusions


def _of_their_finding(boxes: pl.DataFrame) -> tuple[pl.DataFrame, Counter[str]]:
    """The boxes that show their row's finding, and why the others do not.

    A box label that names another finding is taken at its word; free text is not judged.
    """
    known = {name.lower(): ours for name, ours in FINDING_OF.items()}
    known |= {name.lower(): name for name in (*FINDINGS, *boxes["finding"].unique())}
    lost: Counter[str] = Counter()
    kept = []
    for finding, text in boxes.select("finding", "text").iter_rows():
        named = known.get("_".join((text or "").lower().split()), finding)
        kept.append(named == finding)
        if named != finding:
            lost[f'a box labelled "{text}" on a row of {finding}'] += 1
    return boxes.filter(pl.Series(kept, dtype=pl.Boolean)), lost


def _image_sizes(
    table: Table, said: Mapping[str, str], boxes: pl.DataFrame, root: Path
) -> pl.DataFrame:
    """The size of each box's image: the csv's, or the file's."""
    from overread.imaging import film_size, locate

    given = [
        numbers(table, said[column], "it is a number of pixels above 0", least=1)
        if column in said
        else None
        for column in SIZE_COLUMNS
    ]
    known: dict[str, tuple[float, float]] = {}
    rows = []
    for index, image in boxes.select("index", "image").iter_rows():
        width, height = (None if column is None else column[index] for column in given)
        if width is None or height is None:
            if image not in known:
                known[image] = film_size(locate(Source(str(root), image)), image)
            width, height = known[image]
        rows.append((float(width), float(height)))
    return pl.DataFrame(rows, schema=dict.fromkeys(SIZE_COLUMNS, pl.Float64), orient="row")
