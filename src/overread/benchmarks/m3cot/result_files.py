"""The files of results made with the authors' own scripts: what each is and holds (M3COT 4-8).

What the name and the folders of a file say, of the reader, the mode and the judge:

<model>_cot.json, <model>_direct.json   predictions; a shard's number and a time may follow
predictions_cot.json                    the same by a stand-alone script: the model is the folder
<model>_summary.json                    totals of times
<question>/<model>/<index>.json|txt     one judge reply, as the authors' cache keeps them;
                                        <judge>/<question>/... names the judge
<judge>/<model>_cot.csv                 orders of the steps; <judge>/order/... too

What judges said is kept word for word, and read under the edition. Files that hold verdicts without
the words (accuracies, orders) are written out as the reply they were made of, so that every edition
reads them in its own way.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from overread.benchmarks.files.fields import Fields, read_fields
from overread.benchmarks.m3cot.authors import failed_text
from overread.benchmarks.m3cot.cases import TYPES_FILE
from overread.benchmarks.m3cot.edition import MODES
from overread.benchmarks.m3cot.verdicts import ORDERS, QUESTIONS, STATUS
from overread.case import BadInput
from overread.files import decimal, read_text, whole

# A judge that no name or folder says.
UNNAMED: Final = "unnamed-judge"
# Our word for a question, by the folders and words others have for it.
QUESTION_WORDS: Final[Mapping[str, str]] = {
    "answer": "answer",
    "accuracy": "answer",
    "precision": "precision",
    "recall": "recall",
    "order": "order",
    "consistency": "order",
}
_MODEL_AND_MODE: Final = re.compile(r"(?P<model>.+)_(?P<mode>cot|direct)(?:_.+)?", re.IGNORECASE)
_FOLDER_AND_MODE: Final = re.compile(r"(?P<model>.+)_(?P<mode>cot|direct)", re.IGNORECASE)
# Folders that hold results and name no model.
_GENERIC_FOLDERS: Final = frozenset(
    {"answers", "cache", "demo", "eval", "eval_outputs", "final_output", "final_results"}
    | {"judges", "llava", "output", "outputs", "prediction", "predictions"}
    | {"processed_output", "replies", "result", "results"}
)
_INDEX_WORD: Final = re.compile(r"[0-9]{1,9}")


class Named(NamedTuple):
    """What the name of a file says."""

    model: str
    mode: str


class CachedName(NamedTuple):
    """The file of one judge reply: what its folders and its name say."""

    judge: str
    question: str
    model: str
    mode: str
    item: int


def named(path: Path, root: Path) -> Named | None:
    """The model and the mode of a file's name; None where it says neither."""
    found = _MODEL_AND_MODE.fullmatch(path.stem)
    if found is None:
        return None
    model = found["model"]
    if model.lower() in ("prediction", "predictions"):
        # The nearest folder whose name is a model's.
        home = path.parent if path.is_relative_to(root) else root
        folders = (folder.name for folder in (home, *home.absolute().parents))
        model = next((n for n in folders if n and n.lower() not in _GENERIC_FOLDERS), model)
    return Named(model, found["mode"].lower())


def cached_name(path: Path, root: Path) -> CachedName | None:
    """What `<judge>/<question>/<model>/<index>.txt` says; None of a file that is none such."""
    if path.suffix.lower() not in (".json", ".txt") or not _INDEX_WORD.fullmatch(path.stem):
        return None
    question = question_of(path.parent.parent.name)
    if question is None:
        return None
    folder = path.parent.name
    found = _FOLDER_AND_MODE.fullmatch(folder)
    if found is None and question == "answer":
        raise BadInput(
            f'{path.parent}: an answer is judged in both modes, and "{folder}" says neither. '
            "Name the folder <model>_cot or <model>_direct."
        )
    model, mode = (folder, "cot") if found is None else (found["model"], found["mode"].lower())
    if mode != "cot" and question != "answer":
        raise BadInput(f"{path.parent}: {question} is judged of cot only. Leave the folder out.")
    judge = judge_of(path.parent.parent, root)
    return CachedName(judge, question, model, mode, int(path.stem))


def judge_of(place: Path, root: Path) -> str:
    """The judge of a folder of verdicts: the name of the folder that it stands in, if any."""
    if place == root or not place.is_relative_to(root):
        return UNNAMED
    above = place.parent
    # A folder that was itself given as <judge>/ names the judge too, if it stands in judges/.
    if above == root and root.absolute().parent.name.lower() != "judges":
        return UNNAMED
    name = above.absolute().name
    return UNNAMED if not name or name.lower() in _GENERIC_FOLDERS else name


def question_of(word: str) -> str | None:
    """Our word for a question."""
    return QUESTION_WORDS.get(word.lower())


def brief(said: object) -> str:
    """What a file holds as a message shows it: on one line, and not all of it."""
    plain = " ".join(str(said)[:400].split())
    return "".join(one if one.isprintable() else "\ufffd" for one in plain)[:40]


def index_of(said: object) -> int | None:
    """An item's number, from 1; files have it as text or as a number."""
    if isinstance(said, bool):
        return None
    if isinstance(said, str) and _INDEX_WORD.fullmatch(said.strip()):
        said = int(said)
    if isinstance(said, float) and said.is_integer():
        said = int(said)
    return said if isinstance(said, int) and 1 <= said < 10**9 else None


ResultKind: TypeAlias = Literal[
    "predictions", "totals", "accuracy", "reply", "replies", "orders", "tasks", "strange"
]
_ORDER_COLUMNS: Final = frozenset(
    {"index", "modality_order", "feature_order", "conclusion_order", "others_order"}
)


class Result(NamedTuple):
    """One file: what it is, and what it holds where that was read to find out."""

    kind: ResultKind
    path: Path
    root: Path
    holds: Any = None
    name: CachedName | None = None

    @property
    def shown(self) -> str:
        """The file as messages name it."""
        inside = self.path.is_relative_to(self.root) and self.path != self.root
        return str(self.path.relative_to(self.root)) if inside else self.path.name


def results_of(root: Path) -> Iterator[Result]:
    """The file itself, or every file below the folder, in the order of their names."""
    if root.is_file():
        yield _result_at(root, root.parent)
        return
    if not root.is_dir():
        raise BadInput(f"{root}: there is no such file or folder. Give the authors' results.")
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        if not any(part.startswith(".") for part in path.relative_to(root).parts):
            yield _result_at(path, root)


def _result_at(path: Path, root: Path) -> Result:
    suffix = path.suffix.lower()
    name = cached_name(path, root)
    if name is not None:
        text = read_text(path)
        holds = text if suffix == ".txt" else _json_of(text, str(path))
        return Result("reply", path, root, holds, name)
    if path.name.lower() == TYPES_FILE:
        return Result("tasks", path, root)
    if suffix == ".jsonl":
        return Result("replies", path, root)
    if suffix == ".csv":
        line = read_text(path).partition("\n")[0].strip("\r")
        columns = {column.strip() for column in next(csv.reader([line]), [])}
        return Result("orders" if columns >= _ORDER_COLUMNS else "strange", path, root)
    if suffix != ".json":
        return Result("strange", path, root)
    holds = _json_of(read_text(path), str(path))
    kind: ResultKind = "predictions" if isinstance(holds, list) else "strange"
    if isinstance(holds, Mapping):
        # Of the runner, and of the three stand-alone scripts: timing_results/<model>.json.
        if path.stem.endswith("_summary") or isinstance(holds.get("modes"), Mapping):
            kind = "totals"
        if isinstance(holds.get("results"), list):
            kind = "accuracy"
    return Result(kind, path, root, holds)


def objects_of(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file of JSON lines, each with its line."""
    for number, line in enumerate(read_text(path, named=path.name).split("\n"), start=1):
        if line.strip():
            holds = _json_of(line, f"{path.name} line {number}")
            if not isinstance(holds, dict):
                raise BadInput(f"{path.name} line {number} is no JSON object. Fix the line.")
            yield number, holds


def _json_of(text: str, where: str) -> Any:
    try:
        # Predictions hold any character a model came up with, control characters among them.
        return json.loads(text, strict=False)
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise BadInput(f"{where} is no JSON: {why}. Fetch or mend it.") from None


# What the scripts write where a model said nothing: the runner after its last attempt,
# HuatuoGPT-Vision's script after an error, LLaVA-Med's where there is no image.
_SAID_NOTHING: Final = re.compile(
    r"Final failure, tried \d+ times.*|SKIPPED due to error: .*|Image not found\s*", re.DOTALL
)
_NO_PREDICTION: Final = "no prediction"
_SUCCESSES: Final = "total_successful_time_s"
_WHOLE_LOOP: Final = "dataset_total_time_seconds"
_MOST_SECONDS: Final = 1e9  # seconds


class Prediction(NamedTuple):
    """One record. Without a text nothing came back, and `reason` says why."""

    item: int
    text: str | None
    seconds: float | None = None
    reason: str = ""
    # The runner threw the reply away for a word in it; it may have been an answer.
    searched: bool = False


def predictions_of(result: Result) -> tuple[Named, list[Prediction]]:
    """Whose predictions a file holds, and these."""
    who = named(result.path, result.root)
    if who is None:
        raise BadInput(
            f"{result.shown} holds a list, and its name says neither model nor mode. Name it "
            "<model>_cot.json or <model>_direct.json, or leave it out."
        )
    found = []
    for number, entry in enumerate(result.holds, start=1):
        where = f"{result.shown} entry {number}"
        if not isinstance(entry, Mapping) or "index" not in entry:
            raise BadInput(
                f"{where} is no object with index and prediction. Fix the entry or leave it out."
            )
        found.append(_prediction(Fields(where, entry, "Fix the entry.")))
    return who, found


def _item_of(row: Fields) -> int:
    return index_of(row.raw("index")) or row.wrong("index", "it is a whole number from 1")


def _prediction(entry: Fields) -> Prediction:
    index, text, status = _item_of(entry), entry.raw("prediction"), entry.raw("status")
    if not isinstance(text, str) and not no_words(text):
        entry.wrong("prediction", "it is no text")
    if status not in ("success", "failed", None):
        entry.wrong("status", "it is success or failed")
    seconds = _seconds_in(entry.raw("duration_s"), "duration_s", entry.where)
    words = text if isinstance(text, str) else ""
    # The runner calls an empty reply a success; without its word for it, nothing is no reply.
    nothing = text != text or (text is None and status is None)
    failed = status == "failed"
    return prediction_in(index, None if nothing else words, seconds, failed=failed)


def prediction_in(
    index: int, text: str | None, seconds: float | None = None, *, failed: bool = False
) -> Prediction:
    """What a file says that a reader said; None is nothing, and so is what scripts write for it."""
    if failed or _SAID_NOTHING.fullmatch(text or ""):
        why = " ".join((text or "no reason kept").split())
        returned = why.partition("API returned explicit error message:")[2]
        return Prediction(index, None, None, f"failed: {why[:300]}", failed_text(returned))
    if text is None:
        return Prediction(index, None, reason=_NO_PREDICTION)
    return Prediction(index, text, seconds)


def no_words(said: Any) -> bool:
    """Whether a file says that there is no prediction: null, or the NaN of a table program."""
    return said is None or (isinstance(said, float) and math.isnan(said))


def _seconds_in(said: Any, column: str, where: str) -> float | None:
    if said is None:
        return None
    number = isinstance(said, int | float) and not isinstance(said, bool)
    if not number or not 0 <= said < _MOST_SECONDS:  # a whole number may be beyond any float
        raise BadInput(f"{where}: {column} is {brief(said)}; it is seconds from 0. Fix it.")
    return float(said)


def totals_of(result: Result) -> tuple[str, dict[str, float]]:
    """The model of a file of totals, and the seconds of each mode it has.

    <model>_summary.json has the successes of the runner. timing_results/<model>.json of the three
    stand-alone scripts has whole loops under `modes`, and names the weights and not the model.
    """
    stem = result.path.stem
    model, by_mode, column = stem.removesuffix("_summary"), result.holds, _SUCCESSES
    if model in (stem, ""):
        model, by_mode, column = stem, result.holds["modes"], _WHOLE_LOOP
    found = {}
    for mode, said in by_mode.items():
        if mode not in MODES:
            continue
        where = f"{result.shown}, {mode}"
        if not isinstance(said, Mapping):
            raise BadInput(f"{where} is no object of totals. Fetch the file again.")
        seconds = _seconds_in(said.get(column), column, where)
        if seconds is None:
            raise BadInput(f"{where} has no {column}. Fetch the file again, or leave it out.")
        found[mode] = seconds
    return model, found


LINE_KEYS: Final = "judge, question, model, mode, index and reply"


class Judgement(NamedTuple):
    """One judge on one reply: the judge's words; None where it failed."""

    judge: str
    question: str
    model: str
    mode: str
    item: int
    reply: str | None
    where: str
    # What was judged, where the file keeps it.
    prediction: str | None = None
    reason: str = ""


def _from_cache(result: Result) -> Iterator[Judgement]:
    """A text is the reply; the authors' record has it as `valid_outputs`."""
    name, holds = result.name, result.holds
    assert name is not None
    prediction = None
    if isinstance(holds, Mapping) and "valid_outputs" in holds:
        told, reply = holds.get("index", name.item), holds["valid_outputs"]
        if "prediction" in holds:
            prediction = "" if no_words(holds["prediction"]) else holds["prediction"]
        if index_of(told) != name.item:
            raise BadInput(
                f"{result.shown} is of index {brief(told)}, and its name says {name.item}. "
                "Mend either."
            )
        if reply is not None and not isinstance(reply, str):
            raise BadInput(f"{result.shown}: valid_outputs is no text. Mend or remove the file.")
    else:
        reply = holds if isinstance(holds, str) else json.dumps(holds)
    yield Judgement(
        *name, reply or "", result.shown, prediction if isinstance(prediction, str) else None
    )


def _from_lines(result: Result) -> Iterator[Judgement]:
    for number, line in objects_of(result.path):
        where = f"{result.shown} line {number}"
        question = question_of(str(line.get("question")))
        missing = [key for key in LINE_KEYS.replace(" and", ",").split(", ") if key not in line]
        if question not in ("answer", None):  # of cot only
            missing = [key for key in missing if key != "mode"]
        if missing:
            raise BadInput(f"{where} has no {', '.join(missing)}; a line has {LINE_KEYS}. Fix it.")
        mode = line.get("mode", "cot")
        if question is None or mode not in MODES or (mode != "cot" and question != "answer"):
            raise BadInput(
                f"{where}: question is {brief(line['question'])} of mode {brief(mode)}; the "
                f"questions are {', '.join(QUESTIONS)}, of cot, and answer of direct too. Fix it."
            )
        index, reply = index_of(line["index"]), line["reply"]
        names = [line["judge"], line["model"]]
        if index is None or not all(isinstance(one, str) and one.strip() for one in names):
            raise BadInput(
                f"{where}: judge and model are names and index is a whole number from 1. Fix it."
            )
        if reply is not None and not isinstance(reply, str):
            reply = json.dumps(reply)
        reason = "" if reply is not None else "no reply"
        yield Judgement(
            names[0], question, names[1], mode, index, reply, where, line.get("prediction"), reason
        )


def _from_accuracies(result: Result) -> Iterator[Judgement]:
    """The output of the authors' accuracy script: what it made of each reply it could read."""
    who = named(result.path, result.root)
    if who is None:
        raise BadInput(
            f"{result.shown} holds accuracies, and its name says neither model nor mode. Name it "
            "<model>_cot.json or <model>_direct.json, with more words after the mode if need be."
        )
    summary = result.holds.get("summary")
    judge = summary.get("judge_model") if isinstance(summary, Mapping) else None
    for number, entry in enumerate(result.holds["results"], start=1):
        where = f"{result.shown} entry {number}"
        index = index_of(entry.get("index")) if isinstance(entry, Mapping) else None
        if index is None or "match" not in entry:
            raise BadInput(f"{where} is no object with index and match. Fix the entry.")
        said = {"match": entry["match"], "final_answer": entry.get("final_answer", "")}
        prediction = entry.get("prediction")
        yield Judgement(
            judge if isinstance(judge, str) and judge.strip() else UNNAMED,
            "answer",
            *who,
            index,
            json.dumps(said),
            where,
            prediction if isinstance(prediction, str) else None,
        )


def _from_orders(result: Result) -> Iterator[Judgement]:
    """The authors' table of orders, every row of it: its cells as the judge's reply."""
    who = named(result.path, result.root)
    model = result.path.stem if who is None else who.model
    if who is not None and who.mode != "cot":
        raise BadInput(f"{result.shown}: the order of steps is judged of cot only. Leave it out.")
    home = result.path.parent
    if home != result.root and question_of(home.name) is None:
        home = result.path  # <judge>/<model>.csv
    judge = judge_of(home, result.root)
    for row in read_fields(result.path, sorted(_ORDER_COLUMNS)):
        orders = {f"{name}_order": _number_or_text(row.text(f"{name}_order")) for name in ORDERS}
        subs = {f"{name}_subs": row.text(f"{name}_subs") for name in ORDERS}
        cells = orders | subs | {STATUS: row.raw(STATUS)}
        where = row.where.replace(result.path.name, result.shown, 1)
        yield Judgement(
            *(judge, "order", model, "cot", _item_of(row)),
            json.dumps(cells),
            where,
            row.raw("prediction"),
        )


def _number_or_text(text: str) -> int | float | str | None:
    """A cell as a number where this is written again as it stands, else as it is."""
    if not text:
        return None
    for number in (whole(text), decimal(text)):
        if number is not None and str(number) == text:
            return number
    return text


_JUDGEMENTS: Final[Mapping[str, Callable[[Result], Iterator[Judgement]]]] = {
    "reply": _from_cache,
    "replies": _from_lines,
    "accuracy": _from_accuracies,
    "orders": _from_orders,
}


def judgements_of(result: Result) -> Iterator[Judgement]:
    """The judgements of one file; none of one that holds no verdicts."""
    return _JUDGEMENTS[result.kind](result) if result.kind in _JUDGEMENTS else iter(())
