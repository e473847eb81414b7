"""How hard a reader is driven: adaptive concurrency, rate limits, and when to ask again."""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from collections.abc import Callable

from overread.case import Limits, ReaderFailure

_LONGEST_WAIT = 60.0


class Pace:
    """Slots for calls under way. The number of slots grows while it pays and halves on refusal.

    Start low and double each round while latency holds (or throughput still rises), as TCP's slow
    start does; on 429 or 503 halve, at most once per round trip, and from then on grow by one slot
    a round. Requests and tokens per minute are metered on top.
    """

    def __init__(
        self,
        limits: Limits,
        *,
        clock: Callable[[], float] = time.monotonic,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self.limits = limits
        self.slots = float(min(limits.begin, limits.concurrency))
        self.active = 0
        self._clock = clock
        self._draw = draw
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._slow_start = True
        self._halved_at = float("-inf")
        self._round_began = clock()
        self._round_done = 0
        self._round_latency = 0.0
        self._round_most = 0
        self._best_latency = float("inf")
        self._last_rate = 0.0
        self._next_request = 0.0
        self._tokens = (limits.tokens_per_minute or 0.0) / 6
        self._tokens_at = clock()
        self._tokens_each = 0.0

    async def acquire(self) -> None:
        """Wait for a slot in the order of asking, then for the meters."""
        if self.active < int(self.slots) and not self._waiting:
            self.active += 1
        else:
            ticket = asyncio.get_running_loop().create_future()
            self._waiting.append(ticket)
            try:
                await ticket  # whoever calls it has taken the slot for us
            except asyncio.CancelledError:
                if ticket.done() and not ticket.cancelled():
                    self.give_back()
                raise
        self._round_most = max(self._round_most, self.active)
        if self.limits.requests_per_minute or self.limits.tokens_per_minute:
            try:
                await self._metered()
            except BaseException:
                self.give_back()
                raise

    def succeeded(self, seconds: float, tokens: int) -> None:
        """A call came back with a reply."""
        self.give_back()
        if self.limits.tokens_per_minute:
            self._tokens -= tokens - self._tokens_each
            self._tokens_each += (tokens - self._tokens_each) * 0.2
        self._round_done += 1
        self._round_latency += seconds
        if self._round_done >= int(self.slots):
            self._end_round()

    def heard(self, failure: ReaderFailure) -> None:
        """Why a call failed. Only a server that says "too much" makes us slower."""
        if self.limits.tokens_per_minute:
            self._tokens += self._tokens_each  # it used none
        if not failure.throttled:
            return
        now = self._clock()
        burst = max(0.1, min(self._best_latency, 2.0))
        if now - self._halved_at < burst:
            return  # the same burst of refusals counts once
        self._halved_at = now
        self._slow_start = False
        self.slots = max(1.0, self.slots / 2)

    def give_back(self) -> None:
        """A slot is free again."""
        self.active -= 1
        self._call_next()

    def _call_next(self) -> None:
        while self._waiting and self.active < int(self.slots):
            ticket = self._waiting.popleft()
            if not ticket.done():
                self.active += 1
                ticket.set_result(None)

    def _end_round(self) -> None:
        now = self._clock()
        latency = self._round_latency / self._round_done
        rate = self._round_done / max(now - self._round_began, 1e-9)
        self._best_latency = min(self._best_latency, latency)
        holds = latency <= 2 * self._best_latency
        # Slots that nobody needed say nothing about what the server bears.
        used = self._round_most >= int(self.slots)
        if used and (holds or rate > 1.05 * self._last_rate):
            grown = self.slots * 2 if self._slow_start else self.slots + 1
            self.slots = min(float(self.limits.concurrency), grown)
            self._call_next()
        self._last_rate = max(rate, self._last_rate * 0.9)
        self._round_began, self._round_done, self._round_latency = now, 0, 0.0
        self._round_most = self.active

    async def _metered(self) -> None:
        now = self._clock()
        if self.limits.requests_per_minute:
            spacing = 60.0 / self.limits.requests_per_minute
            begin = max(self._next_request, now)
            self._next_request = begin + spacing
            if begin > now:
                await asyncio.sleep(begin - now)
        if self.limits.tokens_per_minute:
            per_second = self.limits.tokens_per_minute / 60.0
            while True:
                now = self._clock()
                ceiling = self.limits.tokens_per_minute / 6
                self._tokens = min(ceiling, self._tokens + (now - self._tokens_at) * per_second)
                self._tokens_at = now
                if self._tokens > 0:
                    break
                await asyncio.sleep(-self._tokens / per_second + 0.001)
            self._tokens -= self._tokens_each

    def delay(self, failure: ReaderFailure, attempt: int) -> float:
        """Seconds until attempt number `attempt + 1`: full jitter, or what the server asked.

        Full jitter draws uniformly from [0, backoff * 2**(attempt - 1)], so that clients that
        failed together do not come back together. A Retry-After is honoured, with a little jitter
        on top; whoever asks knows which are longer than the reader's patience.
        """
        ceiling = min(_LONGEST_WAIT, self.limits.backoff * 2.0 ** (attempt - 1))
        if failure.retry_after is not None:
            return min(failure.retry_after, self.limits.patience) + self._draw() * min(ceiling, 1.0)
        return self._draw() * ceiling
