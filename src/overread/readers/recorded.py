"""`recorded:` readers: replies from a file, found by the digest of the request.

A request never names its case, so a recorded reply is filed under the request's digest: the one
that `overread plan --requests FILE` writes beside each request's text and picture recipe.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from overread.case import BadInput, Limits, Prompt, ReaderFailure, Reply, Traits
from overread.files import open_file, size_words
from overread.readers.spec import ReaderSpec

__all__ = ["RecordedReader"]


_LONGEST_LINE: Final = 1 << 26


class _Line(Reply, frozen=True, kw_only=True):
    """A reply and the digest of the request it answers."""

    request: str


class RecordedReader:
    """Replies kept in a JSON-lines file: `{"request": DIGEST, "text": …}`, one a line."""

    def __init__(self, spec: ReaderSpec) -> None:
        self.name = spec.name
        self.traits: Traits = spec.traits
        self.limits = Limits(concurrency=4, attempts=1)
        self._path = Path(spec.model)
        self._replies, self._digest = _load(self._path)

    @property
    def identity(self) -> str:
        return f"recorded:{self._digest}"

    async def reply(self, prompt: Prompt) -> Reply:
        found = self._replies.get(prompt.digest)
        if found is None:
            raise ReaderFailure(f"not recorded: {self._path} has no line for it", heals=False)
        return found

    async def close(self) -> None:
        pass


def _load(path: Path) -> tuple[dict[str, Reply], str]:
    from hashlib import blake2b

    decode = msgspec.json.Decoder(_Line).decode
    replies: dict[str, Reply] = {}
    digest = blake2b(digest_size=8)
    with open_file(path, named=f"recorded replies {path}") as lines:
        for number, raw in enumerate(iter(lambda: lines.readline(_LONGEST_LINE), b""), 1):
            if len(raw) == _LONGEST_LINE:
                raise BadInput(
                    f"{path} line {number} has over {size_words(_LONGEST_LINE)}. Mend it."
                )
            digest.update(raw)
            raw = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
            if not raw.strip():
                continue
            try:
                line = decode(raw)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                raise BadInput(
                    f"{path} line {number}: {error}. Expected "
                    '{"request": DIGEST, "text": …} as `overread plan --requests` names them.'
                ) from None
            if line.request in replies:
                raise BadInput(
                    f"{path} line {number}: request {line.request} is there twice. Keep one."
                )
            replies[line.request] = Reply(
                **{name: getattr(line, name) for name in Reply.__struct_fields__}
            )
    return replies, digest.hexdigest()
