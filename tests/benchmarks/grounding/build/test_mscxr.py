"""MS-CXR's boxes are the same from csv v1.0, csv v1.1 and COCO json; a fault is one line."""

from __future__ import annotations

import csv
import gzip
import json
from typing import Any

import pytest

from overread.benchmarks.grounding.build.films import box_schema
from overread.benchmarks.grounding.build.mimic import read_boxes
from overread.case import BadInput

V10 = (
    *("dicom_id", "category_name", "label_text", "path", "x", "y", "w", "h"),
    *("image_width", "image_height"),
)
V11 = (*V10, "split")
BOXES = [
    ("d1", "Edema", "hazy, both sides", "files/p1/s1/d1.jpg", 10, 20, 300, 400, 2000, 2500, "test"),
    (
        "d1",
        "Edema",
        "hazy, both sides",
        "files/p1/s1/d1.jpg",
        900,
        20,
        310,
        420,
        2000,
        2500,
        "test",
    ),
    ("d2", "Lung Opacity", "", "files/p2/s2/d2.jpg", 0, 0, 99, 98, 1000, 1100, "train"),
]


def row(box: tuple[Any, ...]) -> dict[str, str]:
    return dict(zip(V11, map(str, box), strict=True))


@pytest.fixture
def sheet(tmp_path):
    """Write the boxes as csv, some cells of the second changed, and read them."""

    def read(columns=V10, **changes: str):
        path = tmp_path / "MS_CXR_Local_Alignment.csv"
        rows = [row(box) for box in BOXES]
        rows[1] |= changes
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, columns, extrasaction="ignore")
            writer.writeheader()
            writer.writerows(rows)
        return read_boxes(path)

    return read


def coco() -> dict[str, list[dict[str, Any]]]:
    images, names = {}, sorted({box[1] for box in BOXES})
    for box in BOXES:
        facts = {"file_name": f"{box[0]}.jpg", "path": box[3], "width": box[8], "height": box[9]}
        images.setdefault(box[0], {"id": len(images) + 1, **facts})
    return {
        "images": list(images.values()),
        "categories": [{"id": i, "name": name} for i, name in enumerate(names)],
        "annotations": [
            {
                "id": i,
                "image_id": images[box[0]]["id"],
                "category_id": names.index(box[1]),
                "bbox": list(box[4:8]),
                "label_text": box[2],
            }
            for i, box in enumerate(BOXES)
        ],
    }


@pytest.fixture
def written(tmp_path):
    def read(data: dict[str, Any] | bytes):
        path = tmp_path / "MS_CXR_Local_Alignment.json"
        path.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
        return read_boxes(path)

    return read


def complaint(reading, *args, **kwargs) -> str:
    with pytest.raises(BadInput) as error:
        reading(*args, **kwargs)
    assert "\n" not in str(error.value)
    assert "MS_CXR_Local_Alignment" in str(error.value)
    return str(error.value)


def test_both_csv_versions_and_the_json_hold_the_same_boxes(sheet, written):
    old, new, other = sheet(V10), sheet(V11), written(coco())
    assert old.schema == dict(box_schema())
    assert old.equals(new)
    assert old.equals(other)
    assert old.rows()[0] == (
        *("d1", "Edema", "hazy, both sides", "mimic-cxr-jpg/files/p1/s1/d1.jpg"),
        *(10.0, 20.0, 300.0, 400.0, 2000.0, 2500.0),
    )
    assert old["label_text"].to_list()[2] is None


def test_the_golden_csv_is_read_row_by_row(golden):
    path = golden / "builder" / "mscxr.csv"
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    boxes = read_boxes(path)
    assert boxes["image_path"].to_list() == ["mimic-cxr-jpg/" + row["path"] for row in rows]
    assert boxes["category"].to_list() == [row["category_name"] for row in rows]
    assert boxes["w"].to_list() == [float(row["w"]) for row in rows]


@pytest.mark.parametrize(
    "path", ["files/p1/s1/d1.jpg", "p1/s1/d1.jpg", "mimic-cxr-jpg/files/p1/s1/d1.jpg"]
)
def test_the_leading_folder_may_be_there_or_not(sheet, written, path):
    place = "mimic-cxr-jpg/files/p1/s1/d1.jpg"
    assert sheet(path=path)["image_path"][1] == place
    given = coco()
    given["images"][0]["path"] = path
    assert written(given)["image_path"][1] == place


def test_a_gzipped_csv_is_the_same_csv(golden, tmp_path):
    plain = golden / "builder" / "mscxr.csv"
    packed = tmp_path / "mscxr.csv.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert read_boxes(packed).equals(read_boxes(plain))


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("x", "left", ["row 3", 'x is "left"', "number"]),
        ("w", "-3", ["row 3", 'w is "-3"', "above 0"]),
        ("h", "0", ["row 3", 'h is "0"', "above 0"]),
        ("h", "nan", ["row 3", 'h is "nan"', "number"]),
        ("w", "", ["row 3", "w is", "every row needs one"]),
        ("image_width", "0", ["row 3", 'image_width is "0"', "above 0"]),
        ("dicom_id", "", ["row 3", "dicom_id", "every row needs one"]),
    ],
)
def test_a_bad_cell_of_the_csv_is_one_line_with_its_row(sheet, column, value, words):
    said = complaint(sheet, **{column: value})
    assert all(word in said for word in words), said


def test_a_column_of_the_csv_that_is_missing_or_twice_there_is_named(sheet):
    assert "no column image_height" in complaint(sheet, V10[:-1])
    assert "more than one column path" in complaint(sheet, (*V10, "path"))


@pytest.mark.parametrize(
    ("data", "word"),
    [(b"", "empty"), ("é".encode("utf-16"), "row 1"), (b"a,b\n\xe9,1\n", "row 2")],
)
def test_a_csv_that_is_none_is_refused(tmp_path, data, word):
    path = tmp_path / "MS_CXR_Local_Alignment.csv"
    path.write_bytes(data)
    assert word in complaint(read_boxes, path)


@pytest.mark.parametrize(
    ("where", "field", "value", "words"),
    [
        ("annotations", "image_id", 99, ["annotations[1]", "image_id 99", "no image"]),
        ("annotations", "category_id", 99, ["annotations[1]", "category_id 99", "no category"]),
        ("annotations", "bbox", [1, 2, -3, 4], ["annotations[1]", "bbox", "above 0"]),
        ("annotations", "bbox", [1, 2, 3], ["annotations[1].bbox", "length"]),
        ("annotations", "bbox", ["left", 2, 3, 4], ["annotations[1].bbox[0]", "float"]),
        ("annotations", "label_text", 5, ["annotations[1].label_text"]),
        ("images", "width", 0, ["0 x 1100", "above 0"]),
        ("images", "height", "tall", ["images[1].height", "float"]),
        ("categories", "name", None, ["categories[1].name"]),
    ],
)
def test_a_bad_value_of_the_json_is_one_line_with_its_place(written, where, field, value, words):
    given = coco()
    given[where][1][field] = value
    said = complaint(written, given)
    assert all(word in said for word in words), said


@pytest.mark.parametrize("part", ["images", "annotations", "categories"])
def test_a_part_of_the_json_that_is_missing_is_named(written, part):
    given = coco()
    del given[part]
    assert part in complaint(written, given)


def test_a_json_that_is_none_is_refused(written):
    whole = json.dumps(coco()).encode()
    for data in (b"", whole[: len(whole) // 2], b"\xff" + whole, b"[]"):
        assert "is not COCO json" in complaint(written, data)
    assert "no annotations" in complaint(written, coco() | {"annotations": []})


def test_a_file_that_is_not_there_is_refused(tmp_path):
    for name in ("absent.csv", "absent.json"):
        with pytest.raises(BadInput, match="no such file"):
            read_boxes(tmp_path / name)
