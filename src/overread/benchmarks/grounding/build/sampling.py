"""Drawing films: the numbers of the scheme, the account of what each step leaves out, and swaps.

What both kinds of sets share stands first; sets of films with boxes of their own are drawn by lot,
without regard to the order they are listed in. The paper's sets are drawn in `authors.py`.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from overread import imaging
from overread.benchmarks.grounding.build import films as film_tables
from overread.benchmarks.grounding.build.films import ABSENT, NOT_MENTIONED, PRESENT, FilmsRead
from overread.benchmarks.grounding.build.manifest import Built, Exclusion
from overread.benchmarks.grounding.cases import GroundingCase
from overread.benchmarks.grounding.prompts import FINDINGS, NORMAL, SENTENCE_SOURCE
from overread.case import BadInput, Box

Rules = Literal["authors", "corrected"]
FRONTAL: Final = ("PA", "AP")
# What a case takes over from its film, beside the image.
FACTS: Final = ("report_path", "dicom_id", "subject_id", "study_id", "view", "age", "gender")


class Sampling(msgspec.Struct, frozen=True, kw_only=True):
    """How many cases of each kind, by which rules, from which seed; as the paper has them.

    The defaults are those of GROUNDING 2; a recipe has checked what else may stand here.
    """

    edition: Rules = "corrected"
    seed: int = 42
    # The least side of a box, in pixels of the square all boxes stand in.
    minimum_side: int = imaging.MINIMUM_SIDE
    # Boxes of one finding of MS-CXR at most.
    boxes_per_finding: int = 100
    # Half of them with the finding, half without; and films without any finding.
    per_finding: int = 100
    normals: int = 100
    # Sentences of ReXErr, with and without errors.
    sentences: int = 800


class Account:
    """What one source gives and loses: rows in = rows kept + rows of all exclusions."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._lost: Counter[str] = Counter()
        # Of each box, or each film's boxes that are hidden together, the largest shorter side at
        # the working resolution: what another minimum would keep.
        self.sides: list[float] = []

    def drop(self, reason: str, count: int = 1) -> None:
        """Note rows left out; a step that leaves out nothing is not mentioned."""
        if count:
            self._lost[reason] += count

    def keep(
        self, frame: pl.DataFrame, condition: pl.Expr, reason: str, of: str | None = None
    ) -> pl.DataFrame:
        """The rows for which the condition holds, in their order; the others are noted.

        With `of` it is not rows that are counted but what that column names, lost with its last.
        """
        kept = frame.filter(condition)
        before, after = (one.height if of is None else one[of].n_unique() for one in (frame, kept))
        self.drop(reason, before - after)
        return kept

    @property
    def exclusions(self) -> list[Exclusion]:
        return [Exclusion(self.source, reason, count) for reason, count in self._lost.items()]


# ---------------------------------------------------------------- cases

# What ids of cases begin with, where it is not the source.
_PREFIXES: Final = {"ms_cxr": "mscxr", "mimic_cxr": "mimic"}


def case_of(
    film: Mapping[str, Any], number: int, source: str, finding: str | None, label: int, **own: Any
) -> GroundingCase:
    """A case of a film: what the film says of itself, and what is the case's own."""
    facts: dict[str, Any] = {name: film[name] for name in ("image_path", *FACTS)}
    facts["case_id"] = f"{_PREFIXES.get(source, source)}_{number:05d}"
    facts["label_value"] = None if finding is None else film.get(finding)
    return GroundingCase(source=source, finding=finding, label=label, **facts | own)


def with_boxes(case: GroundingCase, boxes: Sequence[Box]) -> GroundingCase:
    """A case whose boxes are hidden together, with as many elsewhere."""
    target, *more = boxes
    control, *elsewhere = imaging.irrelevant_boxes(boxes)
    return msgspec.structs.replace(
        case,
        box=target,
        irrelevant_box=control,
        more_boxes=tuple(more),
        more_irrelevant_boxes=tuple(elsewhere),
    )


# What a set's notes say of such cases.
UNMENTIONED: Final = "labelled 0, of films that do not mention the finding [D22]"


def built_set(
    read: FilmsRead,
    name: str,
    cases: list[GroundingCase],
    accounts: Iterable[Account],
    notes: Iterable[str],
    counts: Mapping[str, Callable[[GroundingCase], bool] | int],
    box_key: str,
) -> Built:
    """The set with all that was said and left out; `counts` are noted where they hold for any.

    `box_key` is the column that tells whose a box is.
    """
    sums = {
        what: count if isinstance(count, int) else sum(map(count, cases))
        for what, count in counts.items()
    }
    counted = (f"Cases {what}: {count} of {len(cases)}." for what, count in sums.items() if count)
    accounts = list(accounts)
    return Built(
        name=name,
        policy=read.policy,
        cases=cases,
        exclusions=[*read.exclusions, *(one for each in accounts for one in each.exclusions)],
        provenance=[*read.provenance, *notes, *counted],
        sides=[side for account in accounts for side in account.sides],
        files=read.files,
        boxes={} if read.boxes is None else _known_boxes(read.boxes, box_key, cases),
    )


def _known_boxes(
    boxes: pl.DataFrame, key: str, cases: Iterable[GroundingCase]
) -> dict[str, list[Box]]:
    """Every box of the boxed cases' images at the working resolution, small ones too."""
    image_of = {getattr(case, key): case.image_path for case in cases if case.box is not None}
    found: dict[str, list[Box]] = {}
    for name, *sides in boxes.select(key, *film_tables.SIDES, *film_tables.SIZES).iter_rows():
        if name in image_of:
            found.setdefault(image_of[name], []).append(_scaled_box(sides))
    return found


def _scaled_box(sides: Sequence[float]) -> Box:
    """A box in source pixels, and its image's size, at the working resolution, however small."""
    x, y, w, h, width, height = sides
    box = imaging.rescale_box(x, y, w, h, width, height, minimum_side=0)
    assert box is not None
    return box


# ---------------------------------------------------------------- swaps
# Another patient's film for every case: one of the same label, and one of the opposite label.
#
# The first is the swap of GROUNDING 2.5; the second is ours and disturbs none of the paper's draws.

Places = NDArray[np.intp]
_ANY_FINDING: Final = "any finding"


class SwapPool:
    """The films a case may be swapped to, found by label and patient without searching again.

    All frontals with age and sex, of every split, those of the probe set included.
    """

    def __init__(self, films: pl.DataFrame) -> None:
        self._films = films
        self._codes: dict[str, int] = {}
        patients = (self._codes.setdefault(s, len(self._codes)) for s in films["subject_id"])
        self._patients = np.fromiter(patients, dtype=np.int32, count=films.height)
        self._found: dict[tuple[str, int], Places] = {}

    def path(self, places: Places, at: int) -> str | None:
        return str(self._films["image_path"][int(places[at])]) if places.size else None

    def labelled(self, finding: str, value: int, subject: str | None) -> Places:
        """Places of the films with that value of a finding, but for one patient's."""
        key = (finding, value)
        if key not in self._found:
            asked = FINDINGS if finding == _ANY_FINDING else (finding,)
            flags = self._films.select(pl.any_horizontal(pl.col(asked) == value)).to_series()
            self._found[key] = flags.arg_true().to_numpy().astype(np.intp)
        return self._others(self._found[key], subject)

    def any(self, subject: str | None) -> Places:
        """Places of all films but for one patient's."""
        return self._others(np.arange(self._films.height), subject)

    def _others(self, places: Places, subject: str | None) -> Places:
        code = self._codes.get(subject or "")
        return places if code is None else places[self._patients[places] != code]


def with_swaps(
    cases: Iterable[GroundingCase],
    pool: SwapPool,
    draw: Callable[[int, int], tuple[int, int]],
    *,
    by_label: bool = False,
    abnormal: bool = False,
) -> list[GroundingCase]:
    """Give each case its swap and, where there is one, a film of the opposite label.

    `draw` gives a place among the films of each kind, case by case in manifest order.

    A swap matches the finding on the label of the case's own film [D22], or, `by_label`, on `label`
    as the authors do, which for a sentence says whether it holds an error, so that one without an
    error goes to a film without its finding [D2]. With no match, or no finding, any other patient's
    film. `swap_match` is "label" where the swap keeps the case's label, "free" where the case has
    no finding to match (a sentence about none), else "any".

    The opposite of present is a film without the finding (0, never one that does not mention it),
    of absent one with it, of normal one that is not or, `abnormal`, one with any finding. A
    sentence has none.
    """
    swapped = []
    for case in cases:
        patient = case.subject_id or case.image_path
        value = case.label if by_label else case.label_value
        matching = opposite = np.empty(0, np.intp)
        if case.finding is not None and value is not None:
            matching = pool.labelled(case.finding, value, patient)
        if case.finding is not None and case.source != SENTENCE_SOURCE:
            sick = abnormal and case.finding == NORMAL
            wanted = (_ANY_FINDING, PRESENT) if sick else (case.finding, int(not case.label))
            opposite = pool.labelled(*wanted, patient)
        others = matching if matching.size else pool.any(patient)
        first, second = draw(others.size, opposite.size)
        # Not mentioned counts as absent. Only the authors' sentences do not keep it [D2].
        kept = value == case.label_value or (value == ABSENT and case.label_value != PRESENT)
        unmatched = "free" if case.finding is None else "any"
        match = "label" if matching.size and kept else unmatched
        swapped.append(
            msgspec.structs.replace(
                case,
                swap_image_path=pool.path(others, first),
                swap_match=match if others.size else None,
                opposite_image_path=pool.path(opposite, second),
            )
        )
    return swapped


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
    start = f"{seed}|{about}|"
    lots = [hashlib.sha256(f"{start}{name}".encode()).digest() for name in films["image_path"]]
    drawn = films.with_columns(lot=pl.Series(lots, dtype=pl.Binary))
    ordered = drawn.sort(["boxed", "lot"], descending=[True, False])
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
    for image, view, label, _ in columns.iter_rows():
        strata.setdefault(view, ([], []))[bool(label)].append(image)
    names = sorted(strata)
    quota = shares(most, {view: min(map(len, strata[view])) for view in names})
    absent, present = (
        {image for view in names for image in strata[view][label][: quota[view]]}
        for label in (0, 1)
    )
    together = len(present)
    for image, _, label, boxed in columns.iter_rows():
        if boxed and label and len(present) < most:
            present.add(image)
    order = columns["image_path"].to_list()
    found, without = ([image for image in order if image in kept] for kept in (present, absent))
    return Pairs(found, without, len(found) - together)


# ---------------------------------------------------------------- boxes that can be masked
# Which boxes of a dataset can be masked, and how many cannot and why.


class Boxed(NamedTuple):
    """Boxes at the working resolution, hidden together, and the dataset's words for them."""

    boxes: tuple[Box, ...]
    label_text: str | None


def usable_boxes(
    read: FilmsRead, films: pl.DataFrame, account: Account, options: Sampling
) -> dict[str, dict[str, list[Boxed]]]:
    """Boxes that can be masked, by finding and image; the others are counted.

    `corrected` hides all boxes of a finding at once, largest first, if one of them is large enough;
    `authors` makes a mask of each that is (GROUNDING 2.2).
    """
    found: dict[str, dict[str, list[Boxed]]] = {}
    if read.boxes is None:
        return found
    wanted = read.boxes["image_path"].unique().implode()
    here = films.filter(pl.col("image_path").is_in(wanted)).to_dicts()
    labels = {film["image_path"]: film for film in here}
    grouped: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for box in read.boxes.to_dicts():
        finding, image = box["finding"], box["image_path"]
        if image not in labels:
            account.drop("a box on a film left out")
        elif labels[image].get(finding) != PRESENT:
            account.drop("a box of a finding its film is not labelled with")
        else:
            grouped.setdefault((finding, image), []).append(box)
    for (finding, image), boxes in grouped.items():
        for some in [boxes] if options.edition == "corrected" else [[box] for box in boxes]:
            side = max(_least_side(box) for box in some)
            account.sides.append(side)
            if side < options.minimum_side:
                account.drop(too_small(options), len(some))
            else:
                place = found.setdefault(finding, {}).setdefault(image, [])
                place.append(_hidden_together(some, clipped=options.edition == "corrected"))
    return found


def too_small(options: Sampling) -> str:
    return f"box below {options.minimum_side} pixels of {imaging.RESOLUTION} [D12]"


def _least_side(box: dict[str, Any]) -> float:
    """The shorter side at the working resolution, not yet rounded [D12]."""
    across, down = imaging.RESOLUTION / box["image_width"], imaging.RESOLUTION / box["image_height"]
    return float(min(box["w"] * across, box["h"] * down))


def _hidden_together(boxes: list[dict[str, Any]], *, clipped: bool) -> Boxed:
    sides = (*film_tables.SIDES, *film_tables.SIZES)
    scaled = [_scaled_box([box[name] for name in sides]) for box in boxes]
    if clipped:
        scaled = [imaging.within_square(box) for box in scaled]
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


def boxed_probe_set(read: FilmsRead, options: Sampling) -> Built:
    """Half of `per_finding` films with and without each finding, then `normals` without any.

    A patient gives one film to a finding, by lot, a boxed one if there is one. Films with and
    without the finding are paired within each view; boxed films left over come in unpaired, up to
    half of `per_finding`, since masks need no counterpart. Which films are drawn depends on their
    names and the seed alone, not on the order of the rows.

    `corrected` takes as absent only what is known to be (0), and masks all boxes of a finding at
    once: with another box in sight an answer that stays is right. `authors` fills absent
    films up with those that do not mention the finding [D22], and makes a case of each box (2.2).
    """
    account = Account(read.name)
    frontal = pl.col("view").is_in(FRONTAL) | pl.col("view").is_null()
    films = account.keep(read.films, frontal, "view not PA or AP").sort("image_path")
    own = [name for name in films.columns if name not in film_tables.FILM_SCHEMA]
    # Where patients are unknown each film counts as one.
    films = films.with_columns(patient=pl.coalesce("subject_id", "image_path"))
    boxes = usable_boxes(read, films, account, options)
    drawn: list[_DrawnCase] = []
    unpaired = 0
    for finding in (*FINDINGS, *own):
        if not (films[finding] == PRESENT).any():
            continue
        account.drop(f"{finding}: uncertain", int((films[finding] == film_tables.UNCERTAIN).sum()))
        found, alone = _draw_finding(films, boxes.get(finding, {}), finding, options)
        drawn += found
        unpaired += alone
    drawn += _draw_normals(films, options)
    if not drawn:
        lost = "; ".join(f"{each.reason}, {each.count}" for each in account.exclusions)
        raise BadInput(
            f"{read.name}: no case can be drawn ({lost or 'no film is labelled with a finding'}). "
            "Give films with and without a finding, or with boxes."
        )
    images = {each.image for each in drawn}
    account.drop("not drawn (one film per patient, caps, views)", films.height - len(images))
    rows = films.filter(pl.col("image_path").is_in(images)).to_dicts()
    film_of = {row["image_path"]: row for row in rows}
    cases = []
    for number, (image, finding, label, boxed) in enumerate(drawn):
        text = None if boxed is None else boxed.label_text
        case = case_of(film_of[image], number, read.name, finding, label, label_text=text)
        cases.append(case if boxed is None else with_boxes(case, boxed.boxes))
    generator = np.random.default_rng([options.seed, 2])

    def draw(swaps: int, opposites: int) -> tuple[int, int]:
        # Two numbers for every case, used or not, so that one case does not move the next.
        first, second = generator.random(2)
        return int(first * swaps), int(second * opposites)

    pool = SwapPool(films.with_columns(subject_id=pl.col("patient")))
    return built_set(
        read,
        read.name,
        with_swaps(cases, pool, draw),
        [account],
        [f"Swaps come from {films.height} frontal films."],
        {
            "with a box that can be masked": lambda case: case.box is not None,
            "with a box and no film without the finding in the same view": unpaired,
            UNMENTIONED: lambda case: case.label_value == NOT_MENTIONED,
            "with a swap that was not matched on their label [D22]": (
                lambda case: case.swap_match != "label"
            ),
            "without an image of the opposite label": (
                lambda case: case.opposite_image_path is None
            ),
            "of films whose view is not known": lambda case: case.view is None,
            "of films whose patient is not known": lambda case: case.subject_id is None,
        },
        "image_path",
    )


def _draw_finding(
    films: pl.DataFrame, boxes: Mapping[str, list[Boxed]], finding: str, options: Sampling
) -> tuple[list[_DrawnCase], int]:
    """Films with the finding, then films without it; and how many of the first are unpaired."""
    value, most = pl.col(finding), options.per_finding // 2
    few = films.filter(value == ABSENT)["patient"].n_unique() < most
    wanted = [PRESENT, ABSENT] + [NOT_MENTIONED] * (options.edition == "authors" and few)
    pool = films.filter(value.is_in(wanted)).select(
        "image_path",
        "patient",
        "view",
        label=(value == PRESENT).cast(pl.Int8),
        boxed=pl.col("image_path").is_in(list(boxes)),
    )
    pairs = paired(by_lot(pool, options.seed, finding), most)
    drawn = [
        _DrawnCase(image, finding, 1, spot)
        for image in pairs.present
        for spot in boxes.get(image) or (None,)
    ]
    return drawn + [_DrawnCase(image, finding, 0) for image in pairs.absent], pairs.unpaired


def _draw_normals(films: pl.DataFrame, options: Sampling) -> list[_DrawnCase]:
    """Films without any finding, spread over the views."""
    pool = films.filter(pl.col(NORMAL) == PRESENT)
    pool = pool.select("image_path", "patient", pl.col("view").fill_null(""), boxed=False)
    drawn = by_lot(pool, options.seed, NORMAL)
    left = shares(options.normals, dict(sorted(Counter(drawn["view"]).items())))
    kept = []
    for image, view in drawn.select("image_path", "view").iter_rows():
        if left[view]:
            left[view] -= 1
            kept.append(_DrawnCase(image, NORMAL, 1))
    return kept
