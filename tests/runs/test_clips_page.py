"""docs/clips.md: every example works as it is printed, on miniature trees of the datasets."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from overread.benchmarks.heartbeat import ejection, loading
from overread.case import ClipForm
from overread.readers.spec import parse_spec
from support.commands import Overread
from support.echo_trees import (
    Heart,
    beating,
    write_camus,
    write_dicom,
    write_echonet,
    write_masks,
    write_mp4,
    write_pediatric,
    write_video,
)

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "clips.md").read_text("utf-8")
GOLDEN = ROOT / "tests" / "golden" / "heartbeat" / "echo_t1_original" / "edv_esv.jsonl"
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = [line for _, block in BLOCKS for line in block.splitlines() if line.startswith("ov")]
HEARTS = [Heart(f"0X{n}", ed=8 + n, es=24 + n) for n in range(3)]
# What an example leaves to its default and a test need not wait for.
LESS = {"seeds": "2020", "passes": "1", "boot": "100", "formats": "edv_esv"}


def sped(line: str) -> list[str]:
    """The words of a command, with fewer seeds, passes, formats and resamples where it names none."""
    words = shlex.split(line)[1:]
    if words[0] in ("measure", "import"):
        return [*words, "--set", "boot=100"]
    named = {word.partition("=")[0] for word in words}
    more = [f"{key}={value}" for key, value in LESS.items() if key not in named]
    return [*words, *(part for word in more for part in ("--set", word))]


@pytest.fixture
def trees(workspace: Path) -> Path:
    """The datasets the page speaks of, a few clips of each."""
    far = Heart("0XFAR", ed=5, es=45)
    write_echonet(Path("EchoNet-Dynamic"), [*HEARTS, far])
    write_pediatric(Path("EchoNet-Pediatric"), [h._replace(split="3") for h in HEARTS])
    half = [Heart(f"patient000{n}", ed=0, es=16, frames=25) for n in range(1, 4)]
    write_camus(Path("CAMUS"), half)
    for heart in HEARTS:
        clip = beating(heart.frames, heart.ed, heart.es)
        marked = clip.copy()
        marked[..., 0] = np.where(clip[..., 0] > 100, 255, clip[..., 0])
        beside = np.concatenate([clip, marked], axis=2)
        whole = np.concatenate([beside, np.zeros_like(beside)], axis=1)
        write_video(Path(f"EchoNet-Dynamic/segmented/{heart.name}.avi"), whole)
    _ward(Path("ward"))
    Path("results").mkdir()
    lines = GOLDEN.read_text("utf-8").splitlines(keepends=True)[:30]
    Path("results/model_original_edv_esv.jsonl").write_text("".join(lines), "utf-8")
    Path("echoclip.csv").write_text("FileName,EF\na0,51.5\nb.mp4,60\nnobody,40\n", "utf-8")
    return workspace


def _ward(home: Path) -> None:
    """The folder of the csv that the page prints."""
    from PIL import Image

    clip = beating(60)
    masks = clip[..., 0] > 100
    for name in ("a0", "a1"):
        write_dicom(home / "clips" / f"{name}.dcm", clip, FrameTime="20")
    write_mp4(home / "clips" / "b.mp4", clip)
    write_masks(home / "masks" / "a0.npz", masks)
    (home / "masks" / "a1").mkdir()
    for number, mask in enumerate(masks):
        Image.fromarray(mask.astype(np.uint8) * 255).save(home / "masks/a1" / f"{number:03}.png")
    (home / "volumes").mkdir()
    listed = "".join(f"{n},{int(mask.sum())}\n" for n, mask in enumerate(masks))
    (home / "volumes" / "b.csv").write_text(f"frame,volume\n{listed}", "utf-8")
    (printed,) = (block for _, block in BLOCKS if block.startswith("clip,ed,es"))
    (home / "cases.csv").write_text(printed, "utf-8")


def test_every_example_works_as_printed(overread: Overread, trees: Path) -> None:
    run = [line for line in COMMANDS if not line.startswith("overread sight")]
    assert len(run) >= 8
    for language, block in BLOCKS:
        if language == "python":
            exec(block, {})  # what a user would paste
            continue
        for line in block.splitlines():
            if line in run:
                done = overread(*sped(line))
                assert done.code == 0, f"{line}\n{done.err}"
    left = Path("plain/left_out.csv").read_text("utf-8")
    assert left.splitlines()[0] == "name,reason"
    assert "its phases are 40 frames apart: a window of 30 cannot hold both" in left
    assert set(pl.read_parquet("masked/answers.parquet")["context"]) > {"original"}
    methods = pl.read_parquet("ward-run/cases.parquet")["volume_method"]
    assert sorted(methods) == ["csv", "discs", "discs"]
    assert "specialist:echoclip" in Path("ward-run/measures.json").read_text("utf-8")


def test_every_command_of_the_table_opens_its_set(overread: Overread, trees: Path) -> None:
    table = [line for line in re.findall(r"`(overread run [^`]+)`", PAGE) if "--cases" in line]
    assert len(table) == 5
    for line in table:
        words = line.replace("SPEC", "control:middle-frame").replace("phantom:40", "phantom:12")
        done = overread(*sped(words.replace("overread run", "overread plan")))
        assert done.code == 0, f"{line}\n{done.err}"


def test_the_reader_of_the_check_for_clips_takes_videos() -> None:
    (line,) = (line for line in COMMANDS if line.startswith("overread sight"))
    _, command, spec, option = shlex.split(line)
    assert (command, option) == ("sight", "--clips")
    assert parse_spec(spec).clips == "video"
    forms = re.findall(r"^\| `clips=(\w+)`", PAGE, re.MULTILINE)
    assert set(forms) == set(ClipForm.__args__)  # type: ignore[attr-defined]


def test_every_column_of_a_csv_is_named() -> None:
    columns = (
        *("case_id", "beat", "frames", *loading.CLIP_COLUMNS),
        *(*loading.TEXT_COLUMNS, *loading.NUMBER_COLUMNS),
        *(also for names in loading._OTHER_NAMES.values() for also in names),
    )
    told = PAGE.split("## A csv of your own")[1].split("\n## ")[0]
    assert [name for name in columns if f"`{name}`" not in told] == []
    told = PAGE.split("## Ejection fraction, and specialists")[1].split("\n## ")[0]
    names = (*ejection._CASE_COLUMNS, *ejection._EF_COLUMNS)
    assert [name for name in names if f"`{name}`" not in told] == []
