"""The paper's probe sets from tables of films, boxes and sentences (GROUNDING 2).

`authors` draws exactly what the authors' builder draws. `corrected` draws by the same scheme from
the same stream, with three rules put right: swaps match the label of the case's own film [D2, D22],
no MIMIC case is of a patient of the MS-CXR cases [D32], and no case asks about a missing sentence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, get_args

import msgspec
import numpy as np
import polars as pl

from overread.benchmarks.grounding.build.chexpert import LATERAL
from overread.benchmarks.grounding.build.films import ABSENT, NOT_MENTIONED, PRESENT
from overread.benchmarks.grounding.build.manifest import IMAGE_ERRORS, TEXT_ERRORS, Built
from overread.benchmarks.grounding.build.sampling import (
    FACTS,
    FRONTAL,
    UNMENTIONED,
    Account,
    Rules,
    Sampling,
    SwapPool,
    complete,
    counted_notes,
)
from overread.benchmarks.grounding.cases import GroundingCase
from overread.benchmarks.grounding.prompts import MSCXR_FINDINGS, NORMAL, SENTENCE_SOURCE
from overread.case import BadInput, Box
from overread.imaging import irrelevant_box, irrelevant_boxes

if TYPE_CHECKING:
    from numpy.typing import NDArray

# ---------------------------------------------------------------- the stream
# The builder's random stream: every draw of a probe set comes from one seed (GROUNDING 2.1).


_SEEDS = 2**31


class Stream:
    """One PCG64 generator; each sample takes one integer from it as the seed of its own draw.

    A sample is what `DataFrame.sample(n, random_state=integer)` of pandas gives: the MT19937
    generator of that seed chooses positions without replacement. The order of the samples is part
    of the protocol, since each moves the stream on by one.
    """

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

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

    def one(self, available: int) -> int:
        """The position of one row out of `available`, which is at least 1."""
        return int(self.sample(available, 1)[0])


# ---------------------------------------------------------------- cases from labels
# Cases from labels alone: MIMIC-CXR and CheXpert (GROUNDING 2.3, 2.6).
#
# For each finding films with and without it, then films that are normal; one film per patient and
# finding. One film may serve several findings.


def draw_by_label(
    pool: pl.DataFrame,
    stream: Stream,
    *,
    source: str,
    prefix: str,
    findings: tuple[str, ...],
    per_finding: int,
    normals: int,
    pad: bool,
) -> list[GroundingCase]:
    """Present then absent films of each finding, half of `per_finding` each, then the normals.

    With `pad`, films that do not mention a finding join those without it where these are of too
    few patients; the draw is from both together, and both are labelled 0 [D22]. `label_value`
    keeps the code.
    """
    half = per_finding // 2
    drawn: list[tuple[str, int, dict[str, Any]]] = []
    for finding in findings:
        present = _one_per_patient(pool, finding, PRESENT)
        drawn += [(finding, 1, row) for row in _drawn_rows(present, half, stream)]
        absent = _one_per_patient(pool, finding, ABSENT)
        if pad and absent.height < half:
            unmentioned = _one_per_patient(pool, finding, NOT_MENTIONED)
            absent = _first_of_each(absent.vstack(unmentioned))
        drawn += [(finding, 0, row) for row in _drawn_rows(absent, half, stream)]
    normal = _one_per_patient(pool, NORMAL, PRESENT)
    drawn += [(NORMAL, 1, row) for row in _drawn_rows(normal, normals, stream)]
    return [
        GroundingCase(
            case_id=f"{prefix}_{number:05d}",
            source=source,
            image_path=row["image_path"],
            **{name: row[name] for name in FACTS},
            finding=finding,
            label=label,
            label_value=row[finding],
        )
        for number, (finding, label, row) in enumerate(drawn)
    ]


def _drawn_rows(films: pl.DataFrame, size: int, stream: Stream) -> list[dict[str, Any]]:
    return films[stream.sample(films.height, size)].to_dicts()


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
    boxes: pl.DataFrame,
    films: pl.DataFrame,
    options: Sampling,
    stream: Stream,
    account: Account,
    rules: Rules,
) -> list[GroundingCase]:
    """At most `mscxr_per_finding` boxes of each finding, findings in order of first appearance.

    In the authors' code a box whose film is unknown, or has no age or sex, is joined to nothing,
    has no view and so goes with the laterals. Here each has its own reason.
    """
    scaled = _scaled(boxes, options.resolution)
    account.sides += scaled.select(pl.min_horizontal("box_w", "box_h")).to_series().to_list()
    kept = account.keep(
        scaled,
        (pl.col("box_w") >= options.minimum_side) & (pl.col("box_h") >= options.minimum_side),
        f"box below {options.minimum_side} pixels of {options.resolution} [D12]",
    )
    known = pl.col("dicom_id").is_in(films["dicom_id"].implode())
    kept = account.keep(kept, known, "film not in the film list")
    lookup = by_dicom(films).select(*FACTS, film_path="image_path")
    kept = kept.join(lookup, on="dicom_id", how="left", maintain_order="left")
    kept = account.keep(kept, pl.col("film_path").is_not_null(), "no age or sex")
    kept = account.keep(kept, pl.col("view").is_in(FRONTAL), "view not PA or AP")
    finding = pl.col("category").replace_strict(_CATEGORIES, default=None, return_dtype=pl.String)
    kept = kept.with_columns(finding=finding)
    kept = account.keep(kept, pl.col("finding").is_not_null(), "category is none of the eight")
    asked = pl.col("finding").is_in(options.findings)
    kept = account.keep(kept, asked, "finding not asked for")
    rows: list[dict[str, Any]] = []
    for each in kept["finding"].unique(maintain_order=True):
        own = kept.filter(pl.col("finding") == each)
        rows += own[stream.sample(own.height, options.mscxr_per_finding)].to_dicts()
    account.drop(
        f"over the cap of {options.mscxr_per_finding} per finding", kept.height - len(rows)
    )
    cases = [_box_case(number, row, options, rules) for number, row in enumerate(rows)]
    return cases if rules == "authors" else _one_case_per_film(cases, scaled, options, account)


def by_dicom(films: pl.DataFrame) -> pl.DataFrame:
    """The first film with age and sex of each dicom_id: what boxes and sentences are joined to."""
    return films.filter(complete()).unique("dicom_id", keep="first", maintain_order=True)


def _scaled(boxes: pl.DataFrame, resolution: int) -> pl.DataFrame:
    """The boxes at the working resolution, each axis on its own, not yet rounded."""
    across, down = resolution / pl.col("image_width"), resolution / pl.col("image_height")
    scales = (across, down, across, down)
    sides = zip(_SCALED, "xywh", scales, strict=True)
    return boxes.with_columns((pl.col(side) * scale).alias(name) for name, side, scale in sides)


def _one_case_per_film(
    drawn: list[GroundingCase], boxes: pl.DataFrame, options: Sampling, account: Account
) -> list[GroundingCase]:
    """Every case with all boxes of its finding on its film, and each film and finding once.

    The draws are the authors': a box whose film and finding another drawn one stands for is left.
    """
    known: dict[tuple[str, str | None], list[Box]] = {}
    for dicom, category, *sides in boxes.select("dicom_id", "category", *_SCALED).iter_rows():
        box = Box(*map(round, sides))
        if box.w > 0 and box.h > 0:
            known.setdefault((dicom, _CATEGORIES.get(category)), []).append(box)
    cases: dict[tuple[str | None, str | None], GroundingCase] = {}
    for case in drawn:
        if (key := (case.dicom_id, case.finding)) in cases:
            continue
        others = [box for box in known[case.dicom_id or "", case.finding] if box != case.box]
        control, *elsewhere = irrelevant_boxes([*case.targets, *others], options.resolution)
        cases[key] = msgspec.structs.replace(
            case,
            irrelevant_box=control,
            more_boxes=tuple(others),
            more_irrelevant_boxes=tuple(elsewhere),
        )
    account.drop("hidden together with another box of its film", len(drawn) - len(cases))
    return list(cases.values())


def _box_case(number: int, row: dict[str, Any], options: Sampling, rules: Rules) -> GroundingCase:
    # Each number half to even on its own, and nothing clipped (step 6).
    x, y, w, h = (round(row[name]) for name in _SCALED)
    box = Box(x, y, w, h)
    return GroundingCase(
        case_id=f"mscxr_{number:05d}",
        source="ms_cxr",
        # The authors put their folder's name before MS-CXR's path. The film list knows better
        # where the film stands.
        image_path=row["image_path"] if rules == "authors" else row["film_path"],
        **{name: row[name] for name in FACTS},
        finding=row["finding"],
        label=1,
        # A box asserts its finding, whatever the labeler made of the report.
        label_value=PRESENT,
        label_text=row["label_text"],
        box=box,
        irrelevant_box=irrelevant_box(box, options.resolution),
    )


# ---------------------------------------------------------------- cases from sentences
# Cases from ReXErr: is this sentence right about this film? (GROUNDING 2.4)


def draw_sentences(
    sentences: pl.DataFrame,
    films: pl.DataFrame,
    options: Sampling,
    stream: Stream,
    account: Account,
    rules: Rules,
) -> list[GroundingCase]:
    """Sentences with errors that need the image, with errors that do not, and with none.

    Errors are drawn type by type in alphabetical order, as many of each; a type that has fewer is
    not made up for by others.
    """
    kept = _usable_sentences(sentences, account, rules)
    kept = _on_films(kept, films, account)
    key = ("study_id", "original_sentence", "error_sentence")
    once = kept.unique(key, keep="first", maintain_order=True)
    # Each sentence stands once per film of its study; the films beyond the first are no loss.
    account.drop("the same sentence of the same study", kept["sentence"].n_unique() - once.height)
    type_, wrong = pl.col("error_type"), pl.col("error_present") == 1
    usable = ~wrong | type_.is_in((*IMAGE_ERRORS, *TEXT_ERRORS)).fill_null(value=False)
    once = account.keep(once, usable, "error type of neither group")
    image = round(options.rexerr_total * options.rexerr_image)
    text = round(options.rexerr_total * options.rexerr_text)
    rows = [
        *_drawn_by_type(once.filter(wrong & type_.is_in(IMAGE_ERRORS)), image, stream),
        *_drawn_by_type(once.filter(wrong & type_.is_in(TEXT_ERRORS)), text, stream),
        *_drawn_rows(once.filter(~wrong), options.rexerr_total - image - text, stream),
    ]
    account.drop("over the cap of their type", once.height - len(rows))
    return [_sentence_case(number, row, options, rules) for number, row in enumerate(rows)]


def _usable_sentences(sentences: pl.DataFrame, account: Account, rules: Rules) -> pl.DataFrame:
    present = pl.col("error_present")
    kept = sentences.with_row_index("sentence")
    kept = account.keep(kept, present.is_not_null(), "error_present empty")
    kept = account.keep(kept, present.is_in((0, 1)), "error_present 2 (neutral)")
    kept = account.keep(kept, pl.col("original_sentence").is_not_null(), "no original sentence")
    if rules == "corrected":
        # The authors ask about the word "nan" (GROUNDING 4.2).
        kept = account.keep(
            kept, pl.col("error_sentence").is_not_null(), "no sentence to ask about"
        )
    return kept


def _on_films(sentences: pl.DataFrame, films: pl.DataFrame, account: Account) -> pl.DataFrame:
    """One row per sentence and frontal film of its list, in the order of both.

    A sentence is lost when its last film is; the reason is that of the film that came farthest.
    """

    def keep(frame: pl.DataFrame, kept: pl.DataFrame, reason: str) -> pl.DataFrame:
        account.drop(reason, frame["sentence"].n_unique() - kept["sentence"].n_unique())
        return kept

    each = pl.col("dicom_id").str.split(",").list.eval(pl.element().str.strip_chars())
    listed = sentences.with_columns(each.list.eval(pl.element().filter(pl.element() != "")))
    kept = account.keep(listed, pl.col("dicom_id").list.len() > 0, "no film named")
    kept = kept.explode("dicom_id")
    known = kept.filter(pl.col("dicom_id").is_in(films["dicom_id"].implode()))
    kept = keep(kept, known, "film not in the film list")
    joined = kept.join(
        by_dicom(films), on="dicom_id", how="inner", suffix="_film", maintain_order="left"
    )
    kept = keep(kept, joined, "no age or sex")
    return keep(kept, kept.filter(pl.col("view").is_in(FRONTAL)), "view not PA or AP")


def _drawn_by_type(errors: pl.DataFrame, total: int, stream: Stream) -> list[dict[str, Any]]:
    types = sorted(set(errors["error_type"]))
    rows: list[dict[str, Any]] = []
    for each in types:
        own = errors.filter(pl.col("error_type") == each)
        rows += _drawn_rows(own, max(1, total // len(types)), stream)
    return rows


def _sentence_case(
    number: int, row: dict[str, Any], options: Sampling, rules: Rules
) -> GroundingCase:
    finding = next((name for name in options.findings if row[name] == PRESENT), None)
    # The sentence names its patient and study, the film its own. The image shown is the film's.
    facts = {name: row[name] for name in FACTS}
    if rules == "corrected":
        facts |= {name: row[f"{name}_film"] for name in ("subject_id", "study_id")}
    return GroundingCase(
        case_id=f"rexerr_{number:05d}",
        source=SENTENCE_SOURCE,
        image_path=row["image_path"],
        **facts,
        finding=finding,
        label=row["error_present"],
        label_value=None if finding is None else PRESENT,
        label_text=row["error_sentence"],
        original_sentence=row["original_sentence"],
        error_sentence=row["error_sentence"],
        error_type=row["error_type"],
        error_present=row["error_present"],
    )


# ---------------------------------------------------------------- swaps
# Another patient's film for every case: one of the same label, and one of the opposite label.
#
# The first is the swap of GROUNDING 2.5; the second is ours and disturbs none of the paper's draws.


def with_swaps(
    cases: list[GroundingCase], pool: SwapPool, stream: Stream, rules: Rules
) -> list[GroundingCase]:
    """Give each case its swap: one draw per case, in manifest order.

    `authors` match the finding on `label`, which for a sentence says whether it holds an error, so
    that one without an error goes to a film without its finding [D2]. `corrected` matches on the
    label of the case's own film [D22]. With no match, or no finding, any other patient's film.

    `swap_match` is "label" where the swap keeps the case's label, "free" where the case has no
    finding to match (a sentence about none), else "any".
    """
    swapped = []
    for case in cases:
        value = case.label if rules == "authors" else case.label_value
        matched = False
        candidates = None
        if case.finding is not None and value is not None:
            candidates = pool.labelled(case.finding, value, case.subject_id)
            matched = candidates.size > 0 and _keeps_label(case, value)
        if candidates is None or not candidates.size:
            candidates = pool.any(case.subject_id)
        if candidates.size:
            path = pool.path(candidates[stream.one(candidates.size)])
            match = "label" if matched else "any" if case.finding is not None else "free"
            case = msgspec.structs.replace(case, swap_image_path=path, swap_match=match)
        swapped.append(case)
    return swapped


def _keeps_label(case: GroundingCase, value: int) -> bool:
    """Whether films of that value say what the case's own says, not mentioned counting as absent.

    False for the authors' sentences without an error only [D2].
    """
    return value == case.label_value or (value == ABSENT and case.label_value != PRESENT)


def with_opposites(cases: list[GroundingCase], pool: SwapPool, seed: int) -> list[GroundingCase]:
    """Give each case another patient's film of the opposite label, where there is one.

    Present: a film without the finding (0, never one that does not mention it). Absent: one with
    it. Normal: one with any finding. A sentence has no opposite. From a generator of its own, so
    that the paper's draws stay as they are.
    """
    generator = np.random.default_rng([seed, 1])
    given = []
    for case in cases:
        if case.source != SENTENCE_SOURCE and case.finding is not None:
            if case.finding == NORMAL:
                candidates = pool.abnormal(case.subject_id)
            else:
                opposite = ABSENT if case.label == 1 else PRESENT
                candidates = pool.labelled(case.finding, opposite, case.subject_id)
            if candidates.size:
                path = pool.path(candidates[generator.integers(candidates.size)])
                case = msgspec.structs.replace(case, opposite_image_path=path)
        given.append(case)
    return given


# ---------------------------------------------------------------- probe sets


_DEFAULT_SAMPLING = Sampling()


def probe_set(
    films: pl.DataFrame,
    boxes: pl.DataFrame | None,
    sentences: pl.DataFrame | None,
    *,
    edition: Rules,
    options: Sampling = _DEFAULT_SAMPLING,
) -> Built:
    """MS-CXR, MIMIC-CXR and ReXErr cases in this order; a table that is None gives no cases."""
    _check_edition(edition)
    stream = Stream(options.seed)
    accounts = [Account(source) for source in ("ms_cxr", "mimic_cxr", "rexerr")]
    of_boxes, account, of_sentences = accounts
    boxed: list[GroundingCase] = []
    if boxes is not None:
        boxed = draw_boxes(boxes, films, options, stream, of_boxes, edition)
    frontal = pl.col("view").is_in(FRONTAL)
    frontals, pool = _frontals_and_tests(films, account, frontal, "view not PA or AP")
    # The paper removes MS-CXR's studies; the authors' code only the films drawn [D32].
    shared = "dicom_id" if edition == "authors" else "subject_id"
    taken = {getattr(case, shared) for case in boxed}
    reason = "film" if edition == "authors" else "patient"
    pool = account.keep(pool, ~pl.col(shared).is_in(taken), f"{reason} of an MS-CXR case [D32]")
    labelled = draw_by_label(
        pool,
        stream,
        source="mimic_cxr",
        prefix="mimic",
        findings=options.findings,
        per_finding=options.mimic_per_finding,
        normals=options.mimic_normals,
        pad=True,
    )
    _not_drawn(account, pool, labelled)
    said: list[GroundingCase] = []
    if sentences is not None:
        said = draw_sentences(sentences, films, options, stream, of_sentences, edition)
    cases = [*boxed, *labelled, *said]
    return _built_set("mimic", cases, frontals, accounts, stream, edition, options)


def chexpert_probe_set(
    films: pl.DataFrame, *, edition: Rules, options: Sampling = _DEFAULT_SAMPLING
) -> Built:
    """CheXpert cases (GROUNDING 2.6): the stream starts afresh, and nothing is padded.

    A film is frontal unless its view is LATERAL: CheXpert has a few frontals whose projection is
    neither PA nor AP.
    """
    _check_edition(edition)
    stream = Stream(options.seed)
    account = Account("chexpert")
    frontals, pool = _frontals_and_tests(films, account, pl.col("view") != LATERAL, "lateral")
    cases = draw_by_label(
        pool,
        stream,
        source="chexpert",
        prefix="chexpert",
        findings=options.findings,
        per_finding=options.chexpert_per_finding,
        normals=options.chexpert_normals,
        pad=False,
    )
    _not_drawn(account, pool, cases)
    built = _built_set("chexpert", cases, frontals, [account], stream, edition, options)
    split = (
        "Split and labels are those of the film list; the paper's are its authors' own 20 % and "
        "not CheXpert's test set with expert labels [D31]."
    )
    return msgspec.structs.replace(built, provenance=[split, *built.provenance])


def _frontals_and_tests(
    films: pl.DataFrame, account: Account, frontal: pl.Expr, otherwise: str
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The frontals that swaps are taken from, and those of the test split, which cases are of."""
    known = account.keep(films, complete(), "no age or sex")
    frontals = account.keep(known, frontal, otherwise)
    return frontals, account.keep(frontals, pl.col("split") == "test", "not of the test split")


def _not_drawn(account: Account, pool: pl.DataFrame, cases: list[GroundingCase]) -> None:
    """Films of the pool that are in no case: another of the patient's was taken, or enough were."""
    drawn = {case.image_path for case in cases}
    account.drop("not drawn (one film per patient, caps)", pool.height - len(drawn))


def _built_set(
    name: str,
    cases: list[GroundingCase],
    frontals: pl.DataFrame,
    accounts: list[Account],
    stream: Stream,
    edition: Rules,
    options: Sampling,
) -> Built:
    exclusions = [each for account in accounts for each in account.exclusions]
    if not cases:
        lost = "; ".join(f"{e.source}: {e.reason}, {e.count}" for e in exclusions)
        raise BadInput(f"No case can be drawn from these tables ({lost}). Give more films.")
    pool = SwapPool(frontals)
    cases = with_swaps(cases, pool, stream, edition)
    cases = with_opposites(cases, pool, options.seed)
    return Built(
        name=name,
        # MIMIC's and CheXpert's agreements both forbid handing the films on.
        policy="credentialed",
        cases=cases,
        exclusions=exclusions,
        provenance=_set_notes(cases, frontals),
        sides=[side for account in accounts for side in account.sides],
    )


def _set_notes(cases: list[GroundingCase], frontals: pl.DataFrame) -> list[str]:
    """What a reader of the set should know about its labels and swaps."""
    films, patients = frontals.height, frontals["subject_id"].n_unique()
    counts = {
        UNMENTIONED: sum(case.label_value == NOT_MENTIONED for case in cases),
        "with a swap that was not matched on their label [D2, D22]": sum(
            case.swap_match != "label" for case in cases
        ),
        "that ask about a finding, without an image of the opposite label": sum(
            case.opposite_image_path is None and case.source != SENTENCE_SOURCE for case in cases
        ),
    }
    return [
        f"Swaps come from {films} frontal films of {patients} patients, all splits.",
        *counted_notes(counts, len(cases)),
    ]


def _check_edition(edition: str) -> None:
    if edition not in get_args(Rules):
        raise BadInput(f'edition is "{edition}"; the editions are {", ".join(get_args(Rules))}.')
