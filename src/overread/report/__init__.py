"""Run folders become something a person looks at."""

from overread.report.board import write_board
from overread.report.browser import choose
from overread.report.document import DISCLAIMER, error_page, report_html, write_report
from overread.report.drawings import Drawings
from overread.report.matrix import matrix_html
from overread.report.reported import Metric, Reported, StudyRead

__all__ = [
    "DISCLAIMER",
    "Drawings",
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
