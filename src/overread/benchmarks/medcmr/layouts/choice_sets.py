"""Published sets of multiple-choice questions: MedFrameQA, MedXpertQA, OmniMedVQA, PMC-VQA."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from overread.benchmarks.left import Left
from overread.benchmarks.medcmr.cases import LETTERS, MedCase, ability_of, system_of
from overread.benchmarks.medcmr.edition import Options
from overread.benchmarks.medcmr.gathering import (
    Loaded,
    Stated,
    below,
    gather,
    same_text,
    unlettered,
)
from overread.benchmarks.medcmr.layouts.set_files import (
    Layout,
    Set,
    choice,
    fields_of,
    images_below,
    loader,
    modality_named,
    names_of,
    one_of,
    records_of,
    sets_in,
    text_of,
)

__all__ = [
    "MEDFRAME",
    "MEDXPERT",
    "OMNIMED",
    "PMC_VQA",
]


# ---------------------------------------------------------------- MedFrameQA
# MedFrameQA: several frames of teaching videos in one question.
#
# JSON lines or a JSON list with question, options (a list of texts), correct_answer (a letter, or
# the text of an option) and image_1 to image_5, files below the set's folder.

_MEDFRAME_FIELDS: Final = ("question", "options", "correct_answer", "image_1")
_MEDFRAME_IMAGES: Final = tuple(f"image_{number}" for number in range(1, 6))


def find_medframe(path: Path) -> Set | None:
    found = sets_in(path, (".json", ".jsonl"), _MEDFRAME_FIELDS)
    if not found:
        return None
    file, remarks = one_of(found, path)
    return Set((file,), file.parent, remarks)


def _medframe_items(file: Path, root: Path) -> Iterator[Stated]:
    items = list(records_of(file, _MEDFRAME_FIELDS))
    frames = [
        [text for text in (text_of(record, name).strip() for name in _MEDFRAME_IMAGES) if text]
        for _, record in items
    ]
    folder = images_below(root, [name for names in frames for name in names], ("", "images"))
    named = names_of([record for _, record in items], "question_id")
    for index, (where, record) in enumerate(items, start=1):
        given, case_id = record.get("options"), named[index - 1]
        if not isinstance(given, list) or not all(isinstance(text, str) for text in given):
            yield where, Left(case_id, f"{where}: options are a list of texts")
            continue
        yield (
            where,
            choice(
                where,
                case_id,
                index,
                text_of(record, "question"),
                text_of(record, "correct_answer"),
                given,
                images=tuple(below(folder, name) for name in frames[index - 1]),
                modality=modality_named(text_of(record, "modality")),
            ),
        )


MEDFRAME: Final = Layout("MedFrameQA", _MEDFRAME_FIELDS, find_medframe, loader(_medframe_items))


# ---------------------------------------------------------------- MedXpertQA
# MedXpertQA, the multimodal part: expert examinations with several images and five options.
#
# JSON lines or parquet (`MM/test.jsonl`: id, question, options by letter, label, images,
# medical_task, body_system, question_type) and a folder `images/`. The question repeats the options
# at its end (`Answer Choices: (A) ...`); that part is cut off where it holds every option, so that
# options stand where the protocol puts them, and a question asked openly does not give them away.
#
# `medical_task` is the ability (Diagnosis is DX), `body_system` the system, `question_type`
# (Reasoning, Understanding) the subtype.

_MEDXPERT_FIELDS: Final = ("question", "options", "label", "images")
_MEDXPERT_FOLDERS: Final = ("images", "")


def find_medxpert(path: Path) -> Set | None:
    found = sets_in(path, (".jsonl", ".parquet", ".json"), _MEDXPERT_FIELDS)
    if not found:
        return None
    file, remarks = one_of(found, path)
    # Images stand beside the folder MM.
    home = file.absolute().parent
    beside = (home / "images").is_dir() or not (home.parent / "images").is_dir()
    return Set((file,), home if beside else home.parent, remarks)


def _medxpert_items(file: Path, root: Path) -> Iterator[Stated]:
    items = list(records_of(file, _MEDXPERT_FIELDS))
    images = [_medxpert_images(record) for _, record in items]
    folder = images_below(root, [name for names in images for name in names], _MEDXPERT_FOLDERS)
    named = names_of([record for _, record in items], "id")
    for index, (where, record) in enumerate(items, start=1):
        yield (
            where,
            _medxpert_case(where, named[index - 1], index, record, folder, images[index - 1]),
        )


def _medxpert_images(record: Mapping[str, Any]) -> tuple[str, ...]:
    given = record.get("images")
    names = given if isinstance(given, list) else [given]
    return tuple(name.strip() for name in names if isinstance(name, str) and name.strip())


def _medxpert_case(
    where: str,
    case_id: str,
    index: int,
    record: Mapping[str, Any],
    folder: str,
    images: Sequence[str],
) -> MedCase | Left:
    options = _medxpert_options(record.get("options"))
    if options is None:
        return Left(case_id, f"{where}: options are texts by their letters, from A without a gap")
    task, system = text_of(record, "medical_task").strip(), text_of(record, "body_system").strip()
    return choice(
        where,
        case_id,
        index,
        _without_choices(text_of(record, "question"), options),
        text_of(record, "label"),
        options,
        texts=False,
        images=tuple(below(folder, name) for name in images),
        ability=ability_of(task) or task or None,
        system=system_of(system) or system or None,
        subtype=text_of(record, "question_type").strip() or None,
    )


def _medxpert_options(given: Any) -> list[str] | None:
    """The texts in the order of their letters; None of anything else."""
    if not isinstance(given, dict):
        return None
    # Of a parquet file, letters that an item has not are there and empty.
    kept = {str(letter).strip(): text for letter, text in given.items() if text is not None}
    letters = sorted(kept)
    if "".join(letters) != LETTERS[: len(letters)] or not letters:
        return None
    texts = [kept[letter] for letter in letters]
    plain = all(isinstance(text, str | int | float) for text in texts)
    return [str(text) for text in texts] if plain else None


def _without_choices(question: str, options: Sequence[str]) -> str:
    """The question without the list of options at its end."""
    marks = list(re.finditer(r"\s*\bAnswer Choices\s*:", question, re.IGNORECASE))
    if not marks:
        return question
    tail = same_text(question[marks[-1].end() :])
    whole = all(same_text(text) in tail for text in options)
    return question[: marks[-1].start()] if whole else question


MEDXPERT: Final = Layout("MedXpertQA", _MEDXPERT_FIELDS, find_medxpert, loader(_medxpert_items))


# ---------------------------------------------------------------- OmniMedVQA
# OmniMedVQA: many classification sets as questions of two to four options.
#
# `QA_information/Open-access/*.json`, one list for each source (question_id, image_path, question,
# gt_answer, option_A to option_D, question_type, modality_type), and `Images/` two folders above.
# `gt_answer` is the text of the right option; an item with two options of the same text, or whose
# answer is none of them, is left out.
#
# `modality_type` is the modality (one source writes `modality`), `question_type` the subtype.

_OMNIMED_FIELDS: Final = ("image_path", "question", "gt_answer", "option_A", "option_B")
_OMNIMED_OPTIONS: Final = ("option_A", "option_B", "option_C", "option_D")
_OMNIMED_TABLES: Final = ("QA_information", "Open-access")


def find_omnimed(path: Path) -> Set | None:
    """A list, the folder of lists, or a folder above them."""
    if path.is_file():
        return _found_omnimed((path,) if path.suffix.lower() == ".json" else ())
    for home in (path.joinpath(*_OMNIMED_TABLES), path / _OMNIMED_TABLES[1], path):
        if home.is_dir():
            files = tuple(sorted(home.glob("*.json")))
            found = _found_omnimed(tuple(file for file in files if not file.name.startswith(".")))
            if found is not None:
                return found
    return None


def _found_omnimed(files: Sequence[Path]) -> Set | None:
    kept = tuple(file for file in files if fields_of(file).issuperset(_OMNIMED_FIELDS))
    if not kept:
        return None
    home = kept[0].absolute().parent
    for name in reversed(_OMNIMED_TABLES):
        home = home.parent if home.name == name else home
    passed = [file.name for file in files if file not in kept]
    told = f"{len(passed)} files have no such items: {', '.join(passed[:3])}."
    return Set(kept, home, (told,) if passed else ())


def load_omnimed(found: Set, root: Path, options: Options, seen: bool) -> Loaded:
    return gather(_omnimed_items(found.files), root, seen=seen, remarks=found.remarks)


def _omnimed_items(files: Sequence[Path]) -> Iterator[Stated]:
    items = [item for file in files for item in records_of(file, _OMNIMED_FIELDS)]
    named = names_of([record for _, record in items], "question_id")
    for index, (where, record) in enumerate(items, start=1):
        given = [text_of(record, name).strip() for name in _OMNIMED_OPTIONS]
        while given and not given[-1]:
            given.pop()
        answer, case_id = text_of(record, "gt_answer"), named[index - 1]
        kept = unlettered(given)
        same = [same_text(text) for text in kept]
        if len(set(same)) < len(same):
            yield where, Left(case_id, f"{where}: two of its options are the same text")
            continue
        # With its letter or without, as the options are written.
        wanted = same_text(answer)
        texts = [same_text(text) for text in given]
        place = next((told.index(wanted) for told in (texts, same) if wanted in told), None)
        if place is None:
            shown = " ".join(answer.split())[:60]
            yield where, Left(case_id, f'{where}: gt_answer is "{shown}", none of its options')
            continue
        image = text_of(record, "image_path").strip()
        modality = text_of(record, "modality_type") or text_of(record, "modality")
        yield (
            where,
            MedCase(
                case_id=case_id,
                index=index,
                kind="mcq",
                question=text_of(record, "question"),
                # By its text alone: an option may be called "A".
                answer=LETTERS[place],
                options=kept,
                images=(image,) if image else (),
                modality=modality_named(modality),
                subtype=text_of(record, "question_type").strip() or None,
            ),
        )


OMNIMED: Final = Layout("OmniMedVQA", _OMNIMED_FIELDS, find_omnimed, load_omnimed)


# ---------------------------------------------------------------- PMC-VQA
# PMC-VQA: figures of open papers with four choices.
#
# A csv with Figure_path, Question, `Choice A` to `Choice D` and Answer, with images in `figures/`
# (or `images/`). The second edition (`test_2.csv`) has Caption, and a letter as Answer; the first
# has the text of the right choice there and its letter in Answer_label. Choices may be written with
# their letters (` A: the liver`), which are taken off. The caption is the figure's legend, of all
# of its panels: judges see it, readers never.

_PMC_VQA_OPTIONS: Final = ("Choice A", "Choice B", "Choice C", "Choice D")
_PMC_VQA_FIELDS: Final = ("Figure_path", "Question", *_PMC_VQA_OPTIONS, "Answer")
_PMC_VQA_FOLDERS: Final = ("figures", "images", "images_2", "")


def find_pmc_vqa(path: Path) -> Set | None:
    found = sets_in(path, (".csv",), _PMC_VQA_FIELDS)
    if not found:
        return None
    file, remarks = one_of(found, path)
    return Set((file,), file.parent, remarks)


def _pmc_vqa_items(file: Path, root: Path) -> Iterator[Stated]:
    items = list(records_of(file, _PMC_VQA_FIELDS))
    images = [text_of(record, "Figure_path").strip() for _, record in items]
    folder = images_below(root, images, _PMC_VQA_FOLDERS)
    for index, (where, record) in enumerate(items, start=1):
        image = images[index - 1]
        options = [text_of(record, name) for name in _PMC_VQA_OPTIONS]
        label, answer = text_of(record, "Answer_label").strip(), text_of(record, "Answer")
        caption = text_of(record, "Caption").strip()
        yield (
            where,
            choice(
                where,
                str(index),
                index,
                text_of(record, "Question").strip(),
                label or answer,
                options,
                images=(below(folder, image),) if image else (),
                caption=caption or None,
            ),
        )


PMC_VQA: Final = Layout("PMC-VQA", _PMC_VQA_FIELDS, find_pmc_vqa, loader(_pmc_vqa_items))
