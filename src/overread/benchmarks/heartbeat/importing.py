"""Results made with the authors' own scripts become the tables of a run; no model is asked.

Their records carry their truth, so the cases may be absent: then each video is known by its name
or its number, and the windows by what the records say. The recorded predictions are kept; to a
non-medical question the text is read again with its own words, as the authors' notebook does.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import msgspec

import overread.benchmarks.importing as shared
from overread.benchmarks.base import Imported, Tables
from overread.benchmarks.heartbeat import answers
from overread.benchmarks.heartbeat.benchmark import Heartbeat
from overread.benchmarks.heartbeat.cases import CaseRow, HeartbeatCase, Window, row_of
from overread.benchmarks.heartbeat.edition import BOOK, CONTEXTS, FORMATS, Options
from overread.benchmarks.heartbeat.loading import load, policy_at, root_of
from overread.benchmarks.heartbeat.marks import phases_of
from overread.benchmarks.heartbeat.volumes import kept_volumes
from overread.benchmarks.tables import answers_frame, cells_of, schema_of, storable
from overread.case import BadInput, Policy
from overread.files import read_bytes

if TYPE_CHECKING:
    import polars as pl

# The records of a file, each with its line.
_RecordLines: TypeAlias = "list[tuple[int, Record]]"
_BIGGEST: Final = 2**63 - 1
_EVERY: Final = 1_000_000


def import_results(
    cases: str | Path | None,
    replies: str | Path,
    readers: str | Path | None = None,
    edition: str = "corrected",
    words: Mapping[str, str] | None = None,
    reparse: bool = False,
    also: Sequence[str] = (),
) -> Imported:
    """Read the authors' JSON lines at `replies`, a file or a folder.

    Returns the benchmark, the tables, a line for everything odd, and the settings.
    `cases` is a set of clips as for a run; only those the records name are kept. `readers` is a
    models.json with their roles. `reparse` reads every text again with the edition's parser.
    `also` are further files or folders of the same kind.
    """

    rules, options = BOOK.settings(edition, words)
    # All cases: the sample was drawn when the records were made.
    every = msgspec.structs.replace(options, videos=_EVERY, split=None, contexts=CONTEXTS)
    known = _KnownCases(None if cases is None else load(cases, rules, every)[0])
    declared = shared.declared_readers(readers)
    warnings: list[str] = []
    sheets = [sheet for root in (replies, *also) for sheet in sheets_of(Path(root))]
    read = [(sheet, list(records_of(sheet.path))) for sheet in sheets]
    rows = [
        row
        for sheet, records in _in_context(read, warnings)
        for row in _answers_of(sheet, records, known, warnings)
    ]
    if not rows:
        raise BadInput(f"{replies} holds no record. Give the authors' results.")
    table = answers_frame(answers.Answer, rows)
    names = list(table["reader"].unique(maintain_order=True))
    warnings += shared.without_results(names, declared)
    if reparse:
        table = answers.reread(table, rules, reparse=True)
    root = "" if cases is None else str(root_of(cases, options).absolute())
    tables = Tables(
        cases=known.table(root, options),
        answers=table,
        readers=shared.reader_records(names, declared),
    )
    policy: Policy = "credentialed" if cases is None else policy_at(cases, options)
    bench = shared.over_tables(Heartbeat, tables, cases, policy, edition, words)
    return Imported(bench, tables, warnings, dict(words or {}))


# ---------------------------------- the files: JSON lines, and what their names say (HEARTBEAT 5)


class Record(msgspec.Struct, frozen=True):
    """One line. `gt_*` are local indices in T1, positions in T2; T1 alone has `num_frames`."""

    gt_edv: int
    gt_esv: int
    run_id: int
    pred_edv: int | float | None = None
    pred_esv: int | float | None = None
    output: str | None = None
    video_index: int | None = None
    video_path: str | None = None
    model_name: str | None = None
    prompt_name: str | None = None
    num_frames: int | None = None
    start_idx: int | None = None
    seed: int | None = None


class Sheet(NamedTuple):
    """A file, and what its name or its folder's says; None where they say nothing."""

    path: Path
    model: str | None
    context: str | None
    format: str | None
    seed: int | None


# The longer words first: "seg_only" is the non-medical context, not the segmented one.
_CONTEXTS: Final = (
    (re.compile(r"non[_\- ]?medical|seg(mented)?_only"), "non_medical"),
    (re.compile(r"(?<![a-z])seg(mented|mentation)?(?![a-z])"), "segmented"),
    # The runner's own word for a clip as it is, beside "segmented_echo".
    (re.compile(r"(?<![a-z])(original|echo)(?![a-z])"), "original"),
)
# By its own name, and in the words of the non-medical question: large_small, small.
_FORMATS: Final = {
    word: wanted
    for wanted in FORMATS
    for word in (wanted, wanted.replace("edv", "large").replace("esv", "small"))
}
_WORDS: Final = "|".join(_FORMATS)
_NAME: Final = re.compile(
    rf"results_(?P<model>.+?)_(?P<context>[a-z_\-]*?)_?(?P<format>{_WORDS})_(?:video|frame)s?"
    r"_random_seed_(?P<seed>\d{1,18})",
    re.IGNORECASE,
)
_LAST: Final = re.compile(rf"(?:^|.*?[_\-])({_WORDS})(?:_(?:video|frame)s?)?$", re.IGNORECASE)
_SEED: Final = re.compile(r"seed[_\-]?(\d{1,18})", re.IGNORECASE)


def sheets_of(root: Path) -> list[Sheet]:
    """The result files at a path: the file itself, or every .jsonl below the folder."""
    if root.is_file():
        return [_sheet_at(root, root.parent)]
    if not root.is_dir():
        raise BadInput(f"{root}: there is no such file or folder. Give the authors' .jsonl files.")
    found = sorted(path for path in root.rglob("*.jsonl") if path.is_file())
    if not found:
        raise BadInput(f"{root} holds no .jsonl file. Give the folder of the authors' results.")
    return [_sheet_at(path, root) for path in found]


def _sheet_at(path: Path, root: Path) -> Sheet:
    stem = path.stem
    # The nearest name that says it: the file's, its folder's, the folder that was given.
    inner = path.parent.relative_to(root).parts if path.is_relative_to(root) else ()
    names = [stem, *reversed(inner), root.name]
    if match := _NAME.fullmatch(stem):
        names.insert(0, match["context"])
    context = next((found for name in names if (found := _context_in(name))), None)
    if match:
        wanted, seed = _FORMATS[match["format"].lower()], int(match["seed"])
        return Sheet(path, match["model"].rstrip("_-"), context, wanted, seed)
    folder = inner[0] if inner and _context_in(inner[0]) is None else None
    number = _SEED.search(stem)
    wanted_here = format_of(_SEED.sub("", stem).rstrip("_-"))
    return Sheet(path, folder, context, wanted_here, int(number[1]) if number else None)


def _context_in(name: str) -> str | None:
    return next((word for seen, word in _CONTEXTS if seen.search(name.lower())), None)


def format_of(prompt: str | None) -> str | None:
    """The format a prompt's name ends with: structured_edv_esv, gemma_esv."""
    match = _LAST.fullmatch(prompt) if prompt else None
    return _FORMATS[match[1].lower()] if match else None


def records_of(path: Path) -> Iterator[tuple[int, Record]]:
    """The records of a file with their line numbers."""
    decoder = msgspec.json.Decoder(Record)
    for number, line in enumerate(io.BytesIO(read_bytes(path)), start=1):
        if not line.strip():
            continue
        try:
            yield number, decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise BadInput(
                f"{path.name} line {number} is no record of the authors' runner: {error}. "
                "Fix the line or leave it out."
            ) from None


# ---------------------------------------------------------------- cases and answers


class _KnownCases:
    """The cases the records name, in the order they come up. A class, for it grows."""

    def __init__(self, given: list[HeartbeatCase] | None) -> None:
        self._given = given
        self._by_name: dict[str, HeartbeatCase] = {}
        for case in given or ():
            path = PurePosixPath(case.clip)
            self._by_name |= dict.fromkeys((case.case_id, path.name, path.stem), case)
        self._seen: dict[str, dict[str, Any]] = {}
        # By case the frames that any record shows, from the first to behind the last.
        self._shown: dict[str, range] = {}

    def case(self, record: Record, where: str) -> tuple[str, HeartbeatCase | None]:
        """The case's name, and the case itself where cases were given."""
        if record.video_path is None and record.video_index is None:
            raise BadInput(f"{where} has no video_path or video_index. Add one of them.")
        found: HeartbeatCase | None = None
        if record.video_path is not None:
            path = PurePosixPath(record.video_path.replace("\\", "/"))
            name = path.stem or record.video_path
            found = self._by_name.get(path.name) or self._by_name.get(name)
        else:
            assert record.video_index is not None
            name = f"video-{record.video_index:04d}"
            if self._given is not None and 0 <= record.video_index < len(self._given):
                found = self._given[record.video_index]
        if found is None and self._given is not None:
            raise BadInput(f'{where}: the video "{name}" is not among the cases. Give its set.')
        if found is not None:
            self._seen.setdefault(found.case_id, {})
            self._show(found, record, where)
            return found.case_id, found
        self._learn(name, record, where)
        return name, None

    def _learn(self, name: str, record: Record, where: str) -> None:
        row = self._seen.setdefault(name, {"case": name, "clip": record.video_path or name})
        if record.num_frames is None or record.start_idx is None:
            return
        told = {"ed": record.start_idx + record.gt_edv, "es": record.start_idx + record.gt_esv}
        if any(row.get(key, value) != value for key, value in told.items()):
            raise BadInput(
                f'{where}: the true frames of "{name}" are others than in an earlier record. '
                "Import runs over the same videos."
            )
        # The window may overrun the clip, so this is a bound; nothing better is known.
        frames = max(row.get("frames") or 0, record.start_idx + record.num_frames)
        row.update(told, frames=frames)

    def _show(self, case: HeartbeatCase, record: Record, where: str) -> None:
        if record.num_frames is None:
            return
        start = case.ed - record.gt_edv if record.start_idx is None else record.start_idx
        ed, es = start + record.gt_edv, start + record.gt_esv
        # Records over other clips of the same names would be measured against the wrong truth.
        if record.start_idx is not None and {ed, es} != {case.ed, case.es}:
            raise BadInput(
                f'{where}: the true frames of "{case.case_id}" are {ed} and {es} there and '
                f"{case.ed} and {case.es} among the cases. Give the set the records were made of."
            )
        end = start + _frames_shown(record.num_frames, start, case)
        shown = self._shown.get(case.case_id, range(start, end))
        self._shown[case.case_id] = range(min(shown.start, start), max(shown.stop, end))

    def table(self, root: str, options: Options) -> pl.DataFrame:
        """The cases, with the volumes of the frames shown where a set was given."""
        import polars as pl

        columns = schema_of(CaseRow)
        given = {case.case_id: case for case in self._given or ()}
        rows = [
            self._row(given[name], root, options)
            if name in given
            else tuple(row.get(column) for column in columns)
            for name, row in self._seen.items()
        ]
        return pl.DataFrame(rows, schema=dict(columns), orient="row")

    def _row(self, case: HeartbeatCase, root: str, options: Options) -> tuple[Any, ...]:
        shown = self._shown.get(case.case_id)
        if shown is None:
            return cells_of(row_of(case))
        first, count = max(0, shown.start), len(shown)
        window = Window(first, count, count, case.ed - first, case.es - first)
        return cells_of(kept_volumes(case, window, root, options.volume))


def _in_context(
    read: Sequence[tuple[Sheet, _RecordLines]], warnings: list[str]
) -> Iterator[tuple[Sheet, _RecordLines]]:
    """Every file with the context its answers are of.

    The runner names the files of the non-medical question like those of the segmented clips; what
    was asked is told by what most of the outputs name, in all seeds of one folder together.
    """
    named: dict[tuple[Any, ...], Counter[str]] = {}

    def series(sheet: Sheet) -> tuple[Any, ...]:
        return sheet.path.parent, sheet.model, sheet.context, sheet.format

    for sheet, records in read:
        said = (answers.asked_words(record.output or "") for _, record in records)
        named.setdefault(series(sheet), Counter()).update(word for word in said if word)
    moved = 0
    for sheet, records in read:
        counts, context = named[series(sheet)], sheet.context
        if counts["areas"] > counts["phases"] and context != "non_medical":
            context, moved = "non_medical", moved + 1
        elif context is None:
            context = "original"
            warnings.append(f"{sheet.path.name}: no name says the context; taken as original.")
        yield sheet._replace(context=context), records
    if moved:
        files = "1 file holds" if moved == 1 else f"{moved} files hold"
        warnings.append(f"{files} answers to the non-medical question, by what they name.")


def _answers_of(
    sheet: Sheet, records: _RecordLines, known: _KnownCases, warnings: list[str]
) -> list[tuple[str, answers.Answer]]:
    """The records of one file as answers, each with its reader."""
    context = sheet.context or "original"
    found = []
    both = 0
    for line, record in records:
        where = f"{sheet.path.name} line {line}"
        wanted = format_of(record.prompt_name) or sheet.format
        if wanted is None:
            raise BadInput(
                f"{where}: neither prompt_name nor the file's name says which phases were asked "
                "for. Name the file ..._edv_esv, _esv_edv, _edv or _esv."
            )
        task = "t2" if record.num_frames is None else "t1"
        if task == "t2" and {record.gt_edv, record.gt_esv} != {0, 1}:
            raise BadInput(
                f"{where} has no num_frames, so it is of two frames, which stand at 0 and 1; it has"
                f" gt_edv {record.gt_edv} and gt_esv {record.gt_esv}. Fix the line."
            )
        if task == "t2" and len(phases_of(wanted)) > 1:
            both, wanted = both + 1, wanted.partition("_")[0]
        name, case = known.case(record, where)
        shown = _truth_shown(record, case)
        text = None if record.output is None else storable(record.output)
        answer = answers.Answer(
            case=name,
            task=task,
            context=context,
            format=wanted,
            seed=(record.seed if record.seed is not None else sheet.seed) or 0,
            pass_=record.run_id,
            text=text,
            recorded=True,
            **msgspec.structs.asdict(shown),
            **_reading_of(record, text, (task, wanted, context), shown.count, where),
        )
        found.append((record.model_name or sheet.model or shared.IMPORTED, answer))
    if both:
        warnings.append(
            f"{sheet.path.name}: {both} records ask for both of two frames; each is kept as an "
            f"answer to {wanted}, the first it names."
        )
    return found


def _reading_of(
    record: Record, text: str | None, asked: tuple[str, str, str], shown: int, where: str
) -> dict[str, Any]:
    """The outcome and both readings: the recorded prediction is the strict one."""
    _, wanted, context = asked
    phases = phases_of(wanted)
    kept = answers.Found(
        _whole_prediction(record.pred_edv, where) if "ed" in phases else None,
        _whole_prediction(record.pred_esv, where) if "es" in phases else None,
    )
    if text is not None and context == "non_medical":
        # Their runner read it with the medical words; a match of its own words replaces that.
        again = answers.parse_strict(text, wanted, context)
        kept = again if again.parsed else kept
    lenient = text is not None and not kept.parsed
    second = answers.parse_lenient(text or "", *asked) if lenient else kept
    return msgspec.structs.asdict(answers.reading_of(kept, second, shown)) | {"note": None}


def _whole_prediction(value: int | float | None, where: str) -> int | None:
    if value is None or value != value:
        return None
    if isinstance(value, float) and not value.is_integer():
        raise BadInput(f"{where}: a prediction is {value}; it is a whole number. Fix the line.")
    number = int(value)
    return number if -_BIGGEST - 1 <= number <= _BIGGEST else None


def _truth_shown(record: Record, case: HeartbeatCase | None) -> answers.Truth:
    if record.num_frames is None:
        return answers.Truth(record.gt_edv, record.gt_esv, None, 2, 2)
    stated = count = record.num_frames
    if case is not None and record.start_idx is not None:
        count = _frames_shown(stated, record.start_idx, case)
    return answers.Truth(record.gt_edv, record.gt_esv, record.start_idx, count, stated)


def _frames_shown(stated: int, start: int, case: HeartbeatCase) -> int:
    """Frames beyond the end of the clip were stated and never shown."""
    return max(1, min(stated, case.frames - start))
