"""A run judged later, from Python: resumed, measured as it was, and never mixed up."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import overread as ov
from overread.case import BadInput, Prompt, ReaderFailure, Reply
from overread.judging.lexical import judged
from overread.records import read_record
from overread.runs import Unfinished, measure, report
from support.m3_trees import Item, write_m3cot
from support.readers import Scripted

SETTINGS = {"boot": "100", "checks": "1", "modes": "cot"}
ITEMS = 4


def lexical(prompt: Prompt) -> Reply:
    return Reply(judged(prompt.text))


@pytest.fixture
def folder(workspace: Path) -> Path:
    """A run of four items, which nobody judged; one reply of five is missing."""
    items = [
        Item(n, f"Specimen {n}: which organ?", "liver", size=(8, 8)) for n in range(1, ITEMS + 1)
    ]
    write_m3cot(workspace / "set", items)

    def say(prompt: Prompt) -> Reply | ReaderFailure:
        if "Specimen 2" in prompt.text:
            return ReaderFailure("HTTP 400: no", heals=False)
        return Reply(f"1. CT of {prompt.text[:10]}\nFinal answer: liver")

    reader = Scripted(say, name="reader")
    return ov.run("m3cot", "set", [reader], settings=SETTINGS, out=workspace / "run").folder


def test_what_went_unanswered_is_asked_by_the_next_and_nothing_else(folder: Path) -> None:
    def fails(prompt: Prompt) -> Reply | ReaderFailure:
        if "Specimen 3" in prompt.text:
            return ReaderFailure("HTTP 400: no", heals=False)
        return lexical(prompt)

    first = ov.judge(folder, judges=[Scripted(fails, name="judge")])
    assert (first.unanswered, first.unjudged) == (1, 4)
    (entry,) = first.record.judges
    assert (entry.name, entry.roles) == ("judge", ("answer", "steps", "order"))
    healed = Scripted(lexical, name="judge")
    second = ov.judge(folder, judges=[healed])
    assert second.unjudged == 0
    assert sum(healed.asked.values()) == 4
    assert all("Specimen 3" in text for text in healed.asked)
    assert read_record(folder) == second.record
    # Nobody is asked once more, and no file changes.
    before = (folder / "measures.json").read_bytes()
    third = Scripted(lexical, name="judge")
    ov.judge(folder, judges=[third])
    assert not third.asked
    assert (folder / "measures.json").read_bytes() == before


def test_a_judge_that_cannot_be_asked_at_all_leaves_the_run_as_it_was(folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    broken = Scripted(lambda _: ReaderFailure("HTTP 401: no key", heals=False), name="judge")
    with pytest.raises(Unfinished, match="all failed alike: HTTP 401"):
        ov.judge(folder, judges=[broken])
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_set_that_became_credentialed_leaves_nothing_for_others_to_read(
    folder: Path, workspace: Path
) -> None:
    card = workspace / "set" / "dataset.toml"
    card.write_text('policy = "open"\n')
    reader = Scripted(lambda _: Reply("1. CT\nFinal answer: liver"), name="reader")
    made = ov.run("m3cot", "set", [reader], settings=SETTINGS, out=workspace / "open")
    assert made.record.policy == "open"
    assert all(path.stat().st_mode & 0o044 for path in made.folder.iterdir())
    card.write_text('policy = "credentialed"\n')
    ov.judge(made.folder, judges=[Scripted(lexical, name="judge")])
    kept = (made.folder, *made.folder.iterdir())
    assert {path.stat().st_mode & 0o077 for path in kept} == {0}


def test_free_words_of_a_gold_step_are_on_no_page_of_a_set_that_is_not_open(
    workspace: Path,
) -> None:
    """Nor where its card was corrected after the run."""
    told = "portable film of John Doe"
    items = [Item(n, answer="liver", modality=told, size=(8, 8)) for n in (1, 2)]
    card = write_m3cot(workspace / "set", items) / "dataset.toml"
    card.write_text('policy = "open"\n')
    reader = Scripted(lambda _: Reply(f"1. {told}\nFinal answer: liver"), name="reader")
    judge = Scripted(lexical, name="judge")
    made = ov.run("m3cot", "set", [reader], judges=[judge], settings=SETTINGS, out="run")

    def written(csv: str) -> str:
        done = report([made.folder], "page.html", csv=csv, cards=0)
        files = (done.page, *(path for paths in done.files.values() for path in paths))
        return "".join(path.read_text("utf-8") for path in files)

    assert told in written("before")
    card.write_text('policy = "credentialed"\n')
    assert told not in (after := written("after"))
    assert "by examination" in after
    measure(made.folder)
    for name in ("measures.json", "report.html"):
        assert told not in (made.folder / name).read_text("utf-8")
    assert '"modality":"other"' in (made.folder / "measures.json").read_text("utf-8").replace(
        " ", ""
    )


def test_a_run_again_into_the_folder_of_a_judged_one_has_no_verdicts_of_it(folder: Path) -> None:
    ov.judge(folder, judges=[Scripted(lexical, name="judge")])
    assert (folder / "verdicts.parquet").is_file()
    measure(folder)
    assert (folder / "verdicts.parquet").is_file()
    reader = Scripted(lambda _: Reply("1. CT\nFinal answer: liver"), name="reader")
    ov.run("m3cot", "set", [reader], settings=SETTINGS, out=folder)
    assert not (folder / "verdicts.parquet").exists()
    assert measure(folder).record.judges == ()


def test_a_run_keeps_the_edition_it_was_last_measured_under(folder: Path) -> None:
    measure(folder, edition="authors")
    done = ov.judge(folder, judges=[Scripted(lexical, name="judge")])
    assert done.record.edition.startswith("authors")
    assert done.record.answers_edition.startswith("corrected")
    # Kept as the edition of the answers read them; measured as that of the measuring does.
    hows = set(pl.read_parquet(folder / "verdicts.parquet")["how"])
    assert hows == {"strict"}
    again = measure(folder)
    assert again.records == done.records
    assert measure(folder, edition="corrected").record.judges == done.record.judges


def test_another_judge_under_a_name_that_is_there_is_refused(folder: Path) -> None:
    ov.judge(folder, judges=[Scripted(lexical, name="judge")])
    other = Scripted(lexical, name="judge")
    other.identity = "another"
    with pytest.raises(BadInput, match="has that name"):  # also for all of its roles again
        ov.judge(folder, judges=[other])


def test_answers_that_changed_meanwhile_are_not_judged_by_old_verdicts(folder: Path) -> None:
    answers = folder / "answers.parquet"

    def rewrites(prompt: Prompt) -> Reply:
        if "Specimen 4" in prompt.text:
            pl.read_parquet(answers).with_columns(text=pl.lit("Final answer: heart")).write_parquet(
                answers
            )
        return lexical(prompt)

    record = (folder / "run.toml").read_bytes()
    with pytest.raises(BadInput, match="written anew meanwhile"):
        ov.judge(folder, judges=[Scripted(rewrites, name="judge")])
    assert (folder / "run.toml").read_bytes() == record
    assert not (folder / "verdicts.parquet").exists()


def test_what_two_commands_judge_at_once_is_all_there(folder: Path) -> None:
    """The second begins while the first asks, and ends before it."""
    inner = Scripted(lexical, name="inner")
    begun: list[bool] = []

    def say(prompt: Prompt) -> Reply:
        if not begun:
            begun.append(True)
            ov.judge(folder, judges=[inner])
        return lexical(prompt)

    done = ov.judge(folder, judges=[Scripted(say, name="outer")])
    assert [judge.name for judge in done.record.judges] == ["inner", "outer"]
    verdicts = pl.read_parquet(folder / "verdicts.parquet")
    assert dict(verdicts["judge"].value_counts().iter_rows())["inner"] > 0
    assert any(m.measure == "judge_agreement" for m in done.records)
