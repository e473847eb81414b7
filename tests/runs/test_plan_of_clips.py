"""A forecast of clips: frames count as pictures, and 36,000 trials take seconds."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from overread.case import Clip, Decoding, Message, Picture, Request, Source, Traits, Trial
from overread.engine import Sources, Store
from overread.imaging import lossless_clip
from overread.readers import parse_spec
from overread.runs import _planning
from support.clip_files import frame
from support.readers import Scripted

SPEC = parse_spec("openai:m@http://127.0.0.1:1/v1")


def forecast(monkeypatch: pytest.MonkeyPatch, store: Store, trials, **traits: object):
    monkeypatch.setattr(_planning, "trials_of", lambda *_: trials)
    return _planning._forecast(None, None, Scripted(traits=Traits(**traits)), SPEC, store)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.sqlite") as made:
        yield made


def write(folder: Path, n: int) -> list[Source]:
    data = lossless_clip([frame(number) for number in range(3)])
    for number in range(n):
        (folder / f"{number}.mkv").write_bytes(data + bytes([number]))
    return [Source(str(folder), f"{number}.mkv") for number in range(n)]


@pytest.mark.parametrize("known", [False, True], ids=["never read", "digests known"])
@pytest.mark.parametrize("form", ["images", "sheet", "video"])
def test_frames_count_as_pictures(
    monkeypatch, store: Store, tmp_path: Path, known: bool, form: str
) -> None:
    one, two = write(tmp_path, 2)
    if known:
        sources = Sources(store, 1)
        sources(one), sources(two)
        sources.keep()
    shown = [Clip(one, (0, 1, 2)), Clip(two, (0, 1)), Clip(one, (0, 1, 2))]

    def trials() -> Iterator[Trial]:
        for number, clip in enumerate(shown):
            yield Trial("c", {}, Request((Message("user", (clip, "x" * 40, str(number))),)))
        yield Trial("c", {}, Request((Message("user", (Picture(one), "y" * 40)),)))

    found = forecast(monkeypatch, store, trials, clips=form)
    assert (found.trials, found.calls) == (4, 4)
    assert found.pictures == 3 + 2 + 1  # the clip shown twice is rendered once
    assert found.undigested == (0 if known else 4)
    assert found.tokens_in == 4 * 10 + 256 * (3 + 2 + 3 + 1)


def test_a_text_reader_is_shown_none(monkeypatch, store: Store, tmp_path: Path) -> None:
    (one,) = write(tmp_path, 1)
    trials = [Trial("c", {}, Request((Message("user", (Clip(one, (0, 1)), "q")),)))]
    found = forecast(monkeypatch, store, lambda: trials, modality="text")
    assert (found.pictures, found.calls) == (0, 1)


@pytest.mark.parametrize("known", [False, True], ids=["never read", "digests known"])
def test_thirty_six_thousand_trials_are_planned_in_seconds(
    monkeypatch, store: Store, tmp_path: Path, known: bool
) -> None:
    sources = write(tmp_path, 100)
    if known:
        keeper = Sources(store, 1)
        for source in sources:
            keeper(source)
        keeper.keep()

    def trials() -> Iterator[Trial]:
        for source in sources:
            for context in range(3):
                clip = Clip(source, tuple(range(context, context + 40)))
                for output in range(4):
                    messages = (Message("user", (clip, f"q {output}")),)
                    for seed in range(30):
                        decoding = Decoding(temperature=None, seed=seed)
                        yield Trial(source.name, {"seed": seed}, Request(messages, decoding), seed)

    began = time.perf_counter()
    found = forecast(monkeypatch, store, trials)
    taken = time.perf_counter() - began
    assert (found.trials, found.calls, found.pictures) == (36_000, 36_000, 300 * 40)
    assert taken < 5
