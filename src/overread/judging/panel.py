"""Who judges what: `--judge [answer|steps|order|score=]SPEC`, given as often as one likes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import get_args

from overread.case import BadInput
from overread.judging import Role

# A role is a word before the first "="; a spec has its kind and a colon before any "=".
_ROLE = re.compile(r"\s*([A-Za-z_ -]*?)\s*=(.*)", re.DOTALL)


def parse_judge(text: str) -> tuple[tuple[Role, ...], str]:
    """The roles of a judge and its spec; no role stands for every one the benchmark has.

    >>> parse_judge("steps=openai:m@http://127.0.0.1:8000/v1?max_tokens=4096")
    (('steps',), 'openai:m@http://127.0.0.1:8000/v1?max_tokens=4096')
    >>> parse_judge("control:lexical-judge")
    ((), 'control:lexical-judge')
    """
    roles: tuple[Role, ...] = get_args(Role)
    said: tuple[Role, ...] = ()
    spec = text.strip()
    found = _ROLE.fullmatch(text)
    if found is not None:
        spec, said = found[2].strip(), tuple(role for role in roles if role == found[1].lower())
        if not said:
            known = ", ".join(roles)
            raise BadInput(
                f'--judge {found[1]}=…: "{found[1]}" is no role; the roles are {known}. '
                "Write ROLE=SPEC, or SPEC alone for every role."
            )
    if not spec:
        raise BadInput(
            f'--judge "{text}": a judge is missing. Write ROLE=SPEC, for example '
            "answer=control:lexical-judge."
        )
    return said, spec


def panel_of(
    texts: Sequence[str], roles: Sequence[Role], benchmark: str
) -> dict[str, tuple[Role, ...]]:
    """The judges that the options name, each once by its spec, and the roles of each.

    They come in the order of the benchmark's roles, and within a role in the order given.
    """
    seats: dict[Role, list[str]] = {role: [] for role in roles}
    for text in texts:
        said, spec = parse_judge(text)  # in no line: nobody has looked for keys in it yet
        for role in said or tuple(roles):
            if role not in seats:
                raise BadInput(
                    f"--judge {role}=…: {benchmark} has no role {role}; its roles are "
                    f"{', '.join(roles)}."
                )
            if spec in seats[role]:
                raise BadInput(f"a judge is given twice for the role {role}; give it once.")
            seats[role].append(spec)
    specs = dict.fromkeys(spec for own in seats.values() for spec in own)
    return {spec: tuple(role for role, own in seats.items() if spec in own) for spec in specs}


def with_rubric(spec: str) -> tuple[str, str]:
    """A judge's spec without the option `rubric`, which is no reader's, and what it says.

    >>> with_rubric("openai:m@http://127.0.0.1:8000/v1?rubric=yesno&max_tokens=8")
    ('openai:m@http://127.0.0.1:8000/v1?max_tokens=8', 'yesno')
    """
    what, mark, query = spec.partition("?")
    options = query.split("&") if mark else []
    said = [option for option in options if option.partition("=")[0] == "rubric"]
    if len(said) > 1:
        raise BadInput("a judge has the option rubric twice; give it once.")
    if not said:
        return spec, ""
    rest = [option for option in options if option not in said]
    rubric = said[0].partition("=")[2]
    if not rubric:
        raise BadInput("a judge's option rubric is empty. Name one, or leave it out.")
    return what + "?" * bool(rest) + "&".join(rest), rubric
