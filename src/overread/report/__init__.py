"""Run folders become something a person looks at."""

from overread.report.error_page import error_page
from overread.report.page import DISCLAIMER, write_page

__all__ = ["DISCLAIMER", "error_page", "write_page"]
