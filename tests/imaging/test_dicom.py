"""DICOM opens as the standard's display pipeline shows it; pydicom's own functions are the judge."""

import io
from pathlib import Path

import numpy as np
import pydicom
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.pixels import apply_color_lut, apply_modality_lut, apply_voi_lut
from pydicom.uid import (
    DeflatedExplicitVRLittleEndian,
    ExplicitVRBigEndian,
    ExplicitVRLittleEndian,
    ImplicitVRLittleEndian,
)

from overread.case import BadInput, Inline, Picture
from overread.imaging import open_image, render

pytestmark = pytest.mark.filterwarnings("error")

SHIPPED = Path(pydicom.__file__).parent / "data" / "test_files"


def made(array, *, syntax=ExplicitVRLittleEndian, bits=None, photometric="MONOCHROME2", **more):
    """A small DICOM file around an array."""
    ds = Dataset()
    ds.SOPClassUID, ds.SOPInstanceUID = "1.2.840.10008.5.1.4.1.1.7", "1.2.3"
    ds.PatientName, ds.PatientID = "Doe^Jane", "MRN-4711"
    ds.Rows, ds.Columns = array.shape[:2]
    ds.SamplesPerPixel = 1 if array.ndim == 2 else array.shape[2]
    ds.PhotometricInterpretation = photometric
    ds.BitsAllocated = array.dtype.itemsize * 8
    ds.BitsStored = bits or ds.BitsAllocated
    ds.HighBit = ds.BitsStored - 1
    ds.PixelRepresentation = int(array.dtype.kind == "i")
    if array.ndim == 3:
        ds.PlanarConfiguration = 0
    for keyword, value in more.items():
        setattr(ds, keyword, value)
    order = ">" if syntax == ExplicitVRBigEndian else "<"
    data = array.astype(array.dtype.newbyteorder(order)).tobytes()
    ds.add_new("PixelData", "OB" if ds.BitsAllocated == 8 else "OW", data + b"\0" * (len(data) % 2))
    ds.file_meta = FileMetaDataset()
    ds.file_meta.TransferSyntaxUID = syntax
    file = io.BytesIO()
    ds.save_as(file, enforce_file_format=True)
    return file.getvalue()


def opened(data):
    return np.asarray(open_image(data, "a.dcm"))


def by_pydicom(data):
    """Modality and VOI step per pixel by pydicom, then linearly from its output range to 0..255."""
    ds = pydicom.dcmread(io.BytesIO(data))
    values = apply_voi_lut(apply_modality_lut(ds.pixel_array, ds), ds).astype(float)
    if "VOILUTSequence" in ds:
        low, high = 0, 2 ** ds.VOILUTSequence[0].LUTDescriptor[2] - 1
    else:
        signed, bits = ds.PixelRepresentation, ds.BitsStored
        low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
        slope, intercept = ds.get("RescaleSlope"), ds.get("RescaleIntercept")
        if slope is not None:
            low, high = (
                low * float(slope) + float(intercept),
                high * float(slope) + float(intercept),
            )
    scaled = (values - low) / (high - low) * 255
    return 255 - scaled if ds.PhotometricInterpretation == "MONOCHROME1" else scaled


def agree(found, exact):
    """Equal after rounding; where pydicom lands on a half, either neighbour will do."""
    assert np.abs(found - exact).max() <= 0.5 + 1e-6


# ---------------------------------------------------------------- the grey pipeline


def stored(signed):
    low, high = (-2048, 2047) if signed else (0, 4095)
    values = np.arange(low, high + 1).reshape(64, 64)
    return values.astype(np.int16 if signed else np.uint16)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("function", [None, "LINEAR", "LINEAR_EXACT", "SIGMOID"])
@pytest.mark.parametrize("photometric", ["MONOCHROME1", "MONOCHROME2"])
@pytest.mark.parametrize("rescale", [None, (1, -1024), (2.5, 3.25)])
def test_window_and_rescale_agree_with_pydicom(signed, function, photometric, rescale):
    more = {"WindowCenter": 300, "WindowWidth": 1500}
    if function:
        more["VOILUTFunction"] = function
    if rescale:
        more["RescaleSlope"], more["RescaleIntercept"] = rescale
    data = made(stored(signed), bits=12, photometric=photometric, **more)
    agree(opened(data), by_pydicom(data))


@settings(max_examples=40, deadline=None)
@given(st.integers(-3000, 5000), st.integers(1, 6000), st.booleans())
def test_any_window_agrees_with_pydicom(center, width, signed):
    data = made(stored(signed), bits=12, WindowCenter=center, WindowWidth=width)
    agree(opened(data), by_pydicom(data))


def lut_item(entries, first, bits):
    item = Dataset()
    item.add_new("LUTDescriptor", "US", [len(entries) % 65536, first, bits])
    item.add_new("LUTData", "US", list(entries))
    return item


@pytest.mark.parametrize("syntax", [ExplicitVRLittleEndian, ImplicitVRLittleEndian])
def test_a_voi_lut_agrees_with_pydicom_and_comes_before_a_window(syntax):
    curve = (np.linspace(0, 1, 1024) ** 2 * 4095).astype(int).tolist()
    sequence = [lut_item(curve, 500, 12)]
    values = stored(False)
    data = made(
        values, bits=12, syntax=syntax, VOILUTSequence=sequence, WindowCenter=9, WindowWidth=9
    )
    expected = np.take(curve, np.clip(values.astype(int) - 500, 0, 1023)) / 4095 * 255
    agree(opened(data), expected)
    if syntax == ExplicitVRLittleEndian:
        agree(opened(data), by_pydicom(data))


def test_a_modality_lut_comes_before_the_window():
    values = stored(False)
    sequence = [lut_item(range(4095, -1, -1), 0, 12)]
    more = {"WindowCenter": 2048, "WindowWidth": 4096}  # LINEAR: exactly 0 to 4095
    data = made(values, bits=12, ModalityLUTSequence=sequence, **more)
    agree(opened(data), (4095 - values.astype(float)) / 4095 * 255)


def test_the_first_of_several_windows_is_used():
    several = made(stored(False), bits=12, WindowCenter=[300, 2000], WindowWidth=[500, 900])
    first = made(stored(False), bits=12, WindowCenter=300, WindowWidth=500)
    second = made(stored(False), bits=12, WindowCenter=2000, WindowWidth=900)
    np.testing.assert_array_equal(opened(several), opened(first))
    assert (opened(several) != opened(second)).any()


def test_without_a_window_the_least_and_the_greatest_pixel_are_black_and_white():
    values = np.array([[-200, 0, 200]], dtype=np.int16)
    assert opened(made(values)).tolist() == [[0, 128, 255]]
    assert opened(made(values, photometric="MONOCHROME1")).tolist() == [[255, 127, 0]]
    assert opened(made(values, RescaleSlope=-1, RescaleIntercept=7)).tolist() == [[255, 128, 0]]


def test_a_window_without_width_counts_as_none():
    values = np.array([[10, 20, 30]], dtype=np.uint16)
    data = made(values, WindowCenter=20, WindowWidth=0)
    assert opened(data).tolist() == [[0, 128, 255]]


@pytest.mark.parametrize("more", [{}, {"PixelPaddingValue": 0}, {"PixelPaddingValue": 77}])
def test_eight_bits_without_a_window_are_shown_as_they_are_in_a_png(more):
    values = np.arange(40, 200, dtype=np.uint8).reshape(10, 16)
    assert np.array_equal(opened(made(values, **more)), values)
    assert np.array_equal(opened(made(values, photometric="MONOCHROME1", **more)), 255 - values)
    assert np.array_equal(opened(made(values, RescaleSlope=2, RescaleIntercept=-9)), values)
    signed = (values.astype(np.int16) - 128).astype(np.int8)
    assert np.array_equal(opened(made(signed)), values)
    assert not np.array_equal(opened(made(values, WindowCenter=99, WindowWidth=50)), values)


def test_fewer_than_eight_bits_are_scaled_from_all_that_they_can_hold():
    assert opened(made(np.array([[1, 5, 15]], np.uint8), bits=4)).tolist() == [[17, 85, 255]]


def test_padding_does_not_set_the_range():
    values = np.array([[-2000, 0, 50, 100]], dtype=np.int16)
    assert opened(made(values, PixelPaddingValue=-2000)).tolist() == [[0, 0, 128, 255]]
    ranged = np.array([[-2000, -1999, 0, 100]], dtype=np.int16)
    data = made(ranged, PixelPaddingValue=-2000, PixelPaddingRangeLimit=-1990)
    assert opened(data).tolist() == [[0, 0, 0, 255]]


def test_an_image_of_one_value_opens():
    assert not opened(made(np.full((4, 4), 77, np.uint16))).any()
    assert not opened(made(np.full((4, 4), 77, np.uint16), PixelPaddingValue=77)).any()


def test_32_bit_pixels_open_without_a_table_of_their_range():
    values = np.array([[0, 2**31, 2**32 - 1]], dtype=np.uint32)
    assert opened(made(values)).tolist() == [[0, 128, 255]]


# ---------------------------------------------------------------- how files are written


@pytest.mark.parametrize(
    "syntax",
    [
        ExplicitVRLittleEndian,
        ImplicitVRLittleEndian,
        DeflatedExplicitVRLittleEndian,
        ExplicitVRBigEndian,
    ],
)
def test_every_uncompressed_syntax_gives_the_same_pixels(syntax):
    more = {"bits": 12, "WindowCenter": 300, "WindowWidth": 1500, "PixelPaddingValue": 3}
    expected = opened(made(stored(True), **more))
    np.testing.assert_array_equal(opened(made(stored(True), syntax=syntax, **more)), expected)


@pytest.mark.parametrize("syntax", [ExplicitVRLittleEndian, ImplicitVRLittleEndian])
def test_a_file_without_preamble_opens_if_it_holds_pixels(syntax):
    whole = made(stored(False), bits=12, syntax=syntax)
    no_mark = whole[132:]
    no_meta = whole[whole.index(b"\x08\0\x16\0") :]
    for data in (no_mark, no_meta):
        np.testing.assert_array_equal(opened(data), opened(whole))


def test_a_file_without_preamble_and_pixels_is_of_unknown_format():
    whole = made(stored(False))
    start = whole.index(b"\x08\0\x16\0")
    for junk in (whole[start : start + 80], b"\x08\0" + b"junk" * 30, b"\x02\0\x10\0"):
        with pytest.raises(BadInput, match=r"a\.dcm: unknown format"):
            open_image(junk, "a.dcm")


def test_a_preamble_that_is_also_a_tiffs_does_not_mislead():
    whole = made(stored(False), bits=12)
    np.testing.assert_array_equal(opened(b"II*\0" + whole[4:]), opened(whole))


def shipped(*patterns):
    return sorted(path.name for pattern in patterns for path in SHIPPED.glob(pattern))


@pytest.mark.parametrize("name", shipped("MR_small_*.dcm"))
def test_every_compression_of_one_mr_slice_shows_the_same_pixels(name):
    expected = opened((SHIPPED / "MR_small.dcm").read_bytes())
    np.testing.assert_array_equal(opened((SHIPPED / name).read_bytes()), expected)


@pytest.mark.parametrize(
    "name", ["693_J2KI.dcm", "J2K_pixelrep_mismatch.dcm", "examples_overlay.dcm"]
)
def test_shipped_grey_files_with_a_window_agree_with_pydicom(name):
    data = (SHIPPED / name).read_bytes()
    agree(opened(data), by_pydicom(data))


@pytest.mark.parametrize(
    "name", [f"dicomdirtests/77654033/{n}" for n in ("CR1/6154", "CR2/6247", "CT2/17106")]
)
def test_shipped_radiographs_and_ct_agree_with_pydicom(name):
    data = (SHIPPED / name).read_bytes()
    agree(opened(data), by_pydicom(data))


@pytest.mark.filterwarnings("default")  # pydicom's own reading of these files warns; ours must not
@pytest.mark.parametrize("name", shipped("SC_rgb_*.dcm", "SC_jpeg*.dcm", "SC_ybr*.dcm"))
def test_shipped_colour_files_agree_with_pydicom(name, recwarn):
    data = (SHIPPED / name).read_bytes()
    if "2frame" in name:
        with pytest.raises(BadInput, match="clip of 2 frames"):
            open_image(data, name)
        return
    found = opened(data)
    assert not recwarn.list
    ds = pydicom.dcmread(io.BytesIO(data))
    exact = ds.pixel_array.astype(float) / (2**ds.BitsStored - 1) * 255
    agree(found, exact)


def test_palette_colour_agrees_with_pydicom():
    data = (SHIPPED / "examples_palette.dcm").read_bytes()
    ds = pydicom.dcmread(io.BytesIO(data))
    exact = apply_color_lut(ds.pixel_array, ds)
    expected = exact >> 8 if exact.dtype == np.uint16 else exact
    assert len(np.unique(expected)) > 10
    np.testing.assert_array_equal(opened(data), expected)


def test_one_bit_masks_are_black_and_white():
    found = opened((SHIPPED / "liver_1frame.dcm").read_bytes())
    expected = pydicom.dcmread(SHIPPED / "liver_1frame.dcm").pixel_array * 255
    np.testing.assert_array_equal(found, expected)


# ---------------------------------------------------------------- refusals


def test_a_clip_is_refused():
    data = (SHIPPED / "examples_ybr_color.dcm").read_bytes()
    with pytest.raises(BadInput, match=r"cine\.dcm: a DICOM clip of 30 frames"):
        open_image(data, "cine.dcm")


@pytest.mark.parametrize("name", ["waveform_ecg.dcm", "test-SR.dcm", "rtplan.dcm"])
def test_a_file_without_pixels_is_refused(name):
    with pytest.raises(BadInput, match="without pixels"):
        open_image((SHIPPED / name).read_bytes(), name)


def test_a_missing_plug_in_is_asked_for(monkeypatch):
    from pydicom.pixels.decoders.base import Decoder

    monkeypatch.setattr(Decoder, "is_available", property(lambda _: False))
    data = (SHIPPED / "MR_small_jp2klossless.dcm").read_bytes()
    with pytest.raises(BadInput, match=r'JPEG 2000.*pip install "overread\[dicom\]"') as refusal:
        open_image(data, "a.dcm")
    assert "\n" not in str(refusal.value)


def test_a_declared_size_beyond_all_bounds_is_refused():
    data = made(stored(False), Rows=65535, Columns=65535)
    with pytest.raises(BadInput, match="65535 x 65535 pixels, more than"):
        open_image(data, "a.dcm")


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", shipped("*.dcm"))
def test_every_shipped_file_opens_or_is_refused_in_one_line_without_a_warning(name, recwarn):
    one_line_or_image((SHIPPED / name).read_bytes(), name)
    assert not recwarn.list


@pytest.mark.parametrize("name", ["MR_small.dcm", "MR_small_RLE.dcm", "693_J2KI.dcm"])
def test_a_file_cut_short_is_refused_or_opens_but_never_ends_in_a_traceback(name):
    whole = (SHIPPED / name).read_bytes()
    for cut in range(1, len(whole), 97):
        one_line_or_image(whole[:cut], name)
    with pytest.raises(BadInput):
        open_image(whole[: len(whole) // 2], name)


def one_line_or_image(data, name):
    refusal = f"{name}: none"
    try:
        assert open_image(data, name).mode in ("L", "RGB")
    except BadInput as error:
        refusal = str(error)
    assert refusal.startswith(f"{name}: ")
    assert "\n" not in refusal


def test_no_name_or_number_of_the_patient_leaves_the_file():
    data = made(stored(False), bits=12)
    assert b"Doe^Jane" in data
    image = open_image(data, "a.dcm")
    assert image.info == {}
    sent = render(Picture(Inline(data))).data
    assert b"Doe" not in sent
    assert b"4711" not in sent
