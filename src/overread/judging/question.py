"""A judged question as one object, and what follows from a list of them.

A benchmark says of each question what is its own: in which words it is asked, about which replies
and with what material, how a judge's reply is read and which shape a verdict has, what two judges
are compared by, what a control's reply deserves, and what a person may be asked about it. Here are
the trials that ask, asking again, reading kept verdicts again, and the check of a kept table;
fitness, labels and shifts stand in `fitness`, harmless changes in `rubric`, judges compared in
`agreement`, a person's sheet in `sheet`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import msgspec

from overread.case import Condition, Decoding, Message, Request, Trial, printable
from overread.judging import Read, Role
from overread.judging.rubric import Change, Rubric, frame, load_rubric, own_words, variants

if TYPE_CHECKING:
    import polars as pl

Row: TypeAlias = Mapping[str, Any]
Label: TypeAlias = Hashable | None
# By part of a verdict ("" for the whole), the labels it gives; nothing of what is unreadable.
Compared: TypeAlias = Mapping[str, Sequence[Label]]

_LONGEST: Final = 60
_READ: Final = ("outcome", "how", "payload", "reason")  # what reading makes of a judge's words
_WORDS: Final = ("judge", "role", "question", "reader", "case", "about", "outcome")


class Wording(msgspec.Struct, frozen=True):
    """One way of asking: its rubric by the kind of case, and what is said when it is asked again.

    Without a reminder the very same words are sent again.
    """

    rubrics: Mapping[str, Rubric]
    reminder: str = ""


class Deserved(NamedTuple):
    """What is true of a control's reply (None: fit judges may differ) and what a judge said of it.

    `said` is None where its verdict could not be read. `part` is which part of the verdict is
    meant, where it has several: a score of four.
    """

    truth: bool | None
    said: bool | None
    part: str = ""


class JudgedPart(NamedTuple):
    """A single thing in a verdict that a person can judge too, and the judge's word for it.

    `question` is what it is called on the sheet; `part` says which part of reply or gold is meant.
    """

    question: str
    word: str
    part: str = ""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """One question that a judge of a role is asked about a row of answers.

    Asking. `wordings` are the ways of asking by name, the usual one "" first; `kind` says which
    rubric of a wording a case takes. `about` is a struct of those columns of an answer row that
    name the reply, and of `variant`, what was changed in it. `asked` says of a row and its case
    whether the question is put at all, `sections` gives the material, `reply` names the section
    that is the reader's own words. What cannot be read is asked for `reask` times more.

    Reading. `payload` is the type that a verdict has as JSON. `read` makes a verdict of a judge's
    words, the case (None where it is not known) and the condition, whose `rubric` names the
    wording; `how` of a verdict in another wording begins with that wording's name.

    Comparing. `parts` are what a verdict has several of ("" for the whole). `compared_by` gives the
    labels of each part, `width` how many a part has for a case. Parts with `levels`, lowest first,
    are compared on that scale, others as alike or not. `compared_after` gives the labels where a
    change itself may move them, `put_back` the verdict before a change that moves its parts.

    Known truths. `deserved` tells of a control's name, a case and a verdict (None: unreadable) what
    was true and what was said. `numbers` names the numbers made of the verdicts, each with the
    parts whose fitness it hangs on; without it there is one, of the question's name.

    People. `units` cuts a verdict into single things, `choices` are the words for each by what it
    is called on the sheet, `gold` what it is to be compared with.
    """

    name: str
    role: Role
    wordings: Mapping[str, Wording]
    kind: Callable[[Any], str] = lambda case: ""
    about: type[msgspec.Struct]
    asked: Callable[[Row, Any], bool]
    sections: Callable[[Row, Any], Mapping[str, str]]
    reply: str = "reply"
    decoding: Decoding
    reask: int = 0

    payload: Any
    read: Callable[[str, Any, Condition], Read]

    parts: tuple[str, ...] = ("",)
    levels: Mapping[str, tuple[float, ...]] = {}
    compared_by: Callable[[Any], Compared]
    width: Callable[[Any], int] = lambda case: 1
    compared_after: Mapping[Change, Callable[[Any], Compared]] = {}
    put_back: Mapping[Change, Callable[[Any, Any], Any]] = {}

    deserved: Callable[[str, Any, Any], Iterable[Deserved]] = lambda *of: ()
    numbers: Mapping[str, tuple[str, ...]] = {}

    choices: Mapping[str, tuple[str, ...]] = {}
    units: Callable[[Any, Any], Iterable[JudgedPart]] = lambda *of: ()
    gold: Callable[[Any, str], str] = lambda *of: ""


def by_name(questions: Sequence[Question]) -> dict[str, Question]:
    return {question.name: question for question in questions}


def roles_of(questions: Sequence[Question]) -> tuple[Role, ...]:
    """What can be judged, in the order of the questions."""
    return tuple(dict.fromkeys(question.role for question in questions))


def other_rubrics(questions: Sequence[Question]) -> dict[Role, tuple[str, ...]]:
    """The rubrics that a judge may be given in place of the usual one, by role."""
    found: dict[Role, tuple[str, ...]] = {}
    for question in questions:
        for name in filter(None, question.wordings):
            found[question.role] = (*found.get(question.role, ()), name)
    return found


def choices_of(questions: Sequence[Question]) -> dict[str, tuple[str, ...]]:
    """The words that judge and person have for each thing, by what it is called on the sheet."""
    return {name: words for question in questions for name, words in question.choices.items()}


def with_own_words(questions: Sequence[Question], folder: str | None) -> tuple[Question, ...]:
    """The questions, with a user's own words where the folder has QUESTION.txt or WORDING.txt."""
    if folder is None:
        return tuple(questions)
    known = [wording or question.name for question in questions for wording in question.wordings]
    own = own_words(folder, known)
    found = []
    for question in questions:
        wordings = dict(question.wordings)
        for name, wording in question.wordings.items():
            if file := own.get(name or question.name):
                rubrics = {kind: load_rubric(file, one) for kind, one in wording.rubrics.items()}
                wordings[name] = msgspec.structs.replace(wording, rubrics=rubrics)
        found.append(msgspec.structs.replace(question, wordings=wordings))
    return tuple(found)


# ---------------------------------------------------------------- asking


def about_of(about: type[msgspec.Struct], row: Row, variant: str = "") -> str:
    """Which reply of a reader: its condition, as the verdicts name it; and what was changed."""
    named = {key: row[key] for key in about.__struct_fields__ if key != "variant"}
    return msgspec.json.encode(named | ({"variant": variant} if variant else {})).decode()


def question_trials(
    questions: Sequence[Question],
    row: Row,
    role: Role,
    case: Any,
    *,
    rubric: str = "",
    varied: bool = False,
) -> Iterator[Trial]:
    """What a judge of this role is asked about one row of answers.

    `rubric` is the wording in place of the usual one. `varied`: each question once more for every
    harmless change of its material.
    """
    for question in questions:
        if question.role != role or not question.asked(row, case):
            continue
        words = question.wordings[rubric].rubrics[question.kind(case)]
        condition: dict[str, str | int] = {
            "role": role,
            "question": question.name,
            "reader": row["reader"],
            "about": "",  # which reply, and what was changed in it
            "check": row["check"],
            "prompt": words.digest,
            "rubric": rubric,
        }
        shown = question.sections(row, case)
        changes = variants(words, shown, question.reply) if varied else {}
        for change, sections in (("", shown), *changes.items()):
            asked = condition | {"about": about_of(question.about, row, change)}
            yield Trial(case.case_id, asked, Request(frame(words, sections), question.decoding))


def again(questions: Sequence[Question], trial: Trial, attempt: int) -> Trial:
    """The question once more, with its reminder at the end if it has one.

    Asked alike, a judge without chance says the same. A trial that was reminded before is not
    reminded twice.
    """
    question = by_name(questions)[str(trial.condition["question"])]
    reminder = question.wordings[str(trial.condition.get("rubric", ""))].reminder
    request = trial.request
    if reminder:
        *before, last = request.messages
        text = "\n".join(str(part) for part in last.parts).removesuffix(f"\n\n{reminder}")
        messages = (*before, Message(last.role, (f"{text}\n\n{reminder}",)))
        request = msgspec.structs.replace(request, messages=messages)
    return msgspec.structs.replace(trial, request=request, repeat=attempt)


# ---------------------------------------------------------------- reading


def reread(
    questions: Sequence[Question], verdicts: pl.DataFrame, cases: Mapping[str, Any]
) -> pl.DataFrame:
    """Kept verdicts read again: what a judge said stays, what it is taken for may change.

    Rows without the judge's words (an import of verdicts alone) are kept as they are.
    """
    import polars as pl

    known = by_name(questions)
    made: list[tuple[str | None, ...]] = []
    for row in verdicts.iter_rows(named=True):
        if row["text"] is None:
            made.append(tuple(row[column] for column in _READ))
            continue
        question, how = known[row["question"]], row["how"] or ""
        others = (name for name in question.wordings if name and how.startswith(name))
        condition = {"question": question.name, "rubric": next(others, "")}
        found = question.read(row["text"], cases.get(row["case"]), condition)
        payload = msgspec.json.encode(found.value).decode() if found.valid else None
        made.append(("judged" if found.valid else "invalid", found.how, payload, found.fault))
    return verdicts.with_columns(
        pl.DataFrame(made, schema=dict.fromkeys(_READ, pl.String), orient="row").get_columns()
    )


class Verdict(NamedTuple):
    """A kept verdict: of which judge on which reply, and the payload, None where it has none."""

    judge: str
    question: Question
    reader: str
    case: str
    # The reply's condition as one text, the same however it was written, without what was changed.
    about: str
    variant: str
    payload: Any


def verdicts_in(
    questions: Sequence[Question],
    verdicts: pl.DataFrame,
    cases: Mapping[str, Any],
    *,
    checks: bool,
) -> Iterator[Verdict]:
    """The verdicts on controls' replies (`checks`) or on readers', in the order of the table.

    Those on cases and to questions that are not known are left out.
    """
    known = by_name(questions)
    columns = ("judge", "question", "reader", "case", "about", "payload")
    chosen = verdicts["check"] if checks else ~verdicts["check"]
    for judge, name, reader, case, about, payload in (
        verdicts.filter(chosen).select(columns).iter_rows()
    ):
        question = known.get(name)
        if question is None or case not in cases:
            continue
        reply = msgspec.to_builtins(msgspec.json.decode(about, type=question.about))
        yield Verdict(
            judge,
            question,
            reader,
            case,
            about_of(question.about, reply),
            reply.get("variant", ""),
            None if payload is None else msgspec.json.decode(payload),
        )


# ---------------------------------------------------------------- what a table holds


def judges_and_words(questions: Sequence[Question], verdicts: pl.DataFrame | None) -> str:
    """For a signature: each judge, and the words all of them got.

    All words for the roles that were asked: which kinds of case come up decides which words are
    sent, and must not show. A user's own words are the same for every kind of case. `questions`
    are the benchmark's own, in its own words.
    """
    if verdicts is None or verdicts.is_empty():
        return "none"
    names = ",".join(sorted(set(verdicts["judge"])))
    sent = verdicts.select("role", "question", "prompt").drop_nulls().unique()
    if sent.is_empty():
        return f"{names}@theirs"
    roles = set(sent["role"])
    words: set[str] = set()
    for question in questions:
        if question.role not in roles:
            continue
        found = set(sent.filter(sent["question"] == question.name)["prompt"])
        usual, *others = [
            {rubric.digest for rubric in wording.rubrics.values()}
            for wording in question.wordings.values()
        ]
        used = set().union(*(own for own in (usual, *others) if own & found)) or usual
        words |= used if found <= used else found
    digest = hashlib.sha256("".join(sorted(words)).encode()).hexdigest()[:6]
    return f"{names}@{digest}"


_Fault: TypeAlias = tuple[int | None, str]


def verdict_fault(questions: Sequence[Question], verdicts: pl.DataFrame) -> _Fault | None:
    """What no run of these questions wrote: its row, counted from 0, and what is wrong with it.

    Columns have their types, questions are known, and about and payload are JSON of the form that
    the question has. Without questions, any JSON is taken.
    """
    return next(_verdict_faults(questions, verdicts), None)


def _verdict_faults(questions: Sequence[Question], verdicts: pl.DataFrame) -> Iterator[_Fault]:
    import polars as pl

    for column in (*_WORDS, "payload", "check"):
        held, wanted = verdicts[column].dtype, pl.Boolean if column == "check" else pl.String
        if held != wanted:
            yield None, f"{column} is {held}, not {wanted}"
    for column in (*_WORDS, "check"):
        if verdicts[column].null_count():
            yield _first(verdicts[column].is_null()), f"{column} is missing"
    known = by_name(questions)
    for name in verdicts["question"].unique(maintain_order=True) if known else ():
        if name not in known:
            row = _first(verdicts["question"] == name)
            yield row, f"question is {_short(name)}; expected one of {', '.join(known)}"
    any_json = {"about": dict[str, Any], "payload": dict[str, Any] | list[Any]}
    rows = verdicts.with_row_index("row").partition_by("question", maintain_order=True)
    for column, own in product(any_json, rows):
        asked = known.get(own["question"][0])
        form = any_json[column] if asked is None else getattr(asked, column)
        decode = msgspec.json.Decoder(form).decode
        # What is said twice is read once.
        for text in own[column].drop_nulls().unique(maintain_order=True):
            try:
                decode(text)
            except (msgspec.DecodeError, RecursionError) as error:
                row = own["row"][_first(own[column] == text)]
                yield row, f"{column} is {_short(text)} ({str(error) or 'nested too deeply'})"


def _first(flags: pl.Series) -> int:
    place = flags.arg_max()
    assert place is not None
    return place


def _short(text: str) -> str:
    """Others' words in a line: a few of them, and none that steers a terminal."""
    shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return f'"{printable(shown)}"'
