"""What a decoder says of a document that does not fit, in our words and with the place taken out of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from stead.lifecycle.files.problems import Problem

NAME = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"
"""What things are called that people name."""

_AT = re.compile(r" - at `\$(?P<path>[^`]*)`$")
_STEP = re.compile(r"\.([A-Za-z_]\w*)|\[(\d+)\]")
_UNKNOWN = re.compile(r"^Object contains unknown field `(.*)`$")
_TYPES = re.compile(r"^Expected `(?P<wanted>\w+(?: \| \w+)*)`, got `(?P<got>\w+)`$")
_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "array": "a list",
    "object": "a mapping",
    "bool": "true or false",
    "null": "nothing",
}
_SAYS = (
    (re.compile(r"^Object missing required field `(.*)`$"), r"it needs \1"),
    (re.compile(rf"^Expected `str` matching regex '{re.escape(NAME)}'$"), "a name has a-z, 0-9 and dashes"),
    (re.compile(r"^Expected `int` (.=) ([\d.]+)$"), r"it has to be \1 \2"),
    (re.compile(r"^Expected `array` of length >= 1$"), "there has to be one at least"),
)
"""The decoder's words, and ours."""


class InvalidDescription(ValueError):
    """A description that makes no sense, with all that is wrong with it."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("; ".join(map(_told, problems)))
        self.problems = tuple(problems)


def decoded(message: str, fields: Iterable[str], shapes: Mapping[str, str] = MappingProxyType({})) -> Problem:
    """What the decoder says, and which of the fields may have been meant; `shapes` are examples of fields."""
    found = _AT.search(message)
    at = tuple(name or int(index) for name, index in _STEP.findall(found["path"] if found else ""))
    says = _AT.sub("", message)
    unknown = _UNKNOWN.match(says)
    if types := _TYPES.match(says):
        wanted = " or ".join(_WORDS.get(word, word) for word in types["wanted"].split(" | ") if word != "null")
        shape = shapes.get(str(at[-1])) if at else None
        example = f", such as {shape}" if shape else ""
        says = f"expected {wanted}{example}, not {_WORDS.get(types['got'], types['got'])}"
    for pattern, ours in _SAYS:
        says = pattern.sub(ours, says)
    if unknown:
        return Problem((*at, unknown[1]), "there is no such field", word=unknown[1], known=fields)
    return Problem(at, says)


def _told(problem: Problem) -> str:
    return f"{'.'.join(map(str, problem.path)) or 'it'}: {problem.message}"
