"""The paper's probe sets from tables of films, boxes and sentences (GROUNDING 2).

`authors` draws exactly what the authors' builder draws. `corrected` draws by the same scheme from
the same stream, with three rules put right: swaps match the label of the case's own film [D2, D22],
no MIMIC case is of a patient of the MS-CXR cases [D32], and no case asks about a missing sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, get_args

import msgspec

from overread.benchmarks.grounding.build.chexpert import LATERAL
from overread.benchmarks.grounding.build.films import NOT_MENTIONED, Built
from overread.benchmarks.grounding.build.label_cases import draw_by_label
from overread.benchmarks.grounding.build.mscxr_cases import draw_boxes
from overread.benchmarks.grounding.build.rexerr_cases import draw_sentences
from overread.benchmarks.grounding.build.scheme import FRONTAL, Account, Rules, Sampling, complete
from overread.benchmarks.grounding.build.stream import Stream
from overread.benchmarks.grounding.build.swaps import SwapPool, with_opposites, with_swaps
from overread.benchmarks.grounding.cases import GroundingCase
from overread.benchmarks.grounding.prompts import SENTENCE_SOURCE
from overread.case import BadInput

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Rules", "Sampling", "chexpert_probe_set", "probe_set"]

_DEFAULT = Sampling()


def probe_set(
    films: pl.DataFrame,
    boxes: pl.DataFrame | None,
    sentences: pl.DataFrame | None,
    *,
    edition: Rules,
    options: Sampling = _DEFAULT,
) -> Built:
    """MS-CXR, MIMIC-CXR and ReXErr cases in this order; a table that is None gives no cases."""
    import polars as pl

    _check(edition)
    stream = Stream(options.seed)
    accounts = {source: Account(source) for source in ("ms_cxr", "mimic_cxr", "rexerr")}
    boxed: list[GroundingCase] = []
    if boxes is not None:
        boxed = draw_boxes(boxes, films, options, stream, accounts["ms_cxr"], edition)
    account = accounts["mimic_cxr"]
    pool = account.keep(films, complete(), "no age or sex")
    frontal = pl.col("view").is_in(FRONTAL)
    pool = frontals = account.keep(pool, frontal, "view not PA or AP")
    pool = account.keep(pool, pl.col("split") == "test", "not of the test split")
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
        said = draw_sentences(sentences, films, options, stream, accounts["rexerr"], edition)
    return _built(
        "mimic",
        [*boxed, *labelled, *said],
        frontals,
        list(accounts.values()),
        stream,
        edition,
        options,
    )


def chexpert_probe_set(
    films: pl.DataFrame,
    *,
    edition: Rules,
    options: Sampling = _DEFAULT,
    reports: Mapping[str, str] | None = None,
) -> Built:
    """CheXpert cases (GROUNDING 2.6): the stream starts afresh, and nothing is padded.

    `reports` are CheXpert Plus texts by image path. A film is frontal unless its view is LATERAL:
    CheXpert has a few frontals whose projection is neither PA nor AP.
    """
    import polars as pl

    _check(edition)
    stream = Stream(options.seed)
    frontal = pl.col("view") != LATERAL
    account = Account("chexpert")
    pool = account.keep(films, complete(), "no age or sex")
    pool = frontals = account.keep(pool, frontal, "lateral")
    pool = account.keep(pool, pl.col("split") == "test", "not of the test split")
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
    if reports is not None:
        cases = [
            msgspec.structs.replace(case, report_path=reports.get(case.image_path))
            for case in cases
        ]
    built = _built("chexpert", cases, frontals, [account], stream, edition, options)
    split = (
        "Split and labels are those of the film list; the paper's are its authors' own 20 % and "
        "not CheXpert's test set with expert labels [D31]."
    )
    return msgspec.structs.replace(built, provenance=[split, *built.provenance])


def _not_drawn(account: Account, pool: pl.DataFrame, cases: list[GroundingCase]) -> None:
    """Films of the pool that are in no case: another of the patient's was taken, or enough were."""
    drawn = {case.image_path for case in cases}
    account.drop("not drawn (one film per patient, caps)", pool.height - len(drawn))


def _built(
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
        provenance=_notes(cases, frontals),
        sides=[side for account in accounts for side in account.sides],
    )


def _notes(cases: list[GroundingCase], frontals: pl.DataFrame) -> list[str]:
    """What a reader of the set should know about its labels and swaps."""
    films, patients = frontals.height, frontals["subject_id"].n_unique()
    counts = {
        "labelled 0, of films that do not mention the finding [D22]": sum(
            case.label_value == NOT_MENTIONED for case in cases
        ),
        "with a swap that was not matched on their label [D2, D22]": sum(
            case.swap_match != "label" for case in cases
        ),
        "that ask about a finding, without an image of the opposite label": sum(
            case.opposite_image_path is None and case.source != SENTENCE_SOURCE for case in cases
        ),
    }
    return [
        f"Swaps come from {films} frontal films of {patients} patients, all splits.",
        *(f"Cases {what}: {count} of {len(cases)}." for what, count in counts.items() if count),
    ]


def _check(edition: str) -> None:
    if edition not in get_args(Rules):
        raise BadInput(f'edition is "{edition}"; the editions are {", ".join(get_args(Rules))}.')
