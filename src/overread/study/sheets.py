"""Sheets for readers who work without a network, and answers in the list mode of iMRMC.

A sheet has a row for each display of a session and task, under its random name and with whose it
is, and a column for each question; pictures go with it. Filled, it is taken in as if it had been
read on the page.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping, Sequence
from io import BytesIO
from itertools import product
from math import ceil, sqrt
from pathlib import Path

from overread.benchmarks.files.sheets import filled_rows
from overread.benchmarks.people import Ask
from overread.case import BadInput, Shown
from overread.files import read_bytes
from overread.study.design import NOTE
from overread.study.journal import Journal
from overread.study.packets import TRAINING, Display, Key, Opened, Seen
from overread.typeset import guarded

# What stands in a sheet beside the answers.
_BESIDE = ("reader", "display", "pictures", "question")


def write_sheets(out: Path, study: Opened, journal: Journal) -> int:
    """A folder for each reader and session in it: a sheet for each task, and their pictures.

    Sessions are apart, to be sent apart: nobody here keeps a wash-out for whoever has them all.
    """
    check_new_folder(out)
    given: dict[tuple[str, str], dict[str, str]] = {}
    for one in journal.answers():
        given.setdefault((one.reader, one.display), {})[one.question] = one.value
    out.mkdir(parents=True, exist_ok=True)
    out.chmod(0o700)
    rows = 0
    for reader in study.design.readers:
        own = [turn for turn in study.schedule if turn.reader == reader]
        for session in sorted({turn.session for turn in own}):
            turns = sorted((t for t in own if t.session == session), key=lambda turn: turn.place)
            shown = [study.displays[turn.display] for turn in turns]
            folder = out / reader / ("practice" if session == TRAINING else f"session-{session}")
            (folder / "pictures").mkdir(parents=True)
            for display in shown:
                for picture in display.pictures:
                    data = read_bytes(study.folder / "pictures" / picture.file)
                    (folder / "pictures" / picture.file).write_bytes(_outlined(data, picture))
            for task in sorted({display.task for display in shown}):
                some = [display for display in shown if display.task == task]
                values = [given.get((reader, display.id), {}) for display in some]
                text = _sheet(reader, some, values)
                # With a byte-order mark, without which spreadsheets take UTF-8 for something else.
                (folder / f"task-{task}.csv").write_text(text, encoding="utf-8-sig")
                rows += len(some)
    return rows


# As on the page: amber between black, and around the box, so that it hides nothing within.
_LINES = ((3, (0, 0, 0)), (2, (255, 176, 0)), (1, (255, 176, 0)))


def _outlined(data: bytes, picture: Seen) -> bytes:
    """A picture's file with its boxes drawn, for whoever has no page to draw them; of a clip's
    sheet, in every frame."""
    if not picture.boxes:
        return data
    from PIL import ImageDraw

    from overread.imaging import by_pixels, open_image

    image = open_image(data, picture.file).convert("RGB")
    pen = ImageDraw.Draw(image)
    wide, high, across = picture.width, picture.height, ceil(sqrt(picture.frames))
    for frame, (x, y, w, h) in product(range(picture.frames), picture.boxes):
        left, top = frame % across * wide, frame // across * high
        for by, colour in _LINES:
            low = left + max(0, x - by), top + max(0, y - by)
            end = left + min(wide, x + w + by) - 1, top + min(high, y + h + by) - 1
            if low[0] <= end[0] and low[1] <= end[1]:
                pen.rectangle((*low, *end), outline=colour)
    file = BytesIO()
    image.save(file, "BMP")
    return by_pixels(Shown("image/bmp", file.getvalue()))[0].data


def check_new_folder(out: Path) -> None:
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise BadInput(f"--out {out}: something is there. Name a new folder.")


def _sheet(reader: str, shown: Sequence[Display], given: Sequence[Mapping[str, str]]) -> str:
    asks = list(dict.fromkeys(ask.name for display in shown for ask in display.asks))
    text = io.StringIO(newline="")
    sheet = csv.writer(text, lineterminator="\n")
    sheet.writerow([*_BESIDE, *asks, NOTE])
    for display, values in zip(shown, given, strict=True):
        said = [f"{label}: {words}" if label else words for label, words in display.texts]
        question = " / ".join([*said, *map(_in_words, display.asks)])
        cells = [reader, display.id, ";".join(p.file for p in display.pictures), question]
        cells += [values.get(ask, "") for ask in (*asks, NOTE)]
        sheet.writerow([guarded(cell) for cell in cells])
    return text.getvalue()


def _in_words(ask: Ask) -> str:
    """A question with what may be answered, and when it is asked."""
    words = "; ".join(ask.answers or ask.options)
    if ask.kind == "ranking":
        words = f"best first, as {' > '.join(ask.options)}, or = where two are alike"
    asked = f", where {ask.where[0]} is {' or '.join(ask.where[1:])}" if ask.where else ""
    return f"{ask.name}{asked}: {ask.text}{f' [{words}]' if words else ''}"


def read_sheet(path: Path, study: Opened, reader: str) -> dict[str, dict[str, str]]:
    """The answers of a filled sheet by display; `BadInput` names file, row and question."""
    own = {turn.display for turn in study.schedule if turn.reader == reader}
    found: dict[str, dict[str, str]] = {}
    for line, row in filled_rows(path, ("display",)):
        name = row["display"]
        # Readers have displays in common: by these alone nobody's sheet would be known for his.
        whose = row.get("reader") or reader
        if whose != reader:
            raise BadInput(
                f"{path} row {line}: the sheet is {whose}'s, and not {reader}'s. Give --reader "
                f"{whose}, or {reader}'s own sheet."
            )
        if name not in own:
            raise BadInput(
                f"{path} row {line}: display {name} is not one of {reader}'s. Is it this reader's "
                "sheet, and of this study?"
            )
        if name in found:
            raise BadInput(f"{path} row {line}: display {name} is there twice. Keep one row.")
        asks = {ask.name: ask for ask in study.displays[name].asks}
        asks[NOTE] = Ask(name=NOTE, text="", kind="text")
        found[name] = {}
        for question, value in row.items():
            if value and question not in asks and question not in _BESIDE:
                known = ", ".join(asks)
                raise BadInput(
                    f"{path} row {line}: column {question} holds an answer, and this display asks "
                    f"{known}. Empty the cell, or give the column its name."
                )
            if value and question in asks:
                try:
                    found[name][question] = asks[question].checked(value)
                except BadInput as error:
                    raise BadInput(f"{path} row {line}: {error} Mend the cell.") from None
        for question, ask in asks.items():
            if question in found[name] and not ask.is_asked(found[name]):
                wanted = " or ".join(ask.where[1:])
                raise BadInput(
                    f"{path} row {line}: {question} is answered, and asked only where "
                    f"{ask.where[0]} is {wanted}. Empty the cell."
                )
            if ask.where and ask.where[0] in found[name] and not ask.is_asked(found[name]):
                found[name][question] = ""  # what this makes no question any more, as on the page
    return found


def write_imrmc(out: Path, study: Opened, journal: Journal, key: Mapping[str, Key]) -> int:
    """Yes-or-no answers in iMRMC's list mode: readerID, caseID, modalityID (the condition), score.

    Truth stands first, one row a case. Cases whose truth is not known, repeats and practice are
    left out, and so is whoever could not tell. Of two tasks that ask the same, the first counts, as
    when people are measured. Commas in names become semicolons.
    """
    from overread.study.analysis import readings_of

    scores: dict[str, str] = {}
    truths: dict[str, str] = {}
    conditions: set[str] = set()
    for one in readings_of(study, journal.answers(), key):
        shown = one.key
        truth = {"yes": "1", "no": "0"}.get(shown.truth)
        score = {"yes": "1", "no": "0"}.get(one.value)
        if one.ask.name != "answer" or truth is None or score is None or shown.iteration:
            continue
        case, condition = (
            name.replace(",", ";") for name in (shown.case, shown.condition or "original")
        )
        truths[case] = truth
        conditions.add(condition)
        scores.setdefault(f"{one.reader},{case},{condition}", score)
    lines = sorted(f"{place},{score}" for place, score in scores.items())
    head = [
        f"{study.design.name}: answers in list mode (readerID,caseID,modalityID,score)",
        f"NR: {len({text.partition(',')[0] for text in lines})}",
        f"N0: {sum(truth == '0' for truth in truths.values())}",
        f"N1: {sum(truth == '1' for truth in truths.values())}",
        f"NM: {len(conditions)}",
        "BEGIN DATA:",
        *(f"-1,{case},truth,{truth}" for case, truth in sorted(truths.items())),
    ]
    try:
        with open(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(("\n".join([*head, *lines]) + "\n").encode())
    except FileExistsError:
        raise BadInput(f"--out {out}: something is there. Name a new file.") from None
    return len(lines)
