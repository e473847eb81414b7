"""A written vignette set: the release's own layout, reproducible, whole or absent, and true."""

from __future__ import annotations

import io
import json
import tomllib
import zipfile
from collections import Counter

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage

from overread.benchmarks.medcmr.cases import ABILITIES, DIMENSIONS
from overread.benchmarks.medcmr.edition import Options
from overread.benchmarks.medcmr.trials import swaps
from overread.phantoms.smear import Cell, smear
from overread.phantoms.vignette import LEAST, plan_vignettes, write_vignette_set
from overread.phantoms.vignette_pictures import CORNERS, HEAD, MM, REGIONS, SHAPES
from overread.phantoms.vignette_views import CHANGES, PLACES, SHIFTS, VIEWS
from support.medcmr_sets import load, policy_at, root_of

BEATS = VIEWS["ectopic"].facets["beat"]
N = LEAST + 2
MCQ = "dataset/cmed.copy.mcq_cate.cleaned.json"
OPEN = "dataset/cmed.copy.open_taged.cleaned.json"
SHARED = ["index", "question", "image_path", "answer", "visual_description", "task", "subtype"]
SHARED += ["question type", "modality", "organ system"]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return write_vignette_set(tmp_path_factory.mktemp("vignette") / "set", N, seed=3)


@pytest.fixture(scope="module")
def archive(path):
    with zipfile.ZipFile(path) as opened:
        yield opened


@pytest.fixture(scope="module")
def cases(path):
    found, left, _ = load(path, Options())
    assert not left
    return found


# ---------------------------------------------------------------- the archive


def test_the_archive_is_laid_out_as_the_release_is(path, archive):
    assert path.name == "dataset.zip"
    names = archive.namelist()
    assert len(names) == len(set(names))
    images = [name for name in names if name.startswith("dataset/imgs/") and name.endswith(".png")]
    rows = {name: json.loads(archive.read(name)) for name in (MCQ, OPEN)}
    assert {row["image_path"] for some in rows.values() for row in some} == set(images)
    assert sum(map(len, rows.values())) == N
    for row in rows[MCQ]:
        assert set(row) == {*SHARED, *"ABCDE"}
        assert row["answer"] in set("ABCDE")
    for row in rows[OPEN]:
        assert set(row) == set(SHARED)
    for some in rows.values():
        assert sorted(row["index"] for row in some) == list(range(1, len(some) + 1))


def test_it_holds_what_a_loader_must_not_read(archive):
    names = archive.namelist()
    assert f"{MCQ}.bak" in names
    assert "__MACOSX/dataset/._cmed.copy.mcq_cate.cleaned.json" in names
    # Read by mistake, the stale copy would say otherwise.
    assert json.loads(archive.read(f"{MCQ}.bak")) != json.loads(archive.read(MCQ))[:5]


def test_members_are_stored_and_have_no_date(archive):
    for info in archive.infolist():
        assert info.compress_type == zipfile.ZIP_STORED
        assert info.date_time == (1980, 1, 1, 0, 0, 0)


def test_the_same_seed_gives_the_same_bytes_however_many_workers(tmp_path, path):
    one = write_vignette_set(tmp_path / "one", N, seed=3, workers=1)
    assert one.read_bytes() == path.read_bytes()
    assert sorted(found.name for found in one.parent.iterdir()) == ["dataset.toml", "dataset.zip"]


def test_pictures_are_small_and_all_different(archive):
    names = [n for n in archive.namelist() if n.startswith("dataset/imgs/") and n.endswith("png")]
    assert len({archive.read(name) for name in names}) == len(names)
    for name in names:
        with Image.open(io.BytesIO(archive.read(name))) as image:
            assert image.format == "PNG"
            assert image.mode in ("L", "RGB")
            assert max(image.size) <= 256


def test_the_loader_reads_every_item_as_it_was_made(path, archive, cases):
    rows = {f"mcq-{row['index']}": row for row in json.loads(archive.read(MCQ))}
    rows |= {f"open-{row['index']}": row for row in json.loads(archive.read(OPEN))}
    assert {case.case_id for case in cases} == set(rows)
    for case in cases:
        row = rows[case.case_id]
        assert (case.question, case.answer, case.caption, case.images) == (
            row["question"],
            row["answer"],
            row["visual_description"],
            (row["image_path"],),
        )
        assert case.options == tuple(row[x] for x in "ABCDE" if x in row)
        assert (case.modality, case.system) == (row["modality"], row["organ system"])
    assert {case.dimension for case in cases} == set(DIMENSIONS)
    assert {case.ability for case in cases} == set(ABILITIES)
    assert len({case.question for case in cases}) == N
    assert policy_at(path, Options()) == "open"
    assert root_of(path, Options()) == path


def test_every_item_has_another_image_to_swap_with(cases):
    assert set(swaps(cases, 0)) == {case.case_id for case in cases}


# ---------------------------------------------------------------- the folder


def test_the_set_says_what_it_is(path):
    found = tomllib.loads((path.parent / "dataset.toml").read_text())
    assert found == {
        "name": "phantom-vignette",
        "policy": "open",
        "licence": "Apache-2.0",
        "seed": 3,
        "n": N,
        "generator": write_vignette_set.revision,
    }


# ---------------------------------------------------------------- pictures show their facts


def shown(name, seed=0, **facts):
    view = VIEWS[name]
    drawn = {facet: values[0] for facet, values in view.facets.items()} | facts
    return view.draw(np.random.default_rng(seed), drawn).astype(int)


def blobs(mask):
    """The blobs of a mask: how many pixels each has, and its middle as x, y."""
    labels, count = ndimage.label(mask)
    at = range(1, count + 1)
    middles = ndimage.center_of_mass(mask, labels, at)
    sizes = ndimage.sum_labels(mask, labels, at)
    return [(int(s), x, y) for s, (y, x) in zip(sizes, middles, strict=True)]


@pytest.mark.parametrize("count", ["1", "4", "6"])
def test_specks_can_be_counted(count):
    for disease in VIEWS["ct"].facets["disease"][2:]:
        pixels = shown("ct", specks=count, disease=disease)
        # Blood is less bright than bone.
        assert len([b for b in blobs(pixels > 200) if b[0] < 60]) == int(count)


@pytest.mark.parametrize("region", list(REGIONS))
def test_a_lesion_lies_in_its_lobe_and_has_its_diameter(region):
    for across in ("8", "24"):
        pixels = shown("mri", region=region, shape=SHAPES[0], across=across)
        x0, y0 = ((share + 0.5) * HEAD for share in REGIONS[region])
        near = [b for b in blobs(pixels > 155) if np.hypot(b[1] - x0, b[2] - y0) < 3]
        assert len(near) == 1
        assert 2 * np.sqrt(near[0][0] / np.pi) == pytest.approx(int(across) * MM, rel=0.12)
        # The patient's left is on the image's right.
        assert ("left" in region) == (near[0][1] > HEAD / 2)
        assert ("frontal" in region) == (near[0][2] < 0.35 * HEAD)


def test_shapes_differ_as_they_say():
    holes, fill, count = [], [], []
    for shape in SHAPES:
        pixels = shown("mri", region="left frontal lobe", shape=shape, across="24")
        window = pixels[40:88, 142:190] > 155
        holes.append(int(ndimage.binary_fill_holes(window).sum() - window.sum()))
        rows, columns = np.nonzero(window)
        box = (np.ptp(rows) + 1) * (np.ptp(columns) + 1)
        fill.append(window.sum() / box)
        count.append((np.ptp(rows) + 1) / (np.ptp(columns) + 1))
    assert [hole > 20 for hole in holes] == [False, True, False, False, False]
    assert min(fill[0], fill[2]) > fill[3] + 0.15
    assert [tall > 1.6 for tall in count] == [False, False, True, False, True]


@pytest.mark.parametrize("change", list(CHANGES))
def test_the_change_between_two_panels_is_the_one_named(change):
    pixels = shown("followed", change=change, region="left occipital lobe", seed=2)[..., 0]
    sizes = []
    for half in (pixels[:, :124], pixels[:, 132:]):
        lower = half[95:, 62:]
        sizes.append(max(b[0] for b in blobs(lower > 165) if b[2] < 40 and b[1] < 45))
    assert np.sqrt(sizes[1] / sizes[0]) == pytest.approx(CHANGES[change], rel=0.12)


def test_the_course_goes_on_in_equal_steps():
    for step in "123":
        pixels = shown("course", next="10", step=step)[..., 0]
        counts = []
        for half in (pixels[:, :124], pixels[:, 132:]):
            counts.append(len([b for b in blobs(half > 150) if 2 < b[0] < 40]))
        assert 2 * counts[1] - counts[0] == 10
        assert counts[1] - counts[0] == int(step)


def test_only_the_mri_has_the_further_lesion():
    pixels = shown("ct and mri", further="left frontal lobe", turn="3")[..., 0]
    x, y = ((0.5 + share) for share in REGIONS["left frontal lobe"])
    at = (round(y * 150), round((x * 256 - 22) / 212 * 124))
    ct, mri = pixels[:, :124], pixels[:, 132:]
    assert mri[at] > 170
    assert ct[at] < 140


@pytest.mark.parametrize("place", list(PLACES))
def test_the_white_cell_is_in_its_part_of_the_field(place):
    pixels = shown("one white cell", place=place, platelets="2")
    (blob,) = [b for b in blobs(pixels[..., 0] < 130) if b[0] > 100]
    assert (3 * blob[1] / 256, 3 * blob[2] / 256) == pytest.approx(
        [3 * share for share in PLACES[place]], abs=0.45
    )


@pytest.mark.parametrize("count", ["2", "9"])
def test_platelets_can_be_counted(count):
    pixels = shown("one white cell", place="very centre", platelets=count, seed=4)
    red, _, blue = np.moveaxis(pixels, 2, 0)
    violet = (blue > red + 8) & (red < 215)
    assert len([b for b in blobs(violet) if 6 < b[0] < 90]) == int(count)


@pytest.mark.parametrize("corner", list(CORNERS))
def test_the_marker_stands_where_it_is_said_to(corner):
    pixels = shown("swallowed", corner=corner, object="sewing needle")
    edge = pixels.copy()
    edge[40:216, 40:216] = 0  # the needle is in the middle
    middle = np.mean([(b[1], b[2]) for b in blobs(edge > 235)], axis=0)
    x, y = (at / 4 + 10 for at in CORNERS[corner])
    assert middle == pytest.approx((x, y), abs=6)


def test_clips_can_be_counted():
    for count in ("1", "6"):
        pixels = shown("film", finding="cardiomegaly", clips=count)
        assert len(blobs(pixels > 226)) == int(count)


def test_fluid_lies_on_the_side_named():
    for side in ("left", "right"):
        pixels = shown("film", finding=f"{side} pleural effusion", clips="1")
        base = pixels[160:188]
        # The patient's right is on the left of the film.
        brighter = "right" if base[:, 40:88].mean() > base[:, 168:216].mean() else "left"
        assert brighter == side


def ink(strip):
    """The height of the trace in every column, in pixels above its foot."""
    dark = strip.sum(axis=2) < 420
    return np.asarray([128 - np.flatnonzero(c).min() if c.any() else 0 for c in dark.T])


@pytest.mark.parametrize("squares", ["2", "3", "4", "5", "6"])
def test_complexes_stand_so_many_large_squares_apart(squares):
    height = ink(shown("pace", squares=squares, segment="level with the line"))
    peaks = [b[1] for b in blobs((height > 62)[None])]
    assert np.diff(peaks) == pytest.approx(10 * int(squares), abs=1.01)


def test_the_segment_lies_where_it_is_said_to():
    levels = {}
    for segment in SHIFTS:
        height = ink(shown("pace", squares="5", segment=segment))
        peak = next(b[1] for b in blobs((height > 62)[None]) if b[1] < 200)
        levels[segment] = height[round(peak) + 6]
    base = levels["level with the line"]
    for segment, mm in SHIFTS.items():
        assert levels[segment] - base == pytest.approx(2 * mm, abs=1.6)


@pytest.mark.parametrize("beat", BEATS)
def test_one_complex_is_wide(beat):
    height = ink(shown("ectopic", beat=beat))
    widths = [b[0] for b in blobs((height > 56)[None])]
    assert int(np.argmax(widths)) == 1 + BEATS.index(beat)
    assert max(widths) > sorted(widths)[-2]


def test_a_ventricle_that_ejects_more_is_smaller_at_the_end():
    left = []
    for ejected in ("20", "40", "70"):
        pixels = shown("beat", ejected=ejected, seed=5)[..., 0]
        # Black within the upper half of the sector, on the image's right: the left ventricle.
        dark = [(half[25:70, 55:85] < 25).sum() for half in (pixels[:, :124], pixels[:, 132:])]
        left.append(dark[1] / dark[0])
    assert left[0] > left[1] > left[2]


def test_red_frames_stand_in_the_chambers_named():
    pixels = shown("chambers", pair="left ventricle and right atrium", valve="shut")
    red = (pixels[..., 0] > 120) & (pixels[..., 1] < 90)
    atrium, ventricle = sorted(b[1:] for b in blobs(ndimage.binary_dilation(red)) if b[0] > 30)
    assert ventricle[0] - atrium[0] > 30
    assert atrium[1] - ventricle[1] > 30


def test_blood_shows_its_condition():
    for condition in ("lymphocytosis", "monocytosis"):
        pixels = shown("blood", condition=condition, platelets="2")
        assert len([b for b in blobs(pixels[..., 0] < 120) if b[0] > 60]) == 5


def test_a_cell_that_has_its_place_is_left_there():
    cell = Cell("monocyte", 100.0, 300.0, 29.0)
    field = smear(np.random.default_rng(0), placed=[cell], whites=["neutrophil"])
    assert field.cells[0] == cell
    assert [cell.kind for cell in field.cells].count("neutrophil") == 1


def test_panels_are_pairs_of_one_height():
    for name in ("followed", "course", "beat", "film and strip", "blood and film", "ct and mri"):
        pixels = shown(name)
        assert pixels.shape[1] == 256
        assert (pixels[:, 124:132] == 255).all()


def test_captions_in_the_archive_are_those_of_the_plan(archive):
    plan = plan_vignettes(N, 3)
    captions = {f"dataset/imgs/{p.name}.png": VIEWS[p.view].caption(p.facts) for p in plan.pictures}
    for name in (MCQ, OPEN):
        for row in json.loads(archive.read(name)):
            assert row["visual_description"] == captions[row["image_path"]]
    assert Counter(captions.values()).most_common(1)[0][1] <= 3
