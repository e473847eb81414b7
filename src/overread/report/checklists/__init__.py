"""What a run's record says for each item of a reporting guideline; the rest is the authors'.

Items are data in files beside this one, in our own words: the texts of the statements are not ours.
`facts` are functions over what a page knows of a run, named by the items that they fill.
"""

from overread.report.checklists.filled import (
    LEFT,
    SUFFIXES,
    Checklist,
    Item,
    known_checklists,
    named_checklist,
    write_checklist,
)

__all__ = [
    "LEFT",
    "SUFFIXES",
    "Checklist",
    "Item",
    "known_checklists",
    "named_checklist",
    "write_checklist",
]
