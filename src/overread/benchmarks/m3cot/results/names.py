"""What the name and the folders of a result file say: the reader, the mode, the judge (M3COT 4-7).

<model>_cot.json, <model>_direct.json   predictions; a shard's number and a time may follow
predictions_cot.json                    the same by a stand-alone script: the model is the folder
<model>_summary.json                    totals of times
<question>/<model>/<index>.json|txt     one judge reply, as the authors' cache keeps them;
                                        <judge>/<question>/... names the judge
<judge>/<model>_cot.csv                 orders of the steps; <judge>/order/... too
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from overread.case import BadInput

__all__ = [
    "UNNAMED",
    "CachedName",
    "Named",
    "brief",
    "cached_name",
    "index_of",
    "judge_of",
    "model_of",
    "named",
    "question_of",
]

# A judge that no name or folder says.
UNNAMED: Final = "unnamed-judge"
# Our word for a question, by the folders and words others have for it.
_QUESTIONS: Final[Mapping[str, str]] = {
    "answer": "answer",
    "accuracy": "answer",
    "precision": "precision",
    "recall": "recall",
    "order": "order",
    "consistency": "order",
}
_NAMED: Final = re.compile(r"(?P<model>.+)_(?P<mode>cot|direct)(?:_.+)?", re.IGNORECASE)
_MODED: Final = re.compile(r"(?P<model>.+)_(?P<mode>cot|direct)", re.IGNORECASE)
# Folders that hold results and name no model.
_GENERIC: Final = frozenset(
    [
        "answers",
        "cache",
        "demo",
        "eval",
        "eval_outputs",
        "final_output",
        "final_results",
        "judges",
        "llava",
        "output",
        "outputs",
        "prediction",
        "predictions",
        "processed_output",
        "replies",
        "result",
        "results",
    ]
)
_INDEX: Final = re.compile(r"[0-9]{1,9}")


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
    found = _NAMED.fullmatch(path.stem)
    if found is None:
        return None
    model = found["model"]
    if model.lower() in ("prediction", "predictions"):
        model = _folder(path, root) or model
    return Named(model, found["mode"].lower())


def model_of(path: Path, ending: str) -> str | None:
    """`<model>` of `<model><ending>`."""
    stem = path.stem
    return stem.removesuffix(ending) or None if stem.endswith(ending) else None


def _folder(path: Path, root: Path) -> str | None:
    """The nearest folder whose name is a model's."""
    home = path.parent if path.is_relative_to(root) else root
    names = (folder.name for folder in (home, *home.absolute().parents))
    return next((name for name in names if name and name.lower() not in _GENERIC), None)


def cached_name(path: Path, root: Path) -> CachedName | None:
    """What `<judge>/<question>/<model>/<index>.txt` says; None of a file that is none such."""
    if path.suffix.lower() not in (".json", ".txt") or not _INDEX.fullmatch(path.stem):
        return None
    question = _QUESTIONS.get(path.parent.parent.name.lower())
    if question is None:
        return None
    folder = path.parent.name
    found = _MODED.fullmatch(folder)
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
    return UNNAMED if not name or name.lower() in _GENERIC else name


def question_of(word: str) -> str | None:
    """Our word for a question."""
    return _QUESTIONS.get(word.lower())


def brief(said: object) -> str:
    """What a file holds as a message shows it: on one line, and not all of it."""
    plain = " ".join(str(said)[:400].split())
    return "".join(one if one.isprintable() else "\ufffd" for one in plain)[:40]


def index_of(said: object) -> int | None:
    """An item's number, from 1; files have it as text or as a number."""
    if isinstance(said, bool):
        return None
    if isinstance(said, str) and _INDEX.fullmatch(said.strip()):
        said = int(said)
    if isinstance(said, float) and said.is_integer():
        said = int(said)
    return said if isinstance(said, int) and 1 <= said < 10**9 else None
