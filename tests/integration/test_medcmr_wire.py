"""What goes over the wire: answers, captions and whatever files hold reach no reader under test.

A recording server plays readers and judges. Every text of the set that only a judge may see, and
everything that travels with an image by accident, carries a token of its own.
"""

from __future__ import annotations

import base64
import io
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from overread.judging.rubric import sections_of
from overread.runs import Run, run
from support.medcmr_sets import MCQ, OPEN, item, mcq, write_zip
from support.served import served

N_MCQ, N_OPEN = 14, 14
EDITIONS = ("corrected", "authors")
TOKEN = re.compile(r"(?:CAP|TRU|SUB|IMG|META|NOTE)-\w+", re.IGNORECASE)
FIELDS = ("visual_description", 'answer":', "image_path", "question type", "organ system")


def picture(index: int, secret: str) -> bytes:
    """A PNG with what scanners and people leave in its text, its EXIF and behind its end."""
    image = Image.new("L", (16, 12), 40 + 3 * index)
    notes = PngInfo()
    notes.add_text("Description", f"META-{secret}")
    notes.add_itxt("Comment", f"META-{secret}z", zip=True)
    exif = Image.Exif()
    exif[0x010E] = f"META-{secret}e"
    data = io.BytesIO()
    image.save(data, "PNG", pnginfo=notes, exif=exif)
    return data.getvalue() + f"META-{secret}t".encode()


def marked(entry: dict[str, Any], kind: str, letter: int = 0) -> dict[str, Any]:
    """An item in which all that is secret has its token."""
    index = entry["index"]
    name = f"{kind}{index:02}{'xy'[letter]}"
    secret = {
        "visual_description": f"A bright spot CAP-{name} in the upper left.",
        "subtype": f"SUB-{name}",
        "image_path": f"dataset/imgs/IMG-{kind}{index:02}.png",
        "note": f"NOTE-{name}",
    }
    right = {"answer": "ABCDE"[(index + letter) % 5] if kind == "m" else f"TRU-{name} lesion"}
    return entry | secret | right


def write_set(folder: Path, letter: int = 0) -> Path:
    """The release in small; `letter` gives other answers and captions to the same questions."""
    mcqs = [marked(mcq(index), "m", letter) for index in range(N_MCQ)]
    opens = [marked(item(index), "o", letter) for index in range(N_OPEN)]
    files: dict[str, bytes] = {}
    for name, entries in ((MCQ, mcqs), (OPEN, opens)):
        files[f"dataset/{name}"] = json.dumps(entries).encode()
    for number, entry in enumerate(mcqs + opens):
        files[entry["image_path"]] = picture(number, f"{number:02}")
    path = write_zip(folder / "dataset.zip", files)
    (folder / "dataset.toml").write_text('policy = "open"\n')
    return path


class Wire(NamedTuple):
    """A run, and every body sent for it."""

    run: Run
    reader: list[str]
    judge: list[str]


def recorded(folder: Path, edition: str, letter: int = 0) -> Wire:
    with served(control="chat_server.letters:draws", keep=10_000) as server:
        done = run(
            "medcmr",
            write_set(folder / "set", letter),
            [f"openai:reader@{server.base_url}"],
            judges=[f"openai:judge@{server.base_url}"],
            edition=edition,
            settings={
                "images": "original,blank,swap,text",
                "orders": "4",
                "reformulate": "5",
                "boot": "100",
                "checks": "2",
                "variants": "1",
            },
            out=folder / "run",
            store=folder / "store.sqlite",
        )
        sent: dict[str, list[str]] = {"reader": [], "judge": []}
        for body in server.kept():
            sent[json.loads(body)["model"]].append(body)
    return Wire(done, sent["reader"], sent["judge"])


@pytest.fixture(scope="module", params=EDITIONS)
def wire(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Wire:
    return recorded(tmp_path_factory.mktemp("wire"), request.param)


def shown(body: str) -> Iterator[bytes]:
    """The images of a body, as they are sent."""
    for data in re.findall(r"data:image/\w+;base64,([A-Za-z0-9+/=]+)", body):
        yield base64.b64decode(data)


def texts_of(body: str) -> list[str]:
    """All words of a body, as a model reads them."""
    parts: list[Any] = []
    for message in json.loads(body)["messages"]:
        said = message["content"]
        parts += [{"type": "text", "text": said}] if isinstance(said, str) else said
    return [part["text"] for part in parts if part["type"] == "text"]


def test_every_condition_was_asked(wire: Wire) -> None:
    answers = pl.read_parquet(wire.run.folder / "answers.parquet")
    asked = Counter(answers.select("form", "image", "order").rows())
    assert asked == {
        **{("mcq", image, 0): N_MCQ for image in ("original", "blank", "swap", "text")},
        **{("mcq", "original", order): N_MCQ for order in (1, 2, 3, 4)},
        **{("open", image, 0): N_OPEN for image in ("original", "blank", "swap", "text")},
        ("reformulated", "original", 0): 5,
    }
    assert len(wire.reader) == answers.height
    without = sum(not list(shown(body)) for body in wire.reader)
    assert without == N_MCQ + N_OPEN


def test_no_secret_reaches_the_reader(wire: Wire) -> None:
    for body in wire.reader:
        for words in (body, *texts_of(body)):
            assert not TOKEN.search(words)
            assert not any(field in words for field in FIELDS)


def test_images_travel_as_pixels_alone(wire: Wire) -> None:
    source = Image.open(io.BytesIO(picture(0, "00")))
    assert source.getexif()[0x010E] == "META-00e"
    assert {"META-00", "META-00z"} <= {str(value) for value in source.info.values()}
    seen = {data for body in wire.reader for data in shown(body)}
    # Each image once, and one size all black.
    assert len(seen) == N_MCQ + N_OPEN + 1
    for data in seen:
        assert not TOKEN.search(data.decode("latin-1"))
        opened = Image.open(io.BytesIO(data))
        opened.load()
        assert not any(TOKEN.search(str(value)) for value in opened.info.values())
        assert not opened.getexif()
        assert data.rstrip(b"\0").endswith(b"IEND\xaeB`\x82")
    # And they are the images of the set.
    greys = {Image.open(io.BytesIO(data)).convert("L").getextrema() for data in seen}
    assert greys == {(0, 0), *((40 + 3 * n,) * 2 for n in range(N_MCQ + N_OPEN))}


def test_the_judge_gets_caption_and_truth_of_its_item_and_no_image(wire: Wire) -> None:
    assert wire.judge
    for body in wire.judge:
        assert not list(shown(body))
        assert "image_url" not in body
        text = texts_of(body)[-1]
        given = sections_of(text)
        (caption,) = re.findall(r"CAP-(\w+)", given["caption"])
        if caption.startswith("o"):
            assert f"TRU-{caption} lesion" == given["truth"]
        else:
            index = int(caption[1:3])
            assert given["truth"] == f"option {'abcde'[index % 5]} of {index}"
        # Of no other item, and nothing that it needs not.
        assert {one.partition("-")[2].lower() for one in TOKEN.findall(text)} == {caption}
        assert {one.partition("-")[0] for one in TOKEN.findall(text)} <= {"CAP", "TRU"}


def test_what_the_reader_gets_does_not_hang_on_what_is_true(wire: Wire, tmp_path: Path) -> None:
    """The same questions with other answers and captions: the same bodies, to the byte."""
    other = recorded(tmp_path, wire.run.record.edition.partition("+")[0], letter=1)
    assert Counter(wire.reader) == Counter(other.reader)
    assert not set(wire.judge) & set(other.judge)
    before, after = (pl.read_parquet(made.run.folder / "cases.parquet") for made in (wire, other))
    assert before["case"].equals(after["case"])
    assert not (before["answer"] == after["answer"]).any()
    assert not (before["caption"] == after["caption"]).any()
