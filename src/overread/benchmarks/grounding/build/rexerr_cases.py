"""Cases from ReXErr: is this sentence right about this film? (GROUNDING 2.4)"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from overread.benchmarks.grounding.build.films import PRESENT
from overread.benchmarks.grounding.build.scheme import FRONTAL, Account, Rules, Sampling, by_dicom
from overread.benchmarks.grounding.build.stream import Stream
from overread.benchmarks.grounding.cases import GroundingCase
from overread.benchmarks.grounding.prompts import SENTENCE_SOURCE

if TYPE_CHECKING:
    import polars as pl

__all__ = ["IMAGE_ERRORS", "TEXT_ERRORS", "draw_sentences"]

# Errors that only the image shows, and errors the text alone gives away.
IMAGE_ERRORS: Final = (
    *("Change location", "Change severity", "False prediction", "False negation"),
    *("Change position of device", "Add medical device", "Change name of device", "Change view"),
)
TEXT_ERRORS: Final = ("Add typo", "Change to homophone", "Add repetition")


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
    import polars as pl

    kept = _asked(sentences, account, rules)
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
        *_by_type(once.filter(wrong & type_.is_in(IMAGE_ERRORS)), image, stream),
        *_by_type(once.filter(wrong & type_.is_in(TEXT_ERRORS)), text, stream),
        *_sample(once.filter(~wrong), options.rexerr_total - image - text, stream),
    ]
    account.drop("over the cap of their type", once.height - len(rows))
    return [_case(number, row, options, rules) for number, row in enumerate(rows)]


def _asked(sentences: pl.DataFrame, account: Account, rules: Rules) -> pl.DataFrame:
    import polars as pl

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
    import polars as pl

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


def _by_type(errors: pl.DataFrame, total: int, stream: Stream) -> list[dict[str, Any]]:
    import polars as pl

    types = sorted(set(errors["error_type"]))
    rows: list[dict[str, Any]] = []
    for each in types:
        own = errors.filter(pl.col("error_type") == each)
        rows += _sample(own, max(1, total // len(types)), stream)
    return rows


def _sample(rows: pl.DataFrame, size: int, stream: Stream) -> list[dict[str, Any]]:
    return rows[stream.sample(rows.height, size)].to_dicts()


def _case(number: int, row: dict[str, Any], options: Sampling, rules: Rules) -> GroundingCase:
    finding = next((name for name in options.findings if row[name] == PRESENT), None)
    # The sentence names its patient and study, the film its own. The image shown is the film's.
    end = "" if rules == "authors" else "_film"
    return GroundingCase(
        case_id=f"rexerr_{number:05d}",
        source=SENTENCE_SOURCE,
        image_path=row["image_path"],
        report_path=row["report_path"],
        dicom_id=row["dicom_id"],
        subject_id=row[f"subject_id{end}"],
        study_id=row[f"study_id{end}"],
        view=row["view"],
        age=row["age"],
        gender=row["gender"],
        finding=finding,
        label=row["error_present"],
        label_value=None if finding is None else PRESENT,
        label_text=row["error_sentence"],
        original_sentence=row["original_sentence"],
        error_sentence=row["error_sentence"],
        error_type=row["error_type"],
        error_present=row["error_present"],
    )
