"""What readers get: sampled by seed, dealt into sessions, and without a word of what it shows."""

from __future__ import annotations

import stat
from collections import Counter

import msgspec
import pytest

from overread.case import BadInput
from overread.study import Task, open_key, open_study
from overread.study.design import read_design
from overread.study.packets import TRAINING, links_of, sampled
from support.studies import CONDITIONS, SECRETS, design, made, screens


@pytest.fixture
def study(tmp_path):
    return made(tmp_path / "study")


def test_nothing_that_readers_may_see_says_what_a_display_shows(study):
    seen = (study.folder / "displays.jsonl").read_text()
    seen += (study.folder / "schedule.jsonl").read_text()
    seen += " ".join(path.name for path in (study.folder / "pictures").iterdir())
    for secret in SECRETS:
        assert secret not in seen


def test_every_condition_has_a_picture_of_the_same_size(study):
    sizes = {(p.width, p.height) for d in study.displays.values() for p in d.pictures}
    assert sizes == {(64, 48)}


def test_no_picture_stands_under_the_name_of_another_display(study):
    names = [p.file for d in study.displays.values() for p in d.pictures]
    assert len(names) == len(set(names))


def test_the_key_is_its_owners_alone(study):
    for path in (study.folder / "key", *(study.folder / "key").iterdir()):
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path


def test_a_case_is_in_a_session_once(study):
    key = open_key(study.folder, "test")
    for reader in study.design.readers:
        shown = Counter(
            (turn.session, key[turn.display].case)
            for turn in study.schedule
            if turn.reader == reader and turn.session != TRAINING
        )
        assert set(shown.values()) == {1}


def test_each_reader_sees_every_condition_and_a_share_of_the_cases_again(study):
    key = open_key(study.folder, "test")
    for reader in study.design.readers:
        own = [key[t.display] for t in study.schedule if t.reader == reader]
        real = [one for one in own if not one.training]
        assert Counter(one.condition for one in real if not one.iteration) == dict.fromkeys(
            CONDITIONS, 8
        )
        assert sum(one.iteration for one in real) == 2
        assert sum(one.training for one in own) == 2


def test_practice_is_on_cases_that_are_not_in_the_study(study):
    key = open_key(study.folder, "test").values()
    practised = {one.case for one in key if one.training}
    assert practised
    assert not practised & {one.case for one in key if not one.training}


def test_findings_and_labels_are_balanced():
    dealt = sampled(screens(24), Task(kind="presence", cases=8), 1, seed=0)
    strata = Counter(one.stratum for one in dealt.screens if one.condition == "original")
    assert set(strata.values()) == {2}
    assert len(strata) == 4


def test_the_sample_is_the_seeds(tmp_path):
    def chosen(seed: int, name: str) -> list[tuple[str, str, int]]:
        study = made(tmp_path / name, design(seed=seed))
        key = open_key(study.folder, "test")
        return sorted((k.case, k.condition, k.iteration) for k in key.values())

    assert chosen(3, "a") == chosen(3, "b")
    assert chosen(3, "c") != chosen(4, "d")


def test_names_of_displays_are_never_the_same_twice(tmp_path):
    first, second = (made(tmp_path / name).displays for name in ("a", "b"))
    assert not set(first) & set(second)


def test_a_second_task_comes_in_sessions_after_the_first(tmp_path):
    task = Task(kind="presence", cases=4, repeat=0, training=0)
    study = made(tmp_path / "study", design(task=[task, task]))
    sessions = {1: set(), 2: set()}
    for turn in study.schedule:
        sessions[study.displays[turn.display].task].add(turn.session)
    assert sessions == {1: {1, 2, 3}, 2: {4, 5, 6}}


def test_with_a_cap_everybody_has_the_anchor_and_others_go_round(tmp_path):
    task = Task(kind="presence", cases=12, repeat=0, training=0, anchor=2, each=1)
    study = made(tmp_path / "study", design(task=[task], cap=18))
    key = open_key(study.folder, "test")
    own = {
        reader: {key[t.display].case for t in study.schedule if t.reader == reader}
        for reader in study.design.readers
    }
    assert {len(cases) for cases in own.values()} == {6}
    assert len(own["anna"] & own["ben"]) == 2


def test_whoever_opens_the_key_is_written_down(study):
    open_key(study.folder, "a look")
    (line,) = (study.folder / "key" / "opened.jsonl").read_bytes().splitlines()
    said = msgspec.json.decode(line)
    assert said["for"] == "a look"
    assert said["by"]


def test_everybody_has_a_link_of_his_own(study):
    _, tokens = links_of(study.folder)
    assert set(tokens) == {"anna", "ben", "organiser"}
    assert len(set(tokens.values())) == 3


def test_a_study_is_made_once(study):
    with pytest.raises(BadInput, match="something is there"):
        made(study.folder)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('name = "a b"\nreaders = ["x"]\n[[task]]\nkind = "boxes"', "name"),
        ('name = "a"\nreaders = ["x", "x"]\n[[task]]\nkind = "boxes"', "twice"),
        ('name = "a"\nreaders = ["x"]\ntask = []', "no \\[\\[task"),
        ('name = "a"\nreaders = ["x"]\n[[task]]\nkind = "boxes"', "needs benchmark and cases"),
        ('name = "a"\nreaders = ["x"]\n[[task]]\nkind = "form"', "table and questions"),
        ('name = "a"\nreaders = ["x"]\nwho = 1\n[[task]]\nkind = "boxes"', "who"),
        ('name = "a"\nreaders = ["x"]\nwashout_days = -1\n[[task]]\nkind = "form"', "washout"),
    ],
)
def test_a_study_file_that_says_something_odd_is_refused_in_a_line(tmp_path, text, says):
    path = tmp_path / "study.toml"
    path.write_text(text)
    with pytest.raises(BadInput, match=says) as refused:
        read_design(path)
    assert "\n" not in str(refused.value)


def test_what_is_no_study_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"no study\.toml"):
        open_study(tmp_path)


def test_conditions_that_no_case_has_are_refused(tmp_path):
    task = Task(kind="presence", conditions=["upside_down"])
    with pytest.raises(BadInput, match="no case can be shown under upside_down"):
        made(tmp_path / "study", design(task=[task]))
    assert not (tmp_path / "study").exists()
