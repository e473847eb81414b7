"""Run folders become something a person looks at."""

from overread.report.page import DISCLAIMER, write_page

__all__ = ["DISCLAIMER", "write_page"]
