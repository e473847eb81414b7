"""The gate a deployment passes: rules on measures, judged on intervals, each with its reason."""

from overread.report.gate.judging import EXIT_CODES, OUTCOMES, Gated, GatedRun, judge, worst
from overread.report.gate.policy import policy_bytes, read_policy
from overread.report.gate.showing import VERDICTS, junit, one_line, rulings_tables, verdict
from overread.report.gate.weighing import Outcome

__all__ = [
    "EXIT_CODES",
    "OUTCOMES",
    "VERDICTS",
    "Gated",
    "GatedRun",
    "Outcome",
    "judge",
    "junit",
    "one_line",
    "policy_bytes",
    "read_policy",
    "rulings_tables",
    "verdict",
    "worst",
]
