"""What a probe set is to be built from, one kind of set at a time; and from the recipe to cases.

Which options go with which kind is checked before a file is opened.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, cast, get_args

import msgspec
import polars as pl

from overread.benchmarks.grounding.build.authors import chexpert_probe_set, probe_set
from overread.benchmarks.grounding.build.chexpert import (
    chexpert_files,
    chexpert_films,
    read_chexpert_list,
    split_by_patient,
    with_reports,
)
from overread.benchmarks.grounding.build.films import FilmsRead, Missing, with_images
from overread.benchmarks.grounding.build.folder import read_folder
from overread.benchmarks.grounding.build.manifest import Built
from overread.benchmarks.grounding.build.mimic import (
    Labeler,
    mimic_films,
    patients_file,
    read_boxes,
    read_mimic_list,
    read_sentences,
)
from overread.benchmarks.grounding.build.nih_rsna import nih_films, rsna_films
from overread.benchmarks.grounding.build.sampling import Rules, Sampling, boxed_probe_set
from overread.benchmarks.grounding.cases import GroundingCase
from overread.case import BadInput, Box, Policy
from overread.files import open_file
from overread.imaging import RESOLUTION, rescale_box

# ---------------------------------------------------------------- the recipe


# The kinds of sets, and the options that go with some of them only.
KINDS: Final = (
    *("mimic", "master_list", "chexpert", "chexpert_master_list"),
    *("nih", "rsna", "folder"),
)
_ONLY_WITH: Final[Mapping[str, tuple[str, ...]]] = {
    "ms_cxr": ("mimic", "master_list"),
    "rexerr": ("mimic", "master_list"),
    "boxes_per_finding": ("mimic", "master_list"),
    "sentences": ("mimic", "master_list"),
    "patients": ("mimic",),
    "labels": ("mimic",),
    "chexpert_plus": ("chexpert", "chexpert_master_list"),
    "nih_mapping": ("rsna",),
    "columns": ("folder",),
    "finding": ("folder",),
    "name": ("folder",),
    "policy": ("folder",),
}
_MANY: Final = 10_000_000
_NUMBERS: Final = {
    "seed": (0, 2**32 - 1),
    "per_finding": (2, _MANY),
    "boxes_per_finding": (0, _MANY),
    "normals": (0, _MANY),
    "sentences": (0, _MANY),
    "minimum_side": (1, RESOLUTION),
}
_OPTION: Final = {"columns": "--column"}
# Names of sources that have rules of their own (GROUNDING 4.3).
_TAKEN: Final = ("ms_cxr", "mimic_cxr", "rexerr", "chexpert", "phantom", "nih", "rsna")


class Recipe(msgspec.Struct, frozen=True, kw_only=True):
    """Every option of `overread build grounding` that says what is drawn. None: not given."""

    mimic: Path | None = None
    master_list: Path | None = None
    chexpert: Path | None = None
    chexpert_master_list: Path | None = None
    nih: Path | None = None
    rsna: Path | None = None
    folder: Path | None = None

    ms_cxr: Path | None = None
    rexerr: Path | None = None
    patients: Path | None = None
    labels: str | None = None
    chexpert_plus: Path | None = None
    nih_mapping: Path | None = None
    # What a folder's csv calls our columns, its one finding, its name and who may see it.
    columns: Mapping[str, str] | None = None
    finding: str | None = None
    name: str | None = None
    policy: str | None = None

    edition: str = "corrected"
    seed: int = 42
    # Cases of each finding, half of them with it; MS-CXR's boxes of each; normal films; sentences.
    per_finding: int | None = None
    boxes_per_finding: int | None = None
    normals: int | None = None
    sentences: int | None = None
    # The least side of a box, in pixels of 224.
    minimum_side: int | None = None
    # The images' folder where it is not the dataset's own; whether films without one are left out.
    images: Path | None = None
    skip_missing: bool = False

    @property
    def kind(self) -> str:
        """The one kind of set that is asked for; everything about the options is checked."""
        given = [kind for kind in KINDS if getattr(self, kind) is not None]
        if not given:
            raise BadInput(f"nothing to build from. Give one of {', '.join(map(_option, KINDS))}.")
        if len(given) > 1:
            first, second = map(_option, given[:2])
            raise BadInput(f"{first} and {second} are two sets. Build one at a time.")
        (kind,) = given
        for field, kinds in _ONLY_WITH.items():
            if getattr(self, field) is not None and kind not in kinds:
                wanted = " or ".join(map(_option, kinds))
                raise BadInput(f"{_option(field)} goes with {wanted}, not with {_option(kind)}.")
        self._check_values()
        return kind

    @property
    def root(self) -> Path:
        """The folder image paths start from, if it is known."""
        if self.images is not None:
            return self.images
        kind = self.kind
        place: Path = getattr(self, kind)
        if kind in ("mimic", "nih", "rsna"):
            return place
        if kind == "chexpert":  # its paths begin with the folder's own name
            return (place if place.is_dir() else place.parent).absolute().parent
        return place.absolute().parent

    @property
    def rules(self) -> Rules:
        return cast(Rules, self.edition)

    @property
    def own_name(self) -> str:
        """What a hospital's own set is called: as asked for, else like its csv."""
        assert self.folder is not None
        return self.name or re.sub(r"[^A-Za-z0-9._-]+", "-", self.folder.stem).strip("-") or "own"

    @property
    def missing(self) -> Missing:
        return "exclude" if self.skip_missing else "refuse"

    def _check_values(self) -> None:
        if self.edition not in get_args(Rules):
            editions = ", ".join(reversed(get_args(Rules)))
            raise BadInput(f'edition is "{self.edition}"; the editions are {editions}.')
        if self.labels is not None and self.labels not in get_args(Labeler):
            raise BadInput(f"--labels {self.labels}: it is {' or '.join(get_args(Labeler))}.")
        if self.policy is not None and self.policy not in get_args(Policy):
            raise BadInput(f"--policy {self.policy}: it is {', '.join(get_args(Policy))}.")
        for field, file in (("sentences", "rexerr"), ("boxes_per_finding", "ms_cxr")):
            if getattr(self, field) is not None and getattr(self, file) is None:
                raise BadInput(f"{_option(field)} counts rows of {_option(file)}. Give that too.")
        for field, (least, most) in _NUMBERS.items():
            value = getattr(self, field)
            if value is not None and not least <= value <= most:
                raise BadInput(f"{_option(field)} {value}: it is from {least} to {most}.")
        if self.name is not None and (
            not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", self.name) or self.name in _TAKEN
        ):
            raise BadInput(
                f"--name {self.name}: a name is of letters, digits, . _ and -, and none of "
                f"{', '.join(_TAKEN)}."
            )


def _option(field: str) -> str:
    return _OPTION.get(field, f"--{field.replace('_', '-')}")


# ---------------------------------------------------------------- drawing by the recipe
# From a recipe to cases: read the tables it names, and draw by its edition and seed.


# The authors keep the films of MIMIC-CXR-JPG below a folder of this name (GROUNDING 1.2).
_AUTHORS_FOLDER: Final = "mimic-cxr-jpg/"


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
            return _draw_mimic(recipe)
        case "chexpert" | "chexpert_master_list":
            return _draw_chexpert(recipe)
        case _:
            return _draw_boxed(recipe, recipe.missing if images else "ignore")


def _given(**asked: int | None) -> dict[str, Any]:
    return {name: value for name, value in asked.items() if value is not None}


def _sampling_of(recipe: Recipe) -> Sampling:
    given = _given(
        mscxr_per_finding=recipe.boxes_per_finding,
        mimic_per_finding=recipe.per_finding,
        chexpert_per_finding=recipe.per_finding,
        mimic_normals=recipe.normals,
        chexpert_normals=recipe.normals,
        rexerr_total=recipe.sentences,
        minimum_side=recipe.minimum_side,
        seed=recipe.seed,
    )
    return Sampling(**given)


def _with_reading_notes(built: Built, read: FilmsRead, *lines: str) -> Built:
    """The set with what was said and left out when its films were read."""
    return msgspec.structs.replace(
        built,
        exclusions=[*read.exclusions, *built.exclusions],
        provenance=[*read.provenance, *lines, *built.provenance],
    )


def _listed(name: str, path: Path | None, read: Callable[[Path], pl.DataFrame]) -> FilmsRead:
    """The films of a master list."""
    assert path is not None
    line = f"Films and labels are those of a master list: {_file_label(path)}."
    return FilmsRead(
        name=name, policy="credentialed", films=read(path), provenance=[line], files=[path]
    )


def _draw_mimic(recipe: Recipe) -> Drawn:
    """MIMIC-CXR, MS-CXR and ReXErr."""
    if recipe.mimic is not None:
        labeler = cast(Labeler, recipe.labels or "chexpert")
        patients = patients_file(recipe.patients or recipe.mimic)
        read = mimic_films(recipe.mimic, patients, labeler)
    else:
        read = _listed("mimic_cxr", recipe.master_list, read_mimic_list)
    read = _without_missing(read, recipe)
    boxes = sentences = None
    lines, files = [], [*read.files]
    if recipe.ms_cxr is not None:
        boxes = read_boxes(recipe.ms_cxr)
        lines.append(f"Boxes are MS-CXR's: {_file_label(recipe.ms_cxr)}.")
        files.append(recipe.ms_cxr)
    if recipe.rexerr is not None:
        sentences = read_sentences(recipe.rexerr)
        lines.append(f"Sentences are ReXErr's: {_file_label(recipe.rexerr)}.")
        files.append(recipe.rexerr)
    if boxes is None:
        lines.append("No boxes (--ms-cxr): nothing can be masked, so CGR and IS stay undefined.")
    built = probe_set(
        read.films, boxes, sentences, edition=recipe.rules, options=_sampling_of(recipe)
    )
    if recipe.mimic is not None:
        built = msgspec.structs.replace(built, cases=[_below_mimic(case) for case in built.cases])
    known = _known_boxes(boxes, "dicom_id", built.cases)
    return Drawn(built=_with_reading_notes(built, read, *lines), files=files, boxes=known)


def _below_mimic(case: GroundingCase) -> GroundingCase:
    """The authors' own folder is not in the name of a film below MIMIC-CXR-JPG's root."""
    name = case.image_path.removeprefix(_AUTHORS_FOLDER)
    return msgspec.structs.replace(case, image_path=name)


def _without_missing(read: FilmsRead, recipe: Recipe) -> FilmsRead:
    return with_images(read, recipe.root, "exclude") if recipe.skip_missing else read


def _draw_chexpert(recipe: Recipe) -> Drawn:
    if recipe.chexpert is not None:
        read = chexpert_films(chexpert_files(recipe.chexpert))
        if not (read.films["split"] == "test").any():
            read = split_by_patient(read, seed=recipe.seed)
    else:
        read = _listed("chexpert", recipe.chexpert_master_list, read_chexpert_list)
    read = _without_missing(read, recipe)
    if recipe.chexpert_plus is not None:
        read = with_reports(read, recipe.chexpert_plus)
    built = chexpert_probe_set(read.films, edition=recipe.rules, options=_sampling_of(recipe))
    return Drawn(built=_with_reading_notes(built, read), files=read.files)


def _draw_boxed(recipe: Recipe, missing: Missing) -> Drawn:
    """NIH, RSNA, a hospital's own."""
    if recipe.nih is not None:
        read = nih_films(recipe.nih, missing, recipe.images)
    elif recipe.rsna is not None:
        read = rsna_films(recipe.rsna, recipe.nih_mapping, missing, recipe.images)
    else:
        assert recipe.folder is not None
        read = read_folder(
            recipe.folder,
            recipe.root,
            recipe.columns,
            finding=recipe.finding,
            name=recipe.own_name,
            policy=cast(Policy, recipe.policy or "credentialed"),
            missing=missing,
        )
    given = _given(
        per_label=None if recipe.per_finding is None else recipe.per_finding // 2,
        normals=recipe.normals,
        minimum_side=recipe.minimum_side,
    )
    built = boxed_probe_set(read, edition=recipe.rules, seed=recipe.seed, **given)
    known = _known_boxes(read.boxes, "image_path", built.cases)
    return Drawn(built=built, files=read.files, boxes=known)


def _known_boxes(
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


def _file_label(path: Path) -> str:
    """A file as provenance names it, like `Table.label`."""
    with open_file(path) as file:
        return f"{path.name} (sha256 {hashlib.file_digest(file, 'sha256').hexdigest()[:8]})"
