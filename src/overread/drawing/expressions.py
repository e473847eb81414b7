"""The expressions that transforms, conditions and labels of our figures use.

Of Vega's expressions: literals, `datum.name`, comparisons, `&&`, `||`, `!`, sums, `isValid` and
`split`. Anything else is not drawn here (`NotDrawn`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from math import isnan
from typing import Any, Final, TypeAlias

from overread.drawing.text import written

Row: TypeAlias = Mapping[str, Any]
Expression: TypeAlias = Callable[[Row], Any]


class NotDrawn(Exception):
    """A specification asks for something that is not drawn here; the message says what."""


_TOKEN: Final = re.compile(
    r"""\s*(?:(?P<number>\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+)
    |(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    |(?P<name>[A-Za-z_$][\w$]*)
    |(?P<sign>===|!==|==|!=|<=|>=|&&|\|\||[-+*/<>!().,\[\]]))""",
    re.VERBOSE,
)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r"}


@lru_cache(512)
def expression(text: str) -> Expression:
    """What an expression gives for a row. Raises NotDrawn for what is not known here."""
    parser = _Parser(text)
    found = parser.either()
    if parser.kind:
        raise NotDrawn(f"the expression {text!r}")
    return found


def is_valid(value: object) -> bool:
    """Neither nothing nor no number."""
    return value is not None and not (isinstance(value, float) and isnan(value))


class _Parser:
    """One pass from left to right. A class, for every rule moves the same place."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0
        self.kind = self._word = ""
        self._step()

    def _step(self) -> None:
        rest = self._text[self._at :]
        if not rest.strip():
            self.kind = self._word = ""
            return
        found = _TOKEN.match(self._text, self._at)
        if found is None or found.lastgroup is None:
            raise NotDrawn(f"the expression {self._text!r}")
        self.kind, self._word, self._at = found.lastgroup, found[found.lastgroup], found.end()

    def _take(self, *signs: str) -> str:
        word = self._word
        if self.kind != "sign" or word not in signs:
            return ""
        self._step()
        return word

    def _need(self, sign: str) -> None:
        if not self._take(sign):
            raise NotDrawn(f"the expression {self._text!r}")

    def either(self) -> Expression:
        left = self._both()
        while self._take("||"):
            left = _either(left, self._both())
        return left

    def _both(self) -> Expression:
        left = self._compared()
        while self._take("&&"):
            left = _both(left, self._compared())
        return left

    def _compared(self) -> Expression:
        left = self._summed()
        while sign := self._take("===", "!==", "==", "!=", "<=", ">=", "<", ">"):
            left = _compared(sign, left, self._summed())
        return left

    def _summed(self) -> Expression:
        left = self._signed()
        while sign := self._take("+", "-"):
            left = _summed(sign, left, self._signed())
        return left

    def _signed(self) -> Expression:
        if self._take("!"):
            inner = self._signed()
            return lambda row: not _truthy(inner(row))
        if self._take("-"):
            inner = self._signed()
            return lambda row: -inner(row)
        return self._value()

    def _value(self) -> Expression:
        kind, word = self.kind, self._word
        if self._take("("):
            inner = self.either()
            self._need(")")
            return inner
        self._step()
        if kind == "number":
            number = float(word)
            return lambda row: number
        if kind == "text":
            text = re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), word[1:-1], flags=re.S)
            return lambda row: text
        if word in _CONSTANTS:
            constant = _CONSTANTS[word]
            return lambda row: constant
        if word == "datum":
            return self._field()
        if word in _FUNCTIONS:
            return self._called(_FUNCTIONS[word])
        raise NotDrawn(f"the expression {self._text!r}")

    def _field(self) -> Expression:
        self._need(".")
        kind, name = self.kind, self._word
        if kind != "name":
            raise NotDrawn(f"the expression {self._text!r}")
        self._step()
        return lambda row: row.get(name)

    def _called(self, function: Callable[..., Any]) -> Expression:
        self._need("(")
        given = [self.either()]
        while self._take(","):
            given.append(self.either())
        self._need(")")
        return lambda row: function(*(one(row) for one in given))


_CONSTANTS: Final[dict[str, Any]] = {"true": True, "false": False, "null": None}
_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "isValid": is_valid,
    "split": lambda text, by: written(text).split(by),
}


def _truthy(value: object) -> bool:
    return bool(value) and is_valid(value)


def _either(left: Expression, right: Expression) -> Expression:
    return lambda row: found if _truthy(found := left(row)) else right(row)


def _both(left: Expression, right: Expression) -> Expression:
    return lambda row: right(row) if _truthy(found := left(row)) else found


def _compared(sign: str, left: Expression, right: Expression) -> Expression:
    if sign in ("==", "==="):
        return lambda row: _same(left(row), right(row))
    if sign in ("!=", "!=="):
        return lambda row: not _same(left(row), right(row))

    def ordered(row: Row) -> bool:
        one, two = left(row), right(row)
        if one is None or two is None:  # nothing counts as 0 there; our figures never ask
            one, two = one or 0, two or 0
        if isinstance(one, str) or isinstance(two, str):
            raise NotDrawn("an order of words")
        return bool(
            one < two if sign == "<" else one <= two if sign == "<="
            else one > two if sign == ">" else one >= two
        )  # fmt: skip

    return ordered


def _same(one: object, two: object) -> bool:
    if isinstance(one, bool) != isinstance(two, bool):
        return False
    return one == two


def _summed(sign: str, left: Expression, right: Expression) -> Expression:
    def added(row: Row) -> Any:
        one, two = left(row), right(row)
        if sign == "+" and (isinstance(one, str) or isinstance(two, str)):
            return written(one) + written(two)
        return one + two if sign == "+" else one - two

    return added
