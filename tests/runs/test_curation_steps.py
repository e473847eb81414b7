"""From pictures with captions and labels to filtered items, every question asked once."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from tests.support import curated
from tests.support.readers import Scripted

from overread import runs
from overread.benchmarks.curated import Candidate, Step
from overread.benchmarks.people import CANNOT_TELL, Ask
from overread.benchmarks.registry import class_of
from overread.case import Prompt, ReaderFailure, Reply
from overread.curate import folder as kept
from overread.curate.distract import UNREVIEWED
from overread.curate.funnel import funnel_of
from overread.curate.records import items_of, record
from overread.judging.rubric import sections_of
from overread.runs import Unfinished
from overread.study import Journal, open_key, open_study

CURATE = """
name = "made-up"
[models]
writer = "openai:w@http://127.0.0.1:9/v1"
distractors = ["openai:d@http://127.0.0.1:9/v1"]
steps = ["openai:s@http://127.0.0.1:9/v1"]
merge = "openai:m@http://127.0.0.1:9/v1"
checker = "openai:c@http://127.0.0.1:9/v1"
filters = ["openai:f@http://127.0.0.1:9/v1"]
blind = ["openai:b@http://127.0.0.1:9/v1"]
[ask]
groups = ["SU"]
conversions = ["classification", "judgement"]
[distract]
open = 0.2
"""


def answered(study: Path, says: Callable[[str, str, Ask], str]) -> None:
    """Everybody's answers to every question of a study, by `says(reader, case, ask)`."""
    opened, journal, key = open_study(study), Journal(study), open_key(study, "test")
    for turn in opened.schedule:
        case, asks = key[turn.display].case, opened.displays[turn.display].asks
        given = {ask.name: ask.checked(says(turn.reader, case, ask)) for ask in asks}
        journal.put(turn.reader, turn.display, given)
    journal.close()


SEATS = ("writer", "distractors.1", "steps.1", "merge", "checker", "filters.1", "blind.1")
PLACES = ("left upper lobe", "right upper lobe", "left lower lobe", "right lower lobe")


def _plays(prompt: Prompt) -> Reply | ReaderFailure:
    """A model of all trades; what it is asked for stands in the question."""
    text, told = prompt.text, sections_of(prompt.text)
    if "refuse" in told.get("caption", ""):
        return Reply(text="", refusal="no")
    if "garble" in told.get("caption", ""):
        return Reply(text="Sure! Here it is: {")
    if "write a question" in text:
        place = next(place for place in PLACES if place in told["caption"])
        said = {"question": "01", "fill": {"finding": "nodule"}, "answers": [place]}
        return Reply(text=json.dumps(said))
    if "wrong answers" in text:
        others = [place for place in PLACES if place != told["answer"]]
        said = {"distractors": [*others, "the mediastinum", "both hila"]}
        return Reply(text=json.dumps(said))
    if "You check" in text:
        return Reply(text='{"flags": []}')
    if "with these keys alone" in text:
        keys = ("modality", "feature", "conclusion", "analysis")
        said = {key: f"{key}: {told['answer']}" for key in keys if f'"{key}"' in text}
        return Reply(text=json.dumps(said))
    return Reply(text="A")


def _candidates(pictures: Path) -> list[Candidate]:
    found = []
    for number in range(14):
        place, label = PLACES[number % 4], ("dark", "light")[number % 2]
        caption = f"Film {number} with a nodule in the {place}."
        caption = {12: f"{caption} refuse", 13: f"{caption} garble"}.get(number, caption)
        one = curated.candidate_at(pictures, number)
        found.append(msgspec.structs.replace(one, caption=caption, labels=(label,)))
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = curated.set_folder(tmp_path / "set", n=0, text=CURATE)
    (place / "ask.jsonl").unlink()
    found = _candidates(place / "pictures")
    kept.write_step(place, "collect", [record(one, parents=()) for one in found])
    return place


def _run(folder: Path, step: str, reader: Scripted) -> runs.Stepped:
    return runs.curate_step(folder, step, models=dict.fromkeys(SEATS, reader))


def test_pictures_become_items_that_were_asked_reasoned_and_filtered(folder: Path) -> None:
    reader = Scripted(_plays)
    done = _run(folder, "ask", reader)
    assert done.stage.reasons["dropped"] == {"refused": 1, "malformed": 1}
    made = items_of(kept.read_step(folder, "ask"))
    assert {item.kind for item in made} == {"short", "single", "bool"}
    for step in ("distract", "steps", "filter"):
        _run(folder, step, reader)
    items = items_of(kept.read_step(folder, "filter"))
    written = [item for item in items if item.template.startswith("SU")]
    assert len(written) == 12
    assert sum(item.kind == "short" for item in written) == 2
    assert all(len(item.options) == 5 for item in written if item.kind == "single")
    for item in items:
        assert item.steps
        assert item.facts["filter_n"] == 1
        assert item.task
        assert item.dimension
    assert [stage.step for stage in funnel_of(folder)][-1] == "filter"


def test_findings_and_sheets_follow_the_steps(folder: Path) -> None:
    reader = Scripted(_plays)
    for step in ("ask", "distract"):
        _run(folder, step, reader)
    found = runs.curate_findings(folder, "distract")
    (form,) = found.tables
    assert form.columns[0] == "cue"
    assert [row[0] for row in form.rows][-1] == "trained on the set"
    sheet = (folder / "distract_to_choose.csv").read_text()
    assert sheet.startswith("item,person,distractor,question,answer\n")
    assert found.rows == sheet.count("\n") - 1 > 40
    _run(folder, "steps", reader)
    assert runs.curate_findings(folder, "steps").sheet.endswith("steps_to_read.csv")
    assert "student" in (folder / "steps_to_read.csv").read_text()
    _run(folder, "filter", reader)
    (blind,) = runs.curate_findings(folder, "filter").tables
    assert blind.columns[:3] == ("items", "replies", "right")
    assert runs.curate_findings(folder, "ask").tables == ()


def test_a_step_that_was_broken_off_goes_on_and_asks_nothing_twice(folder: Path) -> None:
    answered = 0

    def breaks(prompt: Prompt) -> Reply | ReaderFailure:
        nonlocal answered
        answered += 1
        if answered > 7:
            raise MemoryError("killed")
        return _plays(prompt)

    first = Scripted(breaks)
    with pytest.raises(BaseException, match=r"unhandled|killed"):
        _run(folder, "ask", first)
    assert kept.steps_there(folder) == ["collect"]
    second = Scripted(_plays)
    _run(folder, "ask", second)
    whole = Scripted(_plays)
    before = (folder / "ask.jsonl").read_bytes()
    _run(folder, "ask", whole)
    assert whole.asked.total() == 0
    assert (folder / "ask.jsonl").read_bytes() == before
    # 14 captions and one that is asked again because its reply could not be read.
    assert second.asked.total() <= 15 - 7
    assert max(second.asked.values()) == 1


def test_who_is_not_reached_costs_items_and_is_asked_again(folder: Path) -> None:
    def away(prompt: Prompt) -> Reply | ReaderFailure:
        if "Film 3 " in prompt.text:
            return ReaderFailure("nobody there", heals=False)
        return _plays(prompt)

    done = _run(folder, "ask", Scripted(away))
    assert done.unanswered == 1
    assert done.stage.reasons["dropped"]["unanswered"] == 1
    again = Scripted(_plays)
    assert _run(folder, "ask", again).unanswered == 0
    assert again.asked.total() == 1


def test_people_choose_wrong_options_on_the_page_of_a_study(folder: Path) -> None:
    with (folder / "curate.toml").open("a") as file:
        file.write('[review]\nreviewers = ["anna", "ben", "cleo"]\nauditor = "dora"\n')
    reader = Scripted(_plays)
    for step in ("ask", "distract"):
        _run(folder, step, reader)
    before = reader.asked.total()
    with pytest.raises(Unfinished, match="10 displays for anna, ben, cleo are ready"):
        runs.curate_choose(folder)
    with pytest.raises(Unfinished, match=r"anna \(0 of 10\), .* still read"):
        runs.curate_choose(folder)

    def picks(reader: str, case: str, ask: Ask) -> str:
        return "\n".join(sorted(ask.options)[-4:] if reader == "anna" else sorted(ask.options)[:4])

    answered(folder / "review-distract" / "1", picks)
    assert runs.curate_choose(folder) == 10
    _run(folder, "distract", reader)
    assert reader.asked.total() == before
    items = items_of(kept.read_step(folder, "distract"))
    chosen = [item for item in items if item.pool]
    assert len(chosen) == 10
    assert not any(UNREVIEWED in item.flags for item in chosen)
    for item in chosen:
        assert set(item.wrong) == set(sorted((*item.wrong, *item.pool))[:4])


def test_people_read_gold_steps_round_by_round(folder: Path) -> None:
    with (folder / "curate.toml").open("a") as file:
        file.write('[steps]\nstudent = "anna"\nexpert = "ben"\n')
    reader = Scripted(_plays)
    for step in ("ask", "steps"):
        _run(folder, step, reader)
    rounds: list[str] = []
    items = items_of(kept.read_step(folder, "steps"))
    first = next(one.parents[0] for one in kept.read_step(folder, "steps") if one.passes)

    def says(reader: str, case: str, ask: Ask) -> str:
        doubtful = case == first and ask.name.startswith("feature")
        if rounds[-1] == "consensus" and len(rounds) == 4 and reader == "ben" and doubtful:
            return "remove" if ask.kind == "choice" else ""
        if rounds[-1] == "student" and doubtful:
            return CANNOT_TELL if ask.kind == "choice" else ""
        if rounds[-1] == "expert" and doubtful:
            return "correct" if ask.kind == "choice" else "It is small."
        return "accept" if ask.kind == "choice" else ""

    for _ in range(12):
        try:
            runs.curate_rounds(folder)
        except Unfinished as wait:
            study = Path(str(wait).partition("study serve ")[2].partition(".")[0])
            rounds.append(study.parent.name)
            answered(study, says)
            continue
        _run(folder, "steps", reader)
        done = items_of(kept.read_step(folder, "steps"))
        if all(item.facts["calibration"] == "done" for item in done):
            break
    # One item alone goes to the expert; they differ once on it, and are asked again.
    assert rounds == ["student", "expert", "final", "consensus", "consensus", "final"]
    assert len(done) == len(items)
    (mended,) = [item for item in done if Step("feature", "It is small.") in item.steps]
    assert not any("steps_unreviewed" in item.flags for item in done)
    assert mended.steps != next(item for item in items if item.question == mended.question).steps


def test_what_is_published_runs_as_pairs_too(folder: Path) -> None:
    reader = Scripted(_plays)
    for step in ("ask", "distract", "steps"):
        _run(folder, step, reader)
    runs.curate_review(folder, unreviewed=True)
    done = runs.curate_publish(folder)
    items = items_of(kept.read_step(folder, "review"))
    pairs = class_of("pairs").open(Path(done.folder) / "pairs").cases()
    both = Counter(item.pair for item in items if item.pair)
    assert len(list(pairs)) == sum(count == 2 for count in both.values()) > 5
