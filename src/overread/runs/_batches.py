"""Requests written as batch files, and the results of a batch taken into the reply store.

A batch is a folder: files of lines for a service, `batch.toml` (what was written, for whom), and
`requests.sqlite` (the key of every request, with its reader and the digest of its body). Results
are found again by these keys; then the ordinary run finds everything answered.
"""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from hashlib import blake2b
from io import BufferedReader
from itertools import chain, count
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from overread import __version__, records
from overread.benchmarks.base import Benchmark
from overread.case import BadInput, Policy, Prompt, Reader, Reply, printable
from overread.engine import Enrolment, Lacking, Plan, ReplyStore, ask, lacking
from overread.files import open_file, parse_toml, read_text, size_words
from overread.readers.batch_lines import (
    Batchable,
    BatchLimits,
    batch_limits,
    batch_line,
    check_batch,
    read_result,
)
from overread.readers.openai_http import digest_of
from overread.runs import _opening
from overread.runs._asking import Judging, Work, run_async, work_on
from overread.runs._environment import load_config
from overread.runs._opening import Seat, Tell
from overread.runs._stores import open_store

_MANIFEST: Final = "batch.toml"
_INDEX: Final = "requests.sqlite"
_MOST_MANIFEST: Final = 1 << 24
_AT_ONCE: Final = 32  # prompts held at once: a clip's may have megabytes
_LONGEST_LINE: Final = 1 << 26
_GROUP, _GROUP_SIZE = 512, 1 << 22  # results that are looked up and committed together
_TOLD: Final = 3


class BatchReader(Enrolment, frozen=True, kw_only=True):
    """Somebody a batch has requests for, as the store is to write it down.

    `trials` are all that were planned, `written` the requests in the files; what has a reply
    already, or is the same call as another, is in none.
    """

    trials: int = 0
    written: int = 0

    @property
    def called(self) -> str:
        return f"{'judge ' * self.judges}{self.label}"


class BatchFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of requests, all of one reader."""

    name: str
    reader: str
    requests: int
    size: int


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """`batch.toml`: what was asked for, for whom, and what was written."""

    overread: str = __version__
    benchmark: str
    edition: str
    cases: str
    dataset: str
    policy: Policy
    limits: str
    readers: tuple[BatchReader, ...] = ()
    files: tuple[BatchFile, ...] = ()


# ---------------------------------------------------------------- writing


def plan_batch(
    benchmark: str,
    cases: str | Path,
    readers: Sequence[str | Mapping[str, Any] | Reader],
    *,
    folder: str | Path,
    limits: str = "openai",
    judges: Sequence[str | Mapping[str, Any] | Reader] = (),
    edition: str = "corrected",
    store: str | Path | None = None,
    limit: int | None = None,
    only: str | Path | None = None,
    settings: Mapping[str, str] | None = None,
    tell: Tell | None = None,
) -> Batch:
    """Write what a run would ask now, and has no reply to, as batch files into a new folder.

    What hangs on replies (follow-ups, questions to judges) is written as soon as these are in the
    store: plan again when results were taken. Controls are asked at once where judges need what
    they say; no server is. `tell` gets a line on whatever is in no file.
    """
    place, bounds = Path(folder), batch_limits(limits)
    bench = _opening.open_cases(benchmark, cases, edition, settings or {})
    seats = _opening.open_readers(bench, readers)
    panel = _opening.open_judges(bench, judges)
    chosen = _opening.survey(bench, limit, only).cases
    _check_seats(bench, [*seats, *panel])
    records.check_folder(f"--batch {place}", place, ours=lambda _: False)
    who = _opening.enrolments([*seats, *panel])
    with work_on(bench, chosen, store, tell) as work:
        with records.folder_being_written(place, bench.policy) as scratch:
            index = _new_index(scratch / _INDEX)
            with closing(index), _Files(scratch, bounds) as files:
                writing = _Writing(work, seats, panel, files, index, tell or (lambda line: None))
                work.store.enrol([*who, *writing.checked()], work.dataset)
                run_async(writing.write())
                index.commit()
            made = Batch(
                benchmark=bench.name,
                edition=bench.edition,
                cases=_opening.recorded_cases(cases),
                dataset=bench.dataset,
                policy=bench.policy,
                limits=limits,
                readers=tuple(
                    msgspec.convert(
                        msgspec.structs.asdict(one) | writing.counts[number], BatchReader
                    )
                    for number, one in enumerate(who)
                ),
                files=tuple(files.written),
            )
            if made.files:
                _write_manifest(scratch / _MANIFEST, made)
            else:
                (scratch / _INDEX).unlink()
        if not made.files:
            place.rmdir()
    return made


def _check_seats(bench: Benchmark, seats: Sequence[Seat]) -> None:
    """Refuse, before anything is written, whom no batch may be for."""
    found = [seat for seat in seats if isinstance(seat.reader, Batchable)]
    if not found:
        raise BadInput(
            "--batch: nobody here is asked over HTTP. Give a reader or judge as "
            "openai:MODEL@BASE_URL; overread run asks the others."
        )
    config = load_config()
    allowed = (config.share_with, config.batch_with)
    for seat in found:
        check_batch(seat.spec.base_url, seat.called, bench.policy, *allowed)


def _write_manifest(path: Path, batch: Batch) -> None:
    import tomli_w

    path.write_text(tomli_w.dumps(msgspec.to_builtins(batch)), encoding="utf-8")


def _new_index(path: Path) -> sqlite3.Connection:
    index = sqlite3.connect(path)
    # It is made beside its place and moved there when it is whole.
    index.execute("PRAGMA journal_mode=off")
    index.execute("PRAGMA synchronous=off")
    index.execute(
        "CREATE TABLE requests (key BLOB PRIMARY KEY, reader INTEGER NOT NULL, "
        "sent TEXT NOT NULL) WITHOUT ROWID"
    )
    return index


class _Files:
    """Lines into files of one reader each, a new one whenever the limits are reached."""

    def __init__(self, folder: Path, limits: BatchLimits) -> None:
        self._folder, self._limits = folder, limits
        self._open: Any = None
        self._now = BatchFile(name="", reader="", requests=0, size=0)
        self.written: list[BatchFile] = []

    def __enter__(self) -> _Files:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """The next line begins a file."""
        if self._open is not None:
            self._open.close()
            self._open = None
            self.written.append(self._now)

    def put(self, seat: Seat, line: Sequence[bytes]) -> bool:
        """Whether a line fits into a file at all; then it stands in one."""
        size = sum(map(len, line))
        if self._limits.full(1, size):
            return False
        if self._open is not None and self._limits.full(
            self._now.requests + 1, self._now.size + size
        ):
            self.end()
        if self._open is None:
            words = re.sub(r"[^A-Za-z0-9._]+", "-", seat.called).strip("-.")[:60] or "reader"
            name = f"{words}-{len(self.written) + 1:04}.jsonl"
            self._open = (self._folder / name).open("wb")
            self._now = BatchFile(name=name, reader=seat.called, requests=0, size=0)
        self._open.writelines(line)
        self._now = msgspec.structs.replace(
            self._now, requests=self._now.requests + 1, size=self._now.size + size
        )
        return True


class _Writing:
    """Who is asked what, as far as it is known now. A class, for every step needs all of it."""

    def __init__(
        self,
        work: Work,
        seats: Sequence[Seat],
        panel: Sequence[Seat],
        files: _Files,
        index: sqlite3.Connection,
        tell: Tell,
    ) -> None:
        self._work, self._seats, self._panel = work, seats, panel
        self._files, self._index, self._tell = files, index, tell
        self._judging = Judging(work, self._answers) if panel else None
        self.counts: list[Counter[str]] = [
            Counter({"trials": 0, "written": 0}) for _ in (*seats, *panel)
        ]

    def checked(self) -> list[Enrolment]:
        """Controls that are asked so that judges can be held against what they say."""
        controls = self._judging.checked if self._judging is not None else []
        return [Enrolment(identity=one.identity, label=one.name) for one in controls]

    def _answers(self) -> Iterator[Mapping[str, Any]]:
        readers = [seat.reader for seat in self._seats]
        return chain.from_iterable(
            self._work.answers(self._work.whole_plan(one), one) for one in readers
        )

    async def write(self) -> None:
        try:
            for number, seat in enumerate(self._seats):
                if isinstance(seat.reader, Batchable):
                    await self._stages(number, seat)
                elif self._panel and seat.spec.kind in _opening.OFFLINE:
                    await self._ask(seat.reader, self._work.whole_plan(seat.reader))
                else:
                    self._tell(f"{seat.called}: in no batch; overread run asks it.")
                self._files.end()
            for number, judge in enumerate(self._panel, len(self._seats)):
                if isinstance(judge.reader, Batchable):
                    await self._questions(number, judge)
                else:
                    self._tell(f"{judge.called}: in no batch; overread run asks it.")
                self._files.end()
        finally:
            for seat in (*self._seats, *self._panel):
                await seat.reader.close()

    async def _ask(self, reader: Reader, plan: Plan) -> None:
        work = self._work
        await ask(plan, reader, work.store, work.studio, dataset=work.dataset)

    async def _stages(self, number: int, seat: Seat) -> None:
        """The trials of a reader; what follows from replies once none of these is missing."""
        for stage in self._work.stages(seat.reader):
            if stage.alone:
                self._tell(f"{seat.called}: what is timed is in no batch; overread run asks it.")
            elif not await self._put(number, seat, stage.plan):
                return

    async def _questions(self, number: int, judge: Seat) -> None:
        judging = self._judging
        assert judging is not None
        for control in judging.checked:
            await self._ask(control, judging.check_plan(control))
        for attempt in count():
            before = self.counts[number]["trials"]
            await self._put(number, judge, judging.plan(judge, attempt))
            if self.counts[number]["trials"] == before:
                break

    async def _put(self, number: int, seat: Seat, plan: Plan) -> bool:
        """Write what has no reply; whether everything had one, or failed when it was tried."""
        work, counts, settled = self._work, self.counts[number], True
        trouble: list[str] = []
        planned = lacking(plan, seat.reader, work.store, work.studio, judges=seat.judges)
        async for trials, items in planned:
            counts["trials"] += trials
            settled = settled and all(one.failed or one.fault for one in items)
            trouble += [one.fault for one in items if one.fault]
            new = self._not_yet([one for one in items if not one.fault])
            for start in range(0, len(new), _AT_ONCE):
                trouble += await self._lines(number, seat, new[start : start + _AT_ONCE])
            trouble[_TOLD:] = [""] * (len(trouble) - _TOLD)  # counted, and not all kept
        for fault in trouble[:_TOLD]:
            self._tell(f"{seat.called}: in no batch: {fault}")
        if len(trouble) > _TOLD:
            self._tell(f"{seat.called}: {len(trouble) - _TOLD} more are in no batch.")
        return settled

    def _not_yet(self, items: Sequence[Lacking]) -> list[Lacking]:
        """Each key once, over all of the batch."""
        found = {one.key: one for one in items}
        marks = ",".join("?" * len(found))
        query = f"SELECT key FROM requests WHERE key IN ({marks})"  # noqa: S608
        for (key,) in self._index.execute(query, list(found)).fetchall():
            del found[key]
        return list(found.values())

    async def _lines(self, number: int, seat: Seat, items: Sequence[Lacking]) -> list[str]:
        """Put lines of these where they belong; why some could not be."""
        reader, studio = seat.reader, self._work.studio
        assert isinstance(reader, Batchable)
        shown = (studio.show(one.request, one.digest, one.pictures) for one in items)
        faults = []
        rows = []
        for one, prompt in zip(
            items, await asyncio.gather(*shown, return_exceptions=True), strict=True
        ):
            if isinstance(prompt, BadInput):
                faults.append(str(prompt))
                continue
            if not isinstance(prompt, Prompt):
                raise prompt
            pieces = reader.body(prompt)
            if self._files.put(seat, batch_line(one.key, pieces)):
                rows.append((one.key, number, digest_of(pieces)))
            else:
                faults.append("a request is longer than a file may be. Give other --batch-limits.")
        self._index.executemany("INSERT INTO requests VALUES (?,?,?)", rows)
        self.counts[number]["written"] += len(rows)
        return faults


# ---------------------------------------------------------------- taking results


class Taken(msgspec.Struct, kw_only=True):
    """What became of the lines of result files; each line is counted once.

    `already`: the store had a reply. `doubled` and `contradicting`: there was a line for the same
    request in these files, which says the same, or something else; the first reply stays. `failed`
    are kept as errors. `foreign`: no request of this batch. Beside the lines: `missing` are
    requests of the batch with neither reply nor error, `differing` those of `already` whose kept
    reply says something else.
    """

    lines: int = 0
    taken: int = 0
    already: int = 0
    doubled: int = 0
    contradicting: int = 0
    failed: int = 0
    foreign: int = 0
    malformed: int = 0
    missing: int = 0
    differing: int = 0
    reasons: Counter[str] = msgspec.field(default_factory=Counter)


class _Result(NamedTuple):
    where: str
    key: bytes
    reply: Reply | None
    reason: str


def import_batch(
    folder: str | Path,
    files: Sequence[str | Path],
    *,
    store: str | Path | None = None,
    tell: Tell | None = None,
) -> Taken:
    """Take the results of the batch in a folder into the reply store.

    A reply is kept as if the reader had been asked; an error is recorded, and asked again by the
    next run or batch. Groups of lines are committed whole, and what is there is never replaced: a
    command that was cut off is run again. `tell` gets a line on odd lines.
    """
    place = Path(folder)
    batch = _read_manifest(place)
    if not files:
        raise BadInput("no result file was given. Give what the batch service returned.")
    with ExitStack() as stack:
        opened = [
            (Path(one), stack.enter_context(open_file(one, named=f"results {one}")))
            for one in files
        ]
        index = stack.enter_context(closing(_open_index(place / _INDEX)))
        kept = stack.enter_context(open_store(store, tell))
        dataset = kept.dataset_id(batch.benchmark, batch.dataset, batch.policy)
        kept.enrol(batch.readers, dataset)
        taking = _Taking(batch, index, kept, dataset, tell or (lambda line: None))
        for path, file in opened:
            taking.read(path, file)
        taking.finish(place)
        return taking.counts


def _read_manifest(place: Path) -> Batch:
    path = place / _MANIFEST
    if not path.is_file() or not (place / _INDEX).is_file():
        raise BadInput(
            f"{place}: not the folder of a batch (no {_MANIFEST} and {_INDEX}). Give one that "
            "overread plan --batch made."
        )
    try:
        held = parse_toml(read_text(path, at_most=_MOST_MANIFEST), str(path))
        return msgspec.convert(held, Batch)
    except msgspec.ValidationError as error:
        raise BadInput(f"{path}: {error}. Restore the file or plan the batch again.") from None


def _open_index(path: Path) -> sqlite3.Connection:
    """The keys of a batch, and beside them a table of what results said, in a file of no name."""
    index = sqlite3.connect("", uri=True, isolation_level=None)
    try:
        index.execute("ATTACH ? AS batch", (f"{path.absolute().as_uri()}?mode=ro",))
        index.execute("SELECT key, reader, sent FROM batch.requests LIMIT 1").fetchall()
    except sqlite3.Error as error:
        index.close()
        raise BadInput(f"{path}: {error}. Restore the file or plan the batch again.") from None
    index.execute("CREATE TABLE heard (key BLOB PRIMARY KEY, said BLOB) WITHOUT ROWID")
    return index


class _Taking:
    """Results against the index and the store. A class, for every step needs all of it."""

    def __init__(
        self, batch: Batch, index: sqlite3.Connection, store: ReplyStore, dataset: int, tell: Tell
    ) -> None:
        self._batch, self._index, self._store = batch, index, store
        self._dataset, self._tell = dataset, tell
        self._told: Counter[str] = Counter()
        self.counts = Taken()

    def read(self, path: Path, file: BufferedReader) -> None:
        group: list[_Result] = []
        size = 0
        for number, line in enumerate(iter(lambda: file.readline(_LONGEST_LINE), b""), 1):
            if len(line) == _LONGEST_LINE:
                raise BadInput(
                    f"{path} line {number} has over {size_words(_LONGEST_LINE)}. Mend it, and run "
                    "the same command again: what was taken stays."
                )
            line = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
            if not line.strip():
                continue
            self.counts.lines += 1
            where = f"{path} line {number}"
            try:
                name, reply, reason = read_result(line)
            except ValueError as error:
                self.counts.malformed += 1
                self._say("malformed", f"{where}: {error}.")
                continue
            if not re.fullmatch("[0-9a-f]{32}", name):
                self._foreign(where, name)
                continue
            group.append(_Result(where, bytes.fromhex(name), reply, reason))
            size += len(line)
            if len(group) >= _GROUP or size >= _GROUP_SIZE:
                self._take(group)
                group, size = [], 0
        self._take(group)

    def _take(self, group: Sequence[_Result]) -> None:
        keys = list({one.key for one in group})
        marks = ",".join("?" * len(keys))
        query = f"SELECT key, reader, sent FROM batch.requests WHERE key IN ({marks})"  # noqa: S608
        known = {key: (reader, sent) for key, reader, sent in self._index.execute(query, keys)}
        query = f"SELECT key, said FROM heard WHERE key IN ({marks})"  # noqa: S608
        heard: dict[bytes, bytes | None] = dict(self._index.execute(query, keys).fetchall())
        before = self._kept(known, heard)
        replies: dict[int, dict[bytes, Reply]] = {}
        failures: dict[int, dict[bytes, str]] = {}
        counts = self.counts
        for one in group:
            if one.key not in known:
                self._foreign(one.where, one.key.hex())
                continue
            reader, sent = known[one.key]
            said = None if one.reply is None else _said(one.reply)
            if one.key in before:
                counts.already += 1
                if said is not None and said != before[one.key]:
                    counts.differing += 1
                    self._say("differing", f"{one.where}: another reply is kept, and stays.")
            elif one.key not in heard:
                heard[one.key] = said
                if one.reply is None:
                    counts.failed += 1
                    counts.reasons[one.reason.partition(":")[0]] += 1
                    failures.setdefault(reader, {})[one.key] = one.reason
                else:
                    counts.taken += 1
                    reply = msgspec.structs.replace(one.reply, sent=sent)
                    replies.setdefault(reader, {})[one.key] = reply
            elif said == heard[one.key]:
                counts.doubled += 1
            else:
                counts.contradicting += 1
                if heard[one.key] is None and one.reply is not None:
                    # It failed at first: one failure less, one reply more.
                    heard[one.key] = said
                    counts.failed -= 1
                    counts.taken += 1
                    failures.get(reader, {}).pop(one.key, None)
                    reply = msgspec.structs.replace(one.reply, sent=sent)
                    replies.setdefault(reader, {})[one.key] = reply
                else:
                    self._say("twice", f"{one.where}: its request has another result, which stays.")
        for reader in replies.keys() | failures.keys():
            kept = [(key, self._dataset, reply) for key, reply in replies.get(reader, {}).items()]
            failed = [(key, self._dataset, why) for key, why in failures.get(reader, {}).items()]
            self._store.commit(kept, failed, self._store.enrolled(self._batch.readers[reader]))
        rows = [(key, said) for key, said in heard.items() if key in known]
        self._index.executemany("INSERT OR REPLACE INTO heard VALUES (?,?)", rows)

    def _kept(
        self, known: Mapping[bytes, tuple[int, str]], heard: Mapping[bytes, bytes | None]
    ) -> dict[bytes, bytes]:
        """What the store's replies to these say, which these files did not bring."""
        found: dict[bytes, bytes] = {}
        for number, reader in enumerate(self._batch.readers):
            keys = [key for key, (of, _) in known.items() if of == number and key not in heard]
            replies = self._store.get(keys, self._store.enrolled(reader)) if keys else {}
            found |= {key: _said(kept.reply) for key, kept in replies.items()}
        return found

    def _foreign(self, where: str, name: str) -> None:
        self.counts.foreign += 1
        self._say("foreign", f'{where}: "{name[:60]}" is no request of this batch.')

    def _say(self, kind: str, line: str) -> None:
        """The first few of each kind; the others are counted."""
        self._told[kind] += 1
        if self._told[kind] <= _TOLD:
            self._tell(printable(line))

    def finish(self, place: Path) -> None:
        """Count what is still missing, and refuse files that are of another batch altogether."""
        counts = self.counts
        if counts.lines == counts.foreign + counts.malformed:
            raise BadInput(
                f"none of {counts.lines} lines is a result of the batch in {place}. Nothing was "
                "taken. Give the result files of this batch."
            )
        rest = self._index.execute(
            "SELECT key, reader FROM batch.requests AS r "
            "WHERE NOT EXISTS (SELECT 1 FROM heard WHERE heard.key = r.key)"
        )
        while some := rest.fetchmany(_GROUP):
            for number, reader in enumerate(self._batch.readers):
                keys = [key for key, of in some if of == number]
                answered = self._store.known(keys, self._store.enrolled(reader))
                failed = self._store.failures([key for key in keys if key not in answered])
                counts.missing += len(keys) - len(answered) - len(failed)


def _said(reply: Reply) -> bytes:
    """What tells two replies apart: words, not when or at what cost they were given."""
    words = (reply.text, reply.refusal, reply.reasoning, reply.finish)
    return blake2b(msgspec.msgpack.encode(words), digest_size=16).digest()
