"""The reader study: people as readers.

A study file says what is asked of whom. `packets` makes what readers see and, apart from it, the
key that says what each display shows; `app` is the page they read on; `journal` keeps every answer;
`sheets` is for those who read without a network; `analysis` puts people beside models.
"""

from overread.study.candidates import Candidate
from overread.study.consensus import Place, Said, Settled
from overread.study.design import Design, Rater, Task, read_design
from overread.study.journal import Journal
from overread.study.packets import Display, Key, make_study, open_key, open_study

__all__ = [
    "Candidate",
    "Design",
    "Display",
    "Journal",
    "Key",
    "Place",
    "Rater",
    "Said",
    "Settled",
    "Task",
    "make_study",
    "open_key",
    "open_study",
    "read_design",
]
