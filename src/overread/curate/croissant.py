"""Croissant metadata of a set, with its properties of responsible AI, written by hand.

https://docs.mlcommons.org/croissant/docs/croissant-spec.html and croissant-rai-spec.html. The
package that validates it needs pandas and rdflib, so that only the tests use it.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from overread.case import printable
from overread.curate.datasheet import Sheet
from overread.curate.review import Reviewed

_CONFORMS: Final = (
    "http://mlcommons.org/croissant/1.0",
    "http://mlcommons.org/croissant/RAI/1.0",
)
_CONTEXT: Final[Mapping[str, Any]] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
_FORMATS: Final = {"jsonl": "application/jsonlines", "parquet": "application/x-parquet"}
# Texts of every row that a set of either benchmark has, with what they are.
_FIELDS: Final = {
    "case_id": "The name of the item: a digest of its content.",
    "question": "What is asked.",
    "answer": "What is true: the letter of the right option, or the answer itself.",
}


def croissant_of(sheet: Sheet, folder: Path) -> dict[str, Any]:
    """The metadata of what lies in a folder that is about to be published."""
    files: list[dict[str, Any]] = []
    records: list[dict[str, Any]] = []
    for target, count in sheet.counts.items():
        if not count:
            continue
        name = f"{target}/items.{sheet.form}"
        files.append(_file(folder / name, name, _FORMATS[sheet.form]))
        if sheet.form == "jsonl":
            files.append(
                {
                    "@type": "cr:FileSet",
                    "@id": f"{target}-images",
                    "name": f"{target}-images",
                    "description": "The pictures, as they are shown.",
                    "containedIn": {"@id": "repository"},
                    "encodingFormat": "image/png",
                    "includes": f"{target}/images/*.png",
                }
            )
        records.append(_record_set(target, name, sheet))
    if sheet.form == "jsonl":
        files.insert(
            0,
            {
                "@type": "cr:FileObject",
                "@id": "repository",
                "name": "repository",
                "description": "The folder of the set.",
                "contentUrl": sheet.url or ".",
                "encodingFormat": "git+https",
                "sha256": "https://github.com/mlcommons/croissant/issues/80",
            },
        )
    given = {"datePublished": sheet.published, "citeAs": printable(sheet.cite)}
    return {
        "@context": dict(_CONTEXT),
        "@type": "sc:Dataset",
        "conformsTo": list(_CONFORMS),
        "name": sheet.name,
        "alternateName": printable(sheet.title),
        "description": printable(sheet.description) or f"{len(sheet.items)} items about pictures.",
        "license": sheet.licence or "; ".join(sorted(sheet.licences)) or "see README.md",
        "version": sheet.version,
        "creator": [{"@type": "sc:Organization", "name": name} for name in sheet.creators],
        "url": sheet.url or f"urn:overread:{sheet.name}",
        **{name: text for name, text in given.items() if text},
        "isLiveDataset": False,
        "distribution": files,
        "recordSet": records,
        **{f"rai:{name}": text for name, text in _rai(sheet).items()},
    }


def _file(path: Path, name: str, form: str) -> dict[str, Any]:
    found = sha256()
    with path.open("rb") as file:
        while part := file.read(1 << 20):
            found.update(part)
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": name,
        "contentSize": f"{path.stat().st_size} B",
        "encodingFormat": form,
        "sha256": found.hexdigest(),
    }


def _record_set(target: str, name: str, sheet: Sheet) -> dict[str, Any]:
    fields: list[dict[str, Any]] = []
    for field, what in _FIELDS.items():
        extract = {"column": field}
        fields.append(
            {
                "@type": "cr:Field",
                "@id": f"{target}/{field}",
                "name": f"{target}/{field}",
                "description": what,
                "dataType": "sc:Text",
                "source": {"fileObject": {"@id": name}, "extract": extract},
            }
        )
    if sheet.form == "parquet":
        fields.append(
            {
                "@type": "cr:Field",
                "@id": f"{target}/image",
                "name": f"{target}/image",
                "description": "The picture, as it is shown.",
                "dataType": "sc:ImageObject",
                "source": {
                    "fileObject": {"@id": name},
                    "extract": {"column": "image"},
                    "transform": {"jsonPath": "bytes"},
                },
            }
        )
    return {
        "@type": "cr:RecordSet",
        "@id": target,
        "name": target,
        "description": f"{sheet.counts[target]} items as the benchmark {target} takes them.",
        "key": {"@id": f"{target}/case_id"},
        "field": fields,
    }


def _rai(sheet: Sheet) -> dict[str, Any]:
    """The properties of responsible AI that the record of the set can fill in, or its maker did."""
    models = sorted({one.name for how in sheet.made.values() for one in how.models})
    people = sheet.reviewed
    sources = sorted({name for item in sheet.items for name in item.collections})
    found: dict[str, Any] = {
        "dataCollection": f"Pictures with captions or labels of {', '.join(sources) or 'no source'}"
        ", selected by licence, likeness and spread; see README.md.",
        "dataCollectionType": "Secondary Data Analysis",
        "dataPreprocessingProtocol": "Pictures are decoded, and written without metadata.",
        "dataAnnotationProtocol": _protocol(people, sheet),
        "dataAnnotationPlatform": "Overread",
        "annotationsPerItem": str(2 if people.items else 0),
        "machineAnnotationTools": models or ["none"],
        "dataLimitations": _limits(sheet),
        "dataUseCases": "Testing of models. Not for training, and not for care.",
        "personalSensitiveInformation": "Pictures of patients. Metadata of files is removed; what "
        "is burnt into pixels is not.",
    }
    return {**found, **{name: printable(text) for name, text in sheet.rai.items()}}


def _protocol(people: Reviewed, sheet: Sheet) -> str:
    if not people.items:
        return "Items were written by models and by rules, and reviewed by nobody."
    return (
        f"Items were written by models and by rules. {len(people.reviewers)} people reviewed "
        f"{people.items}: keep, fix or drop with reasons, each by two, an auditor where they "
        f"differed ({people.audited}). {sheet.unreviewed} were not reviewed."
    )


def _limits(sheet: Sheet) -> str:
    said = ["Questions and answers follow captions and labels, and are no better than these."]
    if sheet.filters:
        said.append(f"Filtered by {', '.join(sheet.filters)}: harder for these models.")
    if sheet.unreviewed:
        said.append(f"{sheet.unreviewed} items were not reviewed.")
    return " ".join(said)
