"""What a run would cost: trials, what is already answered, pictures, tokens. Asks nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, TypeAlias

import msgspec

from overread.benchmarks.base import Benchmark
from overread.case import BadInput, Clip, Inline, Picture, Reader, Reply, Request, Source
from overread.engine import ReplyStore, Sources, chunks, reply_key, request_digest
from overread.runs import _opening
from overread.runs._asking import trials_of
from overread.runs._environment import default_store, is_link
from overread.runs._opening import Seat, Tell
from overread.runs._reach import Reach, reach_of
from overread.runs._shards import Part, store_of
from overread.runs._stores import open_store

_CHARACTERS_A_TOKEN = 4
_CHUNK = 512
_TOKENS_A_PICTURE = 256  # a 224-px picture costs most models between 85 and 400
# What tells two calls apart: the key of the reply, or what makes it where no picture was read yet.
_Key: TypeAlias = bytes | tuple[Request, int, str]


class Forecast(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one reader's part of a run before it begins.

    `calls` is what would be asked now: distinct requests without a kept reply. `pictures` counts
    what would be rendered, a clip by its frames. `undigested` counts
    trials whose pictures were never read, so that nobody can say whether their replies are kept;
    they are counted as calls. Of a judge, whose questions hang on the replies, all is an estimate.
    Tokens are an estimate, `tokens_out` at most the whole budget. `duration` is what the calls
    take in seconds, at `rate` calls a second: `measured` when the reader last answered, or
    `declared` by its limits; None where neither is known.
    """

    reader: str
    trials: int
    answered: int = 0
    calls: int
    pictures: int = 0
    undigested: int = 0
    missing: int = 0
    tokens_in: int
    tokens_out: int
    cost: float | None
    currency: str | None = None
    duration: float | None = None
    rate: float | None = None
    rate_is: Literal["measured", "declared"] | None = None
    judges: bool = False
    reach: Reach | None = None


def plan(
    benchmark: str,
    cases: str | Path,
    readers: Sequence[str | Mapping[str, Any] | Reader],
    *,
    judges: Sequence[str | Mapping[str, Any] | Reader] = (),
    edition: str = "corrected",
    store: str | Path | None = None,
    limit: int | None = None,
    only: str | Path | None = None,
    settings: Mapping[str, str] | None = None,
    requests: Path | None = None,
    fresh: bool = False,
    part: Part | None = None,
    tell: Tell | None = None,
) -> list[Forecast]:
    """Forecast a run, one line per reader; with `requests`, also write every request to a file.

    `fresh` counts no kept reply. `part` is the part of the run that is forecast. `tell` gets a line
    for whatever a user should know before anybody is asked.
    """
    bench = _opening.open_cases(benchmark, cases, edition, settings or {})
    seats = _opening.open_readers(bench, readers)
    panel = _opening.open_judges(bench, judges)
    chosen = _opening.survey(bench, limit, only).cases
    if tell is not None:
        for line in (*_opening.remarks_of(bench), *_not_counted(bench)):
            tell(line)
    place = default_store(store) if part is None else store_of(part, store)
    with ExitStack() as stack:
        if not is_link(place) and not Path(place).exists():
            # A forecast makes nothing, not even an empty store.
            place = Path(stack.enter_context(TemporaryDirectory())) / "empty.sqlite"
        kept = stack.enter_context(open_store(place, tell))
        who = _opening.enrolments([*seats, *panel])
        if not fresh:
            kept.foresee(who, bench.name, bench.dataset)
        opened = [seat.reader for seat in seats]
        if requests is not None:
            write_requests(requests, bench, chosen, opened, kept, part)
        reach = reach_of(bench, chosen)
        found = [
            msgspec.structs.replace(_forecast(bench, chosen, seat, kept, fresh, part), reach=reach)
            for seat in seats
        ]
        return found + [
            _judge_forecast(bench, chosen, opened, judge, kept, part) for judge in panel
        ]


def _forecast(
    bench: Benchmark,
    chosen: frozenset[str] | None,
    seat: Seat,
    store: ReplyStore,
    fresh: bool,
    part: Part | None,
) -> Forecast:
    reader = seat.reader
    asker = store.asker(reader)
    seen: set[_Key] = set()
    pictures: dict[Picture | Clip, int] = {}
    key: _Key
    digest_of = _peeking(Sources(store, 0))
    counts = Counter({"trials": 0, "tokens_in": 0, "tokens_out": 0})
    for chunk in chunks(trials_of(bench, chosen, reader, part)(), _CHUNK):
        counts["trials"] += len(chunk)
        asked: list[tuple[Request, _Key]] = []
        for trial in chunk:
            request = trial.request.for_reader(reader.traits)
            greedy, told = request.decoding.greedy, reader.traits.told_case
            try:
                digest = request_digest(request, digest_of)
            except _UnknownSource:
                # What `reply_key` tells apart: asked again is another call, and so is a sampled
                # case.
                key = (request, trial.repeat, trial.case if told or not greedy else "")
            except BadInput:
                counts["missing"] += 1
                continue
            else:
                key = reply_key(reader.identity, digest, trial, greedy=greedy, told_case=told)
            asked.append((request, key))
        keys = [key for _, key in asked if isinstance(key, bytes) and key not in seen]
        kept = set() if fresh else store.known(keys, asker)
        for request, key in asked:
            counts["answered"] += key in kept
            if key in kept or key in seen:
                continue
            seen.add(key)
            counts["undigested"] += not isinstance(key, bytes)
            pictures |= dict.fromkeys(request.pictures, 1)
            pictures |= {clip: len(clip.frames) for clip in request.clips}
            frames = len(request.pictures) + sum(len(clip.frames) for clip in request.clips)
            counts["tokens_in"] += _text_tokens(request) + _TOKENS_A_PICTURE * frames
            counts["tokens_out"] += request.decoding.max_tokens
    cost, shown = seat.spec.cost(counts["tokens_in"], counts["tokens_out"]), sum(pictures.values())
    facts: dict[str, Any] = dict(counts)
    return Forecast(
        reader=reader.name,
        calls=len(seen),
        pictures=shown,
        cost=cost,
        **_duration(seat, len(seen), counts["tokens_in"] + counts["tokens_out"], store),
        **facts,
    )


def _duration(seat: Seat, calls: int, tokens: int, store: ReplyStore) -> dict[str, Any]:
    """How long so many calls take, by what is known of the reader's speed; and its currency."""
    limits, spec = seat.reader.limits, seat.spec
    declared = [limits.requests_per_minute / 60] if limits.requests_per_minute else []
    if limits.tokens_per_minute and calls:
        declared.append(limits.tokens_per_minute / 60 / max(1.0, tokens / calls))
    measured = store.rate(seat.reader.identity)
    if measured is not None:
        rate, source = min([measured, *declared]), "measured"
    elif declared:
        rate, source = min(declared), "declared"
    else:
        return {"currency": spec.currency}
    return {"currency": spec.currency, "duration": calls / rate, "rate": rate, "rate_is": source}


def _text_tokens(request: Request) -> int:
    parts = (part for message in request.messages for part in message.parts)
    return sum(len(part) for part in parts if isinstance(part, str)) // _CHARACTERS_A_TOKEN


def _judge_forecast(
    bench: Benchmark,
    chosen: frozenset[str] | None,
    readers: Sequence[Reader],
    judge: Seat,
    store: ReplyStore,
    part: Part | None,
) -> Forecast:
    """What a judge would be asked if every reply had its usual length; asked again for none."""
    controls = bench.controls()
    asked: list[tuple[Reader, frozenset[str] | None, int]] = [
        (controls[name], bench.check_cases(chosen), 1) for name in bench.checks
    ]
    judged = frozenset(bench.checkable(chosen))  # replies to no other item are
    asked += [(reader, judged, 0) for reader in readers]
    calls = tokens_in = tokens_out = 0
    for reader, of, check in asked:
        for trial in trials_of(bench, of, reader, part)():
            length = bench.usual_length(trial.condition)
            if not length:
                continue
            cells = bench.answer(trial, Reply("x" * length), reader.traits)
            row = dict(zip(bench.answer_schema, cells, strict=True))
            row |= {"reader": reader.name, "check": check}
            for role in judge.roles:
                for question in bench.judge_trials(row, role, judge.rubric):
                    calls += 1
                    tokens_in += _text_tokens(question.request)
                    tokens_out += question.request.decoding.max_tokens
    return Forecast(
        reader=judge.called,
        trials=calls,
        calls=calls,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        cost=judge.spec.cost(tokens_in, tokens_out),
        **_duration(judge, calls, tokens_in + tokens_out, store),
        judges=True,
    )


def _not_counted(bench: Benchmark) -> Iterator[str]:
    """A line on what a run would ask beyond the forecast."""
    more = ["what follows from the replies"] * bool(bench.follows)
    more += ["what is timed"] * bool(bench.times)
    if more:
        yield f"{' and '.join(more)} comes on top of this forecast, for models and judges."


class _UnknownSource(Exception):
    pass


def _peeking(sources: Sources) -> Any:
    unknown: set[Source | Inline] = set()  # looked for once, not for every trial

    def digest(source: Source | Inline) -> bytes:
        found = None if source in unknown else sources.peek(source)
        if found is None:
            unknown.add(source)
            raise _UnknownSource
        return found

    return digest


def write_requests(
    path: Path,
    bench: Benchmark,
    chosen: frozenset[str] | None,
    readers: Sequence[Reader],
    store: ReplyStore,
    part: Part | None = None,
) -> None:
    """Write every distinct request as JSON lines, for a `recorded:` reader to answer elsewhere.

    The digest is the `request` a recorded reply is filed under. Pictures are given as recipes.
    """
    sources = Sources(store, 0)
    encode = msgspec.json.Encoder().encode

    def lines() -> Iterator[bytes]:
        seen: set[bytes] = set()
        for reader in readers:
            for trial in trials_of(bench, chosen, reader, part)():
                request = trial.request.for_reader(reader.traits)
                digest = request_digest(request, sources)
                if digest not in seen:
                    seen.add(digest)
                    fields: dict[str, Any] = {"request": digest.hex(), "case": trial.case}
                    fields |= {"condition": trial.condition, "messages": request.messages}
                    yield encode(fields | {"decoding": request.decoding}) + b"\n"

    try:
        if path.exists() and not (path.is_file() or path.is_dir()):  # a pipe may have no other end
            raise BadInput(f"--requests {path}: it is no file. Give another name.")
        with path.open("wb") as file:
            if bench.policy == "credentialed":
                path.chmod(0o600)
            file.writelines(lines())
    except OSError as error:
        raise BadInput(f"--requests {path}: {error.strerror}. Give a writable file.") from None
