"""Sheets for readers who work without a network, and answers in the list mode of iMRMC.

A sheet has a row for each display of a session, under its random name, with a column for each
question; pictures go with it. Filled, it is taken in as if its answers had been given on the page.
"""

from __future__ import annotations

import csv
import io
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from overread.benchmarks.files.sheets import filled_rows
from overread.case import BadInput
from overread.study.design import NOTE
from overread.study.journal import Given, Journal
from overread.study.packets import TRAINING, Key, Opened
from overread.typeset import guarded


def write_sheets(out: Path, study: Opened, journal: Journal) -> int:
    """A folder for each reader: a sheet for each session and task, and the pictures of both."""
    if out.exists() and any(out.iterdir()):
        raise BadInput(f"--out {out}: it is not empty. Name a new folder.")
    given: dict[tuple[str, str], dict[str, str]] = {}
    for one in journal.answers():
        given.setdefault((one.reader, one.display), {})[one.question] = one.value
    rows = 0
    for reader in study.design.readers:
        own = [turn for turn in study.schedule if turn.reader == reader]
        for session in sorted({turn.session for turn in own}):
            turns = sorted((t for t in own if t.session == session), key=lambda turn: turn.place)
            tasks = sorted({study.displays[turn.display].task for turn in turns})
            for task in tasks:
                shown = [
                    study.displays[t.display]
                    for t in turns
                    if study.displays[t.display].task == task
                ]
                asks = list(dict.fromkeys(ask.name for display in shown for ask in display.asks))
                name = "practice" if session == TRAINING else f"session-{session}"
                folder = out / reader
                (folder / "pictures").mkdir(parents=True, exist_ok=True)
                text = io.StringIO(newline="")
                sheet = csv.writer(text, lineterminator="\n")
                sheet.writerow(["display", "pictures", "question", *asks, NOTE])
                for display in shown:
                    words = " / ".join(
                        [
                            *(f"{a}: {b}" if a else b for a, b in display.texts),
                            *(q.text for q in display.asks),
                        ]
                    )
                    values = given.get((reader, display.id), {})
                    cells = [display.id, ";".join(p.file for p in display.pictures), words]
                    cells += [values.get(ask, "") for ask in (*asks, NOTE)]
                    sheet.writerow([guarded(cell) for cell in cells])
                    for picture in display.pictures:
                        place = folder / "pictures" / picture.file
                        if not place.exists():
                            shutil.copyfile(study.folder / "pictures" / picture.file, place)
                    rows += 1
                (folder / f"{name}-task-{task}.csv").write_text(text.getvalue(), encoding="utf-8")
    return rows


def read_sheet(path: Path, study: Opened, reader: str) -> Iterator[Given]:
    """The answers of a filled sheet, checked; `BadInput` names file, row and question."""
    own = {turn.display for turn in study.schedule if turn.reader == reader}
    seen: set[str] = set()
    for line, row in filled_rows(path, ("display",)):
        name = row["display"]
        if name not in own:
            raise BadInput(
                f"{path} row {line}: display {name} is not one of {reader}'s. Is it this reader's "
                "sheet, and of this study?"
            )
        if name in seen:
            raise BadInput(f"{path} row {line}: display {name} is there twice. Keep one row.")
        seen.add(name)
        asks = {ask.name: ask for ask in study.displays[name].asks}
        for question, value in row.items():
            if not value or (question not in asks and question != NOTE):
                continue
            try:
                said = asks[question].checked(value) if question in asks else value
            except BadInput as error:
                raise BadInput(f"{path} row {line}: {error} Mend the cell.") from None
            stamp = os.stat(path).st_mtime
            yield Given(
                reader=reader, display=name, question=question, value=said, revision=0, at=stamp
            )


def write_imrmc(out: Path, study: Opened, journal: Journal, key: Mapping[str, Key]) -> int:
    """Yes-or-no answers in iMRMC's list mode: readerID, caseID, modalityID (the condition), score.

    Truth stands first, one row a case. Cases whose truth is not known, repeats and practice are
    left out, and so is whoever could not tell.
    """
    lines: list[str] = []
    truths: dict[str, str] = {}
    for one in journal.answers():
        shown = key[one.display]
        truth = {"yes": "1", "no": "0"}.get(shown.truth)
        score = {"yes": "1", "no": "0"}.get(one.value)
        if one.question != "answer" or truth is None or score is None:
            continue
        if shown.training or shown.iteration:
            continue
        truths[shown.case] = truth
        lines.append(f"{one.reader},{shown.case},{shown.condition or 'original'},{score}")
    head = [
        f"{study.design.name}: answers in list mode (readerID,caseID,modalityID,score)",
        f"NR: {len(study.design.readers)}",
        f"N0: {sum(truth == '0' for truth in truths.values())}",
        f"N1: {sum(truth == '1' for truth in truths.values())}",
        f"NM: {len({text.split(',')[2] for text in lines})}",
        "BEGIN DATA:",
        *(f"-1,{case},truth,{truth}" for case, truth in sorted(truths.items())),
    ]
    out.write_text("\n".join([*head, *sorted(lines)]) + "\n", encoding="utf-8")
    return len(lines)
