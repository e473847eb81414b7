"""A study file: who reads what, how often, and how far apart."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from overread.benchmarks.people import CANNOT_TELL, ORDER_MARKS, Ask, AskKind
from overread.case import BadInput
from overread.files import read_toml

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_MOST_READERS = 200
# FDA's guidance on reader studies (2022) has four weeks; shorter ones are said aloud.
USUAL_WASHOUT = 28
ORGANISER = "organiser"
"""Whose link shows how far readers are."""
NOTE = "note"
"""What a reader writes beside the questions; every display has it."""
CANDIDATES = ("review", "same", "usable", "pick", "steps")
"""What may be asked of candidate items; `candidates` says what each is."""
MOST_FRAMES = 64
OWN_KINDS = (*CANDIDATES, "audit", "form")
"""Kinds of tasks that are no benchmark's."""
# What stands beside readers' names in links and tables, and beside questions in sheets.
# Truth is a reader in iMRMC's list mode.
_NO_READERS = frozenset(f"{ORGANISER} readers himself truth case cluster".split())
_NO_QUESTIONS = frozenset({NOTE, "reader", "display", "pictures", "question"})


class Question(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question of one's own in a study file."""

    name: str
    text: str
    kind: AskKind = "yesno"
    options: list[str] = []
    least: int = 0
    most: int = 0
    given: str = ""
    # An earlier question, and those of its answers after which this one is asked.
    where: list[str] = []
    required: bool = True

    def ask(self, where: str) -> Ask:
        fields = msgspec.structs.asdict(self)
        fields |= {"options": tuple(self.options), "where": tuple(self.where)}
        if self.kind == "edit":  # left as it was it says that nothing need be changed
            fields["required"] = False
        ask = Ask(**fields)
        _check_ask(where, ask)
        return ask


class Task(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One kind of screens.

    Screens come from the benchmark's cases (`kind` is one of its kinds), from models' answers in a
    `run` (with `models`), from a `table` with the columns case, image, and others that `questions`
    may speak of in braces (kind = "form"), from a `table` of candidate items, JSON lines (kind is
    one of `CANDIDATES`), or from another `study` (kind = "audit").
    """

    kind: str
    # How many cases; all of them where it is 0.
    cases: int = 0
    conditions: list[str] = []
    run: str = ""
    models: list[str] = []
    table: str = ""
    questions: list[Question] = []
    # Of a clip at most so many frames are shown.
    frames: int = MOST_FRAMES
    # Of candidate items: how many distractors are chosen, and why one may be fixed or dropped.
    pick: int = 4
    reasons: list[str] = []
    # An earlier study, on whose screens its readers did not agree (kind = "audit").
    study: str = ""
    # Beside the benchmark's own: what is said on every screen of this task.
    text: str = ""
    # Cases of this share are shown once more, to hold a reader against himself.
    repeat: float = 0.05
    # Cases that everybody gets where readers have a cap; each of the others goes to so many.
    anchor: int = 0
    each: int = 1
    training: int = 3


class Rater(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How experienced a reader is: whoever reports a study must say so of its readers."""

    name: str
    years: float | None = None
    speciality: str = ""
    role: str = ""
    note: str = ""

    @property
    def in_words(self) -> str:
        years = "" if self.years is None else f"{self.years:g} years"
        return ", ".join(filter(None, (self.role, self.speciality, years, self.note)))


class Design(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A study file, checked. Paths in it are beside it."""

    name: str
    readers: list[str]
    task: list[Task]
    benchmark: str = ""
    cases: str = ""
    edition: str = "corrected"
    set: dict[str, Any] = {}
    show: dict[str, Any] = {}
    seed: int = 0
    washout_days: float = USUAL_WASHOUT
    # The most displays of a task that one reader gets; 0: all.
    cap: int = 0
    welcome: str = ""
    # Of as many readers as is known; in the study's folder, and on no page of it.
    reader: list[Rater] = []

    @property
    def settings(self) -> dict[str, str]:
        return {name: str(value) for name, value in self.set.items()}


def read_design(path: Path) -> Design:
    """The study file, or `BadInput` that names the field."""
    try:
        design = msgspec.convert(read_toml(path), Design)
    except msgspec.ValidationError as error:
        raise BadInput(
            f"{path}: {error}{_known(str(error))}. See docs/reader-studies.md."
        ) from None
    check_names(str(path), design)
    # What is settled once is neither practised nor asked again.
    once = [replace(t, repeat=0.0, training=0) if t.kind == "audit" else t for t in design.task]
    design = replace(design, task=once)
    if not design.task:
        raise BadInput(f'{path}: there is no [[task]]. Add one, as kind = "presence".')
    # What an auditor says is of another study's tasks, and would be counted among this one's own.
    if len(design.task) > 1 and any(task.kind == "audit" for task in design.task):
        raise BadInput(f"{path}: kind audit is a study of its own. Take the other tasks out.")
    if design.cap < 0:
        raise BadInput(f"{path}: cap is {design.cap}; 0 (as many as there are) or more.")
    if not (0 <= design.washout_days <= 3650):
        raise BadInput(f"{path}: washout_days is {design.washout_days}; from 0 to 3650.")
    if design.edition not in ("corrected", "authors"):
        raise BadInput(f'{path}: edition "{design.edition}"; corrected or authors.')
    _check_raters(path, design)
    for number, task in enumerate(design.task, 1):
        _check_task(f"{path}: task {number}", task, design)
    return design


def _known(error: str) -> str:
    """The keys that there are, where one is not known."""
    if "unknown field" not in error:
        return ""
    _, _, place = error.partition("$")
    tables = (("questions", Question), ("task", Task), ("reader", Rater), ("", Design))
    kind = next(kind for name, kind in tables if name in place)
    return f"; known are {', '.join(kind.__struct_fields__)}"


def check_names(where: str, design: Design) -> None:
    """Refuse names that cannot stand in links, sheets and tables."""
    for field, names in (("name", [design.name]), ("readers", design.readers)):
        for name in names:
            if not _NAME.fullmatch(name):
                raise BadInput(
                    f'{where}: {field} "{name}"; up to 40 letters, digits, . _ and -, as '
                    '"reader-1".'
                )
    if not 1 <= len(design.readers) <= _MOST_READERS:
        raise BadInput(f"{where}: readers; from 1 to {_MOST_READERS} are needed.")
    # Each has files of his name, and some file systems do not tell cases apart.
    if len({name.lower() for name in design.readers}) < len(design.readers):
        raise BadInput(f"{where}: readers; a name is there twice. Name each once.")
    for name in design.readers:
        if name in _NO_READERS:
            raise BadInput(f'{where}: no reader can be called "{name}". Name him otherwise.')


def _check_raters(path: Path, design: Design) -> None:
    described = [one.name for one in design.reader]
    for one in design.reader:
        where = f'{path}: [[reader]] "{one.name}"'
        if one.name not in design.readers or described.count(one.name) > 1:
            raise BadInput(
                f"{where}; each of the readers {', '.join(design.readers)} at most once."
            )
        if one.years is not None and not 0 <= one.years <= 80:
            raise BadInput(f"{where}: years is {one.years:g}; from 0 to 80.")
        if any("\n" in text or len(text) > 200 for text in (one.speciality, one.role, one.note)):
            raise BadInput(f"{where}: a text is a line of at most 200 letters. Shorten it.")


def _check_task(where: str, task: Task, design: Design) -> None:
    if not 0 <= task.repeat <= 0.5:
        raise BadInput(f"{where}: repeat is {task.repeat}; a share from 0 to 0.5.")
    if min(task.cases, task.anchor, task.training) < 0:
        raise BadInput(f"{where}: cases, anchor and training are 0 or more.")
    if not 2 <= task.frames <= 400:
        raise BadInput(f"{where}: frames is {task.frames}; of a clip 2 to 400 can be shown.")
    if not 1 <= task.each <= len(design.readers):
        raise BadInput(
            f"{where}: each is {task.each}; from 1 to the {len(design.readers)} readers."
        )
    if task.kind == "form":
        if not task.table or not task.questions:
            raise BadInput(f'{where}: kind "form" needs a table and questions.')
        check_asks(where, [question.ask(where) for question in task.questions])
    elif task.kind in CANDIDATES:
        if not task.table:
            raise BadInput(f"{where}: kind {task.kind} needs a table of candidates, JSON lines.")
    elif task.kind == "audit":
        if not task.study:
            raise BadInput(f"{where}: kind audit needs study = the folder of the one it settles.")
    elif not design.benchmark or not design.cases:
        raise BadInput(
            f"{where}: kind {task.kind} needs benchmark and cases at the top of the file."
        )
    if task.models and not task.run:
        raise BadInput(f"{where}: models are those of a run. Name the run's folder: run = …")
    if len(set(task.models)) < len(task.models):
        raise BadInput(f"{where}: models; one is there twice. Name each once.")


def check_asks(where: str, asks: Sequence[Ask]) -> None:
    """Refuse questions that cannot be asked, or not on one screen together."""
    known: dict[str, Ask] = {}
    for ask in asks:
        _check_ask(where, ask)
        if ask.name in known:
            raise BadInput(f"{where}: two questions have one name, {ask.name}. Give each its own.")
        if ask.where:
            of = known.get(ask.where[0])
            if of is None or not ask.where[1:] or not set(ask.where[1:]) <= set(of.answers):
                raise BadInput(
                    f"{where}: question {ask.name}: where = {list(ask.where)}; expected the name "
                    "of an earlier question and some of its answers."
                )
        known[ask.name] = ask
    if not any(ask.required and not ask.where for ask in asks):
        raise BadInput(
            f"{where}: every question may be left out, and nothing would say that a case was "
            "read. Require one."
        )


def _check_ask(where: str, ask: Ask) -> None:
    if not _NAME.fullmatch(ask.name):
        raise BadInput(f'{where}: question name "{ask.name}"; letters, digits, . _ and - only.')
    if ask.name in _NO_QUESTIONS:
        raise BadInput(f'{where}: no question can be called "{ask.name}". Name it otherwise.')
    where, options = f"{where}: question {ask.name}", ask.options
    if ask.kind in ("choice", "scale", "several", "ranking") and len(options) < 2:
        raise BadInput(f"{where} needs two options or more.")
    if ask.kind == "number" and ask.most < 1:
        raise BadInput(f"{where} needs most = the largest number.")
    most = ask.most or len(options)
    if ask.kind == "several" and not 0 <= ask.least <= most <= len(options):
        raise BadInput(
            f"{where}: of its {len(options)} options least = {ask.least} to most = {ask.most} "
            "cannot be chosen."
        )
    words = [word.strip().lower() for word in ask.answers or options]
    if not all(words) or len(set(words)) < len(words):
        raise BadInput(
            f"{where} has an option that is empty or there twice "
            f'("{CANNOT_TELL}" is an answer to every choice). Give each once.'
        )
    marks = ("\n", *(ORDER_MARKS if ask.kind == "ranking" else ()))
    broken = [word for word in options if word != word.strip() or any(m in word for m in marks)]
    if broken:
        raise BadInput(
            f'{where}: option "{" ".join(broken[0].split())[:40]}" has a blank at its end, a line '
            "break, or in a ranking > or =. Word it otherwise."
        )
