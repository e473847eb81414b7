"""What lies at a path is recognised, refused in one line, and seen by those it may be seen by."""

from __future__ import annotations

import pytest

from overread.benchmarks.medcmr.edition import Options
from overread.benchmarks.medcmr.loading import load, policy_at, root_of
from overread.case import BadInput
from support.medcmr_sets import (
    item,
    mcq,
    write_images,
    write_json,
    write_lines,
    write_parquet,
    write_release,
    write_slake,
)

CARD = 'name = "x"\npolicy = "{}"\n'


def refusal(path):
    with pytest.raises(BadInput) as caught:
        load(path, Options())
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_what_is_expected_is_said(tmp_path):
    for path in (tmp_path, tmp_path / "no", tmp_path / "a.txt"):
        if path.suffix:
            path.write_text("x")
        told = refusal(path)
        assert str(path) in told
        assert all(name in told for name in ("dataset.zip", "SLAKE", "MedXpertQA", "question"))


@pytest.mark.parametrize("zipped", [True, False])
def test_the_policy_stands_beside_the_set(tmp_path, zipped):
    path = write_release(tmp_path, [mcq(1)], [item(1)], zipped=zipped)
    assert policy_at(path, Options()) == "credentialed"
    (tmp_path / "dataset.toml").write_text(CARD.format("open"))
    assert policy_at(path, Options()) == policy_at(tmp_path, Options()) == "open"
    if not zipped:
        assert policy_at(path / "dataset", Options()) == "open"
        (tmp_path / "dataset" / "dataset.toml").write_text(CARD.format("research"))
        assert policy_at(path, Options()) == "research"


def test_images_kept_elsewhere_have_their_own_policy(tmp_path):
    path = write_slake(tmp_path / "set")
    (path / "dataset.toml").write_text(CARD.format("open"))
    (tmp_path / "far").mkdir()
    far = Options(root=str(tmp_path / "far"))
    assert policy_at(path, far) == "credentialed"
    assert root_of(path, far) == tmp_path / "far"
    (tmp_path / "far" / "dataset.toml").write_text(CARD.format("research"))
    assert policy_at(path, far) == "research"


def test_a_card_beside_the_folder_of_parquet(tmp_path):
    write_parquet(tmp_path / "data" / "test-00000-of-00001.parquet", [("Is it?", "yes")])
    (tmp_path / "dataset.toml").write_text(CARD.format("open"))
    assert policy_at(tmp_path, Options()) == "open"


def test_nothing_left_to_ask_is_one_line(tmp_path):
    write_lines(tmp_path / "c.jsonl", [{"question": "Q", "answer": "a", "image": "no.png"}] * 2)
    told = refusal(tmp_path)
    assert "no item can be asked about, 2 are left out; the first is 1: c.jsonl line 1:" in told


def test_a_caption_in_the_question_is_told_whatever_the_set(tmp_path):
    write_images(tmp_path, "a.png")
    row = {"image": "a.png", "caption": "A bright spot.", "answer": "a stone"}
    rows = [
        row | {"question": "What is it?"},
        row | {"question": "Look: a bright  spot. What is it?"},
        row | {"question": "Is it a very small stone?", "answer": "a very small stone"},
    ]
    found = load(write_json(tmp_path / "c.json", rows), Options())
    assert len(found.cases) == 3
    assert found.remarks == (
        "1 question holds its caption word for word: 2.",
        "1 question holds its answer word for word: 3.",
    )
