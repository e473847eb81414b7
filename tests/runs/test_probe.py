"""`overread probe fit` and what the audit makes of the probes: global evidence, and local."""

from __future__ import annotations

import csv
import json
import shutil
import tomllib
from pathlib import Path

import msgspec
import numpy as np
import pytest
from PIL import Image

import overread as ov
from overread.benchmarks.grounding.build.manifest import write_manifest
from overread.benchmarks.grounding.cases import GroundingCase
from overread.imaging import irrelevant_box, rescale_box
from overread.phantoms.chest_body import FILM
from overread.phantoms.chest_film import film
from support.commands import Overread
from support.installed import needs

pytestmark = [
    needs("sklearn", "needs the extra probe: not installed"),
    pytest.mark.usefixtures("no_pages"),
]

FINDING = "consolidation"


def draw(folder: Path, n: int, seed: int) -> None:
    """A set of n films at 224 pixels, two thirds with the finding; most of those have a marker."""
    (folder / "images").mkdir(parents=True)
    cases = []
    for number in range(n):
        rng = np.random.default_rng([seed, number])
        present = number % 3 > 0
        one = film(
            rng,
            view="AP" if rng.random() < (0.65 if present else 0.35) else "PA",
            finding=FINDING if present else None,
            marker=bool((rng.random() < 0.85) == present),
        )
        name = f"images/{number}.png"
        small = Image.fromarray(one.pixels).resize((224, 224), Image.Resampling.BILINEAR)
        small.save(folder / name)
        # Two films of a patient, alike in label.
        case = GroundingCase(
            case_id=f"c{number:03d}",
            source="phantom",
            image_path=name,
            subject_id=f"{seed}-{number // 6 * 3 + number % 3}",
            finding=FINDING,
            label=int(present),
            swap_image_path=f"images/{(number + 3) % n}.png",
            swap_match="label",
        )
        if one.box is not None:
            box = rescale_box(one.box.x, one.box.y, one.box.w, one.box.h, FILM, FILM)
            assert box is not None
            case = msgspec.structs.replace(case, box=box, irrelevant_box=irrelevant_box(box))
        cases.append(case)
    write_manifest(folder / "manifest.csv", cases)
    (folder / "dataset.toml").write_text('name = "films"\npolicy = "open"\n')


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`train` of 66 films and `cases` of 42, other patients."""
    folder = tmp_path_factory.mktemp("probe-sets")
    draw(folder / "train", 66, 1)
    draw(folder / "cases", 42, 2)
    return folder


@pytest.fixture
def fit(overread: Overread, sets: Path, workspace: Path):
    def fit(*words: object, out: str = "probe", train: object = sets / "train"):
        given = ("--train", train, "--cases", sets / "cases", "--encoder", "builtin")
        done = overread("probe", "fit", *given, "--out", workspace / out, *words)
        assert done.code == 0, done.err
        return done

    return fit


def card(folder: Path) -> dict:
    return tomllib.loads((folder / "probe.toml").read_text())


def test_the_whole_film_grounds_little_and_its_parts_do(fit, sets: Path, workspace: Path) -> None:
    """The paper's probe: AUROC well above chance, low CGR, IS near 100; the local head grounds."""
    for part in ("whole", "local"):
        fit("--part", part, "--edition", "authors", out=part)
    run = ov.run(
        "grounding",
        cases=str(sets / "cases"),
        readers=[f"probe:{workspace / part}?label={part}" for part in ("whole", "local")],
        out=workspace / "run",
        settings={"conditions": "original,swap,target_mask,irrelevant_mask"},
    )
    records = json.loads((run.folder / "measures.json").read_bytes())["measures"]
    found = {(row["reader"], row["measure"]): row["value"] for row in records if not row["by"]}
    assert found["whole", "auroc"] > 0.8
    assert found["local", "auroc"] > 0.8
    assert found["whole", "cgr"] < 0.3
    assert found["local", "cgr"] > 0.6
    assert min(found[part, "is"] for part in ("whole", "local")) > 0.9
    assert found["whole", "parse_rate"] == 1.0


def test_patients_of_the_probe_set_are_left_out_and_counted(fit, sets: Path, tmp_path) -> None:
    """By their names; by the bytes of a film, whatever it is called; and all that they own."""
    assert "0 patients of the probe set were left out" in fit(out="clean").err
    both = tmp_path / "both"
    shutil.copytree(sets / "train", both)
    with (both / "manifest.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    rows[0]["subject_id"] = "2-0"  # a patient of the probe set, by name
    shutil.copy(sets / "cases" / "images" / "4.png", both / "images" / "1.png")  # and a film
    with (both / "manifest.csv").open("w", newline="") as file:
        sheet = csv.DictWriter(file, list(rows[0]))
        sheet.writeheader()
        sheet.writerows(rows)
    done = fit(out="both", train=both)
    # The film's patient has two films.
    assert "2 patients of the probe set were left out of the training (3 films)" in done.err
    done = fit("--other-patients", out="named", train=both)
    assert "1 patients (2 films) were left out" in done.err


def test_a_table_with_a_column_for_each_finding(fit, sets: Path, workspace: Path) -> None:
    """The master lists' form: 0, 1, uncertain (2, -1), not mentioned (3, empty)."""
    table = sets / "train" / "wide.csv"
    with (sets / "train" / "manifest.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    said = ("2", "3", "-1.0", "")
    with table.open("w", newline="") as file:
        sheet = csv.writer(file)
        sheet.writerow(("file", "subject_id", "split", "Consolidation", "Edema", "fracture"))
        for n, row in enumerate(rows):
            split = "test" if n < 6 else "train"
            label = said[n % 4] if 6 <= n < 14 else f"{row['label']}.0"
            sheet.writerow((row["image_path"], row["subject_id"], split, label, "0", ""))
        sheet.writerow(("images/gone.png", "x", "train", "1", "0", ""))
    words = ("--column", "image=file", "--where", "split=train")
    done = fit(*words, out="wide", train=table)
    found = card(workspace / "wide")
    assert [(head["finding"], head["films"]) for head in found["head"]] == [("consolidation", 52)]
    assert [(one["finding"], one["reason"]) for one in found["missing"]] == [
        ("edema", "no film shows it")
    ]
    assert "no head for edema: no film shows it (60 films); it is never answered" in done.err
    assert "1 films cannot be read" in done.err
    assert found["films"] == 60


def test_the_same_films_give_the_same_probe(fit, workspace: Path) -> None:
    for out in ("one", "two"):
        fit(out=out)
    one, two = (workspace / out for out in ("one", "two"))
    assert (one / "probe.toml").read_text() == (two / "probe.toml").read_text()
    with np.load(one / "heads.npz") as a, np.load(two / "heads.npz") as b:
        assert all(np.array_equal(a[name], b[name]) for name in a)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--part", "all"), '--part all: there is "whole" and "local"'),
        (("--edition", "x"), "--edition x: there is"),
        (("--px", "7"), "--px 7: it is from 16 to 4096"),
        (("--encoder", "clip"), 'encoder "clip": encoders are builtin'),
        (("--train", "gone.csv"), "there is no such file"),
        (("--column", "picture=x"), "--column picture=…: its columns are image, patient"),
        (("--column", "image=x"), "has no column x"),
        (("--where", "split=train"), "has no column split"),
        (("--where", "view=LL"), "no row is left to fit on"),
        (("--finding", "fracture"), "no finding has films with it and films without it"),
        (("--benchmark", "pairs"), "asks no reader without words"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(
    overread: Overread, sets: Path, workspace: Path, words: tuple[str, str], said: str
) -> None:
    given = {"--train": sets / "train", "--cases": sets / "cases", "--encoder": "builtin"}
    given |= {"--out": workspace / "probe"} | dict([words])
    done = overread("probe", "fit", *(word for pair in given.items() for word in pair))
    assert done.code == 2
    assert said in done.complaint
    assert not (workspace / "probe").exists()


def test_a_label_that_is_none_is_named_by_its_row(overread: Overread, sets: Path, tmp_path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("image,patient,edema\na.png,1,1\nb.png,2,maybe\n")
    done = overread(
        "probe", "fit", "--train", table, "--out", tmp_path / "o", "--encoder", "builtin"
    )
    assert 't.csv row 3: edema is "maybe"; it is 1, 0' in done.complaint
    table.write_text("image,patient,edema\na.png,1,1\na.png,1,0\n")
    done = overread(
        "probe", "fit", "--train", table, "--out", tmp_path / "o", "--encoder", "builtin"
    )
    assert 't.csv row 3: edema is "0"; another row says otherwise' in done.complaint


def test_doctor_says_whether_a_probe_is_there(overread: Overread, fit, workspace: Path) -> None:
    fit()
    done = overread("doctor", "--reader", f"probe:{workspace / 'probe'}")
    assert "is there, to be asked in this process" in done.out
    done = overread("doctor", "--reader", f"probe:{workspace / 'gone'}")
    assert done.code == 1
    assert "holds no probe.toml. Make a probe with overread probe fit" in done.out
