"""Run folders become something a person looks at."""

from overread.report.browser import choose
from overread.report.document import DISCLAIMER, error_page, report_html, write_report
from overread.report.drawings import Drawings
from overread.report.reported import Metric, Reported

__all__ = [
    "DISCLAIMER",
    "Drawings",
    "Metric",
    "Reported",
    "choose",
    "error_page",
    "report_html",
    "write_report",
]
