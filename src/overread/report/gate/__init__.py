"""The gate a deployment passes: rules on measures, judged on intervals, each with its reason."""

from overread.report.gate.gated_run import GatedRun
from overread.report.gate.judging import judge
from overread.report.gate.junit import junit
from overread.report.gate.policy import Gap, Policy, Rule, policy_bytes, read_policy
from overread.report.gate.ruling import EXIT_CODES, OUTCOMES, Gated, Outcome, Ruling, worst
from overread.report.gate.table import rulings_tables, verdict
from overread.report.gate.words import one_line

__all__ = [
    "EXIT_CODES",
    "OUTCOMES",
    "Gap",
    "Gated",
    "GatedRun",
    "Outcome",
    "Policy",
    "Rule",
    "Ruling",
    "judge",
    "junit",
    "one_line",
    "policy_bytes",
    "read_policy",
    "rulings_tables",
    "verdict",
    "worst",
]
