"""The rooms wired together: what the commands and `import overread` users call alike.

Each is imported on first use: a command pays for what it needs.
"""

from typing import TYPE_CHECKING, Any

__all__ = [
    "Checked",
    "Comparing",
    "Config",
    "ErrorSample",
    "Finding",
    "Forecast",
    "JudgeSample",
    "PersonAgreement",
    "PublishedFigures",
    "RankSample",
    "Reporting",
    "Run",
    "Transfer",
    "Unfinished",
    "Watch",
    "compare",
    "default_store",
    "demo",
    "environment",
    "error_sample",
    "examine",
    "gate",
    "import_results",
    "judge",
    "judge_sample",
    "load_config",
    "measure",
    "open_cases",
    "open_in_browser",
    "open_readers",
    "person_agreement",
    "phantom_cases",
    "plan",
    "plan_study",
    "published_figures",
    "published_list",
    "rank_sample",
    "report",
    "run",
    "run_async",
    "run_study",
    "selfcheck",
    "serve",
    "sight",
    "sight_of_clips",
    "standard_phantoms",
    "transfer",
    "transfer_figure",
]

if TYPE_CHECKING:
    from overread.runs._asking import run_async
    from overread.runs._comparing import Comparing, Transfer, compare, transfer, transfer_figure
    from overread.runs._doctor import Finding, examine
    from overread.runs._environment import Config, default_store, environment, load_config
    from overread.runs._gate import gate
    from overread.runs._judge import judge
    from overread.runs._measuring import Run, import_results, measure
    from overread.runs._opening import open_cases, open_readers, phantom_cases
    from overread.runs._people import (
        ErrorSample,
        JudgeSample,
        PersonAgreement,
        RankSample,
        error_sample,
        judge_sample,
        person_agreement,
        rank_sample,
    )
    from overread.runs._planning import Forecast, plan
    from overread.runs._published import PublishedFigures, published_figures, published_list
    from overread.runs._reporting import Reporting, report
    from overread.runs._running import Unfinished, Watch, run
    from overread.runs._selfcheck import Checked, demo, selfcheck, standard_phantoms
    from overread.runs._serving import open_in_browser, serve
    from overread.runs._sight import sight, sight_of_clips
    from overread.runs._study import plan_study, run_study

_HOME = {
    "run_async": "overread.runs._asking",
    "Comparing": "overread.runs._comparing",
    "compare": "overread.runs._comparing",
    "demo": "overread.runs._selfcheck",
    "Finding": "overread.runs._doctor",
    "examine": "overread.runs._doctor",
    "Config": "overread.runs._environment",
    "default_store": "overread.runs._environment",
    "environment": "overread.runs._environment",
    "load_config": "overread.runs._environment",
    "gate": "overread.runs._gate",
    "judge": "overread.runs._judge",
    "JudgeSample": "overread.runs._people",
    "PersonAgreement": "overread.runs._people",
    "judge_sample": "overread.runs._people",
    "person_agreement": "overread.runs._people",
    "Run": "overread.runs._measuring",
    "import_results": "overread.runs._measuring",
    "measure": "overread.runs._measuring",
    "open_cases": "overread.runs._opening",
    "open_readers": "overread.runs._opening",
    "phantom_cases": "overread.runs._opening",
    "ErrorSample": "overread.runs._people",
    "RankSample": "overread.runs._people",
    "error_sample": "overread.runs._people",
    "rank_sample": "overread.runs._people",
    "Forecast": "overread.runs._planning",
    "plan": "overread.runs._planning",
    "plan_study": "overread.runs._study",
    "PublishedFigures": "overread.runs._published",
    "published_figures": "overread.runs._published",
    "published_list": "overread.runs._published",
    "Reporting": "overread.runs._reporting",
    "report": "overread.runs._reporting",
    "Unfinished": "overread.runs._running",
    "Watch": "overread.runs._running",
    "run": "overread.runs._running",
    "Checked": "overread.runs._selfcheck",
    "selfcheck": "overread.runs._selfcheck",
    "standard_phantoms": "overread.runs._selfcheck",
    "open_in_browser": "overread.runs._serving",
    "serve": "overread.runs._serving",
    "sight": "overread.runs._sight",
    "sight_of_clips": "overread.runs._sight",
    "run_study": "overread.runs._study",
    "Transfer": "overread.runs._comparing",
    "transfer": "overread.runs._comparing",
    "transfer_figure": "overread.runs._comparing",
}
# What makes sets of official files stands with the benchmark that has such sets.
_OF_BUILDERS = ("ProbeSet", "Recipe", "build")


def __getattr__(name: str) -> Any:
    """Import on first use, and keep what was found."""
    if name in _OF_BUILDERS:
        from overread.benchmarks.registry import first_builder

        found = getattr(first_builder(), name)
    elif name in _HOME:
        from importlib import import_module

        found = getattr(import_module(_HOME[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found
