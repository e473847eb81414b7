"""What a run stands on: everything its record says, and how its readers were asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from overread.records import RunRecord
from overread.report.tables import grid

_ASKED = (
    "reader", "spec", "modality", "clips as", "temperature", "answered", "replies given", "model",
)  # fmt: skip


def provenance(record: RunRecord) -> str:
    """How each reader was asked; then the whole record, folded."""
    entries = list(_entries(msgspec.to_builtins(record), ""))
    left = f"<p>{record.left_out} left out: see left_out.csv.</p>\n" if record.left_out else ""
    return f"""{_readers(record)}{left}<p class="note">Every number stands in measures.json of the \
run, and every answer in answers.parquet.</p>
<details><summary>The whole record (run.toml)</summary>
{grid(("entry", "value"), entries, "the whole record")}
</details>"""


def _readers(record: RunRecord) -> str:
    """How each reader was asked: what it was shown, and how it decoded."""
    rows = []
    for reader in record.readers:
        traits = reader.traits
        heat = "the benchmark's" if traits.temperature is None else str(traits.temperature)
        clips = traits.clips if traits.modality != "text" else "none"
        asked = f"{reader.asked - reader.unanswered} of {reader.asked}"
        when = " to ".join(dict.fromkeys(filter(None, (reader.first_reply, reader.last_reply))))
        model = ", ".join(reader.models) or reader.model or ""
        rows.append((reader.name, reader.spec, traits.modality, clips, heat, asked, when, model))
    if not rows:
        return ""
    count = "1 reader was" if len(rows) == 1 else f"{len(rows)} readers were"
    return f"""<details class="asked"><summary>How {count} asked</summary>
{grid(_ASKED, rows, "how readers were asked")}
<p class="note">Whether pictures and frames really arrive, overread sight tells.</p>
</details>
"""


def _entries(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """Every entry below this one, under the name it has in the file."""
    if isinstance(value, dict) and (value or not name):
        for key, one in value.items():
            yield from _entries(one, f"{name}.{key}" if name else key)
    elif isinstance(value, list | tuple) and any(isinstance(one, dict) for one in value):
        for number, one in enumerate(value, 1):
            yield from _entries(one, f"{name}[{number}]")
    elif isinstance(value, list | tuple):
        yield name, "; ".join(map(str, value)) or "none"
    elif isinstance(value, dict):
        yield name, "none"
    elif value is not None:
        yield name, str(value)
