"""Candidate items under review: what reviewers are asked, and what becomes of what they say."""

from __future__ import annotations

import msgspec
import pytest
from PIL import Image

from overread import runs
from overread.benchmarks.people import CANNOT_TELL, Ask, is_whole
from overread.case import BadInput
from overread.study import Candidate, Journal, Place, open_key, open_study
from overread.study.candidates import read_candidates, screens_of

OPTIONS = ("granuloma", "hamartoma", "metastasis", "cyst", "abscess")


def candidate(number: int, **changed: object) -> Candidate:
    given = {
        "id": f"secret-{number}",
        "pictures": (f"film-{number}.png",),
        "question": "What is it?",
        "options": OPTIONS,
        "answer": "hamartoma",
        "steps": ("It is round.", "It is calcified."),
        "texts": (("Caption", "a round opacity"),),
        "flags": ("answered blind",),
        "about": {"dimension": "hidden-dimension"},
    }
    return Candidate(**{**given, **changed})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    place = tmp_path_factory.mktemp("films")
    for number in range(6):
        Image.new("L", (20, 16), 40 * number).save(place / f"film-{number}.png")
    return place


def of(kind: str, one: Candidate, **more: object):
    (screen,) = screens_of([one], kind, "", **more)  # type: ignore[arg-type]
    return screen


def answered(folder, values) -> None:
    """Each reader's answers to every case, by `values(reader, case)`."""
    study, journal = open_study(folder), Journal(folder)
    key = open_key(folder, "test")
    for turn in study.schedule:
        given = values(turn.reader, key[turn.display].case)
        checked = {
            ask.name: ask.checked(given.get(ask.name, ""))
            for ask in study.displays[turn.display].asks
        }
        journal.put(turn.reader, turn.display, checked | {"note": given.get("note", "")})
    journal.close()


@pytest.fixture(scope="module")
def reviewed(films, tmp_path_factory):
    """Two reviewers who agree on two of four, and an auditor for the others."""
    place = tmp_path_factory.mktemp("review")
    runs.study_of_candidates(
        place / "first", map(candidate, range(4)), "review", ["anna", "ben"], root=films
    )
    said = {
        ("ben", "secret-1"): {"decision": "drop", "reasons": "needs no image", "note": "a word"},
        ("anna", "secret-2"): {"decision": CANNOT_TELL},
        ("ben", "secret-2"): {"decision": CANNOT_TELL},
    }
    both = {
        "secret-3": {
            "decision": "fix",
            "reasons": "ambiguous\nother",
            "question_text": "What is the round thing?",
            "option_A_text": "granuloma",
        }
    }
    keep = {"decision": "keep"}
    answered(place / "first", lambda who, case: said.get((who, case)) or both.get(case) or keep)
    runs.study_audit(place / "audit", place / "first", ["carl"])
    answered(place / "audit", lambda who, case: keep)
    return place


def test_a_reviewer_sees_the_item_and_nothing_that_is_kept_from_him(reviewed):
    seen = (reviewed / "first" / "displays.jsonl").read_text()
    for text in ("What is it?", "a round opacity", "answered blind", "B) hamartoma  \u2713"):
        assert text in seen
    for secret in ("secret-", "hidden-dimension", "film-"):
        assert secret not in seen


def test_why_and_how_are_asked_only_where_something_is_to_be_done():
    asks = of("review", candidate(0)).asks
    by_name = {ask.name: ask for ask in asks}
    assert is_whole(asks, {"decision": "keep"})
    assert not is_whole(asks, {"decision": "drop"})
    assert is_whole(asks, {"decision": "drop", "reasons": "licence"})
    assert by_name["question_text"].is_asked({"decision": "fix"})
    assert not by_name["question_text"].is_asked({"decision": "drop"})
    assert {"option_E_text", "step_2_text", "right"} < set(by_name)


def test_answers_come_back_by_candidate_and_reviewer(reviewed):
    rows = runs.study_answers(reviewed / "first")
    found = {(one.case, one.reviewer, one.question): one.value for one in rows}
    assert found["secret-1", "ben", "decision"] == "drop"
    assert found["secret-1", "ben", "note"] == "a word"
    assert found["secret-3", "anna", "question_text"] == "What is the round thing?"
    # A text that was left as it was is no answer.
    assert ("secret-3", "anna", "option_A_text") not in found
    assert all((one.at > 0, one.iteration) == (True, 0) for one in rows)


def test_an_auditor_sees_only_what_is_not_agreed_on_and_nobody_s_name(reviewed):
    key = open_key(reviewed / "audit", "test")
    assert {one.case for one in key.values()} == {"secret-1", "secret-2"}
    seen = (reviewed / "audit" / "displays.jsonl").read_text()
    assert "decision: drop" in seen
    assert "Reviewer 2" in seen
    assert "anna" not in seen
    assert "ben" not in seen


def test_what_stands_is_what_they_agree_on_and_what_the_auditor_decided(reviewed):
    alone = runs.study_settled(reviewed / "first")
    final = runs.study_settled(reviewed / "first", reviewed / "audit")
    assert alone[Place("secret-0")].values == {"decision": "keep"}
    assert alone[Place("secret-1")].values is None
    assert alone[Place("secret-2")].values is None
    assert final[Place("secret-1")] == ({"decision": "keep"}, ("anna", "ben", "carl"), True)
    assert final[Place("secret-3")].values["reasons"] == "ambiguous\nother"


def test_one_text_mended_in_two_ways_goes_to_the_auditor(films, tmp_path):
    runs.study_of_candidates(tmp_path / "s", [candidate(0)], "review", ["a", "b"], root=films)
    answered(
        tmp_path / "s",
        lambda who, _: {"decision": "fix", "reasons": "other", "question_text": f"By {who}?"},
    )
    assert runs.study_settled(tmp_path / "s")[Place("secret-0")].values is None


def test_where_all_agree_there_is_nothing_to_audit(films, tmp_path):
    runs.study_of_candidates(tmp_path / "s", [candidate(0)], "usable", ["a", "b"], root=films)
    with pytest.raises(BadInput, match="have not read everything"):
        runs.study_answers(tmp_path / "s")
    answered(tmp_path / "s", lambda who, case: {"usable": "yes"})
    assert runs.study_audit(tmp_path / "audit", tmp_path / "s", ["c"]) is None


def test_each_candidate_goes_to_so_many_reviewers(films, tmp_path):
    made = runs.study_of_candidates(
        tmp_path / "s", map(candidate, range(6)), "usable", ["a", "b", "c"], root=films, each=2
    )
    schedule = open_study(made.folder).schedule
    assert made.sessions == 1
    assert not made.remarks
    assert sorted(turn.reader for turn in schedule) == sorted("abc" * 4)


def test_the_kinds_ask_what_they_say():
    pick = of("pick", candidate(0, options=OPTIONS), pick=2).asks[0]
    assert pick.options == OPTIONS[:1] + OPTIONS[2:]  # all but the answer
    assert (pick.kind, pick.least, pick.most) == ("several", 2, 2)
    assert pick.checked("cyst; granuloma") == "granuloma\ncyst"
    assert pick.chosen("granuloma\ncyst") == ("granuloma", "cyst")
    two = of("same", candidate(0, pictures=("a.png", "b.png")))
    assert len(two.slides) == 2
    assert two.asks[0].kind == "yesno"
    steps = of("steps", candidate(0)).asks
    assert [ask.name for ask in steps] == ["step_1", "step_1_text", "step_2", "step_2_text"]
    own = Ask(name="typical", text="How typical?", kind="scale", options=("1", "2"))
    assert of("review", candidate(0, asks=(own,))).asks == (own,)


def test_candidates_may_stand_in_a_file_that_a_study_names(films, tmp_path):
    lines = [msgspec.json.encode(candidate(number)) for number in range(3)]
    (films / "candidates.jsonl").write_bytes(b"\n".join(lines))
    (tmp_path / "study.toml").write_text(
        'name = "r"\nreaders = ["a"]\n[[task]]\nkind = "review"\ntraining = 1\nrepeat = 0\ncases = 2\n'
        f'table = "{films / "candidates.jsonl"}"\n'
    )
    made = runs.study_new(tmp_path / "study.toml", tmp_path / "s")
    assert made.displays == 3


@pytest.mark.parametrize(
    ("kind", "changed", "says"),
    [
        ("review", {"answer": "lipoma"}, 'secret-0: answer "lipoma" is none of its options'),
        ("review", {"options": ("a", "A")}, "an option is empty or there twice"),
        (
            "pick",
            {"options": ("a", "b")},
            "4 of its options are to be picked, and beside the answer it has",
        ),
        ("same", {}, "two pictures are compared; it has 1"),
        ("steps", {"steps": ()}, "no steps"),
        ("review", {"id": " "}, "has no id"),
        ("review", {"question": "x" * 9_000}, "over 8,000 letters"),
        ("judge", {}, 'kind "judge"; known of candidates are review, same'),
        ("review", {"asks": (Ask(name="a", text="", required=False),)}, "may be left out"),
        ("review", {"asks": (Ask(name="a", text="", where=("b", "c")),)}, "earlier question"),
        ("review", {"asks": (Ask(name="note", text=""),)}, 'called "note"'),
        (
            "review",
            {"asks": (Ask(name="a", text="", kind="ranking", options=("a=", "b")),)},
            "or =",
        ),
    ],
)
def test_a_candidate_that_cannot_be_shown_is_named(kind, changed, says):
    with pytest.raises(BadInput, match=says) as refused:
        of(kind, candidate(0, **changed))
    assert "\n" not in str(refused.value)


def test_a_line_that_is_no_candidate_is_named(tmp_path):
    (tmp_path / "c.jsonl").write_bytes(b'{"id": "a"}\n{"id": "b", "who": 1}\n')
    with pytest.raises(BadInput, match=r"c.jsonl line 2: .*who"):
        list(read_candidates(tmp_path / "c.jsonl"))
