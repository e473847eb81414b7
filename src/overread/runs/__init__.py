"""The rooms wired together: what the commands and `import overread` users call alike."""

from overread.benchmarks.grounding.build.recipe import Recipe
from overread.runs._asking import run_async
from overread.runs._building import ProbeSet, build
from overread.runs._demo import demo
from overread.runs._doctor import Finding, examine
from overread.runs._environment import Config, default_store, environment, load_config
from overread.runs._measuring import Run, import_results, measure
from overread.runs._opening import open_cases, open_readers, phantom_cases
from overread.runs._planning import Forecast, plan
from overread.runs._published import PublishedFigures, published_figures, published_list
from overread.runs._running import Unfinished, Watch, run
from overread.runs._selfcheck import STANDARD_PHANTOMS, Checked, selfcheck
from overread.runs._sight import sight, sight_of_clips
from overread.runs._study import run_study
from overread.runs._transfer import Transfer, transfer

__all__ = [
    "STANDARD_PHANTOMS",
    "Checked",
    "Config",
    "Finding",
    "Forecast",
    "ProbeSet",
    "PublishedFigures",
    "Recipe",
    "Run",
    "Transfer",
    "Unfinished",
    "Watch",
    "build",
    "default_store",
    "demo",
    "environment",
    "examine",
    "import_results",
    "load_config",
    "measure",
    "open_cases",
    "open_readers",
    "phantom_cases",
    "plan",
    "published_figures",
    "published_list",
    "run",
    "run_async",
    "run_study",
    "selfcheck",
    "sight",
    "sight_of_clips",
    "transfer",
]
