"""The rooms wired together: what the commands and `import overread` users call alike.

Each is imported on first use: a command pays for what it needs.
"""

from typing import TYPE_CHECKING, Any

__all__ = [
    "Checked", "Comparing", "Config", "ErrorSample", "Finding", "Forecast", "JudgeSample",
    "PersonAgreement", "PublishedFigures", "RankSample", "Reporting", "Run", "Transfer",
    "Unfinished", "Watch", "compare", "default_store", "demo", "environment", "error_sample",
    "examine", "gate", "import_results", "judge", "judge_sample", "load_config", "measure",
    "open_cases", "open_in_browser", "open_readers", "person_agreement", "phantom_cases", "plan",
    "plan_study", "published_figures", "published_list", "rank_sample", "report", "run",
    "run_async", "run_study", "selfcheck", "serve", "sight", "sight_of_clips", "standard_phantoms",
    "transfer", "transfer_figure",
]  # fmt: skip

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

# What each module here has for others.
_HOMES = {
    "_asking": "run_async",
    "_comparing": "Comparing Transfer compare transfer transfer_figure",
    "_doctor": "Finding examine",
    "_environment": "Config default_store environment load_config",
    "_gate": "gate",
    "_judge": "judge",
    "_measuring": "Run import_results measure",
    "_opening": "open_cases open_readers phantom_cases",
    "_people": (
        "ErrorSample JudgeSample PersonAgreement RankSample error_sample judge_sample "
        "person_agreement rank_sample"
    ),
    "_planning": "Forecast plan",
    "_published": "PublishedFigures published_figures published_list",
    "_reporting": "Reporting report",
    "_running": "Unfinished Watch run",
    "_selfcheck": "Checked demo selfcheck standard_phantoms",
    "_serving": "open_in_browser serve",
    "_sight": "sight sight_of_clips",
    "_study": "plan_study run_study",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}
# What makes sets of official files stands with the benchmark that has such sets.
_OF_BUILDERS = ("ProbeSet", "Recipe", "build")


def __getattr__(name: str) -> Any:
    """Import on first use, and keep what was found."""
    if name in _OF_BUILDERS:
        from overread.benchmarks.registry import builder

        found = getattr(builder(), name)
    elif name in _HOME:
        from importlib import import_module

        found = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found
