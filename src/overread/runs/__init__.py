"""The rooms wired together: what the commands and `import overread` users call alike.

Each is imported on first use: a command pays for what it needs.
"""

from typing import TYPE_CHECKING, Any

__all__ = [
    "Batch", "Checked", "Engine", "Findings", "Fitted", "Forecast", "PartDone", "Power", "Run",
    "Stepped", "Transfer", "Unfinished", "checklist", "compare", "curate_choose",
    "curate_collect", "curate_findings", "curate_leakage", "curate_look", "curate_publish",
    "curate_review", "curate_rounds", "curate_step", "default_store", "demo", "error_sample",
    "examine", "fit_probe", "gate", "import_batch", "import_results", "is_link", "judge",
    "judge_sample", "load", "measure", "open_cases", "open_in_browser", "open_store", "part_of",
    "person_agreement", "phantom_cases", "plan", "plan_batch", "plan_study", "power",
    "published_figures", "published_list", "rank_sample", "reach", "report", "run", "run_async",
    "run_part", "run_study", "selfcheck", "serve", "serve_store", "sight", "sight_of_clips",
    "study_analyse", "study_answers", "study_audit", "study_export", "study_import",
    "study_new", "study_of_candidates", "study_serve", "study_settled", "study_sheets",
    "study_tables", "transfer", "transfer_figure", "watch_from_outside", "write_comparisons",
]  # fmt: skip

if TYPE_CHECKING:
    from overread.runs._asking import run_async
    from overread.runs._batches import Batch, import_batch, plan_batch
    from overread.runs._checklist import checklist
    from overread.runs._comparing import Transfer, compare, transfer, transfer_figure
    from overread.runs._curation import (
        Stepped,
        curate_collect,
        curate_leakage,
        curate_publish,
        curate_step,
    )
    from overread.runs._curation_choosing import curate_choose, curate_rounds
    from overread.runs._curation_findings import Findings, curate_findings
    from overread.runs._curation_people import curate_look, curate_review
    from overread.runs._doctor import examine, sight, sight_of_clips
    from overread.runs._engines import Engine
    from overread.runs._environment import default_store, is_link
    from overread.runs._judge import (
        error_sample,
        judge,
        judge_sample,
        person_agreement,
        rank_sample,
    )
    from overread.runs._live import watch_from_outside
    from overread.runs._measuring import Run, import_results, load, measure
    from overread.runs._opening import open_cases, phantom_cases
    from overread.runs._planning import Forecast, plan
    from overread.runs._power import Power, power
    from overread.runs._probe import Fitted, fit_probe
    from overread.runs._published import published_figures, published_list
    from overread.runs._reach import reach
    from overread.runs._reader_study import (
        study_answers,
        study_audit,
        study_export,
        study_import,
        study_new,
        study_of_candidates,
        study_serve,
        study_settled,
    )
    from overread.runs._reporting import gate, report, write_comparisons
    from overread.runs._running import Unfinished, run
    from overread.runs._running_part import PartDone, run_part
    from overread.runs._serving import open_in_browser, serve
    from overread.runs._shards import part_of
    from overread.runs._stores import open_store, serve_store
    from overread.runs._study import Checked, demo, plan_study, run_study, selfcheck
    from overread.runs._study_analysis import study_analyse, study_sheets, study_tables

# What each module here has for others.
_HOMES = {
    "_asking": "run_async",
    "_batches": "Batch import_batch plan_batch",
    "_checklist": "checklist",
    "_comparing": "Transfer compare transfer transfer_figure",
    "_curation": "Stepped curate_collect curate_leakage curate_publish curate_step",
    "_curation_choosing": "curate_choose curate_rounds",
    "_curation_findings": "Findings curate_findings",
    "_curation_people": "curate_look curate_review",
    "_doctor": "examine sight sight_of_clips",
    "_engines": "Engine",
    "_environment": "default_store is_link",
    "_judge": "error_sample judge judge_sample person_agreement rank_sample",
    "_live": "watch_from_outside",
    "_measuring": "Run import_results load measure",
    "_opening": "open_cases phantom_cases",
    "_planning": "Forecast plan",
    "_power": "Power power",
    "_probe": "Fitted fit_probe",
    "_published": "published_figures published_list",
    "_reach": "reach",
    "_reader_study": (
        "study_answers study_audit study_export study_import study_new study_of_candidates "
        "study_serve study_settled"
    ),
    "_reporting": "gate report write_comparisons",
    "_running": "Unfinished run",
    "_serving": "open_in_browser serve",
    "_running_part": "PartDone run_part",
    "_shards": "part_of",
    "_stores": "open_store serve_store",
    "_study": "Checked demo plan_study run_study selfcheck",
    "_study_analysis": "study_analyse study_sheets study_tables",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Import on first use, and keep what was found."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    return found
