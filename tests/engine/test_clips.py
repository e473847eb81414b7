"""Clips through the engine: exact keys, one rendering for all who show them, flat memory."""

from __future__ import annotations

import asyncio
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest

from overread.case import (
    Box,
    Clip,
    ClipMask,
    Decoding,
    Fill,
    Inline,
    Message,
    Overlay,
    Picture,
    Prompt,
    Reply,
    Request,
    Source,
    Traits,
    Trial,
)
from overread.engine import Sources, Store, Studio, ask, read_back, reply_key, request_digest
from overread.engine import studio as studio_room
from overread.imaging import lossless_clip, pixels
from support.clip_files import frame, number_of, png
from support.readers import Scripted

CLIP = Clip(Source("/a", "clip.avi"), (3, 4, 5), mask=ClipMask(Source("/a", "masks.npz")))


def by_path(source: Source | Inline) -> bytes:
    return source.data if isinstance(source, Inline) else source.name.encode()


def request(*parts: str | Picture | Clip) -> Request:
    return Request((Message("user", parts),))


def digest(*parts: str | Picture | Clip) -> bytes:
    return request_digest(request(*parts), by_path)


def other(**fields: object) -> Clip:
    return msgspec.structs.replace(CLIP, **fields)


# ---------------------------------------------------------------- keys

VARIANTS = [
    CLIP,
    other(source=Source("/a", "other.avi")),
    other(frames=(3, 5, 4)),
    other(frames=(3, 4)),
    other(frames=(3, 4, 5, 5)),
    other(operations=(Fill(Box(1, 2, 3, 4)),)),
    other(operations=(Overlay(Inline(b"m")),)),
    other(operations=(Overlay(Inline(b"n")),)),
    other(mask=None),
    other(mask=ClipMask(Source("/a", "other.npz"))),
    other(mask=ClipMask(Source("/a", "masks.npz"), (0, 0, 255))),
    other(mask=ClipMask(Source("/a", "masks.npz"), alpha=0.4)),
    other(wire="jpeg:80"),
    other(form="sheet"),
    other(form="video"),
    Picture(CLIP.source),
]


def test_whatever_a_reader_can_tell_apart_has_its_own_digest() -> None:
    assert len({digest(variant, "q") for variant in VARIANTS}) == len(VARIANTS)


def test_a_moved_data_set_keeps_its_keys() -> None:
    moved = other(source=Source("/b", "clip.avi"), mask=ClipMask(Source("/b", "masks.npz")))
    assert digest(moved) == digest(CLIP)


def test_a_file_that_changed_has_another_digest_though_the_recipe_is_remembered() -> None:
    before = digest(CLIP)
    changed = request_digest(request(CLIP), lambda source: by_path(source) + b"!")
    assert changed != before == digest(CLIP)


def test_the_renderer_is_in_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = digest(CLIP)
    monkeypatch.setattr(studio_room, "RENDERER", 999)
    studio_room._clip_digest.cache_clear()
    assert digest(CLIP) != before
    studio_room._clip_digest.cache_clear()


# ---------------------------------------------------------------- as a reader may see it


@pytest.mark.parametrize("form", ["images", "sheet", "video"])
def test_a_reader_gets_clips_in_the_form_it_takes(form: str) -> None:
    asked = request("before", CLIP, Picture(CLIP.source), "after")
    seen = asked.for_reader(Traits(clips=form))
    assert [c.form for c in seen.clips] == [form]
    assert seen == request("before", other(form=form), Picture(CLIP.source), "after")
    if form == "images":
        assert seen is asked


def test_trials_that_share_a_clip_share_it_in_its_new_form() -> None:
    video = Traits(clips="video")
    (one,), (two,) = (request(CLIP, text).for_reader(video).clips for text in ("a", "b"))
    assert one is two


def test_a_text_reader_gets_no_clip() -> None:
    seen = request(CLIP, "q").for_reader(Traits(modality="text", clips="video"))
    assert seen == request("q")


# ---------------------------------------------------------------- the whole way


def write_clips(folder: Path, n: int, frames: int = 40, size: int = 8) -> list[str]:
    names = []
    for number in range(n):
        pixels = [np.full((size, size), (number + 3 * at) % 256, np.uint8) for at in range(frames)]
        (folder / f"{number}.mkv").write_bytes(lossless_clip(pixels))
        names.append(f"{number}.mkv")
    return names


def write_masks(folder: Path, frames: int = 40, size: int = 8) -> ClipMask:
    np.savez(folder / "masks.npz", a=np.ones((frames, size, size), np.uint8))
    return ClipMask(Source(str(folder), "masks.npz"))


def plan_of(
    folder: Path, names: list[str], mask: ClipMask, repeats: int, frames: int = 40
) -> Callable[[], Iterator[Trial]]:
    """Clips x 3 contexts x 4 formats x repeats, made as the benchmark makes them."""

    def plan() -> Iterator[Trial]:
        for name in names:
            for context in ("original", "segmented", "non_medical"):
                source = Source(str(folder), name)
                over = None if context == "original" else mask
                clip = Clip(source, tuple(range(frames)), mask=over)
                for output in range(4):
                    # Segmented and non-medical show the same clip and ask in other words.
                    messages = (Message("user", (clip, f"{context} {output}")),)
                    for seed in range(repeats):
                        decoding = Decoding(temperature=None, seed=seed)
                        yield Trial(name, {"seed": seed}, Request(messages, decoding), seed)

    return plan


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.sqlite") as made:
        yield made


@pytest.mark.slow
@pytest.mark.parametrize("form", ["images", "video"])
def test_thirty_six_thousand_trials_have_keys_in_seconds_and_flat_memory(
    store: Store, tmp_path: Path, form: str
) -> None:
    names = write_clips(tmp_path, 100, frames=3)
    plan = plan_of(tmp_path, names, write_masks(tmp_path), repeats=30)
    sources, traits = Sources(store, 1), Traits(clips=form)
    made, peaks = 0, []
    began = time.perf_counter()
    for trial in plan():
        asked = trial.request.for_reader(traits)
        reply_key("reader", request_digest(asked, sources), trial, greedy=False)
        made += 1
    taken = time.perf_counter() - began
    assert made == 36_000
    assert taken < 5
    for part in (names[:10], names):
        tracemalloc.start()
        for trial in plan_of(tmp_path, part, write_masks(tmp_path), repeats=3)():
            request_digest(trial.request.for_reader(traits), sources)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] - peaks[0] < 2_000_000  # what is remembered of 200 clips


def test_each_frame_is_decoded_and_encoded_once_per_context(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from overread.imaging import _clips

    decoded: Counter[tuple[str, int]] = Counter()
    encoded: Counter[str] = Counter()
    decode, encode = _clips.decode, _clips.pngs

    def counting_decode(data, name, wanted):
        decoded.update((name, number) for number in wanted)
        return decode(data, name, wanted)

    def counting_encode(frames):
        encoded.update("L" if frame.ndim == 2 else "RGB" for frame in frames)
        return encode(frames)

    monkeypatch.setattr(_clips, "decode", counting_decode)
    monkeypatch.setattr(_clips, "pngs", counting_encode)
    names = write_clips(tmp_path, 6)
    plan = plan_of(tmp_path, names, write_masks(tmp_path), repeats=5)
    seen: Counter[int] = Counter()

    def say(prompt: Prompt) -> Reply:
        seen[len(prompt.pictures)] += 1
        return Reply(text="ok")

    studio = Studio(Sources(store, 1))
    for name in ("one reader", "another"):
        reader = Scripted(say, name=name)
        tally = asyncio.run(ask(plan, reader, store, studio, dataset=1))
        assert (tally.answered, tally.failed) == (6 * 60, 0)
    studio.close()
    assert seen == {40: 2 * 6 * 60}
    # Original and overlaid share the decoding; each is encoded once.
    assert len(decoded) == 6 * 40
    assert set(decoded.values()) == {1}
    assert encoded == {"L": 6 * 40, "RGB": 6 * 40}


def test_what_arrives_is_the_frames_in_order(store: Store, tmp_path: Path) -> None:
    (tmp_path / "c.mkv").write_bytes(lossless_clip([frame(n) for n in range(12)]))
    clip = Clip(Source(str(tmp_path), "c.mkv"), (9, 2, 4))
    arrived: list[list[int]] = []

    def say(prompt: Prompt) -> Reply:
        arrived.append([number_of(pixels(shown)) for shown in prompt.pictures])
        assert [c.count for c in prompt.clips] == [3]
        return Reply(text="ok")

    studio = Studio(Sources(store, 1))
    asyncio.run(
        ask(lambda: [Trial("c", {}, request(clip, "q"))], Scripted(say), store, studio, dataset=1)
    )
    studio.close()
    assert arrived == [[9, 2, 4]]


# ---------------------------------------------------------------- clips that cannot be shown


def test_a_damaged_clip_is_recorded_and_the_others_go_on(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from overread.imaging import _clips

    names = write_clips(tmp_path, 3)
    whole = (tmp_path / names[1]).read_bytes()
    (tmp_path / names[1]).write_bytes(whole[: len(whole) // 3])
    opened: Counter[str] = Counter()
    decode = _clips.decode

    def counting(data, name, wanted):
        opened[name] += 1
        return decode(data, name, wanted)

    monkeypatch.setattr(_clips, "decode", counting)
    plan = plan_of(tmp_path, names, write_masks(tmp_path), repeats=4)
    studio, reader = Studio(Sources(store, 1)), Scripted()
    tally = asyncio.run(ask(plan, reader, store, studio, dataset=1))
    assert (tally.answered, tally.failed, tally.stopped) == (2 * 48, 48, None)
    assert tally.reasons == {"picture": 48}
    for trial, reply, reason in read_back(plan, reader, store, studio):
        assert (reply is None) == (trial.case == names[1])
        if reply is None:
            assert names[1] in reason
            assert "\n" not in reason
    studio.close()
    assert opened[names[1]] <= 2 + studio.threads  # once per context, not for each of 48 trials


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda c: msgspec.structs.replace(c, frames=()), "no frames"),
        (lambda c: msgspec.structs.replace(c, frames=(39, 40)), "beyond the end"),
        (lambda c: msgspec.structs.replace(c, source=Source(c.source.root, "gone.mkv")), "gone.mkv"),
    ],
)  # fmt: skip
def test_a_clip_that_cannot_be_shown_gets_one_line(
    store: Store, tmp_path: Path, spoil: Callable[[Clip], Clip], why: str
) -> None:
    (name,) = write_clips(tmp_path, 1)
    good = Clip(Source(str(tmp_path), name), (0, 1))
    trials = [Trial("good", {}, request(good, "q")), Trial("bad", {}, request(spoil(good), "q"))]
    studio, reader = Studio(Sources(store, 1)), Scripted()
    tally = asyncio.run(ask(lambda: trials, reader, store, studio, dataset=1))
    (_, kept, _), (_, missing, reason) = read_back(lambda: trials, reader, store, studio)
    studio.close()
    assert (tally.answered, tally.failed) == (1, 1)
    assert kept is not None
    assert missing is None
    assert why in reason
    assert "\n" not in reason


# ---------------------------------------------------------------- files


def test_sources_of_a_clip_are_its_file_and_its_masks(store: Store, tmp_path: Path) -> None:
    (name,) = write_clips(tmp_path, 1)
    folder = tmp_path / "masks"
    folder.mkdir()
    for number in range(40):
        (folder / f"{number}.png").write_bytes(png(np.ones((8, 8), np.uint8)))
    clip = Clip(Source(str(tmp_path), name), (0,), mask=ClipMask(Source(str(tmp_path), "masks")))
    sources = Sources(store, 1)
    assert clip.mask is not None
    assert sources.unknown([request(clip, "q")]) == {clip.source, clip.mask.source}
    for source in (clip.source, clip.mask.source):
        sources(source)
    sources.keep()
    assert sources.unchanged(clip)
    (folder / "7.png").write_bytes(png(np.zeros((8, 9), np.uint8)))
    assert not sources.unchanged(clip)
    again = Sources(store, 1)
    assert again(clip.mask.source) != sources(clip.mask.source)
