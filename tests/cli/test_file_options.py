"""Whatever option takes a file: a pipe nobody writes to, a device or a bomb is one line, at once."""

from __future__ import annotations

import gzip
import json
import os
import signal
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import pytest

import overread as ov
from overread.cli.app import COMMANDS
from overread.cli.command_line import Option, parameters_of
from overread.runs import plan_batch
from support import datasets, studies
from support.commands import GOLDEN, Overread, write_manifest
from support.warm import forked

pytestmark = pytest.mark.usefixtures("no_pages")

# `PLACE` is what stands where a file is meant. Every option that takes a path has a line here:
# the command as it is right but for that one.
PLACE = "PLACE"
_G = ["run", "grounding", "--cases", "phantom:16", "--reader", "control:looks"]
_BUILD = ["build", "grounding", "--out", "new"]
_MIMIC = [*_BUILD, "--mimic", "jpg", "--patients", "jpg/patients", "--ms-cxr", "jpg/boxes"]
_FIT = ["--train", "own.csv", "--column", "patient=image", "--encoder", "builtin"]
OPTIONS: dict[str, list[str]] = {
    "build --out": [*_BUILD[:-1], PLACE, "--nih", "folder"],
    "build --mimic": [*_BUILD, "--mimic", PLACE, "--ms-cxr", "boxes.csv"],
    "build --ms-cxr": [*_MIMIC[:-1], PLACE],
    "build --rexerr": [*_MIMIC, "--rexerr", PLACE],
    "build --patients": [*_MIMIC[:-3], PLACE, *_MIMIC[-2:]],
    "build --master-list": [*_BUILD, "--master-list", PLACE, "--ms-cxr", "boxes.csv"],
    "build --chexpert": [*_BUILD, "--chexpert", PLACE],
    "build --chexpert-plus": [*_BUILD, "--chexpert", "chexpert", "--chexpert-plus", PLACE],
    "build --chexpert-master-list": [*_BUILD, "--chexpert-master-list", PLACE],
    "build --nih": [*_BUILD, "--nih", PLACE],
    "build --rsna": [*_BUILD, "--rsna", PLACE],
    "build --nih-mapping": [*_BUILD, "--rsna", "rsna", "--nih-mapping", PLACE],
    "build --folder": [*_BUILD, "--folder", PLACE],
    "build --images": [*_BUILD, "--folder", "own.csv", "--images", PLACE],
    "compare runs": ["compare", PLACE],
    "compare --csv": ["compare", "medcmr", "--csv", PLACE],
    "compare --latex": ["compare", "medcmr", "--latex", PLACE],
    "curate collect folder": ["curate", "collect", PLACE],
    "curate ask folder": ["curate", "ask", PLACE],
    "curate distract folder": ["curate", "distract", PLACE],
    "curate steps folder": ["curate", "steps", PLACE],
    "curate filter folder": ["curate", "filter", PLACE],
    "curate review folder": ["curate", "review", PLACE],
    "curate leakage folder": ["curate", "leakage", PLACE],
    "curate publish folder": ["curate", "publish", PLACE],
    "curate publish --out": ["curate", "publish", "folder", "--out", PLACE],
    "demo --out": ["demo", "--out", PLACE],
    "doctor --store": ["doctor", "--store", PLACE],
    "error-sample run": ["error-sample", PLACE, "--reader", "control:letter-a", "--out", "new"],
    "error-sample --out": [
        "error-sample", "medcmr", "--reader", "control:letter-a", "--out", PLACE,
    ],
    "gate runs": ["gate", PLACE, "--policy", "gate.toml"],
    "gate --policy": ["gate", "run", "--policy", PLACE],
    "gate --baseline": ["gate", "run", "--policy", "gate.toml", "--baseline", PLACE],
    "gate --junit": ["gate", "run", "--policy", "gate.toml", "--junit", PLACE],
    "import --replies": [
        "import", "grounding", "--cases", "set/manifest.csv", "--replies", PLACE, "--out", "new",
    ],
    "import --readers": [
        "import", "grounding", "--cases", str(GOLDEN / "mimic" / "manifest.csv"),
        "--replies", str(GOLDEN / "mimic"), "--readers", PLACE, "--out", "new",
    ],
    "import --out": [
        "import", "grounding", "--cases", "set/manifest.csv", "--replies", "folder", "--out", PLACE,
    ],
    "import --store": [
        "import", "medcmr", "--cases", "phantom:28", "--replies", "told", "--out", "new",
        "--judge", "control:lexical-judge", "--store", PLACE,
    ],
    "import-batch batch": ["import-batch", PLACE, "own.csv"],
    "import-batch results": ["import-batch", "batch", PLACE],
    "import-batch --store": ["import-batch", "batch", "own.csv", "--store", PLACE],
    "judge run": ["judge", PLACE, "--judge", "control:lexical-judge"],
    "judge --store": ["judge", "medcmr", "--judge", "control:lexical-judge", "--store", PLACE],
    "judge-sample run": ["judge-sample", PLACE, "--out", "new"],
    "judge-sample --out": ["judge-sample", "medcmr", "--out", PLACE],
    "judge-sample --filled": ["judge-sample", "medcmr", "--filled", PLACE, "--key", "own.csv"],
    "judge-sample --key": ["judge-sample", "medcmr", "--filled", "sheet.csv", "--key", PLACE],
    "measure run": ["measure", PLACE],
    "plan --batch": ["plan", *_G[1:-1], "openai:m@http://127.0.0.1:9/v1", "--batch", PLACE],
    "plan --out": [],  # taken for the sake of `run`, and not looked at
    "plan --only": ["plan", *_G[1:], "--only", PLACE],
    "plan --store": ["plan", *_G[1:], "--store", PLACE],
    "plan --requests": ["plan", *_G[1:], "--requests", PLACE],
    "power --pilot": ["power", "--half-width", "0.05", "--pilot", PLACE],
    "probe fit --out": ["probe", "fit", *_FIT, "--out", PLACE],
    "probe fit --images": ["probe", "fit", *_FIT, "--out", "new", "--images", PLACE],
    "published --beside": ["published", "grounding", "--beside", PLACE],
    "rank-sample run": ["rank-sample", PLACE, "--out", "new"],
    "rank-sample --out": ["rank-sample", "medcmr", "--out", PLACE],
    "report runs": ["report", PLACE],
    "report --out": ["report", "run", "--out", PLACE],
    "report --csv": ["report", "run", "--csv", PLACE],
    "report --latex": ["report", "run", "--latex", PLACE],
    "report --eee": ["report", "run", "--eee", PLACE],
    "report --figures": ["report", "run", "--figures", PLACE],
    "report --policy": ["report", "run", "--policy", PLACE],
    "report --board": ["report", "run", "--board", PLACE],
    "run --out": [*_G, "--out", PLACE],
    "run --only": [*_G, "--out", "new", "--only", PLACE],
    "run --store": [*_G, "--out", "new", "--store", PLACE],
    "serve runs": ["serve", PLACE],
    "store forget --store": ["store", "forget", "x", "--store", PLACE],
    "store list --store": ["store", "list", "--store", PLACE],
    "store merge stores": ["store", "merge", PLACE, "--into", "new.sqlite"],
    "store merge --into": ["store", "merge", "store.sqlite", "--into", PLACE],
    "store serve --store": ["store", "serve", "--port", "0", "--store", PLACE],
    "store serve --tls-cert": ["store", "serve", "--tls-cert", PLACE, "--tls-key", PLACE],
    "store serve --tls-key": ["store", "serve", "--tls-cert", PLACE, "--tls-key", PLACE],
    "study new file": ["study", "new", f"{PLACE}.toml"],
    "study new --out": ["study", "new", "people.toml", "--out", PLACE],
    "study serve folder": ["study", "serve", PLACE],
    "study serve --tls-cert": ["study", "serve", "people", "--tls-cert", PLACE, "--tls-key", PLACE],
    "study serve --tls-key": ["study", "serve", "people", "--tls-cert", PLACE, "--tls-key", PLACE],
    "study export folder": ["study", "export", PLACE, "--out", "new"],
    "study export --out": ["study", "export", "people", "--out", PLACE],
    "study import folder": ["study", "import", PLACE, "sheet.csv", "--reader", "anna"],
    "study import sheet": ["study", "import", "people", PLACE, "--reader", "anna"],
    "study analyse folder": ["study", "analyse", PLACE],
    "study analyse --run": ["study", "analyse", "people", "--early", "--run", PLACE],
    "study analyse --audit": ["study", "analyse", "people", "--early", "--audit", PLACE],
    "transfer first": ["transfer", PLACE, "run"],
    "transfer second": ["transfer", "run", PLACE],
    "transfer --figure": ["transfer", "run", "run", "--figure", f"{PLACE}.svg"],
}  # fmt: skip
# Files that texts name.
NAMED = {
    "run study": ["run", f"{PLACE}.toml"],
    "plan study": ["plan", f"{PLACE}.toml"],
    "run --cases": ["run", "grounding", "--cases", PLACE, "--reader", "control:looks"],
    "heartbeat --cases": ["run", "heartbeat", "--cases", PLACE, "--reader", "control:area"],
    "m3cot --cases": ["run", "m3cot", "--cases", PLACE, "--reader", "control:clinician"],
    "medcmr --cases": ["run", "medcmr", "--cases", PLACE, "--reader", "control:oracle"],
    "--reader probe:": [*_G[:-1], f"probe:{PLACE}"],
    "probe fit --train": ["probe", "fit", "--train", PLACE, *_FIT[2:], "--out", "new"],
    "probe fit --cases": ["probe", "fit", *_FIT, "--cases", PLACE, "--out", "new"],
    "--reader recorded:": [*_G[:-1], f"recorded:{PLACE}"],
    "--set ratings": [*_G, "--set", f"ratings={PLACE}"],
    "--set root": [*_G, "--set", f"root={PLACE}"],
    "--set specialist": [
        "run", "heartbeat", "--cases", "phantom:8", "--reader", "control:area",
        "--set", f"specialist={PLACE}",
    ],
    "--set errors": ["measure", "medcmr", "--set", f"errors={PLACE}"],
    "--set ranks": ["measure", "medcmr", "--set", f"ranks={PLACE}"],
    "--set reformulate": [
        "run", "medcmr", "--cases", "phantom:28", "--reader", "control:oracle",
        "--set", f"reformulate={PLACE}",
    ],
    "--set rubrics": [
        "run", "m3cot", "--cases", "phantom:26", "--reader", "control:clinician",
        "--set", f"rubrics={PLACE}",
    ],
    "import --cases": [
        "import", "medcmr", "--cases", PLACE, "--replies", "replies", "--out", "new",
    ],
    "import --also": [
        "import", "heartbeat", "--replies", "replies", "--also", PLACE, "--out", "new",
    ],
    "heartbeat --replies": ["import", "heartbeat", "--replies", PLACE, "--out", "new"],
    "m3cot --replies": ["import", "m3cot", "--replies", PLACE, "--out", "new"],
    "doctor --cases": ["doctor", "--cases", PLACE],
}  # fmt: skip
EVERY = {name: words for name, words in (OPTIONS | NAMED).items() if words}


def _paths() -> Iterator[str]:
    """Every parameter of the commands that takes a path, as `command --option`."""
    for name, command in COMMANDS.every():
        for one in parameters_of(command):
            if one.kind is Path or one.shown in ("--store", "--into"):  # or a link
                yield f"{name} {one.shown if isinstance(one.about, Option) else one.name}"


def test_every_option_that_takes_a_path_is_tried_here() -> None:
    assert set(_paths()) == set(OPTIONS)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, phantom_cache: Path) -> Path:
    """Two runs, and a little of everything that the commands above name."""
    place = tmp_path_factory.mktemp("made")
    store = {"store": place / "store.sqlite", "limit": 6}
    ov.run("grounding", "phantom:16", ["control:looks"], out=place / "run", **store)
    ov.run(
        "medcmr", "phantom:28", ["control:letter-a", "control:oracle"],
        judges=["control:lexical-judge"], settings={"boot": "100", "checks": "4"},
        out=place / "medcmr", **store,
    )  # fmt: skip
    plan_batch(
        "grounding",
        "phantom:16",
        ["openai:m@http://127.0.0.1:9/v1"],
        folder=place / "batch",
        **store,
    )
    (place / "folder").mkdir()
    (place / "replies").mkdir()
    (place / "told").mkdir()
    said = {"index": 1, "kind": "mcq", "text": "A"}
    (place / "told" / "m.jsonl").write_text(json.dumps(said) + "\n")
    record = {"video_path": "a.avi", "run_id": 0, "num_frames": 40, "start_idx": 0, "gt_edv": 3}
    record |= {"gt_esv": 20, "prompt_name": "structured_edv_esv", "output": "EDV=1, ESV=2"}
    (place / "replies" / "results_m_original_edv_esv_video_random_seed_1.jsonl").write_text(
        json.dumps(record | {"pred_edv": 1, "pred_esv": 2}) + "\n"
    )
    write_manifest(place / "set", {})
    (place / "own.csv").write_text("image,finding,label\na.png,edema,1\n")
    tree = datasets.write_mimic(place / "jpg")
    (place / "jpg" / "patients").symlink_to(tree.patients)
    (place / "jpg" / "boxes").symlink_to(datasets.write_mscxr(place / "ms", tree).csv)
    (place / "chexpert").symlink_to(datasets.write_chexpert(place / "c").train.parent)
    datasets.write_rsna(place / "rsna")
    (place / "sheet.csv").write_text("id,question,person\n1,clarity,1\n")
    rule = 'name="n"\nwhy="It has to be so, for a reason."\nbenchmark="grounding"\nmeasure="uar"\nat_most=0.5\n'
    (place / "people.toml").write_text(
        'name = "p"\nreaders = ["anna"]\n[[task]]\nkind = "form"\ntable = "own.csv"\n'
        'questions = [{ name = "q", text = "?" }]\n'
    )
    studies.filled(studies.made(place / "people"), {"anna": 1.0, "ben": 1.0})
    (place / "gate.toml").write_text(f'title = "t"\n[[rule]]\n{rule}')
    return place


@pytest.fixture
def given(made: Path, workspace: Path) -> Path:
    """The working folder, with all of that in it."""
    for path in made.iterdir():
        (workspace / path.name).symlink_to(path)
    return workspace


@pytest.fixture
def at_once() -> Iterator[None]:
    """What waits for ever is a failure after a while and hangs no suite."""

    def waited(number: int, frame: FrameType | None) -> None:
        raise AssertionError("it waits")

    before = signal.signal(signal.SIGALRM, waited)
    signal.alarm(120)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.slow
@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("kind", ["pipe", "device"])
@pytest.mark.parametrize("name", EVERY)
def test_what_is_no_file_is_refused_at_once(
    given: Path, overread: Overread, name: str, kind: str
) -> None:
    place = given / "place"
    for path in (place, given / "place.toml", given / "place.svg"):
        if kind == "pipe":
            os.mkfifo(path)
        else:
            path.symlink_to("/dev/zero")
    before = os.stat("/dev/zero").st_mode
    done = overread(*(word.replace(PLACE, str(place)) for word in EVERY[name]))
    assert os.stat("/dev/zero").st_mode == before
    if name.startswith("doctor"):  # one finding among others
        assert done.code == 1
        return
    assert done.code == 2, done
    assert "Traceback" not in done.err
    complaint = done.err.splitlines()[-1]
    assert "place" in complaint or "--out new" in complaint, complaint


# ---------------------------------------------------------------- bombs


def _gzipped(path: Path) -> None:
    """Four gigabytes in four megabytes."""
    path.write_bytes(gzip.compress(b"a,b\n" * (1 << 23), 9) * 128)


def _workbook(part: bytes) -> Callable[[Path], None]:
    """An xlsx whose first sheet has this over and over, as much as is unpacked at all."""

    def write(path: Path) -> None:
        from openpyxl import Workbook

        book = Workbook()
        book.save(path)
        with zipfile.ZipFile(path) as made:
            parts = {name: made.read(name) for name in made.namelist()}
        parts["xl/worksheets/sheet1.xml"] = (
            b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
            b"<sheetData><row>"
            + part * ((60 << 20) // len(part))
            + b"</row></sheetData></worksheet>"
        )
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as spoilt:
            for name, data in parts.items():
                spoilt.writestr(name, data)

    return write


DIGITS = "9" * 5000
BOMBS: dict[str, tuple[list[str], str, Callable[[Path], object]]] = {
    "gzipped boxes": ([*_MIMIC[:-1], "bomb.csv.gz"], "bomb.csv.gz", _gzipped),
    "gzipped commas": (
        [*_BUILD, "--folder", "bomb.csv.gz"], "bomb.csv.gz",
        lambda at: at.write_bytes(gzip.compress(b"," * (1 << 25), 9) * 12),
    ),
    "gzip as a case file": (
        ["run", "grounding", "--cases", "bomb.csv", "--reader", "control:looks"], "bomb.csv",
        _gzipped,
    ),
    "xlsx of cells": (
        ["run", "m3cot", "--cases", "bomb.xlsx", "--reader", "control:clinician"], "bomb.xlsx",
        _workbook(b"<c/>"),
    ),
    "keys of a study": (
        ["run", "bomb.toml"], "bomb.toml", lambda at: at.write_text("a" + ".a" * 29_000 + " = 1"),
    ),
    "nested study": (
        ["plan", "bomb.toml"], "bomb.toml", lambda at: at.write_text("a = " + "[" * 50_000),
    ),
    "digits of a study": (
        ["plan", "bomb.toml"], "bomb.toml", lambda at: at.write_text(f"a = {DIGITS}"),
    ),
    "digits of a policy": (
        ["gate", "run", "--policy", "bomb.toml"], "bomb.toml",
        lambda at: at.write_text(f"a = {DIGITS}"),
    ),
    "keys of a policy": (
        ["gate", "run", "--policy", "bomb.toml"], "bomb.toml",
        lambda at: at.write_text("[" + "a." * 29_000 + "b]"),
    ),
    "a long policy": (
        ["gate", "run", "--policy", "bomb.toml"], "bomb.toml",
        lambda at: at.write_bytes(b"# \n" * (1 << 22)),
    ),
    "digits of a manifest": (
        ["run", "grounding", "--cases", "bomb.csv", "--reader", "control:looks"], "bomb.csv",
        lambda at: write_manifest(at.parent / "m", {"box_x": DIGITS}).replace(at),
    ),
    "digits of clips": (
        ["run", "heartbeat", "--cases", "bomb.csv", "--reader", "control:area"], "bomb.csv",
        lambda at: at.write_text(f"clip,ed,es\na.avi,{DIGITS},3\n"),
    ),
    "digits of records": (
        ["import", "heartbeat", "--replies", "bomb.jsonl", "--out", "new"], "bomb.jsonl",
        lambda at: at.write_text(f'{{"video_index": {DIGITS}, "gt_edv": 1, "gt_esv": 2}}\n'),
    ),
    "digits of predictions": (
        ["import", "m3cot", "--replies", "bomb.json", "--out", "new"], "bomb.json",
        lambda at: at.write_text(f'[{{"index": {DIGITS}}}]'),
    ),
    "digits of items": (
        ["run", "medcmr", "--cases", "bomb.jsonl", "--reader", "control:oracle"], "bomb.jsonl",
        lambda at: at.write_text(f'{{"question": "q", "image": "a.png", "answer": {DIGITS}}}\n'),
    ),
    "digits of models": (
        [*OPTIONS["import --readers"][:-3], "bomb.json", "--out", "new"], "bomb.json",
        lambda at: at.write_text(f'{{"m": {{"params_b": {DIGITS}}}}}'),
    ),
    "lines of nothing": (
        ["run", "m3cot", "--cases", "bomb.jsonl", "--reader", "control:clinician"], "bomb.jsonl",
        lambda at: at.write_bytes(b"\n" * (100 << 20) + b"["),
    ),
    "a sparse file": (
        ["run", "grounding", "--cases", "bomb.csv", "--reader", "control:looks"], "bomb.csv",
        lambda at: os.truncate(os.open(at, os.O_CREAT | os.O_WRONLY), 1 << 40),
    ),
    "sparse recorded replies": (
        [*_G[:-1], "recorded:bomb.jsonl"], "bomb.jsonl",
        lambda at: os.truncate(os.open(at, os.O_CREAT | os.O_WRONLY), 1 << 40),
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_one_line_within_a_gigabyte(given: Path, name: str) -> None:
    words, file, write = BOMBS[name]
    write(given / file)
    done = forked(*words, code=_MEASURED)
    _, err = done.communicate(timeout=300)
    *said, peak, spent = err.splitlines()
    assert done.returncode == 2, err[-2000:]
    (line,) = said
    assert line.startswith("overread: ")
    assert "bomb" in line
    assert len(line) < 600
    assert int(peak) < 1_000_000, "kB"
    assert float(spent) < 60, "seconds of a processor"


_MEASURED = """
import atexit, resource, sys, time
resource.setrlimit(resource.RLIMIT_DATA, (4 << 30, 4 << 30))  # a failure harms nobody else

def tell():
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(peak, time.process_time(), sep="\\n", file=sys.stderr)

atexit.register(tell)
from overread.cli import main
main()
"""
