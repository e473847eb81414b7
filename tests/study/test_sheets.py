"""Sheets for readers who work without a network, and answers in the list mode of iMRMC."""

from __future__ import annotations

import csv
import stat

import pytest
from PIL import Image

from overread import runs
from overread.benchmarks.people import Ask
from overread.case import BadInput
from overread.study import Candidate, Journal, Task, open_key, open_study
from overread.study.sheets import read_sheet, write_imrmc, write_sheets
from support.studies import SECRETS, design, filled, made


@pytest.fixture
def study(tmp_path):
    return made(tmp_path / "study")


@pytest.fixture
def sheets(study, tmp_path):
    journal = Journal(study.folder)
    write_sheets(tmp_path / "sheets", study, journal)
    journal.close()
    return tmp_path / "sheets"


def fill(path, **cells):
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    with path.open("w", newline="") as file:
        sheet = csv.DictWriter(file, rows[0].keys())
        sheet.writeheader()
        sheet.writerows([{**row, **cells} for row in rows])
    return rows


def test_a_sheet_says_no_more_than_the_page(sheets):
    text = "".join(path.read_text() for path in sheets.rglob("*.csv"))
    names = " ".join(path.name for path in sheets.rglob("*"))
    for secret in SECRETS:
        assert secret not in text + names


def test_a_filled_sheet_is_taken_as_if_it_had_been_read_on_the_page(study, sheets):
    path = sheets / "anna" / "session-1" / "task-1.csv"
    rows = fill(path, answer="Yes", sure="2", note="=a formula")
    journal = Journal(study.folder)
    taken = read_sheet(path, study, "anna")
    assert journal.take("anna", taken) == (3 * len(rows), 0, 0)
    assert journal.take("anna", taken) == (0, 0, 3 * len(rows))
    fill(path, answer="no")
    assert journal.take("anna", read_sheet(path, study, "anna"))[1] == len(rows)
    journal.put("anna", rows[0]["display"], {"answer": "yes"})
    assert {one.value for one in journal.answers() if one.question == "answer"} == {"yes", "no"}
    journal.close()


def test_cells_left_empty_are_no_answers(study, sheets):
    taken = read_sheet(sheets / "anna" / "session-1" / "task-1.csv", study, "anna")
    assert not any(taken.values())


def test_a_sheet_takes_back_what_it_makes_no_question_as_the_page_does(tmp_path):
    """What was to be mended does not stay behind when the item is kept after all."""
    one = Candidate(id="i", question="What?", options=("a", "b"), answer="a")
    runs.study_of_candidates(tmp_path / "s", [one], "review", ["anna"], root=tmp_path)
    study = open_study(tmp_path / "s")
    (display,) = study.displays
    journal = Journal(study.folder)
    mended = {"decision": "fix", "reasons": "other", "question_text": "Which?"}
    journal.put("anna", display, mended)
    write_sheets(tmp_path / "sheets", study, journal)
    path = tmp_path / "sheets" / "anna" / "session-1" / "task-1.csv"
    fill(path, decision="keep", reasons="", question_text="")
    taken = read_sheet(path, study, "anna")
    assert [journal.take("anna", taken) for _ in range(2)] == [(0, 3, 0), (0, 0, 1)]
    assert {q: given.value for q, given in journal.of_display("anna", display).items()} == {
        "decision": "keep",
        "reasons": "",
        "question_text": "",
    }
    journal.close()


def test_sessions_are_apart_so_that_none_is_sent_before_its_time(study, sheets):
    for session in (1, 2):
        folder = sheets / "anna" / f"session-{session}"
        own = [t for t in study.schedule if (t.reader, t.session) == ("anna", session)]
        names = {p.file for t in own for p in study.displays[t.display].pictures}
        assert {path.name for path in (folder / "pictures").iterdir()} == names
    assert stat.S_IMODE(sheets.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        ({"answer": "perhaps"}, r"row 2: answer: \"perhaps\""),
        ({"display": "0123456789abcdef", "answer": "yes"}, "not one of anna's"),
        ({"reader": "ben", "answer": "yes"}, "the sheet is ben's, and not anna's"),
    ],
)
def test_an_odd_cell_is_named_by_file_and_row(study, sheets, cells, says):
    path = sheets / "anna" / "session-1" / "task-1.csv"
    fill(path, **cells)
    with pytest.raises(BadInput, match=says):
        read_sheet(path, study, "anna")


@pytest.mark.parametrize("spelt", ["answr", "presence"])
def test_an_answer_in_a_column_of_another_name_is_not_lost(study, sheets, spelt):
    path = sheets / "anna" / "session-1" / "task-1.csv"
    fill(path, answer="yes")
    path.write_text(path.read_text().replace(",answer,", f",{spelt},", 1))
    says = f"row 2: column {spelt} holds an answer, and this display asks answer, sure, note"
    with pytest.raises(BadInput, match=says):
        read_sheet(path, study, "anna")


def test_a_sheet_s_pictures_have_their_boxes_drawn(tmp_path):
    """Whoever has no page to draw them is asked about nothing else."""
    Image.new("L", (40, 30), 90).save(tmp_path / "film.png")
    boxes = ((10, 8, 12, 9), (0, 0, 4, 4))
    asks = (Ask(name="held", text="Does the box hold it?"),)
    items = [
        Candidate(id="with", pictures=("film.png",), boxes=boxes, asks=asks),
        Candidate(id="without", pictures=("film.png",), asks=asks),
    ]
    runs.study_of_candidates(tmp_path / "s", items, "same", ["anna"], root=tmp_path)
    study, journal = open_study(tmp_path / "s"), Journal(tmp_path / "s")
    write_sheets(tmp_path / "out", study, journal)
    journal.close()
    for display in study.displays.values():
        (picture,) = display.pictures
        path = tmp_path / "out" / "anna" / "session-1" / "pictures" / picture.file
        sent = Image.open(path)
        served = Image.open(study.folder / "pictures" / picture.file)
        assert sent.size == served.size
        if not picture.boxes:
            assert path.read_bytes() == (study.folder / "pictures" / picture.file).read_bytes()
            continue
        assert sent.getpixel((9, 7)) == sent.getpixel((22, 17)) == (255, 176, 0)
        inside = (10, 8, 22, 17)  # nothing within is hidden
        assert sent.convert("L").crop(inside).tobytes() == served.crop(inside).tobytes()
        assert sent.getpixel((4, 2)) == (255, 176, 0)


def test_the_list_mode_has_truth_first_and_each_answer_once(study, tmp_path):
    filled(study, {"anna": 0.9, "ben": 0.9})
    key = open_key(study.folder, "test")
    journal = Journal(study.folder, read_only=True)
    rows = write_imrmc(tmp_path / "out.imrmc", study, journal, key)
    lines = (tmp_path / "out.imrmc").read_text().splitlines()
    start = lines.index("BEGIN DATA:") + 1
    data = [line.split(",") for line in lines[start:]]
    truths = [cells for cells in data if cells[0] == "-1"]
    answers = [cells for cells in data if cells[0] != "-1"]
    assert len(truths) == 8
    assert rows == len(answers) == 2 * 8 * 3  # repeats and practice are left out
    assert len({tuple(cells[:3]) for cells in answers}) == len(answers)
    assert {"NR: 2", "N0: 4", "N1: 4", "NM: 3"} <= set(lines)


def test_what_two_tasks_ask_alike_is_in_the_list_once_as_the_first_had_it(tmp_path):
    """iMRMC refuses a reader's second score of a case in a modality."""
    tasks = [Task(kind="presence", repeat=0, training=0) for _ in range(2)]
    study = made(tmp_path / "study", design(readers=["anna"], task=tasks))
    key, journal = open_key(study.folder, "test"), Journal(study.folder)
    for turn in study.schedule:
        said = {1: "yes", 2: "no"}[key[turn.display].task]
        journal.put("anna", turn.display, {"answer": said})
    assert write_imrmc(tmp_path / "out.imrmc", study, journal, key) == 12 * 3
    lines = (tmp_path / "out.imrmc").read_text().splitlines()
    assert {line[-2:] for line in lines if line.startswith("anna,")} == {",1"}


def test_a_sheet_says_what_may_be_answered_and_when_it_is_asked(tmp_path):
    from overread import runs
    from overread.study import Candidate, open_study

    one = Candidate(id="secret", question="What?", options=("a", "b"), answer="a")
    runs.study_of_candidates(tmp_path / "s", [one], "review", ["anna"], root=tmp_path)
    study, journal = open_study(tmp_path / "s"), Journal(tmp_path / "s")
    write_sheets(tmp_path / "out", study, journal)
    journal.close()
    path = tmp_path / "out" / "anna" / "session-1" / "task-1.csv"
    (row,) = fill(path, decision="keep", reasons="other")
    assert "decision: This item: [keep; fix; drop; cannot tell]" in row["question"]
    assert "reasons, where decision is fix or drop: Why? [ambiguous; " in row["question"]
    with pytest.raises(BadInput, match="row 2: reasons is answered, and asked only where decision"):
        read_sheet(path, study, "anna")
    fill(path, decision="drop", reasons="licence; ambiguous")
    ((values),) = read_sheet(path, study, "anna").values()
    # What a drop makes no question is taken back, should it have been answered before.
    assert values == {
        "decision": "drop",
        "reasons": "ambiguous\nlicence",
        **dict.fromkeys(("question_text", "option_A_text", "option_B_text", "right"), ""),
    }
