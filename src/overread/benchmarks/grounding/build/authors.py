"""The paper's probe sets from tables of films, boxes and sentences (GROUNDING 2).

`authors` draws exactly what the authors' builder draws. `corrected` draws by the same scheme from
the same stream, with three rules put right: swaps match the label of the case's own film [D2, D22],
no MIMIC case is of a patient of the MS-CXR cases [D32], and no case asks about a missing sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from overread.benchmarks.grounding.build import films as film_tables
from overread.benchmarks.grounding.build import sampling
from overread.benchmarks.grounding.build.films import ABSENT, NOT_MENTIONED, PRESENT, FilmsRead
from overread.benchmarks.grounding.build.manifest import IMAGE_ERRORS, TEXT_ERRORS, Built
from overread.benchmarks.grounding.build.sampling import FRONTAL, Account, Sampling
from overread.benchmarks.grounding.cases import GroundingCase
from overread.benchmarks.grounding.prompts import FINDINGS, MSCXR_FINDINGS, NORMAL, SENTENCE_SOURCE
from overread.case import BadInput, Box
from overread.imaging import RESOLUTION

# ---------------------------------------------------------------- the stream
# The builder's random stream: every draw of a probe set comes from one seed (GROUNDING 2.1).


_SEEDS = 2**31


class Stream:
    """One PCG64 generator; each sample takes one integer from it as the seed of its own draw.

    A sample is what `DataFrame.sample(n, random_state=integer)` of pandas gives: the MT19937
    generator of that seed chooses positions without replacement. The order of the samples is part
    of the protocol, since each moves the stream on by one. Films of the opposite label come from a
    generator of their own, so that the paper's draws stay as they are.
    """

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)
        self._opposites = np.random.default_rng([seed, 1])

    def sample(self, available: int, size: int) -> NDArray[np.intp]:
        """Positions of min(size, available) rows out of `available`, in the order drawn.

        With nothing to sample the stream stays where it is.
        """
        size = min(size, available)
        if size <= 0:
            return np.empty(0, dtype=np.intp)
        seed = int(self._generator.integers(_SEEDS))
        chosen = np.random.RandomState(seed).choice(available, size=size, replace=False)
        return chosen.astype(np.intp, copy=False)

    def rows(self, films: pl.DataFrame, size: int) -> list[dict[str, Any]]:
        """A sample of a table's rows."""
        return films[self.sample(films.height, size)].to_dicts()

    def swap(self, swaps: int, opposites: int) -> tuple[int, int]:
        """Positions of a case's swap and of its opposite; 0 where there is none."""
        first = int(self.sample(swaps, 1)[0]) if swaps else 0
        return first, int(self._opposites.integers(opposites)) if opposites else 0


# ---------------------------------------------------------------- cases from labels
# Cases from labels alone: MIMIC-CXR and CheXpert (GROUNDING 2.3, 2.6).
#
# For each finding films with and without it, then films that are normal; one film per patient and
# finding. One film may serve several findings.


def draw_by_label(
    pool: pl.DataFrame,
    stream: Stream,
    options: Sampling,
    source: str,
    *,
    pad: bool,
    findings: Sequence[str] = FINDINGS,
) -> list[GroundingCase]:
    """Present then absent films of each finding, half of `per_finding` each, then the normals.

    With `pad`, films that do not mention a finding join those without it where these are of too
    few patients; the draw is from both together, and both are labelled 0 [D22]. `label_value`
    keeps the code.
    """
    half = options.per_finding // 2
    drawn: list[tuple[str, int, dict[str, Any]]] = []
    for finding in findings:
        present = _one_per_patient(pool, finding, PRESENT)
        drawn += [(finding, 1, row) for row in stream.rows(present, half)]
        absent = _one_per_patient(pool, finding, ABSENT)
        if pad and absent.height < half:
            unmentioned = _one_per_patient(pool, finding, NOT_MENTIONED)
            absent = _first_of_each(absent.vstack(unmentioned))
        drawn += [(finding, 0, row) for row in stream.rows(absent, half)]
    normal = _one_per_patient(pool, NORMAL, PRESENT)
    drawn += [(NORMAL, 1, row) for row in stream.rows(normal, options.normals)]
    return [
        sampling.case_of(row, number, source, finding, label)
        for number, (finding, label, row) in enumerate(drawn)
    ]


def _one_per_patient(pool: pl.DataFrame, finding: str, value: int) -> pl.DataFrame:
    return _first_of_each(pool.filter(pl.col(finding) == value))


def _first_of_each(films: pl.DataFrame) -> pl.DataFrame:
    return films.unique("subject_id", keep="first", maintain_order=True)


# ---------------------------------------------------------------- cases from boxes
# Cases from MS-CXR, the only ones that can be masked (GROUNDING 2.2).
#
# `authors` makes one of each box; `corrected` one of each film and finding, and masks all its
# boxes.


# The categories as MS-CXR writes them.
_CATEGORIES: Final = {name.replace("_", " ").title(): name for name in MSCXR_FINDINGS}
_SCALED: Final = ("box_x", "box_y", "box_w", "box_h")


def draw_boxes(
    boxes: pl.DataFrame, films: pl.DataFrame, options: Sampling, stream: Stream, account: Account
) -> list[GroundingCase]:
    """At most `boxes_per_finding` boxes of each finding, findings in order of first appearance.

    In the authors' code a box whose film is unknown, or has no age or sex, is joined to nothing,
    has no view and so goes with the laterals. Here each has its own reason.

    In `corrected` every case has all boxes of its finding on its film, and each film and finding
    once. The draws are the authors': a box whose film and finding another drawn one stands for is
    left.
    """
    # At the working resolution, each axis on its own, not yet rounded.
    across, down = (RESOLUTION / pl.col(f"image_{side}") for side in ("width", "height"))
    sides = zip(_SCALED, "xywh", (across, down, across, down), strict=True)
    finding = pl.col("category").replace_strict(_CATEGORIES, default=None, return_dtype=pl.String)
    scaled = boxes.with_columns(
        *((pl.col(side) * scale).alias(name) for name, side, scale in sides), finding=finding
    )
    shorter = pl.min_horizontal("box_w", "box_h")
    account.sides += scaled.select(shorter).to_series().to_list()
    kept = account.keep(scaled, shorter >= options.minimum_side, sampling.too_small(options))
    known = pl.col("dicom_id").is_in(films["dicom_id"].implode())
    kept = account.keep(kept, known, "film not in the film list")
    lookup = by_dicom(films).select(*sampling.FACTS, film_path="image_path")
    kept = kept.join(lookup, on="dicom_id", how="left", maintain_order="left")
    kept = account.keep(kept, pl.col("film_path").is_not_null(), "no age or sex")
    kept = account.keep(kept, pl.col("view").is_in(FRONTAL), "view not PA or AP")
    kept = account.keep(kept, pl.col("finding").is_not_null(), "category is none of the eight")
    most = options.boxes_per_finding
    rows: list[dict[str, Any]] = []
    for each in kept["finding"].unique(maintain_order=True):
        rows += stream.rows(kept.filter(pl.col("finding") == each), most)
    account.drop(f"over the cap of {most} per finding", kept.height - len(rows))
    ours = options.edition == "corrected"
    every: dict[tuple[str, str], list[Box]] = {}
    for dicom, name, *lengths in scaled.select("dicom_id", "finding", *_SCALED).iter_rows():
        box = Box(*map(round, lengths))
        if ours and box.w > 0 and box.h > 0:
            every.setdefault((dicom, name), []).append(box)
    cases: dict[Any, GroundingCase] = {}
    for number, row in enumerate(rows):
        film = (row["dicom_id"], row["finding"])
        if (key := film if ours else number) in cases:
            continue
        # Each number half to even on its own, and nothing clipped (step 6).
        box = Box(*(round(row[name]) for name in _SCALED))
        case = sampling.case_of(
            row,
            number,
            "ms_cxr",
            row["finding"],
            1,
            # The authors put their folder's name before MS-CXR's path. The film list knows better
            # where the film stands.
            image_path=row["film_path"] if ours else row["image_path"],
            # A box asserts its finding, whatever the labeler made of the report.
            label_value=PRESENT,
            label_text=row["label_text"],
        )
        cases[key] = sampling.with_boxes(case, [box, *(b for b in every.get(film, ()) if b != box)])
    account.drop("hidden together with another box of its film", len(rows) - len(cases))
    return list(cases.values())


def complete() -> pl.Expr:
    """Whether a film's age and sex are known."""
    return pl.col("age").is_not_null() & pl.col("gender").is_not_null()


def by_dicom(films: pl.DataFrame) -> pl.DataFrame:
    """The first film with age and sex of each dicom_id: what boxes and sentences are joined to."""
    return films.filter(complete()).unique("dicom_id", keep="first", maintain_order=True)


# ---------------------------------------------------------------- cases from sentences
# Cases from ReXErr: is this sentence right about this film? (GROUNDING 2.4)


# The shares of errors that need the image and of those that do not; the rest are sentences without.
_IMAGE_SHARE: Final = 0.70
_TEXT_SHARE: Final = 0.15


def draw_sentences(
    sentences: pl.DataFrame,
    films: pl.DataFrame,
    options: Sampling,
    stream: Stream,
    account: Account,
) -> list[GroundingCase]:
    """Sentences with errors that need the image, with errors that do not, and with none.

    Errors are drawn type by type in alphabetical order, as many of each; a type that has fewer is
    not made up for by others.
    """
    present, type_ = pl.col("error_present"), pl.col("error_type")
    kept = sentences.with_row_index("sentence")
    kept = account.keep(kept, present.is_not_null(), "error_present empty")
    kept = account.keep(kept, present.is_in((0, 1)), "error_present 2 (neutral)")
    kept = account.keep(kept, pl.col("original_sentence").is_not_null(), "no original sentence")
    if options.edition == "corrected":
        # The authors ask about the word "nan" (GROUNDING 4.2).
        said = pl.col("error_sentence").is_not_null()
        kept = account.keep(kept, said, "no sentence to ask about")
    kept = _on_films(kept, films, account)
    key = ("study_id", "original_sentence", "error_sentence")
    once = kept.unique(key, keep="first", maintain_order=True)
    # Each sentence stands once per film of its study; the films beyond the first are no loss.
    account.drop("the same sentence of the same study", kept["sentence"].n_unique() - once.height)
    wrong = present == 1
    usable = ~wrong | type_.is_in((*IMAGE_ERRORS, *TEXT_ERRORS)).fill_null(value=False)
    once = account.keep(once, usable, "error type of neither group")
    rows: list[dict[str, Any]] = []
    left = options.sentences
    for types, share in ((IMAGE_ERRORS, _IMAGE_SHARE), (TEXT_ERRORS, _TEXT_SHARE)):
        errors, size = once.filter(wrong & type_.is_in(types)), round(options.sentences * share)
        left -= size
        names = sorted(set(errors["error_type"]))
        for name in names:
            rows += stream.rows(errors.filter(type_ == name), max(1, size // len(names)))
    rows += stream.rows(once.filter(~wrong), left)
    account.drop("over the cap of their type", once.height - len(rows))
    return [_sentence_case(number, row, options) for number, row in enumerate(rows)]


def _on_films(sentences: pl.DataFrame, films: pl.DataFrame, account: Account) -> pl.DataFrame:
    """One row per sentence and frontal film of its list, in the order of both.

    A sentence is lost when its last film is; the reason is that of the film that came farthest.
    """
    each = pl.col("dicom_id").str.split(",").list.eval(pl.element().str.strip_chars())
    listed = sentences.with_columns(each.list.eval(pl.element().filter(pl.element() != "")))
    kept = account.keep(listed, pl.col("dicom_id").list.len() > 0, "no film named")
    known = pl.col("dicom_id").is_in(films["dicom_id"].implode())
    kept = account.keep(kept.explode("dicom_id"), known, "film not in the film list", "sentence")
    kept = kept.join(
        by_dicom(films), on="dicom_id", how="left", suffix="_film", maintain_order="left"
    )
    kept = account.keep(kept, pl.col("image_path").is_not_null(), "no age or sex", "sentence")
    return account.keep(kept, pl.col("view").is_in(FRONTAL), "view not PA or AP", "sentence")


def _sentence_case(number: int, row: dict[str, Any], options: Sampling) -> GroundingCase:
    finding = next((name for name in FINDINGS if row[name] == PRESENT), None)
    named = ("original_sentence", "error_sentence", "error_type", "error_present")
    own = {name: row[name] for name in named} | {"label_text": row["error_sentence"]}
    # The sentence names its patient and study, the film its own. The image shown is the film's.
    if options.edition == "corrected":
        own |= {name: row[f"{name}_film"] for name in ("subject_id", "study_id")}
    return sampling.case_of(row, number, SENTENCE_SOURCE, finding, row["error_present"], **own)


# ---------------------------------------------------------------- probe sets


def probe_set(
    read: FilmsRead, options: Sampling, source: Literal["mimic_cxr", "chexpert"]
) -> Built:
    """MS-CXR, MIMIC-CXR and ReXErr cases in this order, or CheXpert's alone (GROUNDING 2.6).

    A table that is None gives no cases. A film of CheXpert is frontal unless its view is LATERAL,
    for there are a few frontals whose projection is neither PA nor AP; and nothing is padded.
    """
    stream = Stream(options.seed)
    accounts = [Account("ms_cxr"), Account(source), Account(SENTENCE_SOURCE)]
    of_boxes, account, of_sentences = accounts
    cases: list[GroundingCase] = []
    if read.boxes is not None:
        cases += draw_boxes(read.boxes, read.films, options, stream, of_boxes)
    known = account.keep(read.films, complete(), "no age or sex")
    if source == "chexpert":
        frontals = account.keep(known, pl.col("view") != film_tables.LATERAL, "lateral")
    else:
        frontals = account.keep(known, pl.col("view").is_in(FRONTAL), "view not PA or AP")
    pool = account.keep(frontals, pl.col("split") == "test", "not of the test split")
    # The paper removes MS-CXR's studies; the authors' code only the films drawn [D32].
    shared, whose = (
        ("dicom_id", "film") if options.edition == "authors" else ("subject_id", "patient")
    )
    taken = {getattr(case, shared) for case in cases}
    pool = account.keep(pool, ~pl.col(shared).is_in(taken), f"{whose} of an MS-CXR case [D32]")
    labelled = draw_by_label(pool, stream, options, source, pad=source != "chexpert")
    cases += labelled
    # Another of the patient's was taken, or enough were.
    drawn = {case.image_path for case in labelled}
    account.drop("not drawn (one film per patient, caps)", pool.height - len(drawn))
    if read.sentences is not None:
        cases += draw_sentences(read.sentences, read.films, options, stream, of_sentences)
    if not cases:
        lost = (f"{e.source}: {e.reason}, {e.count}" for one in accounts for e in one.exclusions)
        raise BadInput(
            f"No case can be drawn from these tables ({'; '.join(lost)}). Give more films."
        )
    by_label = options.edition == "authors"
    patients = frontals["subject_id"].n_unique()
    notes = [f"Swaps come from {frontals.height} frontal films of {patients} patients, all splits."]
    if source == "chexpert":
        notes.insert(
            0,
            "Split and labels are those of the film list; the paper's are its authors' own 20 % "
            "and not CheXpert's test set with expert labels [D31].",
        )
    return sampling.built_set(
        read,
        "chexpert" if source == "chexpert" else "mimic",
        sampling.with_swaps(
            cases, sampling.SwapPool(frontals), stream.swap, by_label=by_label, abnormal=True
        ),
        accounts,
        notes,
        {
            sampling.UNMENTIONED: lambda case: case.label_value == NOT_MENTIONED,
            "with a swap that was not matched on their label [D2, D22]": (
                lambda case: case.swap_match != "label"
            ),
            "that ask about a finding, without an image of the opposite label": (
                lambda case: case.opposite_image_path is None and case.source != SENTENCE_SOURCE
            ),
        },
        "dicom_id",
    )
