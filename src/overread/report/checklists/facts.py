"""What a run can say of itself, by name: functions over its record, its words and its measures.

Each yields what is known, and nothing where it is not: an empty item is left to the authors. None
says of anything that it is good, enough or complete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from overread.benchmarks.exhibits.cells import ROUGH_MARK, UNTRIED_MARK, cell, worth
from overread.benchmarks.sentences import PHANTOM, listed
from overread.case import BadInput, Decoding, Measure
from overread.judging.fitness import NOT_CHECKED
from overread.measuring.notes import FEW_CLUSTERS, FLAGS
from overread.readers.spec import ReaderSpec, parse_spec
from overread.records import ReaderEntry
from overread.report.reported import Reported


class Told(NamedTuple):
    """A sentence, of the models named or of the whole run."""

    text: str
    models: tuple[str, ...] = ()


Fact: TypeAlias = Callable[[Reported], Iterator[Told]]
FACTS: Final[dict[str, Fact]] = {}

# What conditions are called in groups of measures, and which groups are none of the cases' own.
_CONDITIONS: Final = ("condition", "image", "context", "px", "phrasing")
_NO_GROUPS: Final = frozenset({*_CONDITIONS, "bound", "judge", "versus", "repeat", "seed", "pass"})
_ASKED: Final = "What was asked and shown"
_COUNTED: Final = "How replies were read and counted"
_SEES: Final = {
    "multimodal": "got the question and what is shown",
    "text": "got the question alone",
    "vision": "got what is shown, and no words",
}
_WAYS: Final[Mapping[str, str]] = {
    "openai": "by an interface for programs (OpenAI's protocol)",
    "hf": "by weights loaded in the program's own process (transformers)",
    "vllm": "by weights loaded in the program's own process (vLLM)",
    "probe": "by a frozen encoder and a head fitted on it, in the program's own process",
    "inspect": "by a provider of inspect_ai",
    "control": "a control of the benchmark, no model",
    "recorded": "replies that were recorded elsewhere, read from a file",
    "human": "a person who read in a study",
}
_POLICIES: Final = {
    "open": "open",
    "research": "research (pictures stay where the set may be)",
    "credentialed": "credentialed (pictures and texts stay where the set may be)",
}


def _fact(function: Fact) -> Fact:
    FACTS[function.__name__] = function
    return function


def _same(said: Mapping[str, str]) -> Iterator[Told]:
    """One sentence for all models of whom the same is said."""
    by_text: dict[str, list[str]] = {}
    for model, text in said.items():
        if text:
            by_text.setdefault(text, []).append(model)
    for text, models in by_text.items():
        yield Told(text, tuple(models))


def _spec(reader: ReaderEntry) -> ReaderSpec | None:
    """The spec it was asked by; None of results that somebody else got."""
    try:
        return parse_spec(reader.spec)
    except BadInput:
        return None


# ---------------------------------------------------------------- models, and how they were asked


@_fact
def models(run: Reported) -> Iterator[Told]:
    if run.record.imported:
        yield from _same({one.name: "named so in the results." for one in run.record.readers})
        return
    for reader in run.record.readers:
        spec = _spec(reader)
        said = [f"asked for as {reader.identity}"]
        if names := list(dict.fromkeys(reader.models or filter(None, [reader.model]))):
            said.append(f"it calls itself {listed(names)}")
        if spec is not None and spec.revision:
            said.append(f"revision {spec.revision}")
        if reader.fingerprints:
            said.append(f"fingerprint {listed(reader.fingerprints)}")
        if reader.params_b is not None:
            said.append(f"declared to have {reader.params_b:g} billion parameters")
        if reader.listed:
            said.append(f"listed by its server as {listed(reader.listed)}")
        yield Told(f"{'; '.join(said)}.", (reader.name,))


@_fact
def dates(run: Reported) -> Iterator[Told]:
    said = {}
    for reader in run.record.readers:
        known = dict.fromkeys(filter(None, (reader.first_reply, reader.last_reply)))
        said[reader.name] = f"replies given {' to '.join(known)}." if known else ""
    return _same(said)


@_fact
def access(run: Reported) -> Iterator[Told]:
    said = {}
    for reader in run.record.readers:
        spec = _spec(reader)
        if spec is None:
            continue
        words = _WAYS.get(spec.kind, f'by the kind of reader "{spec.kind}" of a package')
        host = urlsplit(spec.base_url).hostname if spec.base_url else None
        more = [f"at {host}"] if host else []
        more += [f"{name} {value}" for name, value in _loaded(spec).items() if value]
        said[reader.name] = f"{', '.join([words, *more])}."
    return _same(said)


def _loaded(spec: ReaderSpec) -> dict[str, str | None]:
    return {
        "number format": spec.dtype,
        "quantised": spec.quantisation,
        "device": spec.device,
        "attention": spec.attention,
    }


@_fact
def machine(run: Reported) -> Iterator[Told]:
    one = run.record.machine
    if one is not None and one.system:
        yield Told(
            f"Asked from a machine with {one.cores} cores ({one.processor}), "
            f"{one.memory_gb:g} GB and {one.system}."
        )


@_fact
def given(run: Reported) -> Iterator[Told]:
    if run.record.imported:
        return
    said = {}
    for reader in run.record.readers:
        clips = f", clips as {reader.traits.clips}" if reader.traits.clips != "images" else ""
        said[reader.name] = f"{_SEES[reader.traits.modality]}{clips}."
    yield from _same(said)


@_fact
def asked(run: Reported) -> Iterator[Told]:
    return _below(run, _ASKED)


@_fact
def frames(run: Reported) -> Iterator[Told]:
    """What a user puts around every question of a model."""
    if run.record.imported:
        return
    said = {}
    for reader in run.record.readers:
        traits = reader.traits
        texts = {"system message": traits.system, "before": traits.before, "after": traits.after}
        put = [f"{name}: “{text}”" for name, text in texts.items() if text]
        said[reader.name] = (
            f"beside the benchmark's own words, {'; '.join(put)}."
            if put
            else "nothing was put around the benchmark's own words."
        )
    yield from _same(said)


@_fact
def told(run: Reported) -> Iterator[Told]:
    if run.record.imported:
        return
    knowing = [r.name for r in run.record.readers if r.traits.knows_truth or r.traits.told_case]
    yield Told(
        "A request holds the question and what is shown; never a case's name, label or source."
    )
    if knowing:
        yield Told("a control that knows what others are not told.", tuple(knowing))


@_fact
def sent(run: Reported) -> Iterator[Told]:
    if not run.record.imported:
        yield Told("Pictures were sent without what their files say beside the pixels.")


@_fact
def decoding(run: Reported) -> Iterator[Told]:
    said = {one.name: _decoded(one.decoding) for one in run.record.readers if one.decoding}
    return _same(said)


def _decoded(how: Decoding) -> str:
    heat = "left to the server" if how.temperature is None else f"{how.temperature:g}"
    said = [f"temperature {heat}", f"at most {how.max_tokens} new tokens"]
    if how.top_logprobs:
        said.append(f"{how.top_logprobs} log-probabilities asked for")
    if how.seed is not None:
        said.append(f"seed {how.seed}")
    return f"{', '.join(said)} (the last reply's)."


@_fact
def judges(run: Reported) -> Iterator[Told]:
    for judge in run.record.judges:
        names = listed(list(dict.fromkeys(judge.models))) if judge.models else judge.identity
        when = " to ".join(dict.fromkeys(filter(None, (judge.first_reply, judge.last_reply))))
        said = [f"a judge of {listed(judge.roles)}" if judge.roles else "a judge", names]
        said += [f"replies given {when}"] * bool(when)
        said.append(f"{judge.invalid} of {judge.asked} replies could not be read")
        yield Told(f"{'; '.join(said)}.", (judge.name,))


@_fact
def again(run: Reported) -> Iterator[Told]:
    for one in _whole(run, run.steady):
        yield Told(f"the same answer when asked again: {_number(run, one)}.", (one.reader,))


@_fact
def how(run: Reported) -> Iterator[Told]:
    said = {}
    for reader in run.record.readers:
        known = [f"{name} {value}" for name, value in (reader.facts or {}).items()]
        said[reader.name] = f"{'; '.join(known)}." if known else ""
    return _same(said)


@_fact
def answered(run: Reported) -> Iterator[Told]:
    for reader in run.record.readers:
        said = [f"{reader.unanswered} of {reader.asked} questions unanswered"] * bool(reader.asked)
        for name in ("unparsed", "refused"):
            said += [f"{name} {k} of {n}" for k, n in _counts(run, reader, name)]
        if said:
            yield Told(f"{'; '.join(said)}.", (reader.name,))


def _counts(run: Reported, reader: ReaderEntry, name: str) -> Iterator[tuple[int, int]]:
    """How often, of all that was asked where conditions add up to that; else as it stands."""
    own = [one for one in run.measures if (one.reader, one.measure) == (reader.name, name)]
    for kind in _CONDITIONS:
        parts = [one for one in own if tuple(one.by) == (kind,)]
        if parts and sum(one.n or 0 for one in parts) == reader.asked:
            yield sum(one.k or 0 for one in parts), reader.asked
            return
    for one in own:
        if not one.by and one.k is not None and one.n is not None:
            yield one.k, one.n


# ---------------------------------------------------------------- cases


@_fact
def question(run: Reported) -> Iterator[Told]:
    for text in dict.fromkeys(one.question for one in run.headlines):
        yield Told(f"The run asks: {text}")


@_fact
def data(run: Reported) -> Iterator[Told]:
    record = run.record
    made = "; made up by Overread" if record.dataset.startswith(PHANTOM) else ""
    taken = "; answers were taken over from results got elsewhere" if record.imported else ""
    yield Told(f"{record.dataset}{made}; data policy: {_POLICIES[record.policy]}{taken}.")


@_fact
def cases(run: Reported) -> Iterator[Told]:
    yield Told(f"{run.record.n_cases:,} cases; each number has its own n beside it.")


@_fact
def left_out(run: Reported) -> Iterator[Told]:
    count = run.record.left_out
    if count:
        yield Told(f"{count:,} of the set were not asked about; left_out.csv of the run says why.")
    else:
        yield Told("Nothing that was to be asked about was left out.")


@_fact
def subset(run: Reported) -> Iterator[Told]:
    record = run.record
    if record.limit is not None:
        yield Told(f"A stratified sample of {record.limit:,} cases, drawn by a seed.")
    if record.only is not None:
        yield Told(f"Only the cases that a list names: {record.only}.")
    if not record.partial:
        yield Told("All cases of the set were to be asked about.")


@_fact
def partition(run: Reported) -> Iterator[Told]:
    yield Told("This run trained nothing: all its cases are test cases.")


@_fact
def groups(run: Reported) -> Iterator[Told]:
    names = dict.fromkeys(
        name.replace("_", " ")
        for one in run.measures
        if one.measure == run.share_right
        for name in one.by
        if name not in _NO_GROUPS
    )
    if names:
        measure = run.share_right.replace("_", " ")
        yield Told(f"Tables of the report give {measure} by {listed([*names])}, with intervals.")


@_fact
def conditions(run: Reported) -> Iterator[Told]:
    for name in _CONDITIONS:
        values = dict.fromkeys(one.by[name] for one in run.measures if name in one.by)
        if len(values) > 1:
            yield Told(f"Numbers are given by {name}: {', '.join(values)}.")


# ---------------------------------------------------------------- numbers


@_fact
def counted(run: Reported) -> Iterator[Told]:
    return _below(run, _COUNTED)


def paragraphs(run: Reported) -> dict[str, str]:
    """What many items speak of and is said once, by its heading."""
    said = {_ASKED: run.asked, _COUNTED: [line for line in run.methods if line not in run.asked]}
    return {heading: " ".join(lines) for heading, lines in said.items() if lines}


def _below(run: Reported, heading: str) -> Iterator[Told]:
    if heading in paragraphs(run):
        yield Told(f"In “{heading}”, below.")


@_fact
def signature(run: Reported) -> Iterator[Told]:
    yield Told(f"Edition {run.record.edition}; {run.record.signature}")


@_fact
def found(run: Reported) -> Iterator[Told]:
    for one in run.headlines:
        yield Told(f"{one.question} {one.answer.capitalize()}. {one.sentence}", (one.reader,))


@_fact
def accuracy(run: Reported) -> Iterator[Told]:
    names = dict.fromkeys([run.share_right, *run.diagnostic])
    known = {(one.reader, one.measure): one for name in names for one in _whole(run, name)}
    for reader in run.record.readers:
        numbers = [
            f"{name.replace('_', ' ')} {_number(run, known[reader.name, name])}"
            for name in names
            if (reader.name, name) in known
        ]
        if numbers:
            yield Told(f"{'; '.join(numbers)}.", (reader.name,))
    if known:
        yield Told("Shares are in percent, intervals of 95 %.")
    if any(FEW_CLUSTERS in one.flags for one in known.values()):
        yield Told(f"{ROUGH_MARK} {FLAGS[FEW_CLUSTERS]}.")
    if any(worth(one) == UNTRIED_MARK for one in known.values()):
        yield Told(f"{UNTRIED_MARK} {NOT_CHECKED}.")


def _whole(run: Reported, name: str) -> Iterator[Measure]:
    """Records of a measure over all cases that have a value."""
    return (one for one in run.measures if one.measure == name and not one.by and _known(one))


def _known(one: Measure) -> bool:
    return one.value is not None


def _number(run: Reported, one: Measure) -> str:
    return str(cell(one, unit=run.units.get(one.measure)))


@_fact
def limitations(run: Reported) -> Iterator[Told]:
    return (Told(line) for line in run.limitations)


@_fact
def people(run: Reported) -> Iterator[Told]:
    """Persons who read as models did, and how their study was laid out."""
    said = {
        reader: (
            f"a person of the study {one.name} ({one.readers} readers, {one.sessions} sessions, "
            f"{one.washout_days:g} days apart, seed {one.seed})."
        )
        for reader, one in run.studies.items()
    }
    yield from _same(said)
    yield from _same(
        {reader: one.person and f"{one.person}." for reader, one in run.studies.items()}
    )
    unknown = tuple(reader for reader, one in run.studies.items() if not one.person)
    if unknown:
        said_not = "left to the authors: how long these people have read, and in which field."
        yield Told(said_not, unknown)


# ---------------------------------------------------------------- what was used, what is kept


@_fact
def software(run: Reported) -> Iterator[Told]:
    versions = [f"{name} {version}" for name, version in run.record.versions.items()]
    yield Told(f"{', '.join([f'Overread {run.record.overread}', *versions])}.")


@_fact
def kept(run: Reported) -> Iterator[Told]:
    yield Told(
        "What was asked for is in run.toml, every answer in answers.parquet and every number in "
        "measures.json of the run."
    )
    for name, digest in run.record.tables.items():
        yield Told(f"SHA-256 of {name}: {digest}.")
