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

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag

from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.document.words import (
    Actors,
    Count,
    Flag,
    Name,
    NameOrNone,
    Names,
    OnFailure,
    Otherwise,
    RollbackWord,
    Seconds,
    SpecChangeWord,
    StateOrNone,
    StateRef,
    States,
    Target,
    Text,
    TriggerWord,
    WorkWord,
    choice,
    work_form,
)
from stead.lifecycle.rows import (
    ABSENT,
    LEAVE,
    ON_FAILURE,
    ORIGIN,
    Action,
    Actor,
    Aggregation,
    AncestorCondition,
    AwaitedParty,
    ConflictPolicy,
    Expiry,
    MemberAction,
    Orders,
    Rollback,
    ScopedOperation,
    Signal,
    SpecChange,
    State,
    StateClass,
    Transition,
    Work,
)


def observed_by_default(cls: StateClass, name: str) -> str:
    """The observation of a state whose document does not name it, as the constructors of the rows have it."""
    return {StateClass.STABLE: name, StateClass.TRANSITIONAL: ""}.get(cls, ABSENT)


def _without_nulls(schema: dict[str, Any]) -> None:
    """A key that may be left out is not a key that may be null."""
    for field in schema["properties"].values():
        if "default" in field and field["default"] is None:
            del field["default"]
            others = [each for each in field.pop("anyOf") if each != {"type": "null"}]
            field.update(others[0] if len(others) == 1 else {"anyOf": others})
        if "oneOf" in field:  # forms that are told apart by their keys
            field["anyOf"] = field.pop("oneOf")


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, json_schema_extra=_without_nulls)


class ExpiryForm(_Form):
    """A state that ends after a time."""

    after: Seconds = Field(description="How long the state lasts at most.")
    action: Name = Field(description="The action that the clock then requests.")

    def row(self) -> Expiry:
        """The row that the form describes."""
        return Expiry(self.after, self.action)


class PreconditionForm(_Form):
    """An ancestor, and the states it must be in for a change to be accepted."""

    kind: Name = Field(description="The ancestor's kind.")
    states: Names = Field(description="The states of that kind in which a change is accepted.")
    must_exist: Flag = Field(default=False, description="The ancestor has to exist as a record.")
    field: NameOrNone = Field(
        default="", description="The field of the spec that has its path, where it is no ancestor."
    )
    actions: Names = Field(default=(), description="The actions that depend on the condition; none: all.")

    def row(self) -> AncestorCondition:
        """The row that the form describes."""
        return AncestorCondition(self.kind, self.states, self.must_exist, self.field, self.actions)


class StateForm(_Form):
    """One state."""

    name: Name
    cls: Annotated[StateClass, choice(StateClass)] = Field(
        alias="class",
        description="stable: stays until a request. transitional: a change is in progress. final: the end. "
        "absent: the object does not exist.",
    )
    description: Text = Field(description="One sentence about it.")
    timeout: Seconds | None = Field(
        None, description="How long a transitional state may last before an agent probes the object."
    )
    awaits: Annotated[AwaitedParty, choice(AwaitedParty)] = Field(
        AwaitedParty.AGENT, description="For a transitional state: the party whose report it waits for."
    )
    observed_as: NameOrNone | None = Field(
        None,
        description="The observation that agrees with this state; empty where no observation can tell. Left out: its "
        "own name if stable, `absent` if absent or final, empty if transitional.",
    )
    member_action: NameOrNone = Field(
        "",
        description="For a state that awaits children: the action that they get, if not the action's member action.",
    )
    on_failure: OnFailure = Field("", description="The state that failure and timeout lead to, if not the action's.")
    probe_first: Flag = Field(False, description="An action that starts here begins with an observation.")
    rarely_changes: Flag = Field(False, description="It hardly changes by itself, and is observed seldom.")
    expiry: ExpiryForm | None = Field(None, description="After a time the clock requests an action.")

    def row(self) -> State:
        """The row that the form describes."""
        observed_as = observed_by_default(self.cls, self.name) if self.observed_as is None else self.observed_as
        return State(**dict(self) | {"observed_as": observed_as, "expiry": self.expiry and self.expiry.row()})


class OrdersForm(_Form):
    """Work of an agent."""

    orders: Names = Field((), description="The verbs, one after the other. Left out: one, the action's name.")
    attempts: Count = Field(
        3, description="How often the orders run before a probe that shows no change counts as failure."
    )

    def row(self) -> Orders:
        """The value that the form describes."""
        return Orders(self.orders, self.attempts)


class MemberActionForm(_Form):
    """For a group: an action of its members."""

    member_action: Name = Field(description="The action that the members get.")
    skips_claimed: Flag = Field(
        False, description="Members that other operations have claims on are skipped, instead of a conflict."
    )

    def row(self) -> MemberAction:
        """The value that the form describes."""
        return MemberAction(self.member_action, self.skips_claimed)


class SignalForm(_Form):
    """No operation of its own."""

    signal: Name = Field(description="The action whose running operation it is a signal to.")

    def row(self) -> Signal:
        """The value that the form describes."""
        return Signal(self.signal)


WorkForm = Annotated[
    Annotated[OrdersForm, Tag("(orders)")]
    | Annotated[MemberActionForm, Tag("(member_action)")]
    | Annotated[SignalForm, Tag("(signal)")]
    | Annotated[WorkWord, choice(WorkWord), Tag("(word)")],
    Discriminator(work_form),
]
"""What an action does: the forms exclude each other, so a document has one of them."""


class RollbackForm(_Form):
    """What becomes of a failed attempt."""

    verb: Name = Field(description="The order that rolls it back; `probe` where an observation decides.")
    target: Otherwise = Field(ORIGIN, description="The state that a completed rollback leads to.")

    def row(self) -> Rollback:
        """The value that the form describes."""
        return Rollback(self.verb, self.target)


RollbackChoice = Annotated[
    Annotated[RollbackForm, Tag("(rollback)")] | Annotated[RollbackWord, choice(RollbackWord), Tag("(word)")],
    Discriminator(lambda value: "(rollback)" if isinstance(value, dict) else "(word)"),
]


class ActionForm(_Form):
    """One action."""

    name: Name
    description: Text = Field(description="One sentence about it.")
    source: States = Field(description="The states in which it may start.")
    via: States = Field(
        (), description="The transitional states on its way. None: the state stays until the work is done."
    )
    target: Target = Field(description="The state that success leads to; (origin) for the one in which it began.")
    on_failure: OnFailure = Field(
        "",
        description="The state that failure leads to; (origin) for the one in which it began; left out where the "
        "action cannot fail.",
    )
    on_timeout: Otherwise = Field(
        ON_FAILURE,
        description="The state that a timeout leads to, after a probe without an answer; (on_failure): as failure.",
    )
    actors: Actors = Field((Actor.USER,), description="The actors that may request it.")
    work: WorkForm = Field(
        OrdersForm.model_construct(orders=(), attempts=3),
        description="What it does: orders to an agent (left out: one with the action's name), an action of the "
        "members, a signal to another operation, `scoped` or `none`.",
    )
    rollback: RollbackChoice | None = Field(
        None, description="What rolls a failed attempt back; `leave` where, on purpose, nothing does."
    )
    spec_change: Annotated[SpecChangeWord, choice(SpecChangeWord)] = Field(
        SpecChangeWord.NONE,
        description="It brings a new spec, which is the resource's when the action succeeded: `replace` the spec, or "
        "`amend` it.",
    )
    conflict: Annotated[ConflictPolicy, choice(ConflictPolicy)] = Field(
        ConflictPolicy.REJECT,
        description="While another operation has the claim: reject the request, queue it (unless the caller says "
        "otherwise), or preempt that operation.",
    )
    joins: Flag = Field(True, description="A second request for the same action joins the running operation.")
    idle: States = Field((), description="States in which the action succeeds and does nothing.")
    forceable: Flag = Field(False, description="Forced, it starts from every state that has something to act on.")
    hidden: Flag = Field(
        False, description="The visible state stays; one request is accepted meanwhile and runs afterwards."
    )
    checked: Flag = Field(False, description="Begins with a check that may decline; then nothing has changed.")
    spares: States = Field(
        (), description="Begins with an observation, and does nothing to an object observed in one of these states."
    )
    empty_only: Flag = Field(False, description="Rejected while the resource has children.")
    claims: NameOrNone = Field(
        "",
        description="The field of spec or facts with the path of another object that the action claims as well.",
    )
    needs_reason: Flag = Field(False, description="A request has to give a reason; the journal keeps it.")

    def row(self) -> Action:
        """The row that the form describes."""
        work = _WORK[self.work] if isinstance(self.work, WorkWord) else self.work.row()
        rollback = self.rollback.row() if isinstance(self.rollback, RollbackForm) else self.rollback and LEAVE
        spec_change = _SPEC_CHANGES[self.spec_change]
        return Action(**dict(self) | {"work": work, "rollback": rollback, "spec_change": spec_change})


_WORK: dict[WorkWord, Work | None] = {WorkWord.NONE: None, WorkWord.SCOPED: ScopedOperation()}
_SPEC_CHANGES = {
    SpecChangeWord.NONE: None,
    SpecChangeWord.REPLACE: SpecChange(),
    SpecChangeWord.AMEND: SpecChange(amends=True),
}


class TransitionForm(_Form):
    """A transition that no action implies, or that an action would imply and this kind does not have."""

    source: StateRef
    trigger: TriggerWord = Field(
        description="The trigger, then the action or observation that it is about: `observed Running`."
    )
    actor: Annotated[Actor, choice(Actor)] = Field(description="The actor that may make it.")
    target: StateRef
    forced: Flag = Field(False, description="Only a forced request makes it.")
    contended: Flag = Field(False, description="Several actors may leave the source state, and the first one wins.")

    def row(self) -> Transition:
        """The row that the form describes."""
        trigger, on = self.trigger
        return Transition(self.source, trigger, on, self.actor, self.target, self.forced, self.contended)


def _section(value: Any) -> Any:
    """A heading with nothing below it is a section without rows."""
    return [] if value == "" else value


def _some(states: tuple[StateForm, ...]) -> tuple[StateForm, ...]:
    if not states:
        raise ValueError("there is no state, so nothing says where an object begins")
    return states


Section = BeforeValidator(_section)


class LifecycleForm(_Form):
    """A lifecycle: the states of a kind, its actions, and the transitions that follow from neither."""

    kind: Name = Field(description="The kind of resource.")
    description: Text = Field(description="One sentence about it.")
    parent: NameOrNone = Field("", description="The kind above it in the tree.")
    preconditions: Annotated[tuple[PreconditionForm, ...], Section] = Field(
        (), description="The states that its ancestors must be in for a change to be accepted."
    )
    members: NameOrNone = Field("", description="The kind of its members, for a group.")
    aggregation: Annotated[Aggregation, choice(Aggregation)] = Field(
        Aggregation.NONE, description="The rule by which its state follows from its children."
    )
    aggregation_order: States = Field(
        (), description="The order that the rule uses: ties of dominant, severity of worst."
    )
    drift_states: States = Field((), description="Stable states that an observation may lead to and from by itself.")
    on_absent: StateOrNone = Field(
        "", description="The state of an object that is observed absent while no operation runs."
    )
    on_broken: StateOrNone = Field(
        "", description="The state of an object that is observed broken while no operation runs."
    )
    absence_threshold: Count = Field(
        3, description="How many observations in a row must miss an object before it counts as absent."
    )
    occupants: NameOrNone = Field(
        default="",
        description="The kind of the resources that occupy it without being below it: a field of their specs, called "
        "as this kind is, has its path.",
    )
    queue_field: NameOrNone = Field(
        "",
        description="The field of spec or facts with the path of another object, in whose queue its actions wait.",
    )
    observable: Flag = Field(
        True,
        description="Users may `refresh` it and `accept-observed`; false where other records have to agree with it.",
    )
    presence: Flag = Field(False, description="Its agent connects and disconnects, with notify-ids.")
    states: Annotated[tuple[StateForm, ...], AfterValidator(_some), Section] = Field(
        description="The first is where an object begins.", json_schema_extra={"minItems": 1}
    )
    actions: Annotated[tuple[ActionForm, ...], Section] = Field((), description="The actions of its actors.")
    transitions: Annotated[tuple[TransitionForm, ...], Section] = Field(
        (), description="Transitions that no action implies."
    )
    excluded: Annotated[tuple[TransitionForm, ...], Section] = Field(
        (), description="Transitions that an action would imply and this kind does not have."
    )

    def lifecycle(self) -> Lifecycle:
        """The lifecycle that the form describes."""
        sections = ("preconditions", "states", "actions", "transitions", "excluded")
        rows = {name: tuple(form.row() for form in getattr(self, name)) for name in sections}
        return Lifecycle(**dict(self) | rows)
