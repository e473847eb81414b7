"""Replies that somebody else's scripts got become the tables of a run; no model is asked.

One file of JSON lines for each reader, called after it: `index` and `kind` (mcq, open,
reformulated) say which item and how it was put, `text` is the reply as it was, null where there
was none. `image` (original, blank, swap, text) and `order` may say what was shown. Where the reply
was judged, `scores` has {clarity, coherence, visual, truth} as the judge gave them and `judge` its
name. Replies are read anew under the edition, whatever the scripts made of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from overread.benchmarks import importing
from overread.benchmarks.base import Imported, Tables
from overread.benchmarks.files.fields import JSON_ERRORS, data_of
from overread.benchmarks.importing import NOT_KEPT
from overread.benchmarks.medcmr.answers import Answer, answer_of
from overread.benchmarks.medcmr.cases import CaseRow, MedCase, case_row, kind_of, whole_index
from overread.benchmarks.medcmr.edition import BOOK, IMAGES, Edition
from overread.benchmarks.medcmr.judged_questions import FORMS, About, question_of
from overread.benchmarks.medcmr.loading import SETS
from overread.benchmarks.medcmr.verdict_parser import COMPONENTS, LINES, read_verdict
from overread.benchmarks.tables import answers_frame, frame_of, storable
from overread.case import BadInput, Reply, Request, Trial
from overread.judging.question import about_of

_JUDGE: Final = "theirs"
_KINDS: Final = ("mcq", "open", "reformulated")
_TWICE: Final = "are of a reply that stands in an earlier line already"


class _Said(msgspec.Struct):
    """One line as it is written."""

    index: int | str
    kind: str
    text: str | msgspec.UnsetType | None = msgspec.UNSET
    image: str | None = None
    order: int | None = None
    scores: dict[str, Any] | None = None
    judge: str | None = None


# Reader, case, kind, image and order.
_Key: TypeAlias = tuple[str, str, str, str, int]


class _Taking:
    """Replies and verdicts as they come in, and what does not fit. A class, for it grows."""

    def __init__(self, cases: Sequence[MedCase], rules: Edition) -> None:
        self._items = {(case.kind, case.index): case for case in cases}
        self._rules = rules
        self.answers: list[tuple[str, Answer]] = []
        self.verdicts: list[importing.JudgedRow] = []
        self.odd = importing.Oddities()
        self._texts: dict[_Key, str | None] = {}
        self._judged: set[tuple[str, _Key]] = set()

    def read(self, file: Path, reader: str) -> None:
        """Take in one file."""
        decode = msgspec.json.Decoder(_Said).decode
        for number, line in enumerate(data_of(file).split(b"\n"), start=1):
            if not line.strip():
                continue
            where = f"{file.name} line {number}"
            try:
                fault = self._take(decode(line), reader, where)
            except JSON_ERRORS:
                fault = "have no index, kind and text to be read"
            if fault:
                self.odd.add(f"{fault}; left out", where)

    def _take(self, said: _Said, reader: str, where: str) -> str:
        """Why a line is left out; nothing of one that is not."""
        if said.kind not in _KINDS:
            return f"have a kind that is none of {', '.join(_KINDS)}"
        image, order = said.image or "original", said.order or 0
        if image not in IMAGES:
            return f"have an image that is none of {', '.join(IMAGES)}"
        case = self._items.get((kind_of(said.kind), whole_index(said.index)))
        if case is None:
            return "have an index that the set has not"
        if not 0 <= order < (len(case.options) if said.kind == "mcq" else 1):
            return "have an order that the item's options have not"
        if said.text is msgspec.UNSET and said.scores is None:
            return "have no text"
        key = (reader, case.case_id, said.kind, image, order)
        text = storable(said.text) if isinstance(said.text, str) else None
        if said.text is msgspec.UNSET:
            text = self._texts.get(key, NOT_KEPT)
        about: dict[str, str | int] = {"form": said.kind, "image": image, "order": order}
        if key not in self._texts:
            self._texts[key] = text
            if text == NOT_KEPT:
                self.odd.add("have scores and no text; what was judged is not known", where)
            trial = Trial(case.case_id, about, Request(()))
            reply = None if text is None else Reply(text)
            reason = "" if reply is not None else "no reply in the file"
            self.answers.append((reader, answer_of(trial, reply, self._rules, case, reason)))
        elif said.scores is None or self._texts[key] != text:
            return _TWICE
        return "" if said.scores is None else self._judge(said, key, case, about, where)

    def _judge(
        self, said: _Said, key: _Key, case: MedCase, about: Mapping[str, str | int], where: str
    ) -> str:
        judge, scores = storable((said.judge or "").strip()) or _JUDGE, said.scores or {}
        if said.kind not in FORMS or self._texts[key] is None:
            self.odd.add("have scores of a letter or of no reply, which are left out", where)
            return ""
        if (judge, key) in self._judged:
            return _TWICE
        self._judged.add((judge, key))
        # With the visual score wherever there is one: they had the caption, even if we have not.
        question = "score" if "visual" in scores else question_of(case)
        # A score as a judge would have written it; what is neither number nor word is none.
        words = {
            part: "none"
            if isinstance(given, bool) or not isinstance(given, int | float | str)
            else " ".join(str(given).split())
            for part, given in scores.items()
        }
        lines = (f"{LINES[part]}: {words[part]}" for part in COMPONENTS if part in words)
        text = "\n".join(lines)
        read = read_verdict(question, text)
        if not read.valid:
            self.odd.add("have scores off the scale or missing", where)
        # The words it was asked in are theirs, which nobody has.
        self.verdicts.append(
            importing.judged_row(
                read,
                text=storable(text),
                reason=None,
                judge=judge,
                role="score",
                question=question,
                reader=key[0],
                case=case.case_id,
                about=about_of(About, about),
            )
        )
        return ""


# ---------------------------------------------------------------- tables of an import


def import_results(
    cases: str | Path | None,
    replies: str | Path,
    readers: str | Path | None = None,
    edition: str = "corrected",
    words: Mapping[str, str] | None = None,
    reparse: bool = False,
    also: Sequence[str] = (),
) -> Imported:
    """Read the replies at `replies`, a file or a folder of them, and at the places of `also`.

    `cases` is a set of questions as for a run; its images need not be there. `readers` is a
    models.json with their roles, `params_b` and `group`. Everything is read under the edition, so
    that `reparse` changes nothing.
    """
    from overread.benchmarks.medcmr.benchmark import MedCMR

    rules, options = BOOK.settings(edition, words)
    if cases is None:
        raise BadInput("--cases is missing: a reply is read against its item. Give the questions.")
    declared = importing.declared_readers(readers)
    expected = "the replies as JSON lines, one .jsonl for each reader, called after it"
    files = [
        file
        for root in (replies, *also)
        for file in importing.result_files(Path(root), ".jsonl", expected=expected)
    ]
    found = SETS.load(cases, options, options.root, seen=False)
    kept = [case for case in found.cases if case.kind in options.kinds]
    taking = _Taking(kept, rules)
    for file in files:
        taking.read(file, storable(file.stem))
    odd = list(taking.odd.told())
    if not taking.answers:
        first = f" ({odd[0].rstrip('.')})" if odd else ""
        raise BadInput(f"{replies} holds no reply to an item of {cases}{first}. Give its replies.")
    heard: dict[str, set[str]] = {}
    for reader, answer in taking.answers:
        heard.setdefault(reader, set()).add(storable(answer.case))
    told = set().union(*heard.values())
    asked = [case for case in kept if storable(case.case_id) in told]
    tables = Tables(
        cases=frame_of(CaseRow, map(case_row, asked)),
        answers=answers_frame(Answer, taking.answers),
        verdicts=importing.verdicts_frame(taking.verdicts),
        readers=importing.reader_records(heard, declared),
    )
    left = [f"{len(found.left)} items of the set are left out."] if found.left else []
    unheard = importing.without_results(heard, declared, "replies")
    warnings = [*left, *odd, *unheard, *_gaps(heard, told, len(kept))]
    policy = SETS.policy_at(cases, options.root)
    bench = importing.over_tables(MedCMR, tables, cases, policy, edition, words)
    return Imported(bench, tables, warnings, dict(words or {}))


def _gaps(heard: Mapping[str, set[str]], told: set[str], whole: int) -> Iterator[str]:
    """What a part of the set, or a part of what others answered, means for the numbers."""
    if len(told) < whole:
        some = f"{len(told)} of the set's {whole} items"
        yield f"the replies are about {some}: the others are not counted."
    for name, cases in heard.items():
        if len(cases) < len(told):
            missing = len(told) - len(cases)
            items = "1 item" if missing == 1 else f"{missing} items"
            yield f"{name} has no reply to {items} that others replied to: counted as wrong."
