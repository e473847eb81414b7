"""The rooms wired together: what the commands and `import overread` users call alike."""

from overread.runs._asking import run_async
from overread.runs._doctor import Finding, examine
from overread.runs._environment import Config, default_store, environment, load_config
from overread.runs._measuring import Run, import_results, measure
from overread.runs._opening import open_cases, open_readers, phantom_cases
from overread.runs._planning import Forecast, plan
from overread.runs._running import Unfinished, Watch, run
from overread.runs._selfcheck import STANDARD_PHANTOMS, Recovered, selfcheck
from overread.runs._sight import sight
from overread.runs._study import run_study

__all__ = [
    "STANDARD_PHANTOMS",
    "Config",
    "Finding",
    "Forecast",
    "Recovered",
    "Run",
    "Unfinished",
    "Watch",
    "default_store",
    "environment",
    "examine",
    "import_results",
    "load_config",
    "measure",
    "open_cases",
    "open_readers",
    "phantom_cases",
    "plan",
    "run",
    "run_async",
    "run_study",
    "selfcheck",
    "sight",
]
