"""Results made with the authors' scripts: what is taken over, and what is refused."""

from __future__ import annotations

import json

import pytest

from overread.benchmarks.grounding.importing import import_results
from overread.case import BadInput

HEADER = "case_id,source,model_name,condition,prompt_variant,raw_answer,parsed_answer,confidence\n"


@pytest.fixture
def results(tmp_path, manifest):
    """A manifest of three cases, and a function that writes result files and imports them."""
    path = manifest({}, {}, {})

    class Results:
        folder = tmp_path / "results"

        def write(self, model: str, condition: str, text: str) -> None:
            place = self.folder / model
            place.mkdir(parents=True, exist_ok=True)
            (place / f"{condition}.csv").write_text(text, "utf-8", newline="")

        def rows(self, *rows: str) -> str:
            return HEADER + "".join(f"{row}\n" for row in rows)

        def read(self, readers=None, edition="authors", reparse=False, **settings):
            return import_results(path, self.folder, readers, edition, settings, reparse)

    return Results()


def good(*ids: str) -> list[str]:
    return [f"{case},ms_cxr,m,original,default,Yes,1,0.9" for case in ids]


def complaint(results, **kwargs) -> str:
    with pytest.raises(BadInput) as error:
        results.read(**kwargs)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_recorded_answers_are_kept_as_they_are(results):
    results.write(
        "m", "original", results.rows("c2,,,,,nan,1,0.25", "c0,,,,,,0,", "c1,,,,,Yes,-1,0.5")
    )
    found = results.read(edition="corrected").tables.answers
    assert found["case"].to_list() == ["c2", "c0", "c1"]
    assert found["answer"].to_list() == [1, 0, None]
    assert found["outcome"].to_list() == ["answered", "answered", "unparsed"]
    assert found["text"].to_list() == ["nan", "", "Yes"]
    assert found["p_yes"].to_list() == [0.25, None, 0.5]
    assert found["p_reason"].to_list() == ["recorded", "no_logprobs", "recorded"]
    assert set(found["rung"]) == {"recorded"}
    assert found["recorded"].all()


def test_reparse_reads_the_raw_answers_but_for_readers_without_text(results, tmp_path):
    rows = results.rows("c0,,,,,I don't know,1,0.9", "c1,,,,,Yes,0,0.1")
    for model in ("m", "probe"):
        results.write(model, "original", rows)
    roles = tmp_path / "models.json"
    roles.write_text(json.dumps({"m": {"role": "multimodal"}, "probe": {"role": "vision_only"}}))
    found = results.read(roles, "corrected", reparse=True)
    answers = found.tables.answers
    assert answers["answer"].to_list() == [None, 1, 1, 0]
    assert answers["rung"].to_list() == ["none", "first_token", "recorded", "recorded"]
    assert answers["p_yes"].to_list() == [0.9, 0.1, 0.9, 0.1]
    assert "|parser:2|" in found.benchmark.signature(found.tables)
    kept = results.read(roles, "corrected")
    assert "|parser:recorded|" in kept.benchmark.signature(kept.tables)


def test_reasoning_readers_are_read_as_such(results, tmp_path):
    results.write("m", "original", HEADER + 'c0,,,,,"No\nYes",-1,\n')
    roles = tmp_path / "models.json"
    for reasoning, answer in ((True, 1), (False, 0)):
        model = {"role": "text_only", "reasoning_parser": reasoning}
        roles.write_text(json.dumps({"m": model}))
        found = results.read(roles, reparse=True).tables
        assert found.answers["answer"].to_list() == [answer]
        assert found.readers[0].traits.modality == "text"


def test_files_without_parsed_answers_are_parsed(results):
    results.write("m", "original", "case_id,raw_answer\nc0,Yes\nc1,No\n")
    found = results.read().tables.answers
    assert found["answer"].to_list() == [1, 0]
    assert found["p_yes"].to_list() == [None, None]


def test_without_a_readers_file_all_are_multimodal(results):
    results.write("b", "original", results.rows(*good("c0")))
    results.write("a", "original", results.rows(*good("c0")))
    found = results.read()
    assert [r.name for r in found.tables.readers] == ["a", "b"]
    assert {r.traits.modality for r in found.tables.readers} == {"multimodal"}
    assert found.warnings == []


def test_what_is_passed_over_is_said(results, tmp_path):
    results.write("m", "original", results.rows(*good("c0"), "c1,,,,,Yes,1,1.2"))
    results.write("m", "sideways", results.rows())
    results.write("half", "swap", results.rows(*good("c0")))
    roles = tmp_path / "models.json"
    roles.write_text('{"gone": {"role": "multimodal"}}')
    assert results.read(roles).warnings == [
        "half is left out: it has no original.csv.",
        "m is not in the readers file; taken as multimodal.",
        "m/sideways.csv is left out: no such condition.",
        "gone of the readers file has no results.",
        "m has 1 confidences outside 0 to 1; they are kept as recorded.",
    ]


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("c9,,,,,Yes,1,0.9", 'm/original.csv row 3: case_id "c9" is not in the manifest.'),
        (
            "c0,,,,,Yes,1,0.9",
            'm/original.csv row 3: the case "c0" stands in m/original.csv row 2 already.',
        ),
        ("c1,,,,,Yes,2,0.9", 'm/original.csv row 3: parsed_answer is "2"; it is 1, 0 or -1.'),
        ("c1,,,,,Yes,,0.9", 'm/original.csv row 3: parsed_answer is ""; it is 1, 0 or -1.'),
        ("c1,,,,,Yes,1,high", 'm/original.csv row 3: confidence is "high"; it is a number.'),
        ("c1,,,,,Yes,1,inf", 'm/original.csv row 3: confidence is "inf"; it is a number.'),
        ("c1,,,,,Yes,1", "original.csv row 3: it has 7 cells and the header 8."),
    ],
)
def test_a_bad_row_is_named(results, row, says):
    results.write("m", "original", results.rows(*good("c0"), row))
    assert complaint(results).startswith(says)


def test_a_missing_column_is_named(results):
    results.write("m", "original", "id,raw_answer\nc0,Yes\n")
    assert "has no column case_id" in complaint(results)
    results.write("m", "original", "case_id,answer\nc0,Yes\n")
    assert "m/original.csv has no column parsed_answer or raw_answer" in complaint(results)


def test_a_folder_without_results(results, tmp_path):
    assert "is not a folder" in complaint(results)
    results.folder.mkdir()
    assert "holds no <model>/original.csv" in complaint(results)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "is not an object of models"),
        ("[]", "is not an object of models"),
        ('{"m": "vlm"}', "is not an object of models"),
        ('{"m": {"role": "blind"}}', "the roles are multimodal, text_only, vision_only"),
        ('{"m": {"reasoning_parser": "no"}}', "it is true or false"),
    ],
)
def test_a_bad_readers_file(results, tmp_path, text, says):
    results.write("m", "original", results.rows(*good("c0")))
    roles = tmp_path / "models.json"
    roles.write_text(text, "utf-8")
    assert says in complaint(results, readers=roles)
    assert "there is no such file" in complaint(results, readers=tmp_path / "nowhere.json")


def test_the_golden_study_as_it_comes(study):
    found = study("corrected")
    assert found.tables.cases.height == 300
    assert len(found.tables.readers) == 10
    assert found.tables.answers.columns[0] == "reader"
    missing = found.tables.answers.filter(
        (found.tables.answers["reader"] == "vlm_missing_conditions")
        & (found.tables.answers["image"] == "irrelevant_mask")
    )
    assert missing.is_empty()


# ---------------------------------------------------------------- other phrasings and sizes


def folder_of(results, place, *ids, model="m", answer=1):
    """A results folder of its own with one original.csv."""
    path = place / model
    path.mkdir(parents=True, exist_ok=True)
    rows = (f"{case},ms_cxr,m,original,x,Yes,{answer},0.9" for case in ids)
    (path / "original.csv").write_text(results.rows(*rows), "utf-8")
    return place


def test_the_folder_of_phrasings_is_found_beside_the_models(results):
    results.write("m", "original", results.rows(*good("c0", "c1", "c2")))
    folder_of(results, results.folder / "prompt_sensitivity" / "brief", "c1", answer=0)
    folder_of(results, results.folder / "prompt_sensitivity" / "clinical", "c1", "c2")
    found = results.read(edition="corrected")
    answers = found.tables.answers
    assert [r.name for r in found.tables.readers] == ["m"]
    assert dict(answers.group_by("phrasing").len().iter_rows()) == {
        "default": 3,
        "brief": 1,
        "clinical": 2,
    }
    assert found.settings == {"phrasing": "default,brief,clinical"}
    assert found.benchmark.options.more_phrasings == ("brief", "clinical")
    assert found.warnings == []
    brief = answers.filter(phrasing="brief")
    assert (brief["case"].to_list(), brief["answer"].to_list()) == (["c1"], [0])
    assert set(brief["px"]) == {224}
    # The headline does not see them.
    records = found.benchmark.measure(found.tables)
    (accuracy,) = (r for r in records if r.measure == "accuracy" and not r.by)
    assert (accuracy.k, accuracy.n) == (3, 3)
    (briefly,) = (r for r in records if r.measure == "accuracy" and r.by == {"phrasing": "brief"})
    assert (briefly.k, briefly.n) == (0, 1)


def test_a_phrasing_nobody_knows(results):
    results.write("m", "original", results.rows(*good("c0")))
    folder_of(results, results.folder / "prompt_sensitivity" / "rude", "c0")
    said = complaint(results)
    assert "prompt_sensitivity/rude" in said
    assert "the phrasings are default, brief, clinical" in said


@pytest.fixture
def also(results, tmp_path, manifest):
    """Import with further folders: `also("px=512:{}")`, {} being a folder with c0 and c1."""
    results.write("m", "original", results.rows(*good("c0", "c1", "c2")))
    place = folder_of(results, tmp_path / "further", "c0", "c1", answer=0)

    def read(*words, **settings):
        return import_results(
            tmp_path / "manifest.csv",
            results.folder,
            None,
            "corrected",
            {"boot": "100", **settings},
            also=[word.format(place) for word in words],
        )

    return read


def test_further_results_at_another_size(also):
    found = also("px=512:{}")
    further = found.tables.answers.filter(px=512)
    assert further["case"].to_list() == ["c0", "c1"]
    assert set(further["phrasing"]) == {"default"}
    assert found.settings["px"] == "224,512"
    assert found.benchmark.options.more_px == (512,)
    records = found.benchmark.measure(found.tables)
    (change,) = (r for r in records if r.measure == "diff_accuracy" and "px" in r.by)
    assert (change.value, change.n) == (-1, 2)


def test_further_results_in_another_phrasing(also):
    found = also("phrasing=clinical:{}")
    assert set(found.tables.answers.filter(phrasing="clinical")["px"]) == {224}
    assert found.settings["phrasing"] == "default,clinical"


def test_settings_that_already_name_the_size_are_kept(also):
    assert also("px=512:{}", px="224,1024,512").settings["px"] == "224,1024,512"
    found = also("px=512:{}", px="256")
    assert found.settings["px"] == "256,512"
    assert set(found.tables.answers["px"]) == {256, 512}


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("512:{}", "it is px=SIZE:FOLDER or phrasing=NAME:FOLDER"),
        ("px=512", "it is px=SIZE:FOLDER or phrasing=NAME:FOLDER"),
        ("px=:{}", "it is px=SIZE:FOLDER or phrasing=NAME:FOLDER"),
        ("size=512:{}", "it is px=SIZE:FOLDER or phrasing=NAME:FOLDER"),
        ("px=big:{}", "px is a whole number of pixels"),
        ("px=-5:{}", "px is a whole number of pixels"),
        ("px=4:{}", "px is a whole number from 16 to 8192"),
        ("phrasing=rude:{}", "phrasing is default or brief or clinical"),
        ("px=512:{}/nowhere", "is not a folder. Give that of <model>/original.csv."),
    ],
)
def test_further_results_that_make_no_sense(also, word, says):
    with pytest.raises(BadInput) as error:
        also(word)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_further_results_of_an_unknown_reader_are_left_out_and_said(also, results, tmp_path):
    folder_of(results, tmp_path / "further", "c0", model="stranger")
    found = also("px=512:{}")
    assert found.warnings == [f"{tmp_path}/further/stranger is left out: no such reader."]
    assert set(found.tables.answers["reader"]) == {"m"}


def test_further_results_are_at_another_size_or_in_other_words(also):
    with pytest.raises(
        BadInput, match=r"px=224 and phrasing=default, which are the headline's own"
    ):
        also("px=224:{}")


def test_the_original_asked_again_and_further_conditions_are_read(results):
    results.write("m", "original", results.rows(*good("c0", "c1")))
    results.write("m", "repeat", results.rows("c0,,,,,No,0,0.1"))
    results.write("m", "target_blur", results.rows("c0,,,,,No,0,0.1"))
    found = results.read(edition="corrected")
    rows = found.tables.answers.select("image", "repeat", "answer").rows()
    assert rows == [
        ("original", 0, 1),
        ("original", 0, 1),
        ("target_blur", 0, 0),
        ("original", 1, 0),
    ]
    assert found.warnings == []
