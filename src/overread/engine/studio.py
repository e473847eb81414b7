"""What a request is called, and what a reader is shown of it.

Requests and replies have names that are equal exactly when asking again would be waste. Requests
become prompts: pictures and clips are rendered in threads, each once for all.
"""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from hashlib import blake2b
from typing import Protocol, TypeAlias

import msgspec

import overread.case as oc
from overread import imaging
from overread.case import (
    BadInput,
    Clip,
    Inline,
    Overlay,
    Picture,
    Request,
    Shown,
    ShownClip,
    Source,
)
from overread.engine.darkroom import Darkroom, Looked
from overread.imaging import RENDERER, Cache, Place, is_archive, may_stand, place, sizes, stamp
from overread.imaging.darkroom import SMALL

# ---------------------------------------------------------------- names
#
# Key of a reply = digest of the canonical request: the reader's identity, messages and picture
# slots in order (recipe, source digest, renderer revision, wire format), all decoding fields, the
# repeat index; plus the case id when decoding is not greedy, or the reader is told it. Paths never
# enter a key, bytes do. A clip's recipe also holds its frames, its masks and the form in which a
# reader takes it.

SourceDigest = Callable[[Source | Inline], bytes]
Slot: TypeAlias = Picture | Clip
_encode = msgspec.msgpack.Encoder().encode


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()


def picture_digest(picture: Picture, source_digest: SourceDigest) -> bytes:
    """Name a picture by its recipe and its source's bytes, without rendering it."""
    operations = [
        ("overlay", source_digest(o.mask), o.color, o.alpha) if isinstance(o, Overlay) else o
        for o in picture.operations
    ]
    recipe = (RENDERER, source_digest(picture.source), operations, picture.wire)
    return _digest(_encode(recipe))


def clip_digest(clip: Clip, source_digest: SourceDigest) -> bytes:
    """Name a clip by its recipe and its sources' bytes, without decoding it."""
    mask = clip.mask
    return _clip_digest(
        clip,
        source_digest(clip.source),
        b"" if mask is None else source_digest(mask.source),
        tuple(source_digest(o.mask) for o in clip.operations if isinstance(o, Overlay)),
    )


# Once for all trials that share a clip; its sources' bytes are part of what is remembered.
@functools.lru_cache(1024)
def _clip_digest(clip: Clip, source: bytes, masked: bytes, overlaid: tuple[bytes, ...]) -> bytes:
    overlays = iter(overlaid)
    operations: list[object] = [
        ("overlay", next(overlays), o.color, o.alpha) if isinstance(o, Overlay) else o
        for o in clip.operations
    ]
    mask = None if clip.mask is None else (masked, clip.mask.color, clip.mask.alpha)
    recipe = ("clip", RENDERER, source, clip.frames, operations, mask, clip.wire, clip.form)
    return _digest(_encode(recipe))


def _name(slot: Slot, source_digest: SourceDigest) -> bytes:
    if isinstance(slot, Clip):
        return clip_digest(slot, source_digest)
    return picture_digest(slot, source_digest)


def digests(request: Request, source_digest: SourceDigest) -> tuple[bytes, dict[Slot, bytes]]:
    """The digest of a request and of each picture and clip in it.

    Two requests share a digest exactly when a reader sees the same.
    """
    pictures: dict[Slot, bytes] = {}
    messages = []
    for message in request.messages:
        parts: list[str | bytes] = []
        for part in message.parts:
            # Text stays text and a picture becomes bytes, so no text can pass for a picture.
            if isinstance(part, str):
                parts.append(part)
                continue
            named = pictures[part] = _name(part, source_digest)
            parts.append(named)
        messages.append((message.role, parts))
    named_topic = (request.topic,) if request.topic else ()
    return _digest(_encode((messages, request.decoding, *named_topic))), pictures


def request_digest(request: Request, source_digest: SourceDigest) -> bytes:
    """Name a request."""
    return digests(request, source_digest)[0]


def reply_key(
    identity: str, digest: bytes, trial: oc.Trial, *, greedy: bool, told_case: bool = False
) -> bytes:
    """Name the reply of one reader to one trial.

    A sampled reply belongs to its case: two cases with the same question are two draws. So does
    that of a reader who is told which case it is.
    """
    case = trial.case if told_case or not greedy else ""
    return _digest(_encode((identity, digest, trial.repeat, case)))


# ---------------------------------------------------------------- what a reader is shown

_MOST_REFUSED = 1024
# Bytes of files in a chunk of the plan that are kept for whoever asks for them. Two chunks and a
# half may wait in line, and what is kept of them must not push itself out: it takes 2.4 times as
# much.
_AHEAD = 10_000_000


class Studio:
    """Renders for every reader of a run, so phrasings and readers share what is rendered."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self.cache = Cache()
        # No more than cores: frames of clips are made in steps so short that one more thread stands
        # in the way of the others (20 clips: 122 ms with two on two cores, 137 with three).
        self.threads = os.cpu_count() or 1
        self.pool = ThreadPoolExecutor(self.threads, thread_name_prefix="render")
        self.opened = imaging.Opened()
        self.films: imaging.Films | None = None
        self._making: dict[bytes, asyncio.Future[Shown | ShownClip]] = {}
        self._opening: dict[Source | Inline, asyncio.Future[Shown | ShownClip]] = {}
        self._refused: dict[bytes, str] = {}
        self._darkroom = Darkroom()
        self._not_as_they_stand: set[Source | Inline] = set()  # by what the darkroom said

    async def show(
        self, request: Request, digest: bytes, pictures: Mapping[Slot, bytes]
    ) -> oc.Prompt:
        """The prompt a reader receives. Raises BadInput where a picture or clip cannot be made.

        `pictures` gives the digest of each, which names it in the cache.
        """
        messages: list[oc.PromptMessage] = []
        for message in request.messages:
            parts: list[str | Shown | ShownClip] = []
            for part in message.parts:
                if isinstance(part, str):
                    parts.append(part)
                else:
                    key = pictures[part]
                    kept = self.cache.peek(key)
                    parts.append(kept if kept is not None else await self._rendered_once(part, key))
            messages.append(oc.PromptMessage(message.role, tuple(parts)))
        return oc.Prompt(tuple(messages), request.decoding, digest.hex(), topic=request.topic)

    async def digest(self, requests: list[Request]) -> bool:
        """Read what must be read to name these requests; whether there was anything."""
        unknown = self.sources.unknown(requests)
        if not unknown:
            return False
        if self._darkroom.open(unknown):  # while it starts, threads read
            await self._look(requests, unknown)
        loop = asyncio.get_running_loop()
        files = list(unknown)
        # A share for each thread: handing one file over costs as much as digesting it.
        shares = [files[at :: self.threads] for at in range(min(self.threads, len(files)))]
        await asyncio.gather(
            *[loop.run_in_executor(self.pool, self.sources.learn, one) for one in shares]
        )
        return True

    async def _look(self, requests: list[Request], unknown: set[Source | Inline]) -> None:
        """Have small files looked at by the darkroom; what may be sent of them as it is, is kept.

        So such a file is read once, for its name and for what is sent, as far as there is room for
        what nobody has asked for yet. Those that it knows are no longer among the unknown.
        """
        sources, darkroom = self.sources, self._darkroom
        standing = {p.source: p for request in requests for p in request.pictures if may_stand(p)}
        if sources.some_kept:
            unknown -= await asyncio.get_running_loop().run_in_executor(
                self.pool, sources.recalled, unknown
            )
        files = [source for source in unknown if darkroom.takes(source)]
        pictures = [standing.get(source) for source in files]

        def took(number: int, found: Looked) -> None:
            if found.at is None:
                return
            source, picture = files[number], pictures[number]
            sources.take(source, found.at)
            unknown.discard(source)
            if picture is None:
                return
            if found.shown:
                self.cache.put(picture_digest(picture, sources), found.shown)
            elif len(self._not_as_they_stand) < _MOST:
                self._not_as_they_stand.add(picture.source)

        orders = [
            (source, None if picture is None else sizes(picture.operations))
            for source, picture in zip(files, pictures, strict=True)
        ]
        await darkroom.look(orders, took, _AHEAD)

    async def _rendered_once(self, picture: Slot, key: bytes) -> Shown | ShownClip:
        """Render in a thread; those who ask meanwhile await it without a thread of their own.

        So do those who show the same file otherwise, until it has been opened for the first of
        them: four conditions of a case decode it once, and no thread waits for another.
        """
        making = self._making.get(key)
        opening = self._opening.get(picture.source)
        if making is None and opening is not None:
            await asyncio.wait([opening])
            making = self._making.get(key)
        if self.films is None and isinstance(picture, Clip):
            self.films = imaging.Films()  # not for runs of pictures alone: it loads the decoders
        if making is None:
            making = asyncio.ensure_future(self._begun(picture, key))
            self._making[key] = making
            self._opening.setdefault(picture.source, making)
            making.add_done_callback(lambda done: self._made(picture, key, done))
        # Shielded: one reader's stopping must not take the picture away from another.
        return await asyncio.shield(making)

    async def _begun(self, picture: Slot, key: bytes) -> Shown | ShownClip:
        """As it stands in its file where that is what is sent; else made of it in a thread."""
        source = picture.source
        if source in self._not_as_they_stand:
            self._not_as_they_stand.discard(source)
        elif isinstance(picture, Picture) and isinstance(source, Source) and may_stand(picture):
            size = self.sources.size(source)
            if size is not None and size <= SMALL and self._darkroom.takes(source):
                shown = await self._as_it_stands(picture, key)
                if shown is not None:
                    return shown
        return await asyncio.get_running_loop().run_in_executor(
            self.pool, self.cache.get, key, lambda: self._rendered(picture, key)
        )

    async def _as_it_stands(self, picture: Picture, key: bytes) -> Shown | ShownClip | None:
        """What the darkroom has of it, if that is what the key names, whatever stands there now."""
        found = Looked()

        def took(_: int, looked: Looked) -> None:
            nonlocal found
            found = looked

        await self._darkroom.look([(picture.source, sizes(picture.operations))], took)
        at, shown = found
        if at is None or shown is None or picture_digest(picture, lambda _: at.digest) != key:
            return None
        return self.cache.put(key, shown)

    def _made(self, picture: Slot, key: bytes, done: asyncio.Future[Shown | ShownClip]) -> None:
        self._making.pop(key, None)
        if self._opening.get(picture.source) is done:
            del self._opening[picture.source]

    def _rendered(self, picture: Slot, key: bytes) -> Shown | ShownClip:
        if key in self._refused:  # a damaged clip is decoded once, not for every trial of it
            raise BadInput(self._refused[key])
        try:
            if isinstance(picture, Clip):
                shown: Shown | ShownClip = imaging.render_clip(picture, self.films)
            else:
                shown = imaging.render(picture, self.opened)
        except BadInput as error:
            if isinstance(picture, Clip) and len(self._refused) < _MOST_REFUSED:
                self._refused[key] = str(error)
            raise
        # A reply must not be kept under other pixels' key.
        if not self.sources.unchanged(picture) or _name(picture, self.sources) != key:
            raise BadInput("a file of it changed during the run. Run the same command again.")
        for part in shown.frames if isinstance(shown, ShownClip) else (shown,):
            _ = part.digest  # taken here, where no call waits for it
        return shown

    def forget(self) -> None:
        """Let go of what was made: nobody is asked any more, and what is measured needs room."""
        self.cache.forget()
        self.opened.forget()
        self.films = None
        self._darkroom.close()

    def close(self) -> None:
        self.pool.shutdown(wait=False, cancel_futures=True)
        self._darkroom.close()


# ----------- Digests of image files and clips, read once and kept by (path, size, times and inode)
#
# A member of a zip archive is digested by the archive's index alone, which the store need not keep.

_MOST = 100_000
# Of those that are looked up in a moment: the conditions of a case follow each other.
_MOST_NEAR = 1_024


class Shelf(Protocol):
    """Where digests are kept: the store."""

    def has_sources(self) -> bool: ...
    def source(self, path: str, size: int, mark: int) -> bytes | None: ...
    def keep_sources(self, rows: Sequence[tuple[str, int, int, bytes, int]]) -> None: ...


class Sources:
    """Knows the digest of every source; reads a file only if neither memory nor store has it."""

    def __init__(self, store: Shelf, dataset: int) -> None:
        self._store = store
        self._dataset = dataset
        self._known: dict[Source | Inline, Place] = {}
        # Members of an archive and pictures held in memory, which neither disk nor store must tell.
        self._near: dict[Source | Inline, Place] = {}
        self._fresh: list[tuple[str, int, int, bytes, int]] = []
        # Whether the store may know what is not known here: where it was empty, none is looked up.
        self.some_kept = store.has_sources()

    def __call__(self, source: Source | Inline) -> bytes:
        """The digest; reads the file if it must. Raises BadInput for a file that is not there."""
        return self._file(source).digest

    def learn(self, sources: Sequence[Source | Inline]) -> None:
        """A file that is not there is an error of its own trials, found again when it is named."""
        for source in sources:
            with suppress(BadInput):
                self(source)

    def recalled(self, sources: Iterable[Source | Inline]) -> set[Source | Inline]:
        """Those among these whose digests were kept, and whose files have not changed since."""
        found: set[Source | Inline] = set()
        for source in sources:
            with suppress(BadInput):
                if self._looked_up(source).digest:
                    found.add(source)
        return found

    def take(self, source: Source | Inline, at: Place) -> Place:
        """Know the digest of a file that stands there."""
        self._fresh.append((at.kept_as, at.size, at.mark, at.digest, self._dataset))
        self._remember(source, at)
        return at

    def size(self, source: Source) -> int | None:
        """Bytes of the file that holds it, if that is known without looking at it."""
        known = self._known.get(source)
        return None if known is None else known.size

    def peek(self, source: Source | Inline) -> bytes | None:
        """The digest if it is known without reading the file."""
        known = self._found(source)
        return (known if known is not None else self._looked_up(source)).digest or None

    def unchanged(self, picture: Slot) -> bool:
        """Whether the files of a picture or clip are still those whose digests are in its key."""
        for source in _sources(picture):
            file = self._file(source)
            try:
                size, mark = stamp(file.path) if file.path else (0, 0)
                if (size, mark) == (file.size, file.mark):
                    continue
                # A backup may touch a file; an archive that changed is another archive.
                if file.path != file.kept_as or imaging.digest(source) != file.digest:
                    return False
            except (OSError, BadInput):  # gone since
                return False
            self._remember(source, msgspec.structs.replace(file, size=size, mark=mark))
        return True

    def unknown(self, requests: list[Request]) -> set[Source | Inline]:
        """Sources of these requests that must be read or looked up, each once."""
        known = self._known
        return {
            source
            for request in requests
            for message in request.messages
            for part in message.parts
            if not isinstance(part, str)
            for source in _sources(part)
            if source not in known and not self._is_member(source)
        }

    def keep(self) -> None:
        """Commit what was learnt since the last call."""
        if self._fresh:
            rows, self._fresh = self._fresh, []
            self._store.keep_sources(rows)

    def _file(self, source: Source | Inline) -> Place:
        file = self._found(source)
        if file is None:
            file = self._looked_up(source)
            if not file.digest:
                named = msgspec.structs.replace(file, digest=imaging.digest(source))
                file = self.take(source, named)
        return file

    def _looked_up(self, source: Source | Inline) -> Place:
        """Where a source stands, with its digest where no file must be read for it."""
        if isinstance(source, Inline):
            file = Place(digest=imaging.digest(source))
        else:
            file = place(source)
            if not file.digest:  # members of an archive have one, by its index
                at = (file.kept_as, file.size, file.mark)
                kept = self._store.source(*at) if self.some_kept else None
                file = msgspec.structs.replace(file, digest=kept or b"")
        if file.digest:
            self._remember(source, file)
        return file

    def _is_member(self, source: Source | Inline) -> bool:
        """Learn a member of an archive, which costs less than asking a thread to."""
        if isinstance(source, Inline) or not is_archive(source.root):
            return False
        try:
            return self.peek(source) is not None
        except BadInput:  # said again when its trials are keyed
            return False

    def _found(self, source: Source | Inline) -> Place | None:
        return self._known.get(source) or self._near.get(source)

    def _remember(self, source: Source | Inline, file: Place) -> None:
        known, most = (self._known, _MOST) if file.kept_as else (self._near, _MOST_NEAR)
        if len(known) >= most:
            known.clear()  # flat memory; the store still knows them
            self.some_kept = True
        known[source] = file


def _sources(picture: Slot) -> list[Source | Inline]:
    masks = [o.mask for o in picture.operations if isinstance(o, Overlay)]
    if isinstance(picture, Clip) and picture.mask is not None:
        masks.append(picture.mask.source)
    return [picture.source, *masks]
