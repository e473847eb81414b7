"""What a probe set is to be built from, one kind of set at a time; and from the recipe to cases.

Which options go with which kind is checked before a file is opened.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, cast, get_args

import msgspec
import polars as pl

from overread.benchmarks.grounding.build import paper_files
from overread.benchmarks.grounding.build.authors import probe_set
from overread.benchmarks.grounding.build.films import FilmsRead, Missing, with_images
from overread.benchmarks.grounding.build.folder import read_folder
from overread.benchmarks.grounding.build.manifest import Built
from overread.benchmarks.grounding.build.nih_rsna import nih_films, rsna_films
from overread.benchmarks.grounding.build.paper_files import JPG_ROOT, Labeler
from overread.benchmarks.grounding.build.sampling import Rules, Sampling, boxed_probe_set
from overread.case import BadInput, Policy
from overread.files import open_file
from overread.imaging import RESOLUTION

# ---------------------------------------------------------------- the recipe


# The kinds of sets, and the options that go with some of them only.
KINDS: Final = (
    *("mimic", "master_list", "chexpert", "chexpert_master_list"),
    *("nih", "rsna", "folder"),
)
_ONLY_WITH: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(
        ("ms_cxr", "rexerr", "boxes_per_finding", "sentences"), ("mimic", "master_list")
    ),
    **dict.fromkeys(("patients", "labels"), ("mimic",)),
    "chexpert_plus": ("chexpert", "chexpert_master_list"),
    "nih_mapping": ("rsna",),
    **dict.fromkeys(("columns", "finding", "name", "policy"), ("folder",)),
}
_MANY: Final = 10_000_000
_NUMBERS: Final = {
    "seed": (0, 2**32 - 1),
    "per_finding": (2, _MANY),
    **dict.fromkeys(("boxes_per_finding", "normals", "sentences"), (0, _MANY)),
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

    def sampling(self, **numbers: Any) -> Sampling:
        """The numbers of the scheme: those given, else these, else the paper's."""
        given = {name: getattr(self, name) for name in Sampling.__struct_fields__}
        return Sampling(**numbers | {name: n for name, n in given.items() if n is not None})

    @property
    def own_name(self) -> str:
        """What a hospital's own set is called: as asked for, else like its csv."""
        assert self.folder is not None
        return self.name or re.sub(r"[^A-Za-z0-9._-]+", "-", self.folder.stem).strip("-") or "own"

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


# Films with and without a finding in a set of films that carry boxes.
_PER_FINDING_OF_BOXED: Final = 200


def draw(recipe: Recipe, *, images: bool = True) -> Built:
    """The cases of a recipe, in manifest order. Without `images` none is looked for."""
    match recipe.kind:
        case "mimic" | "master_list":
            return probe_set(_read_mimic(recipe), recipe.sampling(), "mimic_cxr")
        case "chexpert" | "chexpert_master_list":
            return probe_set(_read_chexpert(recipe), recipe.sampling(), "chexpert")
        case _:
            missing: Missing = "exclude" if recipe.skip_missing else "refuse"
            read = _read_boxed(recipe, missing if images else "ignore")
            return boxed_probe_set(read, recipe.sampling(per_finding=_PER_FINDING_OF_BOXED))


def _read_mimic(recipe: Recipe) -> FilmsRead:
    """MIMIC-CXR, MS-CXR and ReXErr."""
    if recipe.mimic is not None:
        labeler = cast(Labeler, recipe.labels or "chexpert")
        patients = recipe.patients or recipe.mimic
        read = paper_files.mimic_films(recipe.mimic, patients, labeler)
    else:
        read = _listed("mimic_cxr", recipe.master_list, paper_files.read_mimic_list)
    read = _without_missing(read, recipe)
    boxes = sentences = None
    lines, files = [], []
    if recipe.ms_cxr is not None:
        boxes = paper_files.read_boxes(recipe.ms_cxr)
        if recipe.mimic is not None:  # the authors' own folder is not in its films' names
            below = pl.col("image_path").str.strip_prefix(f"{JPG_ROOT}/")
            boxes = boxes.with_columns(below)
        lines.append(f"Boxes are MS-CXR's: {_file_label(recipe.ms_cxr)}.")
        files.append(recipe.ms_cxr)
    if recipe.rexerr is not None:
        sentences = paper_files.read_sentences(recipe.rexerr)
        lines.append(f"Sentences are ReXErr's: {_file_label(recipe.rexerr)}.")
        files.append(recipe.rexerr)
    if boxes is None:
        lines.append("No boxes (--ms-cxr): nothing can be masked, so CGR and IS stay undefined.")
    return msgspec.structs.replace(
        read,
        boxes=boxes,
        sentences=sentences,
        provenance=[*read.provenance, *lines],
        files=[*read.files, *files],
    )


def _read_chexpert(recipe: Recipe) -> FilmsRead:
    if recipe.chexpert is not None:
        read = paper_files.chexpert_films(recipe.chexpert)
        read = paper_files.split_by_patient(read, recipe.seed)
    else:
        path = recipe.chexpert_master_list
        read = _listed("chexpert", path, paper_files.read_chexpert_list)
    read = _without_missing(read, recipe)
    plus = recipe.chexpert_plus
    return read if plus is None else paper_files.with_reports(read, plus)


def _listed(name: str, path: Path | None, read: Callable[[Path], pl.DataFrame]) -> FilmsRead:
    """The films of a master list."""
    assert path is not None
    films = read(path)
    line = f"Films and labels are those of a master list: {_file_label(path)}."
    return FilmsRead(name=name, policy="credentialed", films=films, provenance=[line], files=[path])


def _without_missing(read: FilmsRead, recipe: Recipe) -> FilmsRead:
    return with_images(read, recipe.root, "exclude") if recipe.skip_missing else read


def _read_boxed(recipe: Recipe, missing: Missing) -> FilmsRead:
    """NIH, RSNA, a hospital's own."""
    if recipe.nih is not None:
        return nih_films(recipe.nih, missing, recipe.images)
    if recipe.rsna is not None:
        return rsna_films(recipe.rsna, recipe.nih_mapping, missing, recipe.images)
    assert recipe.folder is not None
    return read_folder(
        recipe.folder,
        recipe.root,
        recipe.columns,
        finding=recipe.finding,
        name=recipe.own_name,
        policy=cast(Policy, recipe.policy or "credentialed"),
        missing=missing,
    )


def file_digest(path: Path) -> str:
    """SHA-256 of a file as it lies there."""
    with open_file(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _file_label(path: Path) -> str:
    """A file as provenance names it, like `Table.label`."""
    return f"{path.name} (sha256 {file_digest(path)[:8]})"
