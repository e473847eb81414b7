"""From a recipe to cases: read the tables it names, and draw by its edition and seed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from overread.benchmarks.files.tables import find_table
from overread.benchmarks.grounding.boxes import rescale_box
from overread.benchmarks.grounding.build.films import Built
from overread.benchmarks.grounding.build.films_read import FilmsRead, Missing, with_images
from overread.benchmarks.grounding.build.recipe import Labeler, Recipe
from overread.benchmarks.grounding.build.scheme import Sampling
from overread.benchmarks.grounding.cases import GroundingCase
from overread.case import Box, Policy
from overread.files import open_file

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Drawn", "draw"]

# The authors keep the films of MIMIC-CXR-JPG below a folder of this name (GROUNDING 1.2).
_AUTHORS_FOLDER: Final = "mimic-cxr-jpg/"
_PLUS: Final = "df_chexpert_plus_*.csv"


class Drawn(msgspec.Struct, frozen=True, kw_only=True):
    """A set before its images are looked at, and what it was drawn from."""

    built: Built
    # The tables that were read.
    files: list[Path]
    # Every box known of an image, also those no case was made of.
    boxes: dict[str, list[Box]] = {}


def draw(recipe: Recipe, *, images: bool = True) -> Drawn:
    """The cases of a recipe, in manifest order. Without `images` none is looked for."""
    match recipe.kind:
        case "mimic" | "master_list":
            return _mimic(recipe)
        case "chexpert" | "chexpert_master_list":
            return _chexpert(recipe)
        case _:
            return _boxed(recipe, recipe.missing if images else "ignore")


def _sampling(recipe: Recipe) -> Sampling:
    asked = {
        "mscxr_per_finding": recipe.boxes_per_finding,
        "mimic_per_finding": recipe.per_finding,
        "chexpert_per_finding": recipe.per_finding,
        "mimic_normals": recipe.normals,
        "chexpert_normals": recipe.normals,
        "rexerr_total": recipe.sentences,
        "minimum_side": recipe.minimum_side,
        "seed": recipe.seed,
    }
    given = {name: value for name, value in asked.items() if value is not None}
    return msgspec.structs.replace(Sampling(), **given)


def _with(built: Built, read: FilmsRead, *lines: str) -> Built:
    """The set with what was said and left out when its films were read."""
    return msgspec.structs.replace(
        built,
        exclusions=[*read.exclusions, *built.exclusions],
        provenance=[*read.provenance, *lines, *built.provenance],
    )


# ---------------------------------------------------------------- MIMIC-CXR, MS-CXR, ReXErr


def _mimic(recipe: Recipe) -> Drawn:
    from overread.benchmarks.grounding.build.mscxr import read_boxes
    from overread.benchmarks.grounding.build.rexerr import read_sentences
    from overread.benchmarks.grounding.build.sampling import probe_set

    read, files = _mimic_films(recipe)
    boxes = None if recipe.ms_cxr is None else read_boxes(recipe.ms_cxr)
    sentences = None if recipe.rexerr is None else read_sentences(recipe.rexerr)
    built = probe_set(read.films, boxes, sentences, edition=recipe.rules, options=_sampling(recipe))
    further = [path for path in (recipe.ms_cxr, recipe.rexerr) if path is not None]
    lines = [f"Boxes are MS-CXR's: {_label(recipe.ms_cxr)}."] if recipe.ms_cxr else []
    lines += [f"Sentences are ReXErr's: {_label(recipe.rexerr)}."] if recipe.rexerr else []
    if boxes is None:
        lines.append("No boxes (--ms-cxr): nothing can be masked, so CGR and IS stay undefined.")
    if recipe.mimic is not None:
        built = msgspec.structs.replace(built, cases=[_below_mimic(case) for case in built.cases])
    return Drawn(
        built=_with(built, read, *lines),
        files=[*files, *further],
        boxes=_known(boxes, "dicom_id", built.cases),
    )


def _mimic_films(recipe: Recipe) -> tuple[FilmsRead, list[Path]]:
    from overread.benchmarks.grounding.build import mimic
    from overread.benchmarks.grounding.build.master_list import read_mimic_list

    if recipe.mimic is not None:
        labeler = cast(Labeler, recipe.labels or "chexpert")
        patients = mimic.patients_file(recipe.patients or recipe.mimic)
        read = mimic.films(recipe.mimic, patients, labeler)
        parts = ("metadata", "split", labeler)
        files = [find_table(recipe.mimic, f"mimic-cxr-[0-9]*-{part}.csv") for part in parts]
        files.append(patients)
    else:
        assert recipe.master_list is not None
        read = _listed("mimic_cxr", recipe.master_list, read_mimic_list(recipe.master_list))
        files = [recipe.master_list]
    return _with_images(read, recipe), files


def _below_mimic(case: GroundingCase) -> GroundingCase:
    """The authors' own folder is not in the name of a film below MIMIC-CXR-JPG's root."""
    name = case.image_path.removeprefix(_AUTHORS_FOLDER)
    return msgspec.structs.replace(case, image_path=name)


def _listed(name: str, path: Path, films: pl.DataFrame) -> FilmsRead:
    line = f"Films and labels are those of a master list: {_label(path)}."
    return FilmsRead(name=name, policy="credentialed", films=films, provenance=[line])


def _with_images(read: FilmsRead, recipe: Recipe) -> FilmsRead:
    return with_images(read, recipe.root, "exclude") if recipe.skip_missing else read


# ---------------------------------------------------------------- CheXpert


def _chexpert(recipe: Recipe) -> Drawn:
    from overread.benchmarks.grounding.build import chexpert, chexpert_plus
    from overread.benchmarks.grounding.build.master_list import read_chexpert_list
    from overread.benchmarks.grounding.build.sampling import chexpert_probe_set

    if recipe.chexpert is not None:
        files = _chexpert_files(recipe.chexpert)
        read = chexpert.films(files)
        if not (read.films["split"] == "test").any():
            read = chexpert.split_by_patient(read, seed=recipe.seed)
    else:
        assert recipe.chexpert_master_list is not None
        files = [recipe.chexpert_master_list]
        read = _listed("chexpert", files[0], read_chexpert_list(files[0]))
    read = _with_images(read, recipe)
    if recipe.chexpert_plus is not None:
        plus = recipe.chexpert_plus
        plus = find_table(plus, _PLUS) if plus.is_dir() else plus
        read = chexpert_plus.with_reports(read, plus)
        files = [*files, plus]
    built = chexpert_probe_set(read.films, edition=recipe.rules, options=_sampling(recipe))
    return Drawn(built=_with(built, read), files=files)


def _chexpert_files(place: Path) -> list[Path]:
    """The csv itself, or train.csv and valid.csv of CheXpert's folder, whichever are there."""
    if not place.is_dir():
        return [place]
    parts = [
        f"{part}.csv"
        for part in ("train", "valid")
        if any((place / f"{part}.csv{end}").is_file() for end in ("", ".gz"))
    ]
    return [find_table(place, part) for part in parts or ["train.csv"]]


# ---------------------------------------------------------------- NIH, RSNA, a hospital's own


def _boxed(recipe: Recipe, missing: Missing) -> Drawn:
    from overread.benchmarks.grounding.build.open_sets import boxed_probe_set

    read, files = _boxed_films(recipe, missing)
    asked = {
        "per_label": None if recipe.per_finding is None else recipe.per_finding // 2,
        "normals": recipe.normals,
        "minimum_side": recipe.minimum_side,
    }
    given: dict[str, Any] = {name: value for name, value in asked.items() if value is not None}
    built = boxed_probe_set(read, edition=recipe.rules, seed=recipe.seed, **given)
    return Drawn(built=built, files=files, boxes=_known(read.boxes, "image_path", built.cases))


def _boxed_films(recipe: Recipe, missing: Missing) -> tuple[FilmsRead, list[Path]]:
    from overread.benchmarks.grounding.build import folder, nih, rsna

    if recipe.nih is not None:
        names = ("Data_Entry_2017*.csv", "BBox_List_2017.csv")
        read = nih.films_and_boxes(recipe.nih, missing, recipe.images)
        return read, [find_table(recipe.nih, name) for name in names]
    if recipe.rsna is not None:
        names = ("stage_2_train_labels.csv", "stage_2_detailed_class_info.csv")
        read = rsna.films_and_boxes(recipe.rsna, recipe.nih_mapping, missing, recipe.images)
        files = [find_table(recipe.rsna, name) for name in names]
        return read, [*files, *([recipe.nih_mapping] if recipe.nih_mapping else [])]
    assert recipe.folder is not None
    read = folder.read(
        recipe.folder,
        recipe.root,
        recipe.columns,
        finding=recipe.finding,
        name=recipe.own_name,
        policy=cast(Policy, recipe.policy or "credentialed"),
        missing=missing,
    )
    return read, [recipe.folder]


# ---------------------------------------------------------------- boxes and files


def _known(
    boxes: pl.DataFrame | None, key: str, cases: Iterable[GroundingCase]
) -> dict[str, list[Box]]:
    """Every box of the boxed cases' images at the working resolution, small ones too."""
    if boxes is None:
        return {}
    image_of = {getattr(case, key): case.image_path for case in cases if case.box is not None}
    found: dict[str, list[Box]] = {}
    columns = (key, "x", "y", "w", "h", "image_width", "image_height")
    for name, x, y, w, h, width, height in boxes.select(columns).iter_rows():
        if name in image_of:
            box = rescale_box(x, y, w, h, width, height, minimum_side=0)
            assert box is not None
            found.setdefault(image_of[name], []).append(box)
    return found


def _label(path: Path | None) -> str:
    """A file as provenance names it, like `Table.label`."""
    assert path is not None
    with open_file(path) as file:
        return f"{path.name} (sha256 {hashlib.file_digest(file, 'sha256').hexdigest()[:8]})"
