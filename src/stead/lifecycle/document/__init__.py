"""Lifecycles as YAML documents, so that users can write their own and keep them in version control.

    kind: vm
    description: A virtual machine at a provider.
    on_absent: Terminated
    states:
      - {name: Absent, class: absent, description: The VM does not exist.}
      - {name: Running, class: stable, description: It runs.}
      - {name: Terminating, class: transitional, description: It is being removed., timeout: 15m}
      - {name: Terminated, class: final, description: It was removed for good.}
    actions:
      - name: terminate
        description: Remove it for good.
        source: Running
        via: Terminating
        target: Terminated
        on_failure: (origin)
        rollback: leave
    transitions:
      - {source: Absent, trigger: observed Running, actor: agent, target: Running}

An object begins in the first state. A key that a document leaves out has the default of the row it belongs to. A
list of one may be written as a word. Times are `90s`, `15m`, `2h`, `7d` or whole seconds. Instead of a state,
`(origin)` is the
one in which the operation began and `(on_failure)` the one that a failure of the action leads to; the parentheses
keep them apart from names. Agents observe a stable state under its own name and an absent or final one as `absent`,
unless `observed_as` says otherwise. The trigger of a transition is a word and the action or observation that it is
about.

An action does one kind of work: orders to an agent (`work: {orders: [stop, delete], attempts: 1}`; left out: one
order with the action's name), an action of the members (`work: {member_action: suspend}`), a signal to the operation
of
another action (`work: {signal: create}`), work on a path below (`work: scoped`), or no more than the change of state
(`work: none`). `rollback: {verb: delete, target: Absent}` names what rolls a failed attempt back; `leave` says that,
on purpose, nothing does.

The result of `load` has a table of transitions: every state that it names exists. `lint` says whether it is sound.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.document.form import (
    ActionForm,
    ExpiryForm,
    LifecycleForm,
    PreconditionForm,
    RollbackForm,
    StateForm,
    TransitionForm,
)
from stead.lifecycle.document.words import Unknown
from stead.lifecycle.document.writing import write
from stead.lifecycle.files.nodes import read
from stead.lifecycle.files.problems import DocumentError, Path, Problem, error, quoted

__all__ = ["DocumentError", "dump", "load", "schema"]


def dump(lifecycle: Lifecycle) -> str:
    """The lifecycle as YAML; `load` makes an equal one of it."""
    return write(lifecycle)


def load(text: str, source: str = "") -> Lifecycle:
    """The lifecycle of a document, or a `DocumentError` that tells everything that is wrong with it.

    The source, such as a file's name, is only for the messages.
    """
    tree = read(text)
    if tree.data is None:
        raise error(tree.problems, source, tree.lines)
    problems = tree.problems
    try:
        form = LifecycleForm.model_validate(tree.data, context=_state_names(tree.data))
    except ValidationError as invalid:
        problems += _problems(invalid)
    if problems:
        raise error(problems, source, tree.lines)
    return form.lifecycle()


def schema() -> dict[str, Any]:
    """A JSON Schema of the document, for editors that complete and check while one writes."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **LifecycleForm.model_json_schema(by_alias=True),
    }


_FORMS: dict[str, type[BaseModel]] = {
    "states": StateForm,
    "expiry": ExpiryForm,
    "actions": ActionForm,
    "rollback": RollbackForm,
    "transitions": TransitionForm,
    "excluded": TransitionForm,
    "preconditions": PreconditionForm,
}

# Keys that authors write who know the rows in Python, or other YAML.
_OTHER_NAMES = {
    "cls": "class",
    "from": "source",
    "to": "target",
    "on": "trigger",
    "when": "trigger",
    "by": "actor",
}

_SAYS = {
    "missing": "is missing",
    "string_type": "must be a word or a sentence, not a list or a mapping",
    "enum": "must be a word, not a list or a mapping",
    "tuple_type": "must be a list",
    "model_type": "must be a mapping of keys to values",
}


def _state_names(data: Any) -> Mapping[str, None] | None:
    """The names that the document's states have, whatever else is wrong with them; None without states."""
    states = data.get("states") if isinstance(data, dict) else None
    if not isinstance(states, list):
        return None
    names = (state.get("name") for state in states if isinstance(state, dict))
    return dict.fromkeys(name for name in names if isinstance(name, str))


def _problems(invalid: ValidationError) -> Iterator[Problem]:
    for each in invalid.errors(include_url=False):
        path: Path = tuple(step for step in each["loc"] if not str(step).startswith("("))
        cause = each.get("ctx", {}).get("error")
        if each["type"] == "extra_forbidden":
            yield _unknown_key(path)
        elif isinstance(cause, Unknown):
            yield Problem(path, str(cause), word=cause.word, known=cause.known)
        else:
            yield Problem(path, str(cause) if cause else _SAYS.get(each["type"], each["msg"]))


def _unknown_key(path: Path) -> Problem:
    # A row's path ends with its section and its position, a mapping's within a row with its key alone.
    around = next((step for step in reversed(path[:-1]) if isinstance(step, str)), "")
    fields = _FORMS.get(around, LifecycleForm).model_fields
    known = tuple(field.alias or name for name, field in fields.items())
    key = str(path[-1])
    meant = _OTHER_NAMES.get(key, key)
    return Problem(path, f"there is no key {quoted(key)} here", word=meant, known=known)
