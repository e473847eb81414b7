"""What a probe set is to be built from. One kind of set at a time.

Which options go with which kind is checked before a file is opened.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal, cast, get_args

import msgspec

from overread.benchmarks.grounding.boxes import RESOLUTION
from overread.benchmarks.grounding.build.films_read import Missing
from overread.benchmarks.grounding.build.scheme import Rules
from overread.case import BadInput, Policy

__all__ = ["KINDS", "Labeler", "Recipe"]

Labeler = Literal["chexpert", "negbio"]

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
