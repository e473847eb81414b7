"""The troubles of the hostile mode: which body meets which, and how each is done."""

from __future__ import annotations

import hashlib
import time
from email.utils import formatdate
from typing import TYPE_CHECKING

from chat_server.wire import CANNED, as_json, completion, refusal, response

if TYPE_CHECKING:
    from chat_server.connection import Connection

PERMANENT = ("400", "redirect")
BLIND = "reset-before"  # decided before the body is known; see `cuts_unread`
HEALING = (
    "429", "429-date", "429-bare", "500", "503", "hang", "reset-after", "truncated", "not-json",
    "empty-list", "no-choices", "null-content", "error-in-200",
)  # fmt: skip
TROUBLES = (*HEALING, BLIND, *PERMANENT)


def fraction(seed: int, *parts: object) -> float:
    """A number in [0, 1) fixed by its arguments, the same in every process."""
    digest = hashlib.sha256(repr((seed, *parts)).encode()).digest()
    return int.from_bytes(digest[:7], "big") / (1 << 56)


class Troubles:
    """Which trouble each body meets, fixed by seed, body and attempt."""

    def __init__(
        self, seed: int, kinds: tuple[str, ...], fewest: int, most: int, permanent_share: float
    ) -> None:
        self.seed = seed
        self.healing = [k for k in HEALING if k in kinds]
        self.permanent = [k for k in PERMANENT if k in kinds]
        self.blind = BLIND in kinds
        self.fewest, self.most = (min(fewest, most), most) if self.healing else (0, 0)
        self.permanent_share = permanent_share if self.permanent else 0.0
        self.lengths_met: set[int] = set()

    def cuts_unread(self, length: int) -> bool:
        """Whether to reset a request whose head alone has come.

        The body is not known yet, so its length stands for it: one request of every other length
        is cut, once. No body meets this more than once.
        """
        if not self.blind or length in self.lengths_met:
            return False
        self.lengths_met.add(length)
        return fraction(self.seed, "unread", length) < 0.5

    def of(self, digest: str, attempt: int) -> str | None:
        """The trouble of this body's attempt (counted from 0), or None: it is answered."""
        if fraction(self.seed, "permanent", digest) < self.permanent_share:
            return self._pick(self.permanent, digest)
        spread = self.most - self.fewest + 1
        troubles = self.fewest + int(fraction(self.seed, "troubles", digest) * spread)
        return self._pick(self.healing, digest, attempt) if attempt < troubles else None

    def _pick(self, kinds: list[str], *parts: object) -> str:
        return kinds[int(fraction(self.seed, "kind", *parts) * len(kinds))]


def make_trouble(kind: str, connection: Connection, origin: str, retry_after: int) -> None:
    """Do to the connection what the kind says."""
    slower = "Rate limit reached; slow down."
    match kind:
        case "hang":
            pass  # the connection stays busy until the client gives up
        case "reset-before" | "reset-after":
            connection.reset()
        case "truncated":
            whole = CANNED.partition(b"\r\n\r\n")[2]
            connection.send(response(200, whole[: len(whole) // 2], length=len(whole)), close=True)
        case "429":
            connection.send(refusal(429, slower, f"Retry-After: {retry_after}"))
        case "429-date":
            until = formatdate(time.time() + retry_after, usegmt=True)
            connection.send(refusal(429, slower, f"Retry-After: {until}"))
        case "429-bare":
            connection.send(refusal(429, slower))
        case "500" | "503":
            connection.send(refusal(int(kind), "The server had an error."))
        case "400":
            connection.send(refusal(400, "This request is never acceptable."))
        case "redirect":
            connection.send(response(307, b"", f"Location: {origin}/elsewhere"))
        case "not-json":
            connection.send(response(200, b"<html>upstream timeout</html>", kind="text/html"))
        case "empty-list":
            connection.send(as_json([]))
        case "no-choices":
            connection.send(as_json({"choices": []}))
        case "null-content":
            connection.send(completion(None, usage=(300, 0)))
        case "error-in-200":
            connection.send(as_json({"error": {"message": "CUDA out of memory", "code": 500}}))
        case _:
            raise ValueError(f"unknown trouble {kind!r}")
