"""The reader: a picture and the name of what is asked, never a word; replies with probabilities."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from overread.benchmarks.grounding.cases import GroundingCase
from overread.benchmarks.grounding.edition import AUTHORS, CORRECTED, Options
from overread.benchmarks.grounding.trials import trials
from overread.case import (
    BadInput,
    Inline,
    Message,
    Picture,
    Prompt,
    PromptMessage,
    Reader,
    ReaderFailure,
    Reply,
    Request,
    Resize,
    Traits,
)
from overread.engine.studio import request_digest
from overread.imaging import digest, render
from overread.readers import Guard, open_reader
from overread.readers.probe import heads
from overread.readers.probe.encoders import BuiltIn
from overread.sight import digit_picture

WORDLESS = Traits(modality="vision", told_topic=True)
FILM = Picture(Inline(digit_picture("4711")), (Resize(224, 224),))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Heads with which the picture has edema for sure, and pneumonia as likely as not."""
    width = BuiltIn().encode([np.zeros((8, 8), np.uint8)]).whole.shape[1]
    told = [
        heads.Head(finding=name, films=9, present=4, patients=9, c=1.0, converged=True)
        for name in ("edema", "pneumonia")
    ]
    found = heads.Heads(
        ("edema", "pneumonia"),
        np.zeros((2, width)),
        np.array([3.0, 0.0]),
        np.zeros(width),
        np.ones(width),
    )
    card = {"edition": "corrected", "part": "whole", "encoder": "builtin", "px": 224, "seed": 0}
    card |= {"encoder_identity": "builtin-1", "encoder_runs_as": "float32 on cpu"}
    card |= {"train": "t@0", "films": 1, "patients": 1, "unreadable": 0}
    card |= {"excluded_patients": 0, "excluded_films": 0}
    heads.write(tmp_path / "probe", card, found, told)
    return tmp_path / "probe"


def opened(folder: Path, options: str = "", cache: Path | None = None) -> Reader:
    environment = {"OVERREAD_CACHE": str(cache or folder.parent / "cache")}
    spec = f"probe:{folder}{options}"
    return open_reader(spec, guard=Guard(), environment=environment, controls={})


def asked(reader: Reader, *topics: str) -> list[Reply]:
    shown = render(FILM)
    prompts = [Prompt((PromptMessage("user", (shown,)),), topic=topic) for topic in topics]

    async def ask() -> list[Reply]:
        try:
            return list(await asyncio.gather(*map(reader.reply, prompts)))
        finally:
            await reader.close()

    return asyncio.run(ask())


def test_it_says_yes_or_no_with_the_probability_of_its_head(folder: Path) -> None:
    sure, even, absent = asked(opened(folder), "edema", "pneumonia", "not edema")
    assert (sure.text, even.text, absent.text) == ("Yes", "Yes", "No")
    assert sure.logprobs is not None
    p = 1 / (1 + math.exp(-3))
    said = {word: math.exp(value) for word, value in sure.logprobs}
    assert said == pytest.approx({"Yes": p, "No": 1 - p})


def test_a_finding_without_a_head_is_not_answered(folder: Path) -> None:
    for reply in asked(opened(folder), "fracture", "", "not no_finding"):
        assert (reply.text, reply.logprobs) == ("probe_unavailable", None)


def test_it_is_one_picture_or_no_reply(folder: Path) -> None:
    reader = opened(folder)

    async def ask() -> None:
        try:
            await reader.reply(Prompt((PromptMessage("user", ("words alone",)),), topic="edema"))
        finally:
            await reader.close()

    with pytest.raises(ReaderFailure, match="asked about one picture"):
        asyncio.run(ask())


def test_pictures_are_encoded_once_whatever_the_heads(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = asked(opened(folder), "edema", "pneumonia")

    def never(*_: Any) -> None:
        raise AssertionError("encoded again")

    monkeypatch.setattr(BuiltIn, "encode", never)
    again = asked(opened(folder), "edema", "pneumonia")
    assert [reply.logprobs for reply in again] == [reply.logprobs for reply in first]


def test_its_identity_is_of_its_heads_and_not_of_its_place(folder: Path, tmp_path: Path) -> None:
    elsewhere = folder.rename(tmp_path / "moved")
    first = opened(elsewhere).identity
    assert str(tmp_path) not in first
    (elsewhere / "probe.toml").write_text(
        (elsewhere / "probe.toml").read_text().replace("seed = 0", "seed = 1")
    )
    assert opened(elsewhere).identity != first


@pytest.mark.parametrize(
    "option", ["before=Look", "system=x", "after=y", "max_tokens=3", "modality=text"]
)
def test_it_takes_no_words(folder: Path, option: str) -> None:
    with pytest.raises(BadInput, match="a probe takes no words"):
        opened(folder, f"?{option}")


def test_heads_of_another_encoder_are_refused(folder: Path) -> None:
    card = folder / "probe.toml"
    card.write_text(card.read_text().replace('"builtin-1"', '"builtin-0"'))
    with pytest.raises(BadInput, match=r"fitted on builtin-0, and builtin is builtin-1 now"):
        opened(folder)
    with pytest.raises(BadInput, match=r"holds no probe.toml. Make a probe"):
        opened(folder.parent)


# ---------------------------------------------------------------- what reaches it


def case(finding: str, label: int = 1) -> GroundingCase:
    return GroundingCase(
        case_id="c", source="mimic_cxr", image_path="a.png", finding=finding, label=label
    )


def requests(one: GroundingCase, edition: str, traits: Traits, **options: Any) -> list[Request]:
    asked = trials(
        one, traits, AUTHORS if edition == "authors" else CORRECTED, Options(**options), "/films"
    )
    return [trial.request.for_reader(traits) for trial in asked]


def test_a_request_reaches_it_as_picture_and_topic_without_a_word() -> None:
    (request,) = requests(case("pneumonia"), "corrected", WORDLESS)
    assert request.topic == "pneumonia"
    assert [type(part) for m in request.messages for part in m.parts] == [Picture]
    (worded,) = requests(case("pneumonia"), "corrected", Traits(modality="vision"))
    assert worded.topic == ""
    assert any("pneumonia" in str(part) for m in worded.messages for part in m.parts)


def test_no_phrasing_is_another_question_to_it() -> None:
    digests = {
        request_digest(
            _inline(requests(case("edema"), "corrected", WORDLESS, phrasing=phrasing)[0]), digest
        )
        for phrasing in ("default", "brief", "clinical")
    }
    assert len(digests) == 1
    other = _inline(requests(case("pneumonia"), "corrected", WORDLESS)[0])
    assert request_digest(other, digest) not in digests


def _inline(request: Request) -> Request:
    film = Picture(Inline(b"film"))
    return Request((Message("user", (film,)),), request.decoding, request.topic)


def test_what_is_asked_of_a_normal_film_depends_on_the_key() -> None:
    (ours,) = requests(case("no_finding"), "corrected", WORDLESS)
    (theirs,) = requests(case("no_finding"), "authors", WORDLESS)
    assert (ours.topic, theirs.topic) == ("not no_finding", "no_finding")
