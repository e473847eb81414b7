"""Judges: readers that judge what other readers said. Rubrics, verdicts, panels, fitness."""

from overread.judging.verdict import ROLES, VERDICT_COLUMNS, Read, Role, VerdictOutcome

__all__ = ["ROLES", "VERDICT_COLUMNS", "Read", "Role", "VerdictOutcome"]
