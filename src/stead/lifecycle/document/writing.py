"""A lifecycle as the document a person would have written: short rows on one line, defaults left out."""

from __future__ import annotations

from typing import Any

import yaml
from pydantic import BaseModel

from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.document.form import (
    ActionForm,
    ExpiryForm,
    LifecycleForm,
    MemberActionForm,
    OrdersForm,
    PreconditionForm,
    RollbackForm,
    SignalForm,
    StateForm,
    TransitionForm,
    observed_by_default,
)
from stead.lifecycle.document.words import SpecChangeWord, WorkWord
from stead.lifecycle.files.times import duration
from stead.lifecycle.rows import (
    Action,
    AncestorCondition,
    Expiry,
    MemberAction,
    Orders,
    Rollback,
    ScopedOperation,
    Signal,
    SpecChange,
    State,
    Transition,
)

WIDTH = 110

_SECTIONS = ("states", "actions", "transitions", "excluded")
_DURATIONS = ("timeout", "after")

Row = State | Action | Transition | AncestorCondition | Expiry | Orders | MemberAction | Signal | Rollback

_KEYS = {(Orders, "orders"): "verbs", (MemberAction, "member_action"): "action", (Signal, "signal"): "action"}
"""Fields whose key in a document is not their name."""


class _Line(dict[str, Any]):
    """A mapping written on one line."""


class _Words(list[Any]):
    """A list written on one line."""


class _Writer(yaml.SafeDumper):
    """Indents the rows of a section below its heading, and writes everything out."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        return True


_Writer.add_representer(_Line, lambda w, v: w.represent_mapping("tag:yaml.org,2002:map", v, flow_style=True))
_Writer.add_representer(_Words, lambda w, v: w.represent_sequence("tag:yaml.org,2002:seq", v, flow_style=True))


def write(lifecycle: Lifecycle) -> str:
    """The document of a lifecycle; what a reader would assume anyway is left out."""
    data = _plain(lifecycle, LifecycleForm)
    head = {key: value for key, value in data.items() if key not in _SECTIONS}
    sections = ({key: data[key]} for key in _SECTIONS if key in data)
    return "\n".join(_yaml(part) for part in (head, *sections))


def _yaml(data: Any, width: float = WIDTH) -> str:
    return str(
        yaml.dump(data, Dumper=_Writer, sort_keys=False, allow_unicode=True, default_flow_style=False, width=width)
    )


def _plain(row: Row | Lifecycle, form: type[BaseModel]) -> dict[str, Any]:
    """The fields of a row that differ from what the form assumes, in the form's order and under its names."""
    plain = {}
    for name, field in form.model_fields.items():
        value, default = _get(row, name), field.default
        if isinstance(row, Action) and name in ("work", "spec_change"):
            default = default.row() if isinstance(default, OrdersForm) else None
        if isinstance(row, State) and name == "observed_as":
            default = observed_by_default(row.cls, row.name)
        if value != default:
            plain[field.alias or name] = _value(value, name)
    return plain


def _get(row: Row | Lifecycle, name: str) -> Any:
    """A field by the form's name for it."""
    if isinstance(row, Lifecycle) and name == "actions":
        return tuple(action for action in row.actions if not action.observes)  # every reader derives them
    if isinstance(row, Transition) and name == "trigger":
        return f"{row.trigger} {row.on}".rstrip()
    return getattr(row, _KEYS.get((type(row), name), name))


def _value(value: Any, name: str) -> Any:
    match value:
        case State() | AncestorCondition() | Transition() | Expiry():
            return _in_line(_plain(value, _FORMS[type(value)]))
        case Action():
            return _plain(value, ActionForm)
        case Orders() | MemberAction() | Signal() | Rollback():
            return _in_line(_plain(value, _FORMS[type(value)]))
        case ScopedOperation():
            return str(WorkWord.SCOPED)
        case SpecChange():
            return str(SpecChangeWord.AMEND if value.amends else SpecChangeWord.REPLACE)
        case None:
            return str(WorkWord.NONE)
        case tuple() if name in _SECTIONS or name == "preconditions":
            return [_value(each, name) for each in value]
        case tuple():
            return _Words(_value(each, name) for each in value)
        case bool():
            return value
        case int():
            return duration(value) if name in _DURATIONS else value
    return str(value)


_FORMS: dict[type, type[BaseModel]] = {
    State: StateForm,
    AncestorCondition: PreconditionForm,
    Transition: TransitionForm,
    Expiry: ExpiryForm,
    Orders: OrdersForm,
    MemberAction: MemberActionForm,
    Signal: SignalForm,
    Rollback: RollbackForm,
}


def _in_line(row: dict[str, Any]) -> dict[str, Any]:
    """On one line where it fits on one."""
    line = _Line(row)
    text = _yaml(line, float("inf")).rstrip("\n")
    return line if "\n" not in text and len(text) + len("  - ") <= WIDTH else row
