"""The benchmark as the engine and the run see it."""

from __future__ import annotations

import subprocess
import sys

import msgspec
import polars as pl
import pytest

import overread
from overread.benchmarks.grounding import Grounding
from overread.benchmarks.grounding.answers import Answer
from overread.benchmarks.registry import (
    class_of,
    importer,
)
from overread.case import BadInput, Reply, Table, Traits
from support.registered import metrics


def answered(benchmark, replies: dict[str, Reply | None], traits=None) -> pl.DataFrame:
    """The answers table of one reader that gives the same reply to every trial of a case."""
    traits = traits or Traits()
    rows = [
        ("r", *benchmark.answer(trial, replies[case.case_id], traits))
        for case in benchmark.cases()
        for trial in benchmark.trials(case, traits)
    ]
    schema = {"reader": pl.String, **benchmark.answer_schema}
    return pl.DataFrame(rows, schema=schema, orient="row")


def tables_of(benchmark, answers):
    from overread.benchmarks.base import ReaderRecord, Tables

    rows = [benchmark.case_row(case) for case in benchmark.cases()]
    cases = pl.DataFrame(rows, schema=dict(benchmark.case_schema), orient="row")
    return Tables(cases=cases, answers=answers, readers=(ReaderRecord(name="r"),))


REPLIES = {
    "c0": Reply("Yes", logprobs=(("Yes", -0.2), ("No", -1.8))),
    "c1": Reply("I don't know"),
    "c2": Reply("No, I will not.", refusal="policy"),
    "c3": None,
}


def test_from_manifest_to_summary(manifest):
    benchmark = class_of("grounding").open(manifest({}, {}, {}, {}, policy="open"))
    answers = answered(benchmark, REPLIES)
    assert answers.height == 16
    assert answers.columns == ["reader", *Answer.__struct_fields__]
    tables = tables_of(benchmark, answers)
    records = benchmark.measure(tables)
    table = next(benchmark.exhibits(records, benchmark.signature(tables)))
    assert isinstance(table, Table)
    assert table.columns == (
        "reader", "category", "accuracy", "sensitivity", "specificity", "CGR", "UAR", "IS", "GSP",
        "parse rate",
    )  # fmt: skip
    (row,) = table.rows
    assert row[:3] == ("r", "insufficient§", "100.0 n=1")
    assert row[-1] == "33.3 [2.4, 83.8]° n=3"
    assert table.signature == benchmark.signature(tables)
    assert any(note.startswith("r: CGR stands on 1 cases") for note in table.notes)


# ---------------------------------------------------------------- reading again


@pytest.mark.parametrize(("first", "then"), [("corrected", "authors"), ("authors", "corrected")])
def test_reading_again_is_reading_anew(manifest, first, then):
    """Kept rows under another edition are what that edition would have made of the replies."""
    path = manifest({}, {}, {}, {})
    one, other = class_of("grounding").open(path, first), class_of("grounding").open(path, then)
    kept = tables_of(one, answered(one, REPLIES))
    again = other.reread(kept)
    assert again.answers.equals(answered(other, REPLIES))
    assert other.reread(again).answers.equals(again.answers)
    assert one.reread(again).answers.equals(kept.answers)


def test_reading_again_keeps_readers_without_text(manifest):
    benchmark = class_of("grounding").open(manifest({}))
    vision = Traits(modality="vision")
    tables = tables_of(benchmark, answered(benchmark, {"c0": Reply("Yes")}, vision))
    tables = msgspec.structs.replace(
        tables, readers=(msgspec.structs.replace(tables.readers[0], traits=vision),)
    )
    odd = tables.answers.with_columns(answer=pl.lit(0, pl.Int8))
    tables = msgspec.structs.replace(tables, answers=odd)
    assert benchmark.reread(tables).answers.equals(odd)


# ---------------------------------------------------------------- signature


def test_the_signature_says_what_the_numbers_stand_on(manifest):
    path = manifest({}, {}, {}, {})
    benchmark = Grounding.open(path, "corrected", {"normals": "yes", "conditions": "original,swap"})
    tables = tables_of(benchmark, answered(benchmark, REPLIES))
    digest = benchmark.dataset.rpartition("@")[2]
    assert benchmark.signature(tables) == (
        f"grounding|edition:corrected+normals=yes|cases:4@{digest}|conditions:original,swap"
        "|phrasing:default|px:224|fill:black|parser:2|intervals:wilson|boot:10000:0"
        f"|overread:{overread.__version__}"
    )
    partial = msgspec.structs.replace(tables, partial=True)
    assert benchmark.signature(partial).endswith("|partial")


@pytest.mark.parametrize("boxes", ["", "10 10 50 60"])
def test_the_signature_has_a_matched_box_where_one_was_asked(manifest, boxes):
    path = manifest({}, {}, {}, {})
    head, first, *rest = path.read_text("utf-8").splitlines()
    lines = [f"{head},matched_boxes", f"{first},{boxes}", *(f"{row}," for row in rest)]
    path.write_text("\n".join(lines), "utf-8")
    benchmark = Grounding.open(path)
    tables = tables_of(benchmark, answered(benchmark, REPLIES))
    signature = benchmark.signature(tables)
    assert ("irrelevant_mask,matched|" in signature) == bool(boxes)
    assert ("|draws:1" in signature) == bool(boxes)
    said = " ".join(benchmark.limitations(benchmark.measure(tables)))
    assert ("no box elsewhere in the body was tried" in said) == (not boxes)


def test_a_run_can_be_measured_when_the_manifest_is_gone(manifest):
    path = manifest({}, {}, {}, {})
    benchmark = class_of("grounding").open(path)
    tables = tables_of(benchmark, answered(benchmark, REPLIES))
    path.unlink()
    kept = class_of("grounding").of_run(benchmark.dataset, benchmark.policy)
    assert kept.signature(tables) == benchmark.signature(tables)
    assert kept.measure(tables) == benchmark.measure(tables)
    with pytest.raises(BadInput, match="Give --cases"):
        kept.cases()


def test_images_stand_beside_the_manifest_or_where_the_user_says(manifest, tmp_path):
    path = manifest({})
    assert Grounding.open(path).root == str(tmp_path)
    other = tmp_path / "images"
    with pytest.raises(BadInput, match="there is no such folder"):
        Grounding.open(path, words={"root": str(other)})
    other.mkdir()
    assert Grounding.open(path, words={"root": str(other)}).root == str(other)


@pytest.mark.parametrize(
    ("beside_manifest", "beside_images", "holds"),
    [
        ("open", None, "credentialed"),
        (None, "open", "credentialed"),
        ("open", "research", "research"),
        ("open", "open", "open"),
    ],
)
def test_images_from_another_folder_bring_their_own_policy(
    manifest, tmp_path, beside_manifest, beside_images, holds
):
    path, images = manifest({}), tmp_path / "elsewhere"
    images.mkdir()
    for folder, policy in ((path.parent, beside_manifest), (images, beside_images)):
        if policy:
            (folder / "dataset.toml").write_text(f'policy = "{policy}"\n')
        else:
            (folder / "dataset.toml").unlink(missing_ok=True)
    assert Grounding.open(path, words={"root": str(images)}).policy == holds


def test_a_sample_keeps_source_finding_and_label_in_proportion(manifest):
    benchmark = class_of("grounding").open(manifest({}, {"label": "0", "source": "mimic_cxr"}))
    strata = [benchmark.stratum(case) for case in benchmark.cases()]
    assert strata == [("ms_cxr", "edema", "1"), ("mimic_cxr", "edema", "0")]


def test_every_control_has_a_category_to_be_recovered_as(manifest):
    benchmark = Grounding.open(manifest({}))
    assert set(benchmark.expected()) <= set(benchmark.controls())


# ---------------------------------------------------------------- registry


def test_an_unknown_benchmark_lists_the_known(manifest):
    with pytest.raises(BadInput, match='benchmark is "grunding"; the benchmarks are grounding'):
        class_of("grunding").open(manifest({}))
    with pytest.raises(BadInput, match="the benchmarks are"):
        importer("grunding")


def test_the_registered_metrics():
    names = [metric.name for name, metric in metrics() if name == "grounding"]
    assert names == [
        "accuracy", "sensitivity", "specificity", "parse_rate",
        "answered", "unparsed", "refused", "unanswered", "cgr", "uar", "is", "is_all",
        "retest", "gsp", "image_contingent", "swap_consistency", "category",
        "auroc", "brier", "ece", "ece_answer", "ece_label", "ece_authors", "confidence", "reliability",
        "rexerr_sensitivity", "gap_cgr", "gap_uar",
        "text_gap", "diff_accuracy", "diff_uar", "diff_cgr", "diff_is",
    ]  # fmt: skip


def test_making_trials_imports_neither_numpy_nor_polars(golden):
    script = (
        "import sys\n"
        "from overread.benchmarks.registry import class_of\n"
        "from overread.case import Traits\n"
        f"b = class_of('grounding').open({str(golden / 'mimic' / 'manifest.csv')!r})\n"
        "print(sum(1 for c in b.cases() for _ in b.trials(c, Traits())))\n"
        "assert not {'numpy', 'polars', 'scipy'} & set(sys.modules), 'heavy import'\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("820", "")
