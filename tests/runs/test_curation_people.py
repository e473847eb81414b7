"""People decide: two reviewers, an auditor where they differ, and what becomes of the items."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from tests.support import curated

from overread import runs
from overread.benchmarks.curated import Item
from overread.case import BadInput
from overread.curate import folder as kept
from overread.curate.records import record
from overread.curate.review import Reviewed, fixed, lack_of
from overread.curate.wanted import read_wanted, with_people
from overread.runs import Unfinished
from overread.study import Journal, open_key, open_study

CURATE = curated.CURATE + '[review]\nreviewers = ["anna", "ben"]\nauditor = "carla"\n'


def filled(study: Path, says: Callable[[str, str], dict[str, str]]) -> None:
    """Everybody's answers to every case of a study, by `says(reader, case)`."""
    opened, journal, key = open_study(study), Journal(study), open_key(study, "test")
    for turn in opened.schedule:
        given = says(turn.reader, key[turn.display].case)
        asks = opened.displays[turn.display].asks
        journal.put(
            turn.reader,
            turn.display,
            {ask.name: ask.checked(given.get(ask.name, "")) for ask in asks},
        )
    journal.close()


KEEP = {"decision": "keep"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return curated.set_folder(tmp_path / "set", n=4, text=CURATE)


def _ids(folder: Path) -> list[str]:
    return [one.id for one in kept.read_step(folder, "ask")]


def test_a_review_is_read_by_two_audited_where_they_differ_and_taken(folder: Path) -> None:
    with pytest.raises(Unfinished, match="4 displays for anna, ben are ready"):
        runs.curate_review(folder)
    with pytest.raises(Unfinished, match=r"anna \(0 of 4\), ben \(0 of 4\) still read"):
        runs.curate_review(folder)
    _, fixed_one, dropped, disputed = _ids(folder)
    said = {
        fixed_one: {"decision": "fix", "reasons": "ambiguous", "question_text": "How grey is it?"},
        dropped: {"decision": "drop", "reasons": "needs no image\nother"},
    }
    also = {("ben", disputed): {"decision": "drop", "reasons": "licence"}}
    first = folder / "review" / "1" / "first"
    filled(first, lambda who, case: also.get((who, case)) or said.get(case, KEEP))
    with pytest.raises(Unfinished, match="differ on 1 displays, which carla decides"):
        runs.curate_review(folder)
    filled(folder / "review" / "1" / "audit", lambda who, case: KEEP)
    done = runs.curate_review(folder)
    records = kept.read_step(folder, "review")
    assert [(one.verdict, one.reason) for one in records] == [
        ("kept", ""), ("changed", "ambiguous"), ("dropped", "needs_no_image"), ("kept", ""),
    ]  # fmt: skip
    assert records[1].item is not None
    assert records[1].item.question == "How grey is it?"
    assert records[3].by == ("person:anna", "person:ben", "person:carla")
    assert done.stage.passed == 3
    about = msgspec.json.decode((folder / "review.json").read_bytes(), type=Reviewed)
    assert (about.items, about.audited, about.unreviewed) == (4, 1, 0)
    values = {one.measure: one.value for one in about.agreement}
    assert values["agreement"] == 0.75
    assert 0 < (values["kappa"] or 0) < 1


def test_what_came_later_is_reviewed_in_a_round_of_its_own(folder: Path) -> None:
    with pytest.raises(Unfinished):
        runs.curate_review(folder)
    filled(folder / "review" / "1" / "first", lambda who, case: KEEP)
    first, *rest = kept.read_step(folder, "ask")
    assert first.item is not None
    other = msgspec.structs.replace(first.item, question="Is it another?")
    kept.write_step(folder, "ask", [record(other, parents=first.parents), *rest])
    with pytest.raises(Unfinished, match="1 displays"):
        runs.curate_review(folder)
    filled(folder / "review" / "2" / "first", lambda who, case: KEEP)
    assert runs.curate_review(folder).stage.passed == 4


def test_nothing_enters_unreviewed_unless_told_and_then_it_says_so(folder: Path) -> None:
    done = runs.curate_review(folder, unreviewed=True)
    assert done.stage.reasons == {"flagged": {"unreviewed": 4}}
    items = [one.item for one in kept.read_step(folder, "review")]
    assert all(item is not None and item.flags == ("unreviewed",) for item in items)
    # Half-read studies do not stand in the way, and decide nothing.
    with pytest.raises(Unfinished):
        runs.curate_review(folder)
    assert runs.curate_review(folder, unreviewed=True).stage.reasons == done.stage.reasons


def test_a_review_needs_two_reviewers_and_an_auditor(tmp_path: Path) -> None:
    folder = curated.set_folder(tmp_path / "set", n=1)
    with pytest.raises(BadInput, match="names 0 reviewers and no auditor"):
        runs.curate_review(folder)
    toml = (folder / "curate.toml").read_text()
    for auditor, each in (("carla", 1), ("carla", 4), ("ben", 2)):  # nobody audits himself
        people = f'reviewers = ["anna", "ben", "dora"]\nauditor = "{auditor}"\neach = {each}\n'
        (folder / "curate.toml").write_text(f"{toml}[review]\n{people}")
        with pytest.raises(BadInput, match="is reviewed by 2 to 3"):
            runs.curate_review(folder)


def test_doubtful_pictures_are_looked_at_and_the_word_is_kept(folder: Path) -> None:
    with pytest.raises(BadInput, match="no picture is doubtful"):
        runs.curate_look(folder)
    first, second, *rest = kept.read_step(folder, "collect")
    doubt = {"doubt": "near_duplicate", "other": first.id, "bits": 3}
    kept.write_step(folder, "collect", [first, msgspec.structs.replace(second, facts=doubt), *rest])
    with pytest.raises(Unfinished, match="1 displays"):
        runs.curate_look(folder)
    study = folder / "review-collect" / "1" / "first"
    (display,) = open_study(study).displays.values()
    assert len(display.pictures) == 2
    filled(study, lambda who, case: {"same": "yes"})
    assert runs.curate_look(folder) == 1
    people = with_people(read_wanted(folder), folder, "collect").people
    assert people[second.id].values == {"same": "yes"}
    assert people[second.id].by == ("person:anna", "person:ben")


def _choice(kind: str = "single", **more: object) -> Item:
    given = {
        "candidates": ("c",), "pictures": (), "question": "Which?", "kind": kind,
        "options": ("cyst", "stone", "scar"), "answers": ("stone",),
    }  # fmt: skip
    return Item(**{**given, **more})  # type: ignore[arg-type]


def test_a_fix_keeps_the_right_option_right() -> None:
    mended = fixed(_choice(), {"option_B_text": "gallstone", "question_text": " Which one? "})
    assert (mended.options, mended.answers) == (("cyst", "gallstone", "scar"), ("gallstone",))
    assert fixed(_choice(), {"option_A_text": "a\nB. b"}).options[0] == "a B. b"
    assert fixed(_choice(), {"right": "C"}).answers == ("scar",)
    several = fixed(_choice("multiple"), {"answer_text": "cyst; scar"})
    assert several.answers == ("cyst", "scar")
    judged = _choice("bool", options=(), answers=("true",))
    assert fixed(judged, {"right": "B"}).answers == ("false",)


def test_a_fix_that_leaves_no_question_is_known() -> None:
    assert lack_of(_choice()) == ""
    assert lack_of(fixed(_choice(), {"option_A_text": "Stone"}))
    assert lack_of(fixed(_choice("multiple"), {"answer_text": "a ghost"}))
    assert lack_of(fixed(_choice("multiple"), {"answer_text": "cyst;stone;scar"}))
