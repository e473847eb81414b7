"""A box hidden other than by black: nothing outside it changes, and nothing inside it survives."""

import io
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from scipy import ndimage

from overread.case import BadInput, Box, Inline, Mirror, Occlude, Picture, Resize
from overread.imaging import pixels, render

WAYS = ("mean", "blur", "noise", "inpaint", "mirror")
HEIGHT, WIDTH = 20, 26
boxes = st.builds(
    Box, st.integers(-9, 30), st.integers(-9, 24), st.integers(1, 40), st.integers(1, 40)
)


def inline(array):
    file = io.BytesIO()
    Image.fromarray(array).save(file, "PNG")
    return Inline(file.getvalue())


def film(colour=False, seed=0):
    shape = (HEIGHT, WIDTH, 3) if colour else (HEIGHT, WIDTH)
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def hidden(array, box, how, seed=0):
    operation = Mirror((box,)) if how == "mirror" else Occlude(box, how, seed)
    return pixels(render(Picture(inline(array), (operation,))))


def within(box, height=HEIGHT, width=WIDTH):
    rows, columns = np.mgrid[0:height, 0:width]
    across = (box.x <= columns) & (columns < box.x + box.w)
    return across & (box.y <= rows) & (rows < box.y + box.h)


# ---------------------------------------------------------------- all ways


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(boxes, st.sampled_from(WAYS), st.booleans())
def test_what_lies_outside_the_box_stays_as_it_was(box, how, colour):
    array = film(colour)
    found = hidden(array, box, how)
    assert found.shape == array.shape
    outside = ~within(box)
    np.testing.assert_array_equal(found[outside], array[outside])


@settings(max_examples=60, deadline=None)
@given(boxes, st.sampled_from(("mean", "noise", "inpaint", "mirror")), st.booleans())
def test_nothing_of_what_was_in_the_box_is_left(box, how, colour):
    inside = within(box)
    if inside.all():
        return  # there is no rest to take anything from
    array, other = film(colour), film(colour)
    other[inside] = film(colour, seed=1)[inside]
    np.testing.assert_array_equal(hidden(array, box, how), hidden(other, box, how))


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("colour", [False, True])
def test_an_even_picture_stays_even(how, colour):
    array = np.full((HEIGHT, WIDTH, 3) if colour else (HEIGHT, WIDTH), 93, np.uint8)
    np.testing.assert_array_equal(hidden(array, Box(4, 5, 9, 8), how), array)


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize(
    "box", [Box(-8, 2, 8, 3), Box(WIDTH, 2, 3, 3), Box(2, -5, 3, 5), Box(2, HEIGHT, 3, 9)]
)
def test_a_box_beside_the_picture_hides_nothing(how, box):
    np.testing.assert_array_equal(hidden(film(), box, how), film())


@pytest.mark.parametrize("how", WAYS)
def test_a_box_over_the_whole_picture_is_filled_from_the_picture(how):
    found = hidden(film(), Box(-1, -1, 60, 60), how)
    # Beyond its edges a blurred picture is taken to go on as it ends.
    assert abs(float(found.mean()) - float(film().mean())) < (30 if how == "blur" else 12)


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("box", [Box(1, 1, 0, 3), Box(1, 1, 3, 0), Box(1, 1, -3, 3)])
def test_a_box_without_extent_is_refused(how, box):
    with pytest.raises(BadInput, match="it needs both above 0"):
        hidden(film(), box, how)


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_that_cannot_be_is_refused(seed):
    with pytest.raises(BadInput, match=f"noise of seed {seed}"):
        hidden(film(), Box(1, 1, 3, 3), "noise", seed)


# ---------------------------------------------------------------- each way


@settings(max_examples=40, deadline=None)
@given(boxes, st.booleans())
def test_mean_is_the_rounded_mean_of_the_rest_in_each_channel(box, colour):
    array, inside = film(colour), within(box)
    if not inside.any() or inside.all():
        return
    rest = array[~inside].reshape((~inside).sum(), -1)
    means = [Fraction(int(channel.sum()), len(channel)) for channel in rest.T]
    level = [int(mean + Fraction(1, 2)) for mean in means]
    assert np.unique(
        hidden(array, box, "mean")[inside].reshape(-1, len(level)), axis=0
    ).tolist() == [level]


@pytest.mark.parametrize("size", [(60, 60), (150, 50), (50, 150), (90, 120)])
def test_blur_leaves_about_a_seventh_of_a_contrast_as_large_as_the_box(size):
    array = np.full((224, 224), 60, np.uint8)
    box = Box((224 - size[0]) // 2, (224 - size[1]) // 2, *size)
    array[within(box, 224, 224)] = 200
    found = hidden(array, box, "blur")[within(box, 224, 224)]
    assert found.max() - 60 <= 0.17 * 140
    assert found.max() - found.min() <= 0.10 * 140


def test_noise_has_the_mean_and_spread_of_the_rest_and_follows_its_seed():
    array = np.clip(np.random.default_rng(3).normal(120, 20, (200, 200)), 0, 255).astype(np.uint8)
    box = Box(50, 60, 100, 80)
    inside = within(box, 200, 200)
    found = hidden(array, box, "noise", 5)[inside]
    assert abs(found.mean() - array[~inside].mean()) < 1
    assert abs(found.std() - array[~inside].std()) < 1
    np.testing.assert_array_equal(found, hidden(array, box, "noise", 5)[inside])
    assert (found != hidden(array, box, "noise", 6)[inside]).mean() > 0.9


def test_noise_of_a_grey_picture_in_colour_is_grey():
    grey = film()
    found = hidden(np.stack([grey] * 3, axis=-1), Box(3, 3, 10, 10), "noise")
    assert (found[..., 0] == found[..., 1]).all()
    assert (found[..., 0] == found[..., 2]).all()
    np.testing.assert_array_equal(found[..., 0], hidden(grey, Box(3, 3, 10, 10), "noise"))


def slowly_inpainted(array, box):
    """The rule as it is said: windows as long as the pixel is far, weights one over distance."""
    left, top = max(box.x, 0), max(box.y, 0)
    right, bottom = min(box.x + box.w, WIDTH), min(box.y + box.h, HEIGHT)
    expected = array.astype(float)
    for row in range(top, bottom):
        for column in range(left, right):
            sides = []
            for at, far in ((left - 1, column - left + 1), (right, right - column)):
                if 0 <= at < WIDTH:
                    rows = [r for r in range(row - far // 2, row + far // 2 + 1) if 0 <= r < HEIGHT]
                    sides.append((array[rows, at].mean(), far))
            for at, far in ((top - 1, row - top + 1), (bottom, bottom - row)):
                if 0 <= at < HEIGHT:
                    near = range(column - far // 2, column + far // 2 + 1)
                    columns = [c for c in near if 0 <= c < WIDTH]
                    sides.append((array[at, columns].mean(), far))
            weight = sum(1 / far for _, far in sides)
            expected[row, column] = sum(mean / far for mean, far in sides) / weight
    return expected


@settings(max_examples=30, deadline=None)
@given(boxes)
def test_inpaint_is_the_average_of_the_border_by_distance(box):
    array, inside = film(), within(box)
    if inside[:, 0].any() and inside[:, -1].any() and inside[0].any() and inside[-1].any():
        return  # no side lies within the picture
    found = hidden(array, box, "inpaint")
    assert np.abs(found - slowly_inpainted(array, box)).max() <= 0.51


def test_inpaint_joins_a_slope_without_an_edge_or_a_streak():
    rows, columns = np.mgrid[0:224, 0:224]
    slope = 60 + 0.3 * rows + 0.2 * columns + np.random.default_rng(0).normal(0, 4, (224, 224))
    array = slope.astype(np.uint8)
    found = hidden(array, Box(70, 60, 70, 90), "inpaint").astype(int)
    for axis in (0, 1):
        steps = np.abs(np.diff(found[60:150, 70:140], axis=axis))
        # The film's own grain steps by about 4.5 on average.
        assert steps[10:-10, 10:-10].max() <= 2
        assert steps.mean() < 1.5


def test_a_box_at_the_edge_is_filled_from_the_sides_that_are_there():
    array = np.full((HEIGHT, WIDTH), 40, np.uint8)
    array[:, :10] = 0
    found = hidden(array, Box(0, 0, 10, 8), "inpaint")
    assert 20 < found[4, 9] <= 40
    assert found[7, 0] < 20


def test_occlusions_happen_in_the_order_of_the_recipe():
    source = inline(np.kron(film(), np.ones((4, 4), np.uint8)))
    small = pixels(render(Picture(source, (Resize(26, 20), Occlude(Box(2, 2, 5, 5), "mean")))))
    assert len(np.unique(small[2:7, 2:7])) == 1


# ---------------------------------------------------------------- the other side


def test_the_other_side_is_found_and_put_into_the_box_mirrored():
    """A picture that is its own mirror image, off the middle and askew, but for a blot."""
    grain = np.random.default_rng(3).uniform(0, 2500, (96, 44))
    half = ndimage.gaussian_filter(grain, 6, mode="wrap").clip(0, 2550)
    half = ((half - half.min()) * 200 / np.ptp(half)).astype(np.uint8)
    whole = np.hstack([np.full((96, 6), 40, np.uint8), half, np.roll(half[:, ::-1], 2, axis=0)])
    blot = whole.copy()
    box = Box(12, 30, 24, 30)
    blot[box.y : box.y + box.h, box.x : box.x + box.w] = 255
    np.testing.assert_array_equal(hidden(blot, box, "mirror"), whole)


def test_nothing_is_taken_from_boxes_beside_or_apart():
    array = film(colour=True)
    box, other = Box(2, 4, 6, 8), Box(WIDTH - 8, 4, 6, 8)
    for operation in (Mirror((box, other)), Mirror((box,), (other,))):
        changed = array.copy()
        for one in (box, other):
            inside = within(one)
            changed[inside] = film(colour=True, seed=1)[inside]
        found, same = (
            pixels(render(Picture(inline(each), (operation,)))) for each in (array, changed)
        )
        np.testing.assert_array_equal(found[within(box)], same[within(box)])


def test_a_box_without_sides_cannot_be_mirrored():
    with pytest.raises(BadInput, match="cannot be mirrored"):
        render(Picture(inline(film()), (Mirror((Box(1, 1, 0, 4),)),)))


@pytest.mark.slow
def test_of_an_opacity_in_one_lung_the_other_side_leaves_little_and_a_smooth_surface_most():
    """What docs/measures.md says of the fills, on phantoms whose film without it can be drawn."""
    found = {
        fill: left_of("consolidation", fill) for fill in ("black", "blur", "inpaint", "mirror")
    }
    assert abs(found["mirror"]) < 0.2
    assert found["inpaint"] > 0.7
    assert found["black"] < -1  # darker than the lung ever was
    assert left_of("pneumothorax", "black") > 2  # a black box is more of it
    assert abs(left_of("pneumothorax", "mirror")) < 0.2


def left_of(finding, fill):
    from support.fills import left, pairs

    return float(np.median([left(*pair, fill) for pair in pairs(finding, 4)]))
