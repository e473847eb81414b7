"""What readers get: sampled by seed, dealt into sessions, and without a word of what it shows."""

from __future__ import annotations

import os
import stat
from collections import Counter

import msgspec
import pytest
from msgspec.structs import replace

from overread.benchmarks.people import Ask, ForPeople, is_whole
from overread.case import BadInput
from overread.study import Rater, Task, make_study, open_key, open_study
from overread.study.design import Question, read_design
from overread.study.packets import TRAINING, links_of, sampled
from support.studies import CONDITIONS, SECRETS, design, film, made, rendered, screens

FORM = 'name = "a"\nreaders = ["x"]\n[[task]]\nkind = "form"\ntable = "t.csv"\nquestions = ['


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


def test_films_readings_and_key_are_their_owners_alone(study):
    for path in (study.folder, *study.folder.rglob("*")):
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


def one_film_in_two_cases(cases: int) -> list[ForPeople]:
    """Every second case asks about the film of the one before."""
    found = screens(cases)
    for at, one in enumerate(found):
        (slide,) = one.slides
        picture = replace(slide.picture, source=film(at // 6))
        found[at] = replace(one, slides=(replace(slide, picture=picture),))
    return found


def sessions_of_films(folder, cases, wanted):
    task = Task(kind="presence", cases=wanted, repeat=0.2, training=0)
    made = make_study(
        folder,
        design(task=[task]),
        [one_film_in_two_cases(cases)],
        "open",
        rendered,
        lambda one: "",
    )
    study, key = open_study(folder), open_key(folder, "test")
    films = {f"case-{at}": at // 2 for at in range(cases)}
    shown = Counter(
        (turn.reader, turn.session, films[key[turn.display].case]) for turn in study.schedule
    )
    return made, set(shown.values())


def test_a_film_of_several_cases_is_in_a_session_once(tmp_path):
    made, times = sessions_of_films(tmp_path / "s", cases=8, wanted=0)
    assert times == {1}
    assert any("cases share films" in remark for remark in made.remarks)


def test_where_there_are_fewer_cases_than_are_asked_for_it_is_said(tmp_path):
    task = Task(kind="presence", cases=80, repeat=0, training=0)
    made = make_study(
        tmp_path / "s", design(task=[task]), [screens(12)], "open", rendered, lambda one: ""
    )
    assert "task 1 asks for 80 cases, and 12 can be shown." in made.remarks


def test_while_there_are_other_films_none_is_drawn_twice(tmp_path):
    made, times = sessions_of_films(tmp_path / "s", cases=24, wanted=8)
    assert (made.sessions, times) == (4, {1})


def test_what_a_paper_drew_stays_in_its_sessions_and_its_order(tmp_path):
    """Nothing is shown once more, nor practised; and a task of ours comes after."""
    drawn = [replace(one, session=1 + at % 3) for at, one in enumerate(reversed(screens()))]
    wanted = design(task=[Task(kind="presence", repeat=0.5), Task(kind="presence", training=0)])
    folder = tmp_path / "study"
    done = make_study(folder, wanted, [drawn, screens(24)], "open", rendered, lambda one: "")
    assert not any("practised" in remark for remark in done.remarks)
    study, key = open_study(folder), open_key(folder, "test")
    for reader in study.design.readers:
        own = [(t, key[t.display]) for t in study.schedule if t.reader == reader]
        for session in (1, 2, 3):
            shown = [(k.case, k.condition) for t, k in own if t.session == session]
            theirs = [(one.case, one.condition) for one in drawn if one.session == session]
            assert shown == theirs
        assert {t.session for t, k in own if k.task == 2} == {4, 5, 6, 7}
        assert not any(k.training or k.iteration for _, k in own if k.task == 1)


def test_no_session_is_of_repeats_alone_and_each_comes_after_the_first_time(tmp_path):
    study = made(tmp_path / "study", design(task=[Task(kind="presence", repeat=0.5)]), cases=24)
    key = open_key(study.folder, "test")
    for reader in study.design.readers:
        own = [t for t in study.schedule if t.reader == reader and t.session != TRAINING]
        when = {
            (k.case, k.condition, k.iteration): t.session for t in own for k in [key[t.display]]
        }
        repeats = [place for place in when if place[2]]
        assert len(repeats) == 12
        assert all(when[(*place[:2], 0)] < when[place] for place in repeats)
        first_times = Counter(session for place, session in when.items() if not place[2])
        assert set(first_times) == {1, 2, 3, 4}
        assert min(first_times.values()) > 6


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


def test_one_task_is_not_practised_on_cases_of_another(tmp_path):
    tasks = [Task(kind="presence", cases=n, repeat=0, training=20) for n in (4, 10)]
    study = made(tmp_path / "study", design(task=tasks))
    key = open_key(study.folder, "test").values()
    practised = {one.case for one in key if one.training}
    assert practised
    assert not practised & {one.case for one in key if not one.training}


def test_a_case_that_is_there_twice_is_refused():
    with pytest.raises(BadInput, match="case-0 is there twice under original"):
        sampled([*screens(2), *screens(1)], Task(kind="presence"), 1, seed=0)


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


def test_sessions_and_their_order_are_the_seeds_too(tmp_path):
    """Names of displays are not, and decide nothing."""

    def order(name):
        study = made(tmp_path / name)
        key = open_key(study.folder, "test")
        shown = [(turn, key[turn.display]) for turn in study.schedule]
        return [(t.reader, t.session, k.case, k.condition, k.iteration) for t, k in shown]

    assert order("a") == order("b")


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


def test_a_cap_that_leaves_no_room_is_refused(tmp_path):
    with pytest.raises(BadInput, match="cap is 2, and no case has so few displays"):
        made(tmp_path / "study", design(cap=2))


def test_cases_that_a_cap_leaves_to_nobody_are_named(tmp_path):
    task = Task(kind="presence", cases=8, repeat=0, training=0, each=1)
    some = make_study(
        tmp_path / "s", design(task=[task], cap=9), [screens(12)], "open", rendered, lambda one: ""
    )
    assert "task 1: 2 of 8 cases go to nobody, for cap is 9." in some.remarks


def test_no_film_of_a_task_is_practised_on(tmp_path):
    """Under another case's name, either."""
    task = Task(kind="presence", cases=4, repeat=0, training=20)
    make_study(
        tmp_path / "s", design(task=[task]), [one_film_in_two_cases(20)], "open", rendered,
        lambda one: "",
    )  # fmt: skip
    key = open_key(tmp_path / "s", "test").values()
    films = [
        {int(k.case[5:]) // 2 for k in key if k.training is training} for training in (False, True)
    ]
    assert films[1]
    assert films[0].isdisjoint(films[1])


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
        ('name = "a"\nreaders = ["X", "x"]\n[[task]]\nkind = "boxes"', "twice"),
        ('name = "a"\nreaders = ["x"]\ncap = -1\n[[task]]\nkind = "boxes"', "cap is -1"),
        ('name = "a"\nreaders = ["x"]\ntask = []', "no \\[\\[task"),
        ('name = "a"\nreaders = ["x"]\n[[task]]\nkind = "boxes"', "needs benchmark and cases"),
        ('name = "a"\nreaders = ["x"]\n[[task]]\nkind = "form"', "table and questions"),
        ('name = "a"\nreaders = ["organiser"]\n[[task]]\nkind = "boxes"', 'called "organiser"'),
        (FORM + '{name = "note", text = ""}]', 'called "note"'),
        (FORM + '{name = "q", text = ""}, {name = "q", text = ""}]', "one name"),
        (FORM + '{name = "q", text = "", required = false}]', "Require one"),
        (FORM + '{name = "q", text = "", kind = "choice", options = ["a", "A "]}]', "twice"),
        (
            FORM + '{name = "q", text = "", kind = "choice", options = ["a", "Cannot tell"]}]',
            "twice",
        ),
        (FORM + '{name = "q", text = "", kind = "ranking", options = ["a", "b > c"]}]', "or ="),
        (FORM + '{name = "q", text = "", kind = "several", options = ["a", "b"], least = 3}]', "3"),
        (FORM + '{name = "q", text = "", where = ["p", "yes"]}]', "earlier question"),
        (
            FORM + '{name = "q", text = ""}, {name = "p", text = "", where = ["q", "or"]}]',
            "earlier",
        ),
        ('name = "a"\nreaders = ["x"]\n[[task]]\nkind = "review"', "needs a table of candidates"),
        ('name = "a"\nreaders = ["x"]\n[[task]]\nkind = "audit"', "needs study ="),
        (
            'name = "a"\nreaders = ["x"]\n[[task]]\nkind = "audit"\nstudy = "b"\n'
            '[[task]]\nkind = "boxes"',
            "audit is a study of its own",
        ),
        (
            'name = "a"\nreaders = ["x"]\n[[reader]]\nname = "y"\n[[task]]\nkind = "form"',
            'reader]] "y"; each of the readers x at most once',
        ),
        (
            'name = "a"\nreaders = ["x"]\n[[reader]]\nname = "x"\nyears = 99\n[[task]]\nkind = "form"',
            "years is 99",
        ),
        ('name = "a"\nreaders = ["cluster"]\n[[task]]\nkind = "boxes"', 'be called "cluster"'),
        ('name = "a"\nreaders = ["x"]\n[[task]]\nkind = "form"\nframes = 1', "2 to 400"),
        (
            'name = "a"\nreaders = ["x"]\nwho = 1\n[[task]]\nkind = "boxes"',
            "`who`; known are name, ",
        ),
        (
            'name = "a"\nreaders = ["x"]\n[[task]]\nkind = "boxes"\nn = 1',
            "`n` .*known are kind, ca",
        ),
        (
            'name = "a"\nreaders = ["x"]\nbenchmark = "b"\ncases = "c"\n[[task]]\n'
            'kind = "errors"\nrun = "r"\nmodels = ["m", "m"]',
            "models; one is there twice",
        ),
        (FORM + '{name = "q", txt = ""}]', "`txt` .*known are name, text, kind"),
        ('name = "a"\nreaders = ["x"]\nwashout_days = -1\n[[task]]\nkind = "form"', "washout"),
    ],
)
def test_a_study_file_that_says_something_odd_is_refused_in_a_line(tmp_path, text, says):
    path = tmp_path / "study.toml"
    path.write_text(text)
    with pytest.raises(BadInput, match=says) as refused:
        read_design(path)
    assert "\n" not in str(refused.value)


def test_a_text_to_be_mended_may_be_left_as_it_is():
    """Who changes nothing has answered: no display waits for it."""
    asked = Question(name="words", text="Mend it", kind="edit", given="As it is.").ask("task 1")
    assert is_whole([Ask(name="answer", text=""), asked], {"answer": "yes", "words": ""})


def test_who_reads_is_kept_with_the_design(tmp_path):
    consultant = Rater(name="anna", years=12, speciality="chest radiology", role="consultant")
    study = made(tmp_path / "s", design(reader=[consultant, Rater(name="ben", note="in training")]))
    assert study.design.reader[0].in_words == "consultant, chest radiology, 12 years"
    assert study.design.reader[1].years is None


def test_what_is_no_study_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"no study\.toml"):
        open_study(tmp_path)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("displays.jsonl", b""),
        ("displays.jsonl", b"{"),
        ("schedule.jsonl", b"[]"),
        ("schedule.jsonl", b'{"reader":"eve","session":1,"place":0,"display":"0"}'),
        ("key/mapping.jsonl", b""),
        ("key/mapping.jsonl", None),
        ("study.toml", b"design = 1"),
    ],
)
def test_a_damaged_study_is_refused_in_a_line(study, name, data):
    (study.folder / name).unlink()
    if data is not None:
        (study.folder / name).write_bytes(data)
    with pytest.raises(BadInput) as refused:
        open_key(study.folder, "test")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("data", [b"", b"[]", b'{"cookies": "zz", "links": {}}'])
def test_damaged_links_are_refused_in_a_line(study, data):
    (study.folder / "key" / "links.json").write_bytes(data)
    with pytest.raises(BadInput, match="damaged"):
        links_of(study.folder)


@pytest.mark.parametrize("name", ["displays.jsonl", "key/mapping.jsonl", "key/opened.jsonl"])
def test_a_pipe_in_a_study_s_folder_is_not_waited_for(study, name):
    (study.folder / name).unlink(missing_ok=True)
    os.mkfifo(study.folder / name)
    with pytest.raises((BadInput, OSError)):
        open_key(study.folder, "test")


def test_conditions_that_no_case_has_are_refused(tmp_path):
    task = Task(kind="presence", conditions=["upside_down"])
    with pytest.raises(BadInput, match="no case can be shown under upside_down"):
        made(tmp_path / "study", design(task=[task]))
    assert not (tmp_path / "study").exists()
