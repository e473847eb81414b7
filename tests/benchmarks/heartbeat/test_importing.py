"""The authors' result files become the tables of a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from overread.benchmarks.heartbeat import loading
from overread.benchmarks.heartbeat.cases import HeartbeatCase
from overread.benchmarks.heartbeat.edition import CONTEXTS
from overread.benchmarks.heartbeat.importing import import_results
from overread.benchmarks.heartbeat.records import sheets_of
from overread.case import BadInput

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
    monkeypatch.setattr(loading, "load", lambda *_: ([case], []))
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

    monkeypatch.setattr(loading, "load", load)
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
