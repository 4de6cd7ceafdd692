"""The shape of a lifecycle document, one model for each kind of row.

The rows of `stead.lifecycle.rows` are what the code works with, and could be validated as they are. Their
written form differs on purpose: `class`, `from` and `to` are words that Python keeps for itself or that the
rows call otherwise, the word of a move is one phrase, a default may depend on the state's class, and the name
of a state can be checked only against the others of the same document. So the form has models of its own,
with the rows' fields, and the rows stay free of all that. A field's order here is its order in a written
document; its default here is what a document may leave out.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.document.words import (
    Actors,
    Count,
    Ends,
    Fails,
    Flag,
    Name,
    NameOrNone,
    Names,
    Otherwise,
    Seconds,
    StateOrNone,
    StateRef,
    States,
    Text,
    WhenWord,
    choice,
)
from stead.lifecycle.rows import (
    ABSENT,
    BACK,
    FAILS,
    Action,
    Actor,
    AncestorCondition,
    AwaitedParty,
    Expiry,
    Fold,
    State,
    StateClass,
    Transition,
)


def seen_by_default(cls: StateClass, name: str) -> str:
    """What an agent says of a state that does not say it: as the constructors of the rows have it."""
    return {StateClass.STABLE: name, StateClass.TRANSITIONAL: ""}.get(cls, ABSENT)


def _without_nulls(schema: dict[str, Any]) -> None:
    """A key that may be left out is not a key that may be null."""
    for field in schema["properties"].values():
        if "default" in field and field["default"] is None:
            del field["default"]
            others = [each for each in field.pop("anyOf") if each != {"type": "null"}]
            field.update(others[0] if len(others) == 1 else {"anyOf": others})


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, json_schema_extra=_without_nulls)


class ExpiryForm(_Form):
    """A state that ends by the clock."""

    after: Seconds = Field(description="How long the state lasts at most.")
    action: Name = Field(description="The action that the clock then asks for.")

    def row(self) -> Expiry:
        """The row it stands for."""
        return Expiry(self.after, self.action)


class NeedForm(_Form):
    """An ancestor, and the states it must be in for a change to be accepted."""

    kind: Name = Field(description="The ancestor's kind.")
    states: Names = Field(description="The states of that kind in which a change is accepted.")
    there: bool = Field(default=False, description="Whether it has to be there at all.")
    named: NameOrNone = Field(
        default="", description="The field of the spec that has its path, where it is no ancestor."
    )
    only: Names = Field(default=(), description="The actions that need it; none: all.")

    def row(self) -> AncestorCondition:
        """The row it stands for."""
        return AncestorCondition(self.kind, self.states, self.there, self.named, self.only)


class StateForm(_Form):
    """One state."""

    name: Name
    cls: Annotated[StateClass, choice(StateClass)] = Field(
        alias="class",
        description="stable: stays until a request. transitional: in progress. final: the end. "
        "absent: there is no such object.",
    )
    says: Text = Field(description="One sentence about it.")
    deadline: Seconds | None = Field(
        None, description="How long a moving state may last before the object is probed."
    )
    awaits: Annotated[AwaitedParty, choice(AwaitedParty)] = Field(
        AwaitedParty.AGENT, description="For a moving state: whose word it waits for."
    )
    seen: NameOrNone | None = Field(
        None,
        description="What an agent says when the provider agrees with this state; empty where no look can "
        "tell. Left out: its own name if stable, `absent` if absent or final, empty if transitional.",
    )
    asks: NameOrNone = Field(
        "",
        description="In a state that awaits children: the action asked of them, if not what the action says.",
    )
    fails: Fails = Field(
        "", description="Where failure and silence in this state lead, if not where the action says."
    )
    probe_first: Flag = Field(
        False, description="An action that starts here looks at the object before it acts on it."
    )
    still: Flag = Field(False, description="It hardly changes by itself, and is looked at seldom.")
    expires: ExpiryForm | None = Field(None, description="After so long a time the clock asks for an action.")

    def row(self) -> State:
        """The row it stands for."""
        seen = seen_by_default(self.cls, self.name) if self.seen is None else self.seen
        return State(**dict(self) | {"seen": seen, "expires": self.expires and self.expires.row()})


class ActionForm(_Form):
    """One action."""

    name: Name
    says: Text = Field(description="One sentence about it.")
    starts: States = Field(description="The states in which it may be asked for.")
    through: States = Field(
        (), description="The moving states on the way. None: the state stays until the work is done."
    )
    ends: Ends = Field(description="Where success leads; (back) for where it began.")
    fails: Fails = Field(
        "",
        description="Where failure leads; (back) for where it began; left out where the action cannot fail.",
    )
    by: Actors = Field((Actor.USER,), description="Who may ask for it.")
    orders: Names | None = Field(
        None, description="The verbs an agent is told, one after the other. Left out: the action's name."
    )
    undo: NameOrNone = Field(
        "",
        description="The verb that takes a failed attempt back; `probe` where a look decides; `leave` where, "
        "on purpose, nobody does.",
    )
    undone: Otherwise = Field(BACK, description="Where a completed undo leads.")
    silent: Otherwise = Field(
        FAILS,
        description="Where silence leads, after a probe that nobody answered; (fails): where failure does.",
    )
    attempts: Count = Field(
        3, description="How often the order is run before a probe that shows no change counts as failure."
    )
    members: NameOrNone = Field("", description="For a group: the action asked of its members.")
    idle: States = Field((), description="States in which the action succeeds and does nothing.")
    joins: Flag = Field(True, description="The same action asked again joins the running operation.")
    steers: NameOrNone = Field(
        "",
        description="Not an operation of its own, but a word to the running operation of this action.",
    )
    forceable: Flag = Field(False, description="Forced, it starts from wherever there is something to act on.")
    hidden: Flag = Field(
        False, description="The visible state stays; one request is accepted meanwhile and runs afterwards."
    )
    beside: Flag = Field(False, description="Runs beside others, on the path below the resource that it names.")
    outranks: Flag = Field(False, description="Takes over from whatever operation is running.")
    checked: Flag = Field(False, description="Begins with a check that may say no; then nothing has changed.")
    spares: States = Field(
        (), description="Begins with a look, and does nothing where the object is seen in one of these states."
    )
    respec: Flag = Field(
        False,
        description="Brings a new spec, the resource's when it is done and dropped when it is undone.",
    )
    amends: Flag = Field(False, description="What it brings is laid over the spec instead of taking its place.")
    empty_only: Flag = Field(False, description="Refused while the resource has children.")
    queues: Flag = Field(
        False, description="On conflict the request waits its turn, unless the caller says otherwise."
    )
    leaves_out: Flag = Field(
        False, description="For a group: members that are claimed by others are skipped, instead of a conflict."
    )
    claims: NameOrNone = Field(
        "",
        description="The field of spec or facts with the path of another object that the action claims as well.",
    )
    needs_reason: Flag = Field(False, description="A request has to say why; the journal keeps it.")

    def row(self) -> Action:
        """The row it stands for."""
        return Action(**dict(self))


class MoveForm(_Form):
    """One move that no action implies, or that an action would imply and this kind does not have."""

    source: StateRef = Field(alias="from")
    when: WhenWord = Field(
        description="On what word: the trigger, then the action or observation it is about: `observed Running`."
    )
    by: Annotated[Actor, choice(Actor)] = Field(description="Who may make it.")
    target: StateRef = Field(alias="to")
    forced: Flag = Field(False, description="Only a forced request makes it.")
    contended: Flag = Field(
        False, description="More than one actor may leave the source state, and whoever comes first wins."
    )

    def row(self) -> Transition:
        """The row it stands for."""
        trigger, on = self.when
        return Transition(self.source, trigger, on, self.by, self.target, self.forced, self.contended)


def _section(value: Any) -> Any:
    """A heading with nothing below it is a section without rows."""
    return [] if value == "" else value


def _some(states: tuple[StateForm, ...]) -> tuple[StateForm, ...]:
    if not states:
        raise ValueError("there is no state, so nothing says where an object begins")
    return states


Section = BeforeValidator(_section)


class LifecycleForm(_Form):
    """A lifecycle: the states of a kind, its actions, and the moves that follow from neither."""

    kind: Name = Field(description="The kind of resource.")
    says: Text = Field(description="One sentence about it.")
    parent: NameOrNone = Field("", description="The kind above it in the tree.")
    needs: Annotated[tuple[NeedForm, ...], Section] = Field(
        (), description="What its ancestors must be in for a change to be accepted."
    )
    members: NameOrNone = Field("", description="The kind of its members, for a group.")
    fold: Annotated[Fold, choice(Fold)] = Field(Fold.NONE, description="How its state follows from its children.")
    order: States = Field((), description="What the fold goes by: ties of dominant, badness of worst.")
    drifts: States = Field(
        (), description="Stable states that an observation may lead to and from, with nobody having asked."
    )
    gone: StateOrNone = Field(
        "", description="Where an object goes that is seen absent without anybody having asked."
    )
    broken: StateOrNone = Field(
        "", description="Where an object goes that is seen broken without anybody having asked."
    )
    misses: Count = Field(3, description="How many looks in a row must miss an object before it counts as gone.")
    holds: NameOrNone = Field(
        default="",
        description="The kind of what is on it without lying below it: a field of their specs, called as this kind "
        "is, has its path.",
    )
    queue_of: NameOrNone = Field(
        "",
        description="The field of spec or facts with the path of another object, in whose queue its actions wait.",
    )
    observed_alone: Flag = Field(
        True,
        description="Users may `refresh` it and `accept-observed`; false where other records have to agree with it.",
    )
    presence: Flag = Field(False, description="Its agent connects and disconnects, with notify-ids.")
    states: Annotated[tuple[StateForm, ...], AfterValidator(_some), Section] = Field(
        description="The first is where an object begins.", json_schema_extra={"minItems": 1}
    )
    actions: Annotated[tuple[ActionForm, ...], Section] = Field((), description="What may be asked for.")
    moves: Annotated[tuple[MoveForm, ...], Section] = Field((), description="Rows that no action implies.")
    without: Annotated[tuple[MoveForm, ...], Section] = Field(
        (), description="Rows that an action would imply and this kind does not have."
    )

    def lifecycle(self) -> Lifecycle:
        """The lifecycle it stands for."""
        sections = ("needs", "states", "actions", "moves", "without")
        rows = {name: tuple(form.row() for form in getattr(self, name)) for name in sections}
        return Lifecycle(**dict(self) | rows)
