"""What is installed, which data folders and servers answer, and whether pictures reach a reader."""

from __future__ import annotations

import platform
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, NamedTuple

import msgspec

from overread import __version__
from overread import sight as seeing
from overread.benchmarks.base import Benchmark
from overread.case import BadInput, Clip, Reader, ReaderFailure, Reply, Source, Traits, Trial
from overread.engine import Sources, Store, Studio, Tally, ask, is_network_mount, read_back
from overread.readers import Guard, ReaderSpec, models_of, open_reader, parse_spec, unlisted
from overread.runs._asking import run_async
from overread.runs._environment import default_store, environment, load_config
from overread.runs._opening import open_cases
from overread.runs._running import Unfinished
from overread.runs._stores import open_store

_CORE = (
    "aiohttp", "av", "isal", "msgspec", "numpy", "pillow", "polars", "pydicom", "rich", "scipy",
    "vl-convert-python",
)  # fmt: skip
# The modules of an extra, and what cannot be done without them.
_EXTRAS = {
    "dicom": (("pylibjpeg", "openjpeg", "gdcm"), "some compressed DICOM files cannot be decoded"),
    "hf": (("torch", "transformers"), "models cannot be asked in this process (hf:MODEL)"),
    "inspect": (("inspect_ai",), "its providers cannot be asked (inspect:PROVIDER/MODEL)"),
    "probe": (("onnxruntime", "sklearn"), "no probe can be fitted (overread probe fit)"),
    "ray": (("ray",), "a cluster's actors cannot ask (--engine ray)"),
    "nifti": (("nibabel",), "clips in NIfTI, such as CAMUS, cannot be opened"),
}
_PROXIES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")


class Finding(msgspec.Struct, frozen=True):
    """One thing looked at: fine, worth knowing, or wrong with what to do."""

    what: str
    state: Literal["ok", "note", "wrong"]
    detail: str


def examine(
    *,
    readers: Sequence[str],
    cases: Sequence[str],
    store: str | Path | None = None,
    benchmark: str | None = None,
    settings: Mapping[str, str] | None = None,
) -> list[Finding]:
    """Look at everything a run would need. Sends no case and no key anywhere.

    Without `benchmark` the cases are opened by the first that can ask about them.
    """
    return [
        Finding("overread", "ok", f"{__version__} on Python {platform.python_version()}"),
        *(_package(name) for name in _CORE),
        *(_extra(name, *extra) for name, extra in _EXTRAS.items()),
        *_plug_ins(),
        *_environment(),
        _store(store),
        *(found for path in cases for found in _cases(path, benchmark, settings or {})),
        *(run_async(_server(spec)) for spec in readers),
    ]


def _package(name: str) -> Finding:
    try:
        return Finding(name, "ok", version(name))
    except PackageNotFoundError:
        return Finding(name, "wrong", "not installed; run pip install overread again")


def _extra(extra: str, modules: Sequence[str], without: str) -> Finding:
    if all(find_spec(name) is not None for name in modules):
        return Finding(f"extra {extra}", "ok", "installed")
    detail = f'not installed, so {without}; pip install "overread[{extra}]"'
    return Finding(f"extra {extra}", "note", detail)


def _plug_ins() -> Iterator[Finding]:
    """Benchmarks and kinds of reader with the package each comes from; a broken one is wrong."""
    from overread.benchmarks import registry
    from overread.plugins import OWN, known_words, load
    from overread.readers.spec import known_kinds

    def kind(name: str) -> object:
        return load("kind of reader", name, known_kinds())

    for what, found, import_one in (
        ("benchmark", registry.known(), registry.class_of),
        ("kind of reader", known_kinds(), kind),
    ):
        plural = {"benchmark": "benchmarks", "kind of reader": "kinds of reader"}[what]
        yield Finding(plural, "ok", known_words(found))
        for name, several in found.items():
            if all(one.origin == OWN for one in several):
                continue
            try:
                import_one(name)
            except BadInput as error:
                yield Finding(f"{what} {name}", "wrong", str(error))


def _environment() -> Iterator[Finding]:
    try:
        config = load_config()
    except BadInput as error:
        yield Finding("configuration", "wrong", str(error))
        return
    hosts = ", ".join(config.share_with) or "nobody outside this network"
    kept = f"; in batches to {', '.join(config.batch_with)}" if config.batch_with else ""
    yield Finding("credentialed data may go to", "ok", hosts + kept)
    key = "set" if environment().get("OPENAI_API_KEY") else "not set (local servers need none)"
    yield Finding("OPENAI_API_KEY", "ok", key)
    for proxy in sorted(name for name in _PROXIES if environment().get(name))[:1]:
        detail = "is set but never used by itself; give a reader the option proxy= if it needs one"
        yield Finding(proxy, "note", detail)


def _store(path: str | Path | None) -> Finding:
    try:
        place = default_store(path)
    except BadInput:
        return Finding("store", "wrong", "its place is not known while the configuration is wrong")
    if isinstance(place, str):
        return _served_store(place)
    if is_network_mount(place):
        detail = (
            f"{place} lies on a network file system: one process at a time and slower commits; "
            "keep it on a local disk with --store if you can"
        )
        return Finding("store", "note", detail)
    if not place.exists():
        return Finding("store", "ok", f"{place} will be made by the first run")
    try:
        with Store(place) as kept:
            replies, size = kept.count(), place.stat().st_size / 1e6
            return Finding("store", "ok", f"{place}: {replies:,} replies, {size:,.1f} MB")
    except (BadInput, sqlite3.Error) as error:
        return Finding("store", "wrong", f"{place}: {str(error).removeprefix(f'{place}: ')}")


def _served_store(link: str) -> Finding:
    try:
        with open_store(link) as kept:
            replies = sum(row.replies for row in kept.listing())
            return Finding("store", "ok", f"{kept.shown}: served, {replies:,} replies")
    except BadInput as error:
        return Finding("store", "wrong", str(error))


def _cases(path: str, benchmark: str | None, settings: Mapping[str, str]) -> Iterator[Finding]:
    what = f"cases {path}"
    try:
        bench = _opened(path, benchmark, settings)
        total, pictures, clips = _looked_at(bench)
    except BadInput as error:
        yield Finding(what, "wrong", str(error))
        return
    seen = f"{total:,} cases"
    if pictures:
        detail = f"{seen}, but {pictures:,} pictures are not there; check --set root="
        yield Finding(what, "wrong", detail)
        return
    if clips:
        detail = f"{seen}, but {len(clips):,} clips cannot be shown; the first: {clips[0]}"
        yield Finding(what, "wrong", detail)
    else:
        detail = f"{seen} of {bench.dataset}, {bench.policy}, for {bench.name}"
        yield Finding(what, "ok", detail)
    yield from _left_out(bench, what)


def _opened(path: str, benchmark: str | None, settings: Mapping[str, str]) -> Benchmark:
    """The benchmark named, or the first that finds a case at the path."""
    from overread.benchmarks.registry import benchmark_names

    if not path.startswith("phantom:") and not Path(path).exists():
        raise BadInput("no such file or folder. Check the path.")
    refusals = []
    for name in (benchmark,) if benchmark else benchmark_names():
        try:
            bench = open_cases(name, path, "corrected", settings)
            for _ in bench.cases():
                break
            return bench
        except BadInput as error:
            refusals.append((name, str(error)))
    if benchmark:
        raise BadInput(refusals[0][1])
    said = " ".join(f"{name}: {refusal}" for name, refusal in refusals)
    raise BadInput(f"no benchmark can ask about it; name yours with --benchmark. {said}")


def _looked_at(bench: Benchmark) -> tuple[int, int, list[str]]:
    """How many cases there are, pictures that are not there, and why clips cannot be shown.

    A picture is looked for. Of a clip two frames are made, masks and all: its file may be there
    and not decode.
    """
    from overread.imaging import Films, check_there, render_clip

    total = missing = 0
    refused: list[str] = []
    films = Films(0)
    for case in bench.cases():
        total += 1
        sources: set[Source] = set()
        clips: dict[tuple[object, object], Clip] = {}
        for trial in bench.trials(case, Traits()):
            request = trial.request
            sources |= {p.source for p in request.pictures if isinstance(p.source, Source)}
            for clip in request.clips:
                clips.setdefault((clip.source, clip.mask), clip)
        for source in sources:
            try:
                check_there(source)
            except BadInput:
                missing += 1
        for clip in clips.values():
            ends = (clip.frames[0], clip.frames[-1])
            try:
                render_clip(msgspec.structs.replace(clip, frames=ends), films)
            except BadInput as error:
                refused.append(str(error))
    return total, missing, refused


def _left_out(bench: Benchmark, what: str) -> Iterator[Finding]:
    """A line for each reason why something in the set is not asked about, the commonest first."""
    kinds: dict[str, list[tuple[str, str]]] = {}
    for name, reason in bench.left_out or ():
        # A reason may begin with its file, and numbers are each clip's own.
        file, _, rest = reason.partition(": ")
        kind = re.sub(r"\d+", "0", rest if "." in file or "/" in file else reason)
        kinds.setdefault(kind, []).append((name, reason))
    for alike in sorted(kinds.values(), key=len, reverse=True):
        name, reason = alike[0]
        detail = f"{len(alike):,}, such as {name}: {reason}"
        yield Finding(f"{what}, left out", "note", detail)
    for remark in bench.remarks:
        yield Finding(f"{what}, asked", "note", remark)


async def _server(text: str) -> Finding:
    """Ask a server for its models: no case, no picture and no key is sent."""
    try:
        spec = parse_spec(text)
    except BadInput as error:
        return Finding("reader", "wrong", str(error))
    what = f"reader {spec.name}"
    if spec.kind in ("hf", "vllm", "probe"):
        return _checkpoint(spec, what)
    if spec.kind != "openai":
        return Finding(what, "ok", "needs no server")
    try:
        status, names = await models_of(spec, None)
    except ReaderFailure as failure:
        return Finding(what, "wrong", f"it does not answer ({failure.reason}); is the server up?")
    answers = f"{spec.base_url} answers (HTTP {status})"
    if status in (401, 403):
        return Finding(what, "ok", f"{answers} and lists its models with a key only")
    if status == 404:
        return Finding(what, "note", f"{answers}: no models there; most base URLs end in /v1")
    if missing := unlisted(spec.model, names):
        return Finding(what, "note", f"{answers}; {missing}")
    return Finding(what, "ok", answers + (f" and lists {spec.model}" if names else ""))


def _checkpoint(spec: ReaderSpec, what: str) -> Finding:
    """Look whether a model is there, without loading it."""
    try:
        open_reader(spec, guard=Guard(), environment={}, controls={})
    except BadInput as error:
        return Finding(what, "wrong", str(error).removeprefix(f"{what}: "))
    return Finding(what, "ok", f"{spec.model} is there, to be asked in this process")


# ---------------------------------------------------------------- sight


def sight(spec: str, *, seed: int = 0) -> seeing.Sight:
    """Say whether a reader receives pixels. The digits are open data, so any host may see them."""
    parsed, reader = _served(spec)
    name, traits = reader.name, reader.traits
    if traits.modality == "text":
        told = "declared modality=text: no picture is ever sent to it"
        return seeing.Sight(reader=name, verdict="does not arrive", evidence=(told,))
    heard = _heard(parsed, reader, seeing.ask_for_digits(seed, reasoning=traits.reasoning))
    said = (heard.first, heard.again, heard.others.get("none"), heard.why)
    found = seeing.judge_sight(name, seeing.digits_of(seed), *said)
    return msgspec.structs.replace(found, evidence=found.evidence + heard.listed)


def sight_of_clips(spec: str, *, seed: int = 0) -> seeing.ClipSight:
    """Say whether every frame of a clip reaches a reader, in the form it takes clips."""
    parsed, reader = _served(spec)
    name, traits, form = reader.name, reader.traits, reader.traits.clips
    if traits.modality == "text":
        told = "declared modality=text: no clip is ever sent to it"
        return seeing.ClipSight(reader=name, form=form, verdict="does not arrive", evidence=(told,))
    heard = _heard(parsed, reader, seeing.ask_for_frames(seed, reasoning=traits.reasoning))
    said = (heard.first, heard.again, heard.others, heard.why)
    found = seeing.judge_clips(name, form, seeing.frames_of(seed), *said)
    return msgspec.structs.replace(found, evidence=found.evidence + heard.listed)


class _Heard(NamedTuple):
    """Replies to what was shown by its number, the first time and again, and to all else by name.

    `why` is the first reason for which a reply is missing, `listed` a line on the server's models.
    """

    first: dict[int, Reply]
    again: dict[int, Reply]
    others: dict[str, Reply]
    why: str
    listed: tuple[str, ...]


def _heard(spec: ReaderSpec, reader: Reader, asked: Iterable[Trial]) -> _Heard:
    """Ask in a store of its own; where nothing at all is heard, say why."""
    trials = list(asked)
    first: dict[int, Reply] = {}
    again: dict[int, Reply] = {}
    others: dict[str, Reply] = {}
    reasons: list[str] = []
    with TemporaryDirectory() as scratch, Store(Path(scratch) / "store.sqlite") as store:
        dataset = store.dataset_id("sight", "digits", "open")
        studio = Studio(Sources(store, dataset))

        async def work() -> None:
            try:
                # That all pictures fail alike is a finding here, so nothing stops early.
                tally = Tally(stops_early=False)
                await ask(lambda: trials, reader, store, studio, dataset=dataset, tally=tally)
            finally:
                await reader.close()

        try:
            run_async(work())
            for trial, reply, reason in read_back(lambda: trials, reader, store, studio):
                (shown,) = trial.condition.values()  # which picture or clip
                if reply is None:
                    reasons.append(reason)
                elif isinstance(shown, str):
                    others.setdefault(shown, reply)
                else:
                    (again if trial.repeat else first)[shown] = reply
        finally:
            studio.close()
    listed = _listed(spec)
    if not first and "none" not in others:
        why = "; ".join((reasons[0] if reasons else "no reason was given", *listed))
        raise Unfinished(f"{reader.name} answered nothing: {why}. Mend that and ask again.")
    return _Heard(first, again, others, next(iter(reasons), ""), listed)


def _listed(spec: ReaderSpec) -> tuple[str, ...]:
    """A line where the server lists models and not this one."""
    if spec.kind != "openai":
        return ()
    try:
        _, names = run_async(models_of(spec, environment()))
    except ReaderFailure:
        return ()
    missing = unlisted(spec.model, names)
    return (f"the server answers, but {missing}",) if missing else ()


def _served(spec: str) -> tuple[ReaderSpec, Reader]:
    parsed = parse_spec(spec)
    if parsed.kind == "control":
        raise BadInput(f"{spec}: a control receives pixels by construction. Give a served model.")
    if parsed.attempts is None:
        parsed = msgspec.structs.replace(parsed, attempts=3)
    guard = Guard("open", load_config().share_with)
    return parsed, open_reader(parsed, guard=guard, environment=environment(), controls={})
