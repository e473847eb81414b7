"""Drawing films: the numbers of the scheme, the account of what each step leaves out, and lots.

What both kinds of sets share stands first; sets of films with boxes of their own are drawn by lot,
without regard to the order they are listed in. The paper's sets are drawn in `authors.py`.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import msgspec
import numpy as np
import polars as pl

from overread.benchmarks.grounding.build.films import (
    ABSENT,
    LABELS,
    NOT_MENTIONED,
    PRESENT,
    UNCERTAIN,
    FilmsRead,
    film_schema,
)
from overread.benchmarks.grounding.build.manifest import Built, Exclusion
from overread.benchmarks.grounding.cases import GroundingCase
from overread.benchmarks.grounding.prompts import FINDINGS, NORMAL
from overread.case import BadInput, Box
from overread.imaging import (
    MINIMUM_SIDE,
    RESOLUTION,
    irrelevant_boxes,
    rescale_box,
    within_square,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

Rules = Literal["authors", "corrected"]
FRONTAL: Final = ("PA", "AP")
# What a case takes over from its film, beside the image.
FACTS: Final = ("report_path", "dicom_id", "subject_id", "study_id", "view", "age", "gender")


class Sampling(msgspec.Struct, frozen=True, kw_only=True):
    """How many cases of each kind, from which seed. The defaults are the paper's (GROUNDING 2)."""

    # The square all boxes stand in, and the least side of a box there, in pixels.
    resolution: int = RESOLUTION
    minimum_side: int = MINIMUM_SIDE
    # Boxes of one finding at most.
    mscxr_per_finding: int = 100
    # Half of them with the finding, half without; and films without any finding.
    mimic_per_finding: int = 100
    mimic_normals: int = 100
    chexpert_per_finding: int = 100
    chexpert_normals: int = 100
    # Sentences, and the shares of errors that need the image and of those that do not; the rest
    # are sentences without an error.
    rexerr_total: int = 800
    rexerr_image: float = 0.70
    rexerr_text: float = 0.15
    findings: tuple[str, ...] = FINDINGS
    seed: int = 42

    def __post_init__(self) -> None:
        for field in self.__struct_fields__:
            counted = field.endswith(("_per_finding", "_normals", "_total", "seed", "_side"))
            if counted and getattr(self, field) < 0:
                raise BadInput(f"{field} is {getattr(self, field)}; it is 0 or more.")
        if not 0 < self.resolution <= 10_000:
            raise BadInput(f"resolution is {self.resolution}; it is from 1 to 10000 pixels.")
        shares = (self.rexerr_image, self.rexerr_text)
        if not (min(shares) >= 0 and sum(shares) <= 1):
            raise BadInput(
                f"rexerr_image and rexerr_text are {shares}; shares of at most 1 in all."
            )
        strange = [finding for finding in self.findings if finding not in FINDINGS]
        if strange or len(set(self.findings)) < len(self.findings):
            named = ", ".join(self.findings)
            raise BadInput(f"findings are {named}; each is one of {', '.join(FINDINGS)}, once.")


class Account:
    """What one source gives and loses: rows in = rows kept + rows of all exclusions."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.exclusions: list[Exclusion] = []
        # Of each box, or each film's boxes that are hidden together, the largest shorter side at
        # the working resolution: what another minimum would keep.
        self.sides: list[float] = []

    def drop(self, reason: str, count: int) -> None:
        """Note rows left out; a step that leaves out nothing is not mentioned."""
        if count:
            self.exclusions.append(Exclusion(self.source, reason, count))

    def keep(self, frame: pl.DataFrame, condition: pl.Expr, reason: str) -> pl.DataFrame:
        """The rows for which the condition holds, in their order; the others are noted."""
        kept = frame.filter(condition)
        self.drop(reason, frame.height - kept.height)
        return kept


def complete() -> pl.Expr:
    """Whether a film's age and sex are known."""
    return pl.col("age").is_not_null() & pl.col("gender").is_not_null()


# ---------------------------------------------------------------- swaps
# Another patient's film for every case: one of the same label, and one of the opposite label.


class SwapPool:
    """The films a case may be swapped to, found by label and patient without searching again.

    All frontals with age and sex, of every split, those of the probe set included.
    """

    def __init__(self, films: pl.DataFrame) -> None:
        self._films = films
        self._paths = films["image_path"]
        self._codes: dict[str, int] = {}
        codes = (self._codes.setdefault(s, len(self._codes)) for s in films["subject_id"])
        self._patients = np.fromiter(codes, dtype=np.int32, count=films.height)
        self._found: dict[tuple[str, int], NDArray[np.intp]] = {}
        self._all = np.arange(films.height)

    def path(self, place: np.intp) -> str:
        found: str = self._paths[int(place)]
        return found

    def labelled(self, finding: str, value: int, subject: str | None) -> NDArray[np.intp]:
        """Places of the films with that value of a finding, but for one patient's."""
        key = (finding, value)
        if key not in self._found:
            self._found[key] = _flagged_places(self._films[finding] == value)
        return self._others(self._found[key], subject)

    def abnormal(self, subject: str | None) -> NDArray[np.intp]:
        """Places of the films with any finding present, but for one patient's."""
        key = ("any finding", PRESENT)
        if key not in self._found:
            some = pl.any_horizontal(pl.col(FINDINGS) == PRESENT).alias("some")
            self._found[key] = _flagged_places(self._films.select(some)["some"])
        return self._others(self._found[key], subject)

    def any(self, subject: str | None) -> NDArray[np.intp]:
        """Places of all films but for one patient's."""
        return self._others(self._all, subject)

    def _others(self, places: NDArray[np.intp], subject: str | None) -> NDArray[np.intp]:
        code = self._codes.get(subject or "")
        return places if code is None else places[self._patients[places] != code]


def _flagged_places(flags: pl.Series) -> NDArray[np.intp]:
    return flags.arg_true().to_numpy().astype(np.intp)


# What a set's notes say of such cases.
UNMENTIONED: Final = "labelled 0, of films that do not mention the finding [D22]"


def counted_notes(counts: Mapping[str, int], cases: int) -> Iterator[str]:
    """What holds for how many cases, where it holds for any."""
    return (f"Cases {what}: {count} of {cases}." for what, count in counts.items() if count)


# ---------------------------------------------------------------- lots


class Pairs(NamedTuple):
    """Images in the order of their lots; `unpaired` of those present have no counterpart."""

    present: list[str]
    absent: list[str]
    unpaired: int


def by_lot(films: pl.DataFrame, seed: int, about: str) -> pl.DataFrame:
    """One film per `patient`, boxed ones first, in the order of a lot.

    The lot of a film is a digest of the seed, of what is drawn for, and of `image_path`: it stays
    the same when rows move, and films join or leave.
    """
    start = hashlib.sha256(f"{seed}|{about}|".encode())

    def lot(name: str) -> bytes:
        digest = start.copy()
        digest.update(name.encode())
        return digest.digest()

    lots = pl.Series([lot(name) for name in films["image_path"]], dtype=pl.Binary)
    ordered = films.with_columns(lot=lots).sort(["boxed", "lot"], descending=[True, False])
    return ordered.unique("patient", keep="first", maintain_order=True)


def shares(total: int, room: Mapping[str, int]) -> dict[str, int]:
    """A total spread over strata as evenly as their room allows."""
    given = dict.fromkeys(room, 0)
    left = min(total, sum(room.values()))
    while left:
        for name in room:
            if left and given[name] < room[name]:
                given[name] += 1
                left -= 1
    return given


def paired(films: pl.DataFrame, most: int) -> Pairs:
    """Films of `label` 1 and 0, as many of each within every view, at most `most` of each label.

    `films` has `image_path`, `view`, `label` and `boxed`, in the order of their lots. Boxed films
    that found no counterpart are added to those present while there are fewer than `most`.
    """
    columns = films.select("image_path", pl.col("view").fill_null(""), "label", "boxed")
    strata: dict[str, tuple[list[str], list[str]]] = {}
    boxed: list[str] = []
    for image, view, label, has_box in columns.iter_rows():
        absent, present = strata.setdefault(view, ([], []))
        (present if label else absent).append(image)
        if has_box and label:
            boxed.append(image)
    names = sorted(strata)
    quota = shares(most, {view: min(map(len, strata[view])) for view in names})
    chosen = [
        {image for view in names for image in strata[view][one][: quota[view]]} for one in (0, 1)
    ]
    paired_only = len(chosen[1])
    for image in boxed:
        if len(chosen[1]) < most:
            chosen[1].add(image)
    order = columns["image_path"].to_list()
    absent, present = ([image for image in order if image in kept] for kept in chosen)
    return Pairs(present, absent, len(present) - paired_only)


# ---------------------------------------------------------------- boxes that can be masked
# Which boxes of a dataset can be masked, and how many cannot and why.


class Boxed(NamedTuple):
    """Boxes at the working resolution, hidden together, and the dataset's words for them."""

    boxes: tuple[Box, ...]
    label_text: str | None


# By finding and image.
Boxes = dict[str, dict[str, list[Boxed]]]


def usable_boxes(
    read: FilmsRead,
    films: pl.DataFrame,
    account: Account,
    edition: Rules,
    resolution: int,
    minimum_side: int,
) -> Boxes:
    """Boxes that can be masked; the others are counted.

    `corrected` hides all boxes of a finding at once, largest first, if one of them is large enough;
    `authors` makes a mask of each that is (GROUNDING 2.2).
    """
    if read.boxes is None:
        return {}
    wanted = read.boxes["image_path"].unique().implode()
    here = films.filter(pl.col("image_path").is_in(wanted)).to_dicts()
    labels = {film["image_path"]: film for film in here}
    lost: Counter[str] = Counter()
    grouped: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for box in read.boxes.to_dicts():
        finding, image = box["finding"], box["image_path"]
        if image not in labels:
            lost["a box on a film left out"] += 1
        elif labels[image].get(finding) != PRESENT:
            lost["a box of a finding its film is not labelled with"] += 1
        else:
            grouped.setdefault((finding, image), []).append(box)
    found: Boxes = {}
    for (finding, image), boxes in grouped.items():
        for some in [boxes] if edition == "corrected" else [[box] for box in boxes]:
            side = max(_least_side(box, resolution) for box in some)
            account.sides.append(side)
            if side < minimum_side:
                lost[f"box below {minimum_side} pixels of {resolution} [D12]"] += len(some)
            else:
                place = found.setdefault(finding, {}).setdefault(image, [])
                place.append(_scaled_boxes(some, edition, resolution))
    for reason, count in lost.items():
        account.drop(reason, count)
    return found


def _least_side(box: dict[str, Any], resolution: int) -> float:
    """The shorter side at the working resolution, not yet rounded [D12]."""
    across, down = resolution / box["image_width"], resolution / box["image_height"]
    return float(min(box["w"] * across, box["h"] * down))


def _scaled_boxes(boxes: list[dict[str, Any]], edition: Rules, resolution: int) -> Boxed:
    scaled = []
    for box in boxes:
        sides = (box["x"], box["y"], box["w"], box["h"], box["image_width"], box["image_height"])
        one = rescale_box(*sides, resolution, 0)
        assert one is not None
        scaled.append(within_square(one, resolution) if edition == "corrected" else one)
    scaled.sort(key=lambda box: -box.w * box.h)
    # A speck beside a large box may come out with no pixel at all.
    scaled = [box for box in scaled if box.w > 0 and box.h > 0] or scaled[:1]
    texts = dict.fromkeys(box["label_text"] for box in boxes if box["label_text"])
    return Boxed(tuple(scaled), "; ".join(texts) or None)


# ---------------------------------------------------------------- probe sets
# Probe sets from films that carry boxes: NIH, RSNA, or a hospital's own (GROUNDING 2, adapted).
#
# For each finding, films that have it and as many that do not, both alike in their views: portable
# AP films are of sicker people, so a reader that only tells AP from PA would look as if it saw the
# finding. Films with a usable box come first among those that have it; they alone can be masked.


class _DrawnCase(NamedTuple):
    """One case to be."""

    image: str
    finding: str
    label: int
    boxed: Boxed | None = None


def boxed_probe_set(
    read: FilmsRead,
    *,
    edition: Rules = "corrected",
    seed: int = 42,
    per_label: int = 100,
    normals: int = 100,
    findings: Sequence[str] | None = None,
    resolution: int = RESOLUTION,
    minimum_side: int = MINIMUM_SIDE,
) -> Built:
    """At most `per_label` films with and without each finding, then `normals` without any.

    A patient gives one film to a finding, by lot, a boxed one if there is one. Films with and
    without the finding are paired within each view; boxed films left over come in unpaired, up to
    `per_label`, since masks need no counterpart. Which films are drawn depends on their names and
    the seed alone, not on the order of the rows.

    `corrected` takes as absent only what is known to be (0), and masks all boxes of a finding at
    once: with another box in sight an answer that stays is right. `authors` fills absent
    films up with those that do not mention the finding [D22], and makes a case of each box (2.2).
    """
    account = Account(read.name)
    frontal = pl.col("view").is_in(FRONTAL) | pl.col("view").is_null()
    films = account.keep(read.films, frontal, "view not PA or AP").sort("image_path")
    # Where patients are unknown each film counts as one.
    films = films.with_columns(patient=pl.coalesce("subject_id", "image_path"))
    boxes = usable_boxes(read, films, account, edition, resolution, minimum_side)
    drawn: list[_DrawnCase] = []
    unpaired = 0
    for finding in _asked_findings(films, findings):
        if finding == NORMAL:
            drawn += _draw_normals(films, normals, seed)
            continue
        uncertain = int((films[finding] == UNCERTAIN).sum())
        account.drop(f"{finding}: uncertain", uncertain)
        found, alone = _draw_finding(
            films, boxes.get(finding, {}), finding, per_label, edition, seed
        )
        drawn += found
        unpaired += alone
    if not drawn:
        lost = "; ".join(f"{each.reason}, {each.count}" for each in account.exclusions)
        raise BadInput(
            f"{read.name}: no case can be drawn ({lost or 'no film is labelled with a finding'}). "
            "Give films with and without a finding, or with boxes."
        )
    cases = _drawn_cases(read.name, drawn, films, resolution)
    used = len({case.image_path for case in cases})
    account.drop("not drawn (one film per patient, caps, views)", films.height - used)
    cases = _with_both_swaps(cases, films, seed)
    return Built(
        name=read.name,
        policy=read.policy,
        cases=cases,
        exclusions=[*read.exclusions, *account.exclusions],
        provenance=[*read.provenance, *_set_notes(cases, films, unpaired)],
        sides=account.sides,
    )


def _asked_findings(films: pl.DataFrame, findings: Sequence[str] | None) -> list[str]:
    """The findings that some film has; normal films last."""
    own = [name for name in films.columns if name not in film_schema() and name != "patient"]
    known = [*(name for name in LABELS if name != NORMAL), *own, NORMAL]
    strange = [name for name in findings or () if name not in known]
    if strange:
        raise BadInput(f'"{strange[0]}" is no finding of these films; {", ".join(known)} are.')
    chosen = known if findings is None else [name for name in known if name in findings]
    return [name for name in chosen if (films[name] == PRESENT).any()]


# ---------------------------------------------------------------- cases


def _draw_finding(
    films: pl.DataFrame,
    boxes: dict[str, list[Boxed]],
    finding: str,
    per_label: int,
    edition: Rules,
    seed: int,
) -> tuple[list[_DrawnCase], int]:
    """Films with the finding, then films without it; and how many of the first are unpaired."""
    value = pl.col(finding)
    few = films.filter(value == ABSENT)["patient"].n_unique() < per_label
    codes = [PRESENT, ABSENT] + [NOT_MENTIONED] * (edition == "authors" and few)
    pool = films.filter(value.is_in(codes)).select(
        "image_path",
        "patient",
        "view",
        label=(value == PRESENT).cast(pl.Int8),
        boxed=pl.col("image_path").is_in(list(boxes)),
    )
    pairs = paired(by_lot(pool, seed, finding), per_label)
    drawn: list[_DrawnCase] = []
    for image in pairs.present:
        spots: list[Boxed | None] = [*boxes.get(image, ())] or [None]
        drawn += [_DrawnCase(image, finding, 1, spot) for spot in spots]
    return drawn + [_DrawnCase(image, finding, 0) for image in pairs.absent], pairs.unpaired


def _draw_normals(films: pl.DataFrame, most: int, seed: int) -> list[_DrawnCase]:
    """Films without any finding, spread over the views."""
    pool = films.filter(pl.col(NORMAL) == PRESENT)
    pool = pool.select("image_path", "patient", pl.col("view").fill_null(""), boxed=False)
    drawn = by_lot(pool, seed, NORMAL)
    room = dict(sorted(Counter(drawn["view"]).items()))
    left = shares(most, room)
    kept = []
    for image, view in drawn.select("image_path", "view").iter_rows():
        if left[view]:
            left[view] -= 1
            kept.append(_DrawnCase(image, NORMAL, 1))
    return kept


def _drawn_cases(
    source: str, drawn: list[_DrawnCase], films: pl.DataFrame, resolution: int
) -> list[GroundingCase]:
    images = list({each.image for each in drawn})
    rows = films.filter(pl.col("image_path").is_in(images)).to_dicts()
    film_of = {row["image_path"]: row for row in rows}
    cases = []
    for number, each in enumerate(drawn):
        film = film_of[each.image]
        boxed = each.boxed
        case = GroundingCase(
            case_id=f"{source}_{number:05d}",
            source=source,
            image_path=each.image,
            finding=each.finding,
            label=each.label,
            label_value=film[each.finding],
            **{name: film[name] for name in FACTS},
        )
        if boxed is not None:
            target, *more = boxed.boxes
            control, *elsewhere = irrelevant_boxes(boxed.boxes, resolution)
            case = msgspec.structs.replace(
                case,
                label_text=boxed.label_text,
                box=target,
                irrelevant_box=control,
                more_boxes=tuple(more),
                more_irrelevant_boxes=tuple(elsewhere),
            )
        cases.append(case)
    return cases


def _with_both_swaps(
    cases: list[GroundingCase], films: pl.DataFrame, seed: int
) -> list[GroundingCase]:
    """Another patient's film of the same label (2.5), and one of the opposite label, by lot."""
    import numpy as np

    generator = np.random.default_rng([seed, 2])
    pool = SwapPool(films.with_columns(subject_id=pl.col("patient")))
    given = []
    for case in cases:
        assert case.finding is not None
        assert case.label_value is not None
        patient = case.subject_id or case.image_path
        matching = pool.labelled(case.finding, case.label_value, patient)
        others = matching if matching.size else pool.any(patient)
        opposite = pool.labelled(case.finding, ABSENT if case.label else PRESENT, patient)
        # Two numbers for every case, used or not, so that one case does not move the next.
        first, second = generator.random(2)
        given.append(
            msgspec.structs.replace(
                case,
                swap_image_path=pool.path(others[int(first * others.size)])
                if others.size
                else None,
                swap_match=("label" if matching.size else "any") if others.size else None,
                opposite_image_path=(
                    pool.path(opposite[int(second * opposite.size)]) if opposite.size else None
                ),
            )
        )
    return given


def _set_notes(cases: list[GroundingCase], films: pl.DataFrame, unpaired: int) -> list[str]:
    counts = {
        "with a box that can be masked": sum(case.box is not None for case in cases),
        "with a box and no film without the finding in the same view": unpaired,
        UNMENTIONED: sum(case.label_value == NOT_MENTIONED for case in cases),
        "with a swap that was not matched on their label [D22]": sum(
            case.swap_match != "label" for case in cases
        ),
        "without an image of the opposite label": sum(
            case.opposite_image_path is None for case in cases
        ),
        "of films whose view is not known": sum(case.view is None for case in cases),
        "of films whose patient is not known": sum(case.subject_id is None for case in cases),
    }
    return [f"Swaps come from {films.height} frontal films.", *counted_notes(counts, len(cases))]
