"""Miniature trees of the official datasets: the formats to the letter, the patients made up.

Each `write_*` makes the files a user would download and returns where they are. The same seed
makes the same tree. Images are a few pixels wide, and only drawn where asked for.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image, ImageDraw

CHEXPERT_ORDER = (
    *("No Finding", "Enlarged Cardiomediastinum", "Cardiomegaly", "Lung Opacity", "Lung Lesion"),
    *("Edema", "Consolidation", "Pneumonia", "Atelectasis", "Pneumothorax", "Pleural Effusion"),
    *("Pleural Other", "Fracture", "Support Devices"),
)
MIMIC_ORDER = tuple(sorted(CHEXPERT_ORDER))
MSCXR_CATEGORIES = (
    *("Atelectasis", "Cardiomegaly", "Consolidation", "Edema"),
    *("Lung Opacity", "Pleural Effusion", "Pneumonia", "Pneumothorax"),
)
NIH_FINDINGS = (
    *("Atelectasis", "Cardiomegaly", "Consolidation", "Edema", "Effusion", "Emphysema"),
    *("Fibrosis", "Hernia", "Infiltration", "Mass", "Nodule", "Pleural_Thickening"),
    *("Pneumonia", "Pneumothorax"),
)
NIH_BOXED = (
    *("Atelectasis", "Cardiomegaly", "Effusion", "Infiltrate"),
    *("Mass", "Nodule", "Pneumonia", "Pneumothorax"),
)
REXERR_TYPES = (
    *("Change location", "Change severity", "False prediction", "False negation"),
    *("Change position of device", "Add medical device", "Change name of device", "Change view"),
    *("Add typo", "Change to homophone", "Add repetition"),
)

Rows = Iterable[Sequence[object]]


# ---------------------------------------------------------------- files


def write_csv(path: Path, header: Sequence[str], rows: Rows) -> Path:
    """As pandas writes it: \\n, quotes where needed; gzipped if the name ends in .gz."""
    text = io.StringIO(newline="")
    sheet = csv.writer(text, lineterminator="\n")
    sheet.writerow(header)
    sheet.writerows(rows)
    return write_text(path, text.getvalue())


def write_text(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = text.encode()
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    return path


def read_rows(path: Path) -> list[dict[str, str]]:
    """What a csv file holds, by the csv module alone."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text, newline="")))


def draw_film(seed: object, size: tuple[int, int] = (72, 64)) -> Image.Image:
    """A bright body on black with two dark lungs; every seed gives other pixels."""
    chance = random.Random(str(seed))
    width, height = size
    film = Image.new("L", size)
    pen = ImageDraw.Draw(film)
    pen.ellipse((width * 0.05, height * 0.05, width * 0.95, height * 1.2), fill=170)
    for left in (0.18, 0.56):
        shade = chance.randrange(40, 90)
        pen.ellipse((width * left, height * 0.2, width * (left + 0.26), height * 0.8), fill=shade)
    for _ in range(20):
        film.putpixel((chance.randrange(width), chance.randrange(height)), chance.randrange(256))
    return film


def write_film(path: Path, seed: object, size: tuple[int, int] = (72, 64)) -> Path:
    """A film as JPEG or PNG, by the name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draw_film(seed, size).save(path)
    return path


def write_dicom_film(path: Path, seed: object, facts: Mapping[str, str], side: int = 64) -> Path:
    """A film as DICOM, 8-bit MONOCHROME2, with facts such as PatientSex in its header."""
    from pydicom.dataset import Dataset, FileMetaDataset
    from pydicom.uid import ExplicitVRLittleEndian, SecondaryCaptureImageStorage

    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID = SecondaryCaptureImageStorage
    meta.MediaStorageSOPInstanceUID = f"1.2.826.0.1.{random.Random(str(seed)).randrange(10**9)}"
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    film = Dataset()
    film.file_meta = meta
    film.SOPClassUID, film.SOPInstanceUID = (
        meta.MediaStorageSOPClassUID,
        meta.MediaStorageSOPInstanceUID,
    )
    film.Modality, film.PatientID, film.PatientName = "CR", path.stem, path.stem
    with warnings.catch_warnings(action="ignore"):  # RSNA's ages break the standard
        for name, value in facts.items():
            setattr(film, name, value)
    film.SamplesPerPixel, film.PhotometricInterpretation = 1, "MONOCHROME2"
    film.Rows = film.Columns = side
    film.BitsAllocated = film.BitsStored = 8
    film.HighBit, film.PixelRepresentation = 7, 0
    film.PixelData = draw_film(seed, (side, side)).tobytes()
    path.parent.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings(action="ignore"):
        film.save_as(path, enforce_file_format=True)
    return path


def _hex(chance: random.Random) -> str:
    return "-".join(f"{chance.getrandbits(32):08x}" for _ in range(5))


def _codes(chance: random.Random, labels: Sequence[str]) -> dict[str, str]:
    """A labeler's row: No Finding stands alone; else 1.0, 0.0, -1.0 or empty."""
    if chance.random() < 0.25:
        return dict.fromkeys(labels, "") | {"No Finding": "1.0"}
    row = {name: chance.choices(("1.0", "0.0", "-1.0", ""), (4, 3, 1, 2))[0] for name in labels}
    return row | {"No Finding": ""}


# ---------------------------------------------------------------- MIMIC


class Mimic(NamedTuple):
    """Where a MIMIC tree is, and its films as (dicom, subject, study, view, split)."""

    root: Path
    patients: Path
    films: list[tuple[str, str, str, str, str]]


def write_mimic(
    root: Path,
    *,
    patients: int = 24,
    seed: int = 0,
    version: str = "2.0.0",
    gz: bool = True,
    images: bool = False,
    reports: bool = False,
) -> Mimic:
    """MIMIC-CXR-JPG (metadata, split, chexpert, negbio) below `root`, MIMIC-IV's patients beside.

    Every patient has one to three studies of one to three films. The last patient is not in
    MIMIC-IV, and the last study has no labels, as happens.
    """
    chance = random.Random(seed)
    end = ".csv.gz" if gz else ".csv"
    metadata, split, films, people = [], [], [], []
    labels: dict[str, list[list[str]]] = {"chexpert": [], "negbio": []}
    study = 50_000_000
    for number in range(patients):
        subject = 10_000_032 + 311_117 * number
        part = ("train", "validate", "test", "test")[number % 4]
        anchor = chance.randrange(2110, 2200)
        people.append(
            [subject, "MF"[number % 2], chance.randrange(18, 92), anchor, "2014 - 2016", ""]
        )
        for _ in range(chance.randrange(1, 4)):
            study += chance.randrange(1, 900)
            for labeler in labels.values():
                codes = _codes(chance, MIMIC_ORDER)
                labeler.append([str(subject), str(study), *codes.values()])
            frontal = chance.choice(("PA", "AP"))
            for view in [frontal, "LATERAL", "LL", ""][: chance.randrange(1, 4)]:
                dicom = _hex(chance)
                meaning = {"PA": "postero-anterior", "AP": "antero-posterior"}.get(view, "lateral")
                date = f"{anchor + chance.randrange(0, 4)}{chance.randrange(1, 13):02d}06"
                metadata.append(
                    [dicom, subject, study, "CHEST (PA AND LAT)", view, 3056, 2544, date,
                     "213014.53100000002", "CHEST (PA AND LAT)", meaning, "Erect"]
                )  # fmt: skip
                split.append([dicom, study, subject, part])
                films.append((dicom, str(subject), str(study), view, part))
                place = f"files/p{str(subject)[:2]}/p{subject}/s{study}"
                if images:
                    write_film(root / place / f"{dicom}.jpg", dicom)
                if reports:
                    write_text(root / f"{place}.txt", "FINDINGS:\n Lungs are clear.\n")
    write_csv(
        root / f"mimic-cxr-{version}-metadata{end}",
        ("dicom_id", "subject_id", "study_id", "PerformedProcedureStepDescription", "ViewPosition",
         "Rows", "Columns", "StudyDate", "StudyTime", "ProcedureCodeSequence_CodeMeaning",
         "ViewCodeSequence_CodeMeaning", "PatientOrientationCodeSequence_CodeMeaning"),
        metadata,
    )  # fmt: skip
    header = ("dicom_id", "study_id", "subject_id", "split")
    write_csv(root / f"mimic-cxr-{version}-split{end}", header, split)
    for name, rows in labels.items():
        header = ("subject_id", "study_id", *MIMIC_ORDER)
        write_csv(root / f"mimic-cxr-{version}-{name}{end}", header, rows[:-1])
    hosp = root.parent / "mimic-iv" / "hosp" / f"patients{end}"
    header = ("subject_id", "gender", "anchor_age", "anchor_year", "anchor_year_group", "dod")
    return Mimic(root, write_csv(hosp, header, people[:-1]), films)


class Boxes(NamedTuple):
    """MS-CXR in its two forms."""

    csv: Path
    coco: Path


def write_mscxr(
    root: Path, mimic: Mimic, *, version: str = "1.1.0", each: int = 3, seed: int = 0
) -> Boxes:
    """MS-CXR's local alignments on frontals of a MIMIC tree, `each` phrases per category."""
    chance = random.Random(seed)
    frontals = [film for film in mimic.films if film[3] in ("PA", "AP")]
    rows: list[list[Any]] = []
    coco: dict[str, list[dict[str, Any]]] = {"images": [], "annotations": [], "categories": []}
    for number, category in enumerate(MSCXR_CATEGORIES, start=1):
        coco["categories"].append({"id": number, "name": category})
        for _ in range(each):
            dicom, subject, study, *_ = chance.choice(frontals)
            width, height = chance.choice(((2544, 3056), (3056, 2544), (2022, 2022)))
            path = f"files/p{subject[:2]}/p{subject}/s{study}/{dicom}.jpg"
            text = chance.choice(("right basal opacity", "small effusion, left"))
            image = {"id": len(coco["images"]), "file_name": f"{dicom}.jpg", "path": path}
            coco["images"].append(image | {"width": width, "height": height})
            for _ in range(chance.choice((1, 1, 2))):
                w, h = chance.randrange(300, 1200), chance.randrange(300, 1200)
                x, y = chance.randrange(0, width - w), chance.randrange(0, height - h)
                part = ["train"] if version >= "1.1" else []
                rows.append([dicom, category, text, path, x, y, w, h, width, height, *part])
                coco["annotations"].append(
                    {"id": len(coco["annotations"]), "image_id": image["id"], "category_id": number,
                     "bbox": [x, y, w, h], "label_text": text}
                )  # fmt: skip
    header = ["dicom_id", "category_name", "label_text", "path"]
    header += ["x", "y", "w", "h", "image_width", "image_height"]
    header += ["split"] if version >= "1.1" else []
    stem = f"MS_CXR_Local_Alignment_v{version}"
    return Boxes(
        write_csv(root / f"{stem}.csv", header, rows),
        write_text(root / f"{stem}.json", json.dumps(coco)),
    )


def write_rexerr(root: Path, mimic: Mimic, *, sentences: int = 60, seed: int = 0) -> Path:
    """ReXErr-v1's sentence-level test file on studies of a MIMIC tree."""
    chance = random.Random(seed)
    studies: dict[str, list[tuple[str, ...]]] = {}
    for film in mimic.films:
        studies.setdefault(film[2], []).append(film)
    rows = []
    for number in range(sentences):
        study, films = chance.choice(list(studies.items()))
        present = chance.choices((0.0, 1.0, 2.0), (3, 8, 1))[0]
        kind = chance.choice(REXERR_TYPES) if present == 1.0 else ""
        said = f"There is finding {number}, in the left base." if chance.random() > 0.1 else ""
        dicoms = ",".join(film[0] for film in films)
        changed = f"{said} Changed." if present == 1.0 else said
        rows.append([dicoms, study, films[0][1], said, changed or "Inserted.", present, kind])
    header = ("dicom_id", "study_id", "subject_id", "original_sentence", "error_sentence")
    folder = root / "ReXErr-sentence-level"
    name = "ReXErr-sentence-level_test.csv"
    return write_csv(folder / name, (*header, "error_present", "error_type"), rows)


# ---------------------------------------------------------------- CheXpert


class Chexpert(NamedTuple):
    root: Path
    train: Path
    valid: Path


def write_chexpert(
    root: Path, *, patients: int = 40, seed: int = 0, small: bool = False, images: bool = False
) -> Chexpert:
    """CheXpert v1.0 or -small: train.csv (labeler's codes) and valid.csv (0.0 and 1.0)."""
    chance = random.Random(seed)
    name = "CheXpert-v1.0-small" if small else "CheXpert-v1.0"
    header = ("Path", "Sex", "Age", "Frontal/Lateral", "AP/PA", *CHEXPERT_ORDER)
    rows: dict[str, list[list[str]]] = {"train": [], "valid": []}
    for number in range(1, patients + 1):
        part = "valid" if number % 5 == 0 else "train"
        person = [chance.choice(("Male", "Female")), str(chance.randrange(18, 91))]
        if number == 1:
            person = ["Unknown", "0"]
        for study in range(1, chance.randrange(2, 4)):
            codes = _codes(chance, CHEXPERT_ORDER)
            if part == "valid":
                codes = {label: "1.0" if code == "1.0" else "0.0" for label, code in codes.items()}
            for view, side in enumerate(("frontal", "lateral")[: chance.randrange(1, 3)], start=1):
                path = f"{name}/{part}/patient{number:05d}/study{study}/view{view}_{side}.jpg"
                projection = chance.choice(("AP", "AP", "PA", "")) if side == "frontal" else ""
                rows[part].append([path, *person, side.title(), projection, *codes.values()])
                if images:
                    write_film(root / path, path)
    files = [write_csv(root / name / f"{part}.csv", header, rows[part]) for part in rows]
    return Chexpert(root, *files)


class ChexpertPlus(NamedTuple):
    root: Path
    table: Path


def write_chexpert_plus(root: Path, *, like: Chexpert) -> ChexpertPlus:
    """CheXpert Plus of the films of a CheXpert tree, with reports of several lines."""
    header = (
        *("path_to_image", "path_to_dcm", "frontal_lateral", "ap_pa", "deid_patient_id"),
        *("patient_report_date_order", "age", "sex", "race", "ethnicity", "split", "report"),
        *("section_findings", "section_impression"),
    )
    rows = []
    for film in (*read_rows(like.train), *read_rows(like.valid)):
        path = film["Path"].partition("/")[2]
        part, patient, *_ = path.split("/")
        report = f'NARRATIVE:\nRadiographic examination, "chest".\nIMPRESSION:\n1. {patient}, seen.'
        rows.append(
            [path, path.replace(".jpg", ".dcm"), film["Frontal/Lateral"], film["AP/PA"], patient, 1,
             float(film["Age"]), film["Sex"], "White", "Non-Hispanic/Non-Latino", part, report, "",
             "1. Seen."]
        )  # fmt: skip
    return ChexpertPlus(root, write_csv(root / "df_chexpert_plus_240401.csv", header, rows))


# ---------------------------------------------------------------- NIH and RSNA


def write_nih(
    root: Path,
    *,
    patients: int = 60,
    seed: int = 0,
    first_release: bool = False,
    archives: bool = False,
    images: bool = False,
) -> Path:
    """NIH ChestX-ray14: Data_Entry (2020 or, with ages such as 058Y, 2017) and BBox_List.

    The header of the boxes has nine cells and its rows six, as in the real file.
    """
    chance = random.Random(seed)
    entries, boxes, tests, trains = [], [], [], []
    for patient in range(1, patients + 1):
        age, sex = chance.randrange(18, 90), chance.choice("MF")
        for follow in range(chance.randrange(1, 4)):
            name = f"{patient:08d}_{follow:03d}.png"
            count = chance.choice((0, 0, 1, 1, 2, 3))
            found = sorted(chance.sample(NIH_FINDINGS, count))
            view = chance.choice(("PA", "AP"))
            years = f"{age:03d}Y" if first_release else age
            entries.append(
                [name, "|".join(found) or "No Finding", follow, patient, years, sex, view,
                 2682, 2749, 0.143, 0.143]
            )  # fmt: skip
            (tests if patient % 5 == 0 else trains).append(name)
            for finding in found:
                word = {"Infiltration": "Infiltrate"}.get(finding, finding)
                if word in NIH_BOXED and chance.random() < 0.8:
                    w, h = chance.uniform(60, 500), chance.uniform(60, 500)
                    x, y = chance.uniform(0, 1024 - w), chance.uniform(0, 1024 - h)
                    boxes.append([name, word, *(round(side, 9) for side in (x, y, w, h))])
            if images:
                folder = f"images_{1 + patient % 2:03d}/images" if archives else "images"
                write_film(root / folder / name, name, (64, 64))
    lines = ["Image Index,Finding Labels,Follow-up #,Patient ID,Patient Age,Patient Gender,"
             "View Position,OriginalImage[Width,Height],OriginalImagePixelSpacing[x,y]"]  # fmt: skip
    lines += [",".join(map(str, row)) for row in entries]
    release = "Data_Entry_2017.csv" if first_release else "Data_Entry_2017_v2020.csv"
    write_text(root / release, "\n".join(lines) + "\n")
    lines = ["Image Index,Finding Label,Bbox [x,y,w,h],,,"]
    lines += [",".join(map(str, row)) for row in boxes]
    write_text(root / "BBox_List_2017.csv", "\n".join(lines) + "\n")
    write_text(root / "train_val_list.txt", "\n".join(trains) + "\n")
    write_text(root / "test_list.txt", "\n".join(tests) + "\n")
    return root


class Rsna(NamedTuple):
    """The challenge's folder, RSNA's mapping to NIH, and the same as csv."""

    root: Path
    mapping: Path
    mapping_csv: Path


def write_rsna(root: Path, *, films: int = 60, seed: int = 0, images: bool = False) -> Rsna:
    """RSNA 2018 stage 2: labels, classes, and DICOM films with sex, age and view in their headers."""
    chance = random.Random(seed)
    labels, classes, mapping = [], [], []
    for number in range(films):
        name = f"{chance.getrandbits(32):08x}-14fd-4e49-80ba-{chance.getrandbits(48):012x}"
        kind = ("Normal", "No Lung Opacity / Not Normal", "Lung Opacity")[number % 3]
        count = chance.choice((1, 1, 2, 3)) if kind == "Lung Opacity" else 1
        for _ in range(count):
            box: list[object] = ["", "", "", ""]
            if kind == "Lung Opacity":
                w, h = chance.randrange(180, 420), chance.randrange(180, 600)
                box = [chance.randrange(0, 1024 - w), chance.randrange(0, 1024 - h), w, h]
            labels.append([name, *box, int(kind == "Lung Opacity")])
            classes.append([name, kind])
        nih = f"{1 + number // 2:08d}_{number % 2:03d}.png"
        mapping.append({"subset_img_id": name, "img_id": nih, "orig_labels": ["Infiltration"]})
        if images:
            facts = {
                "PatientSex": chance.choice("MF"),
                # A bare number, although the standard wants 058Y.
                "PatientAge": f"{chance.randrange(18, 90)}",
                "ViewPosition": chance.choice(("PA", "AP")),
            }
            write_dicom_film(root / "stage_2_train_images" / f"{name}.dcm", name, facts)
    header = ("patientId", "x", "y", "width", "height", "Target")
    write_csv(root / "stage_2_train_labels.csv", header, labels)
    write_csv(root / "stage_2_detailed_class_info.csv", ("patientId", "class"), classes)
    pairs = [[row["subset_img_id"], row["img_id"]] for row in mapping]
    return Rsna(
        root,
        write_text(root / "pneumonia-challenge-dataset-mappings_2018.json", json.dumps(mapping)),
        write_csv(root / "rsna_to_nih.csv", ("patientId", "nih_image"), pairs),
    )


# ---------------------------------------------------------------- one's own


def write_folder(
    root: Path, *, films: int = 40, seed: int = 0, size: tuple[int, int] = (72, 64)
) -> Path:
    """A hospital's csv and images: two findings, boxes on some films, patients with several."""
    chance = random.Random(seed)
    rows = []
    for number in range(films):
        image = f"films/{number:04d}.{('png', 'jpg')[number % 2]}"
        write_film(root / image, image, size)
        person = [f"p{number // 2}", chance.choice(("PA", "AP")), chance.choice("MF"), 20 + number]
        for finding in ("pneumothorax", "line tip"):
            label = chance.choice((0, 1))
            box: list[object] = ["", "", "", ""]
            if label and chance.random() < 0.7:
                w, h = chance.randrange(18, 40), chance.randrange(18, 40)
                box = [chance.randrange(0, size[0] - w), chance.randrange(0, size[1] - h), w, h]
            rows.append([image, finding, label, *person, *box])
    header = ("image", "finding", "label", "patient", "view", "sex", "age")
    return write_csv(root / "films.csv", (*header, "box_x", "box_y", "box_w", "box_h"), rows)
