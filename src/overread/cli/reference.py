"""`overread settings` and `options`: every key of `--set`, every option of a model's spec.

Both are read off the declarations that the program itself goes by.
"""

from __future__ import annotations

from overread.case import BadInput, Table
from overread.cli import options as shared


def settings(
    benchmark: shared.Benchmark,
    wide: shared.Wide = False,
    json: shared.Json = False,
) -> int:
    """List every key of --set that a benchmark has: default, meaning, and what it changes.

    Example: overread settings grounding
    """
    from overread.benchmarks.registry import class_of

    book = class_of(benchmark).book
    if book is None:
        raise BadInput(f"{benchmark} has no settings.")
    found = book.listing()
    table = Table(
        name="settings",
        title=f"What --set takes for {benchmark}",
        columns=("key", "default", "published", "shown", "decides", "takes"),
        rows=tuple(
            (
                one.name,
                one.default or "–",
                "–" if one.published is None else one.published,
                "yes" if one.shown else "no",
                one.decides,
                one.takes,
            )
            for one in found
        ),
        headline=("decides",),
        notes=(
            "published: the value under --edition authors; – of what both editions share.",
            "shown: yes, it changes what models or judges are shown, so that only a new run can "
            "change it; no, `overread measure RUN --set KEY=VALUE` can.",
        ),
    )
    return shared.print_found(found, table, json=json, wide=wide)


def options(wide: shared.Wide = False, json: shared.Json = False) -> int:
    """List every option of a model's spec, behind its ?: default, meaning, and what it changes.

    Example: overread options
    """
    from overread.readers.options import reader_options
    from overread.readers.spec import known_kinds

    found = reader_options()
    table = Table(
        name="options",
        title="Options of a model: KIND:MODEL?option=value&option=value",
        columns=("option", "default", "asks anew", "says", "takes", "kinds"),
        rows=tuple(
            (
                one.name,
                one.default or "–",
                "yes" if one.replies else "no",
                one.says,
                one.takes,
                ", ".join(one.kinds) or "all",
            )
            for one in found
        ),
        headline=("says",),
        notes=(
            f"Kinds: {', '.join(f'{kind}:' for kind in known_kinds())}",
            "asks anew: yes, it is part of what replies are kept under; no, it changes no reply.",
        ),
    )
    return shared.print_found(found, table, json=json, wide=wide)
