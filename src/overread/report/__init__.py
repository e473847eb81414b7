"""Run folders become something a person looks at."""

from typing import TYPE_CHECKING, Any

__all__ = [
    "DISCLAIMER",
    "Metric",
    "Reported",
    "StudyRead",
    "choose",
    "error_page",
    "matrix_html",
    "report_html",
    "write_board",
    "write_report",
]

if TYPE_CHECKING:
    from overread.report.board import write_board
    from overread.report.browser import choose
    from overread.report.document import DISCLAIMER, error_page, report_html, write_report
    from overread.report.matrix import matrix_html
    from overread.report.reported import Metric, Reported, StudyRead

# What each module has for others.
_MODULES = {
    "board": "write_board",
    "browser": "choose",
    "document": "DISCLAIMER error_page report_html write_report",
    "matrix": "matrix_html",
    "reported": "Metric Reported StudyRead",
}
_HOME = {name: module for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Import on first use, and keep what was found."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    return found
