"""Readers: whatever can reply to a trial, and the guard on where questions may go."""

from overread.readers.from_python import Model, PythonReader
from overread.readers.guard import Guard, is_private
from overread.readers.registry import Altered, Attesting, Served, models_of, open_reader, unlisted
from overread.readers.secret import Secret
from overread.readers.spec import ReaderSpec, parse_spec
from overread.readers.whole_clips import WholeClips

__all__ = [
    "Altered",
    "Attesting",
    "Guard",
    "Model",
    "PythonReader",
    "ReaderSpec",
    "Secret",
    "Served",
    "WholeClips",
    "is_private",
    "models_of",
    "open_reader",
    "parse_spec",
    "unlisted",
]
