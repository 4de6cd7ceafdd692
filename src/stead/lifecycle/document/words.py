"""How a single value is written: names, durations, flags, and the one-or-many of lists.

Every scalar of a document arrives as text; these types say what it means in the field it stands in, and
refuse it in words a person can act on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from itertools import chain
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, ValidationInfo, WithJsonSchema

from stead.lifecycle.files.problems import quoted
from stead.lifecycle.files.times import seconds
from stead.lifecycle.rows import ON_FAILURE, ORIGIN, Actor, Trigger

NAME = "[A-Za-z][A-Za-z0-9_.-]*"
_NAME = re.compile(NAME)
_COUNT = re.compile("[0-9]{1,9}")
# Neither the database nor a terminal takes these well.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


class Unknown(ValueError):
    """A word that is none of the known ones, one of which may have been meant."""

    def __init__(self, message: str, word: str, known: Iterable[str]) -> None:
        super().__init__(message)
        self.word = word
        self.known = known


def _text(value: str) -> str:
    if bad := _UNPRINTABLE.search(value):
        raise ValueError(f"has the character {bad.group()!r}, which cannot be shown")
    return value


def _name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise ValueError(
            f"{quoted(value)} is not a name: a letter, then letters, digits, dots, dashes and underscores"
        )
    return value


def _name_or_none(value: str) -> str:
    return value and _name(value)


def _state(*constants: str) -> Callable[[str, ValidationInfo], str]:
    """A state of this lifecycle, or one of the constants that may stand for one here."""

    def check(value: str, info: ValidationInfo) -> str:
        if value in constants:
            return value
        if value in (ORIGIN, ON_FAILURE):
            raise ValueError(f"{value} cannot stand here; name a state")
        _name(value)
        # Without states that could be read, the message about that is enough.
        states: Mapping[str, None] | None = info.context
        if states is not None and value not in states:
            raise Unknown(f"there is no state {quoted(value)}", value, chain(states, constants))
        return value

    return check


def _state_or_none(*constants: str) -> Callable[[str, ValidationInfo], str]:
    check = _state(*constants)
    return lambda value, info: value and check(value, info)


def _one_or_many(value: Any) -> Any:
    """A single word is a list of one; nothing is a list of none."""
    if isinstance(value, str):
        return [value] if value else []
    return value


def _flag(value: Any) -> Any:
    if value not in ("true", "false"):
        raise ValueError("must be either true or false")
    return value == "true"


def _count(value: Any) -> Any:
    if not isinstance(value, str) or not _COUNT.fullmatch(value):
        raise ValueError("must be a whole number")
    return int(value)


def _one_of(values: type[StrEnum]) -> Callable[[Any], Any]:
    known = tuple(str(each) for each in values)

    def check(value: Any) -> Any:
        if isinstance(value, str) and value not in known:
            raise Unknown(f"{quoted(value)} is none of {', '.join(known)}", value, known)
        return value

    return check


class WorkWord(StrEnum):
    """Work that is told by one word."""

    NONE = "none"
    """The change of state is all, or its states await the controller or children."""
    SCOPED = "scoped"
    """It runs beside others, on the path below the resource that the request names."""


class RollbackWord(StrEnum):
    """Instead of a rollback."""

    LEAVE = "leave"


class SpecChangeWord(StrEnum):
    """What an action does with the spec that its request brings."""

    NONE = "none"
    REPLACE = "replace"
    AMEND = "amend"


def work_form(value: Any) -> str:
    """The form of a document's work, by its keys."""
    if not isinstance(value, dict):
        return "(orders)" if getattr(value, "orders", None) is not None else "(word)"
    return next((f"({key})" for key in ("member_action", "signal") if key in value), "(orders)")


type TriggerOn = tuple[Trigger, str]


def _trigger(value: Any) -> Any:
    """`observed Suspended`: the trigger, and the action or observation that it is about."""
    if not isinstance(value, str):
        return value
    trigger, _, about = value.partition(" ")
    return _one_of(Trigger)(trigger), _name_or_none(about.strip())


_NAME_SCHEMA = {"type": "string", "pattern": f"^{NAME}$"}
_NAME_OR_NONE_SCHEMA = {"type": "string", "pattern": f"^({NAME})?$"}


def _many(item: dict[str, Any]) -> WithJsonSchema:
    return WithJsonSchema({"anyOf": [item, {"type": "array", "items": item}]})


def choice[E: StrEnum](values: type[E]) -> BeforeValidator:
    """For a field of that enumeration: a word that is not of it is told what it might have been."""
    return BeforeValidator(_one_of(values))


Text = Annotated[str, AfterValidator(_text)]
Name = Annotated[str, AfterValidator(_name), WithJsonSchema(_NAME_SCHEMA)]
NameOrNone = Annotated[str, AfterValidator(_name_or_none), WithJsonSchema(_NAME_OR_NONE_SCHEMA)]
Flag = Annotated[bool, BeforeValidator(_flag)]
Count = Annotated[int, BeforeValidator(_count), WithJsonSchema({"type": "integer", "minimum": 0})]
Seconds = Annotated[
    int,
    BeforeValidator(seconds),
    WithJsonSchema(
        {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": "^[0-9]{1,9}[smhd]?$"}]}
    ),
]
TriggerWord = Annotated[
    TriggerOn,
    BeforeValidator(_trigger),
    WithJsonSchema({"type": "string", "pattern": f"^({'|'.join(Trigger)})( +{NAME})?$"}),
]

StateRef = Annotated[str, AfterValidator(_state()), WithJsonSchema(_NAME_SCHEMA)]
StateOrNone = Annotated[str, AfterValidator(_state_or_none()), WithJsonSchema(_NAME_OR_NONE_SCHEMA)]


def _target(*constants: str) -> dict[str, Any]:
    return {"type": "string", "pattern": "^(" + "|".join(map(re.escape, constants)) + f"|{NAME})$"}


Target = Annotated[str, AfterValidator(_state(ORIGIN)), WithJsonSchema(_target(ORIGIN))]
OnFailure = Annotated[str, AfterValidator(_state_or_none(ORIGIN)), WithJsonSchema(_target(ORIGIN, ""))]
Otherwise = Annotated[
    str, AfterValidator(_state_or_none(ORIGIN, ON_FAILURE)), WithJsonSchema(_target(ORIGIN, ON_FAILURE, ""))
]

Names = Annotated[tuple[Name, ...], BeforeValidator(_one_or_many), _many(_NAME_SCHEMA)]
States = Annotated[tuple[StateRef, ...], BeforeValidator(_one_or_many), _many(_NAME_SCHEMA)]
Actors = Annotated[
    tuple[Annotated[Actor, choice(Actor)], ...],
    BeforeValidator(_one_or_many),
    _many({"type": "string", "enum": [str(each) for each in Actor]}),
]
