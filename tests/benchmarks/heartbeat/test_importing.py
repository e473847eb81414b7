"""The authors' result files become the tables of a run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from overread.benchmarks.heartbeat import Heartbeat, importing
from overread.benchmarks.heartbeat.cases import HeartbeatCase
from overread.benchmarks.heartbeat.edition import CONTEXTS
from overread.benchmarks.heartbeat.importing import import_results, sheets_of
from overread.case import BadInput
from overread.imaging import lossless_clip
from overread.phantoms.heart import write_heart_set
from support.datasets import write_csv

GOLDEN = Path(__file__).parents[2] / "golden" / "heartbeat"
T1 = sorted(path for path in GOLDEN.glob("echo_t1_*") if path.is_dir())
T2 = sorted(path for path in GOLDEN.glob("echo_t2_*") if path.is_dir())

FRAMES = {
    "video_index": 0,
    "video_path": "/data/a4c/0XABC.avi",
    "run_id": 0,
    "model_name": "some/model-8b",
    "prompt_name": "structured_edv_esv",
    "num_frames": 37,
    "idx_range": [0, 36],
    "start_idx": 47,
    "gt_edv": 10,
    "gt_esv": 26,
    "pred_edv": 11,
    "pred_esv": 32,
    "output": "Frame: EDV=11, ESV=32.",
    "latency_sec": 1.5,
}
PAIR = {
    "video_path": "0XABC.avi",
    "run_id": 0,
    "gt_edv": 1,
    "gt_esv": 0,
    "pred_edv": 0,
    "pred_esv": None,
    "output": "EDV=0",
}


def written(folder, name, *records):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def only(parts):
    assert parts.tables.answers.height == 1
    return parts.tables.answers.row(0, named=True)


def name_of(model="m", context="original", wanted="edv_esv", kind="video", seed=2021):
    return f"results_{model}_{context}_{wanted}_{kind}_random_seed_{seed}.jsonl"


# ---------------------------------------------------------------- what a record says


def test_a_record_of_their_runner(tmp_path):
    parts = import_results(None, written(tmp_path, name_of(), FRAMES))
    row = only(parts)
    assert (row["reader"], row["case"], row["seed"], row["pass"]) == (
        "some/model-8b",
        "0XABC",
        2021,
        0,
    )
    assert (row["task"], row["context"], row["format"]) == ("t1", "original", "edv_esv")
    assert (row["outcome"], row["pred_ed"], row["pred_es"]) == ("answered", 11, 32)
    assert (row["truth_ed"], row["truth_es"], row["start"]) == (10, 26, 47)
    assert (row["count"], row["stated"], row["out_of_range"]) == (37, 37, False)
    assert row["recorded"] is True
    case = parts.tables.cases.row(0, named=True)
    assert (case["ed"], case["es"]) == (57, 73)
    assert parts.warnings == []


def test_the_two_frame_task_is_known_by_what_its_records_lack(tmp_path):
    row = only(import_results(None, written(tmp_path, name_of(wanted="edv", kind="frame"), PAIR)))
    assert (row["task"], row["reader"], row["count"]) == ("t2", "m", 2)
    assert (row["truth_ed"], row["truth_es"], row["pred_ed"]) == (1, 0, 0)


@pytest.mark.parametrize(
    ("context", "want"),
    [
        ("original", "original"),
        ("segmented", "segmented"),
        ("seg", "segmented"),
        ("seg_only", "non_medical"),
        ("non_medical", "non_medical"),
    ],
)
def test_the_file_name_says_the_context(tmp_path, context, want):
    path = written(tmp_path, name_of("Qwen3-VL-8B", context, "esv"), PAIR)
    (sheet,) = sheets_of(path)
    assert (sheet.model, sheet.context, sheet.format, sheet.seed) == (
        "Qwen3-VL-8B",
        want,
        "esv",
        2021,
    )


@pytest.mark.parametrize(
    ("word", "want"),
    [("large_small", "edv_esv"), ("small_large", "esv_edv"), ("large", "edv"), ("small", "esv")],
)
def test_the_papers_words_for_the_formats(tmp_path, word, want):
    (sheet,) = sheets_of(written(tmp_path, name_of(wanted=word, context="non_medical"), PAIR))
    assert sheet.format == want


def test_a_folder_says_the_context_where_the_file_does_not(tmp_path):
    written(tmp_path, "t1_segmented/edv_esv.jsonl", FRAMES)
    assert only(import_results(None, tmp_path))["context"] == "segmented"


def test_a_context_nobody_states_is_taken_as_original_and_said(tmp_path):
    parts = import_results(None, written(tmp_path / "x", "edv_esv.jsonl", FRAMES))
    assert only(parts)["context"] == "original"
    assert "original" in parts.warnings[0]


def test_the_prompts_name_goes_before_the_files(tmp_path):
    path = written(tmp_path, name_of(wanted="esv"), FRAMES)
    assert only(import_results(None, path))["format"] == "edv_esv"


def test_a_records_own_seed_goes_before_the_files(tmp_path):
    path = written(tmp_path, name_of(seed=2021), FRAMES | {"seed": 2029}, FRAMES)
    assert import_results(None, path).tables.answers["seed"].to_list() == [2029, 2021]


def test_the_nearest_folder_says_the_context(tmp_path):
    written(tmp_path, "original/segmented/edv_esv.jsonl", FRAMES)
    assert only(import_results(None, tmp_path))["context"] == "segmented"


def test_a_prediction_nobody_asked_for_is_none(tmp_path):
    both = FRAMES | {"prompt_name": "structured_esv", "output": "?"}
    row = only(import_results(None, written(tmp_path, name_of(wanted="esv"), both)))
    assert (row["pred_ed"], row["pred_es"]) == (None, 32)


@pytest.mark.parametrize(("frame", "outside"), [(36, False), (37, True), (-1, True)])
def test_out_of_range_is_beyond_the_last_frame(tmp_path, frame, outside):
    row = only(import_results(None, written(tmp_path, name_of(), FRAMES | {"pred_edv": frame})))
    assert (row["pred_ed"], row["out_of_range"]) == (frame, outside)


# ---------------------------------------------------------------- what was read


def test_recorded_predictions_are_kept_unless_read_again(tmp_path):
    odd = FRAMES | {"pred_edv": 5, "pred_esv": 6}
    path = written(tmp_path, name_of(), odd)
    kept, again = (only(import_results(None, path, reparse=r)) for r in (False, True))
    assert (kept["pred_ed"], kept["pred_es"]) == (5, 6)
    assert (again["pred_ed"], again["pred_es"]) == (11, 32)


def test_the_non_medical_words_are_read_as_their_notebook_does(tmp_path):
    base = FRAMES | {"pred_edv": None, "pred_esv": None}
    told = base | {"output": "LARGEST_AREA_INDEX=3, SMALLEST_AREA_INDEX=9"}
    path = written(tmp_path, name_of(context="non_medical"), told)
    row = only(import_results(None, path))
    assert (row["outcome"], row["pred_ed"], row["pred_es"]) == ("answered", 3, 9)
    survives = FRAMES | {"output": "nothing of the kind"}
    row = only(import_results(None, written(tmp_path, name_of(context="non_medical"), survives)))
    assert (row["pred_ed"], row["pred_es"]) == (11, 32)


def test_the_lenient_reading_stands_apart(tmp_path):
    loose = FRAMES | {"pred_edv": None, "pred_esv": None, "output": "ESV: 30, EDV: 12"}
    row = only(import_results(None, written(tmp_path, name_of(), loose)))
    assert (row["outcome"], row["pred_ed"], row["lenient_ed"], row["lenient_es"]) == (
        "unparsed",
        None,
        12,
        30,
    )


def test_a_number_no_table_can_hold_is_no_answer(tmp_path):
    huge = FRAMES | {"pred_edv": 10**30, "pred_esv": 10**30, "output": "?"}
    row = only(import_results(None, written(tmp_path, name_of(), huge)))
    assert row["outcome"] == "unparsed"


@pytest.mark.parametrize("folder", [*T1, *T2], ids=lambda path: path.name)
def test_every_golden_record_is_taken_over(folder):
    parts = import_results(None, folder, edition="authors")
    lines = sum(len(path.read_text().splitlines()) for path in folder.glob("*.jsonl"))
    assert parts.tables.answers.height == lines
    expected = json.loads((folder / "expected.json").read_text())
    assert parts.tables.cases.height == len(expected["videos"])
    assert parts.tables.answers["context"].unique().to_list() == [folder.name.split("_", 2)[2]]
    if folder in T1:
        got = parts.tables.cases.sort("case").select("ed", "es").rows()
        assert got == [(video["edv"], video["esv"]) for video in expected["videos"]]


@pytest.mark.parametrize("folder", [*T1, *T2], ids=lambda path: path.name)
def test_reading_again_gives_what_was_recorded(folder):
    kept, again = (
        import_results(None, folder, edition="authors", reparse=reparse).tables.answers
        for reparse in (False, True)
    )
    columns = ("pred_ed", "pred_es", "outcome")
    assert kept.select(columns).equals(again.select(columns))


# ---------------------------------------------------------------- with cases


def test_frames_that_were_stated_but_never_shown(tmp_path, monkeypatch):
    case = HeartbeatCase(case_id="0XABC", clip="Videos/0XABC.avi", frames=80, ed=57, es=73)
    monkeypatch.setattr(importing, "load", lambda *_: ([case], []))
    row = only(import_results("set", written(tmp_path, name_of(), FRAMES)))
    assert (row["count"], row["stated"]) == (80 - 47, 37)
    other = FRAMES | {"video_path": "0XOTHER.avi"}
    with pytest.raises(BadInput, match="0XOTHER"):
        import_results("set", written(tmp_path, name_of(), other))


def given(monkeypatch, *cases):
    """Cases that a set is said to hold; what was asked of it is kept."""
    asked = []

    def load(path, rules, options):
        asked.append(options)
        return list(cases), []

    monkeypatch.setattr(importing, "load", load)
    return asked


def heart(name, ed=57, es=73):
    return HeartbeatCase(case_id=name, clip=f"Videos/{name}.avi", frames=90, ed=ed, es=es)


def test_records_of_other_true_frames_are_refused_be_one_of_them_the_same(tmp_path, monkeypatch):
    path = written(tmp_path, name_of(), FRAMES)
    for ed, es, fits in ((57, 73, True), (73, 57, True), (57, 74, False), (56, 73, False)):
        given(monkeypatch, heart("0XABC", ed, es))
        if fits:
            assert only(import_results("set", path))["case"] == "0XABC"
        else:
            with pytest.raises(BadInput, match=f"57 and 73 there and {ed} and {es} among"):
                import_results("set", path)


def test_a_video_known_by_its_number_is_the_case_at_that_place(tmp_path, monkeypatch):
    given(monkeypatch, heart("a"), heart("b"))
    bare = {k: v for k, v in FRAMES.items() if k != "video_path"}
    names = [
        only(import_results("set", written(tmp_path, name_of(), bare | {"video_index": n})))["case"]
        for n in (0, 1)
    ]
    assert names == ["a", "b"]
    for beyond in (2, -1):
        with pytest.raises(BadInput, match="not among the cases"):
            import_results("set", written(tmp_path, name_of(), bare | {"video_index": beyond}))


def test_every_clip_of_the_set_may_be_meant_whatever_a_run_would_draw(tmp_path, monkeypatch):
    asked = given(monkeypatch, heart("0XABC"))
    words = {"videos": "3", "split": "TEST", "contexts": "segmented"}
    import_results("set", written(tmp_path, name_of(), FRAMES), words=words)
    (options,) = asked
    assert options.videos > 100_000
    assert (options.split, options.contexts) == (None, CONTEXTS)


# ---------------------------------------------------------------- what cannot be read


@pytest.mark.parametrize(
    ("record", "says"),
    [
        ("{not json", "line 1"),
        ({k: v for k, v in FRAMES.items() if k != "gt_edv"}, "gt_edv"),
        (FRAMES | {"pred_edv": 1.5}, "1.5"),
        (FRAMES | {"pred_edv": True}, "line 1"),
        ({k: v for k, v in FRAMES.items() if not k.startswith("video")}, "video_path"),
        (PAIR | {"gt_esv": 1}, "gt_esv 1"),
        (PAIR | {"gt_edv": 40, "gt_esv": -39}, "gt_edv 40"),
    ],
)
def test_a_bad_line_is_named(tmp_path, record, says):
    path = tmp_path / name_of(wanted="edv")
    path.write_text(record if isinstance(record, str) else json.dumps(record))
    with pytest.raises(BadInput, match=says) as caught:
        import_results(None, path)
    assert path.name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_says_no_format(tmp_path):
    plain = {k: v for k, v in FRAMES.items() if k != "prompt_name"}
    with pytest.raises(BadInput, match="phases"):
        import_results(None, written(tmp_path, "results.jsonl", plain))


@pytest.mark.parametrize("what", ["missing", "empty folder", "empty file"])
def test_nothing_to_import(tmp_path, what):
    if what == "empty file":
        (tmp_path / name_of()).write_text("\n")
    root = tmp_path / "none" if what == "missing" else tmp_path
    with pytest.raises(BadInput):
        import_results(None, root)


def test_the_same_video_with_other_frames_is_refused(tmp_path):
    other = FRAMES | {"run_id": 1, "gt_edv": 11}
    with pytest.raises(BadInput, match="0XABC"):
        import_results(None, written(tmp_path, name_of(), FRAMES, other))


def test_roles_come_from_the_readers_file(tmp_path):
    path = written(tmp_path, name_of(), FRAMES)
    roles = tmp_path / "models.json"
    roles.write_text(json.dumps({"some/model-8b": {"role": "text_only"}, "other": {}}))
    parts = import_results(None, path, roles)
    assert parts.tables.readers[0].traits.modality == "text"
    assert any("other" in line for line in parts.warnings)
    roles.write_text(json.dumps({"some/model-8b": {"role": "oracle"}}))
    with pytest.raises(BadInput, match="oracle"):
        import_results(None, path, roles)


# ---------------------------------------------------------------- volumes of the cases

EF = json.loads((GOLDEN / "echo_ef_formula.json").read_text("utf-8"))


def clips_of(folder, some):
    """A set of clips with a csv of volumes each; the window is the whole clip."""
    (folder / "volumes").mkdir(parents=True)
    rows = []
    for number, one in enumerate(some):
        frames = [np.full((8, 8), 40 + k, np.uint8) for k in range(len(one["volumes"]))]
        (folder / f"{number}.mkv").write_bytes(lossless_clip(frames))
        lines = "".join(f"{k},{volume!r}\n" for k, volume in enumerate(one["volumes"]))
        (folder / "volumes" / f"{number}.csv").write_text(f"frame,volume\n{lines}")
        rows.append((f"{number}.mkv", one["gt_edv"], one["gt_esv"], f"volumes/{number}.csv"))
    return write_csv(folder / "cases.csv", ("clip", "ed", "es", "volumes"), rows)


def said_of(some, **more):
    return [
        {
            "video_path": f"{number}.mkv",
            "run_id": 0,
            "num_frames": len(one["volumes"]),
            "start_idx": 0,
            **{key: one[key] for key in ("gt_edv", "gt_esv", "pred_edv", "pred_esv")},
            "output": f"Frame: EDV={one['pred_edv']}, ESV={one['pred_esv']}",
            **more,
        }
        for number, one in enumerate(some)
    ]


@pytest.mark.parametrize("edition", ["authors", "corrected"])
def test_volumes_of_the_cases_give_ef_as_the_formula_does(tmp_path, edition):
    some = EF["cases"]
    cases = clips_of(tmp_path / "set", some)
    path = written(tmp_path / "results", name_of(seed=2020), *said_of(some))
    parts = import_results(cases, path, edition=edition, words={"boot": "100"})
    made = parts.benchmark.measure(parts.tables)
    (ef,) = (m for m in made if m.measure == "ef_mae" and m.reader == "m")
    assert ef.value == pytest.approx(EF["mae_in_range_only"], abs=1e-9)
    inside = [one for one in some if one["in_range"]]
    assert ef.n == len(inside)
    for one in inside:
        alone = [one]
        number = some.index(one)
        cases = clips_of(tmp_path / f"set-{number}", alone)
        path = written(tmp_path / f"one-{number}", name_of(seed=2020), *said_of(alone))
        parts = import_results(cases, path, edition=edition, words={"boot": "100"})
        made = parts.benchmark.measure(parts.tables)
        (ef,) = (m for m in made if m.measure == "ef_mae" and m.reader == "m")
        assert ef.value == pytest.approx(one["abs_error"], abs=1e-9)


def test_labels_the_other_way_round_do_not_move_the_window(tmp_path):
    """The records may call end-systole what the cases call end-diastole; frames stay frames."""
    volumes = [50.0, 60, 80, 100, 90, 70, 40, 20, 30, 60]
    one = {"volumes": volumes, "gt_edv": 3, "gt_esv": 7, "pred_edv": 3, "pred_esv": 7}
    cases = clips_of(tmp_path / "set", [one])
    swapped = said_of([one], gt_edv=7, gt_esv=3)
    parts = import_results(cases, written(tmp_path / "r", name_of(), *swapped))
    made = parts.benchmark.measure(parts.tables)
    (ef,) = (m for m in made if m.measure == "ef_mae" and m.reader == "m")
    assert ef.value == pytest.approx(0)


@pytest.mark.slow
def test_masks_of_the_cases_give_ef_and_their_baselines(tmp_path):
    """The same clips, answers and windows, once run and once imported, have the same EF."""
    cases = write_heart_set(tmp_path / "hearts", 3, seed=5, workers=1)
    bench = Heartbeat.open(cases)
    some = [
        {
            "video_path": case.clip,
            "run_id": 0,
            "num_frames": 20,
            "start_idx": min(case.ed, case.es) - 1,
            "gt_edv": case.ed - min(case.ed, case.es) + 1,
            "gt_esv": case.es - min(case.ed, case.es) + 1,
            "pred_edv": 2,
            "pred_esv": 9,
        }
        for case in bench.cases()
    ]
    parts = import_results(cases, written(tmp_path / "r", name_of(), *some))
    made = parts.benchmark.measure(parts.tables)
    readers = {m.reader for m in made if m.measure == "mae"}
    assert {"baseline:area", "baseline:volume"} <= readers
    kept = dict(parts.tables.cases.select("case", "frame_areas").iter_rows())
    for case, one in zip(bench.cases(), some, strict=True):
        known = [k for k, area in enumerate(kept[case.case_id]) if area is not None]
        first = one["start_idx"]
        assert known == list(range(first, min(first + 20, case.frames)))


# ---------------------------------------------------------------- what the records say they are

AREA = FRAMES | {
    "prompt_name": "structured_edv",
    "pred_edv": None,
    "pred_esv": None,
    "output": "Frame: LARGEST_AREA_INDEX=9",
}


def contexts_in(parts):
    rows = parts.tables.answers.select("seed", "context").sort("seed")
    return [context for _, context in rows.iter_rows()]


def test_the_runners_words_for_its_clips(tmp_path):
    written(tmp_path, name_of(context="echo", seed=1), FRAMES)
    written(tmp_path, name_of(context="segmented_echo", seed=2), FRAMES)
    parts = import_results(None, tmp_path)
    assert contexts_in(parts) == ["original", "segmented"]
    assert parts.warnings == []


def test_the_non_medical_question_is_known_by_what_is_answered(tmp_path):
    """Its files are named like those of the segmented clips; a silent seed goes with the others."""
    name = {"context": "segmented_echo", "wanted": "edv"}
    for seed in (1, 2, 3):
        said = "" if seed == 3 else AREA["output"]
        written(tmp_path / "nonmed", name_of(seed=seed, **name), AREA | {"output": said})
    written(tmp_path / "medical", name_of(seed=4, **name), AREA | {"output": "Frame: EDV=3"})
    parts = import_results(None, tmp_path)
    assert contexts_in(parts) == ["non_medical"] * 3 + ["segmented"]
    rows = parts.tables.answers.sort("seed")
    assert rows["pred_ed"].to_list() == [9, 9, None, None]
    assert parts.warnings == [
        "3 files hold answers to the non-medical question, by what they name."
    ]


def test_the_examples_of_the_repository_are_read(tmp_path):
    """Two files of two frames: one of a single phase, one that asks for both and parsed nothing."""
    name = "example_results_Qwen3-VL-8B-Instruct_echo_structured_{}.jsonl"
    some = {}
    for wanted, said in (("edv", 1), ("esv_edv", None)):
        some[wanted] = [
            {
                "video_index": video,
                "video_path": f"your/path/to/videos/video{video + 1}.avi",
                "run_id": run,
                "model_name": "Qwen3-VL-8B-Instruct",
                "prompt_name": f"structured_{wanted}",
                "gt_edv": 0 if (video, wanted) == (2, "edv") else 1,
                "gt_esv": 1 if (video, wanted) == (2, "edv") else 0,
                "pred_edv": said,
                "pred_esv": None,
                "output": "EDV=1",
                "latency_sec": 5.15,
            }
            for video in range(5)
            for run in range(3)
        ]
        written(tmp_path / "examples", name.format(wanted), *some[wanted])
    for edition in ("authors", "corrected"):
        parts = import_results(None, tmp_path / "examples", edition=edition, words={"boot": "100"})
        (warning,) = parts.warnings
        assert "both of two frames" in warning
        answers = parts.tables.answers
        assert answers.select("task", "context", "format", "outcome").unique().sort(
            "format"
        ).rows() == [("t2", "original", "edv", "answered"), ("t2", "original", "esv", "unparsed")]
        made = parts.benchmark.measure(parts.tables)
        accuracy = {m.by["format"]: m.value for m in made if m.measure == "accuracy"}
        assert accuracy["edv"] == pytest.approx(4 / 5)
        list(parts.benchmark.exhibits(made, "heartbeat"))
