"""The rows that make up a lifecycle (states, transitions, actions), and the words they use."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

ORIGIN = "(origin)"
"""Instead of a state: the state in which the operation began."""

ON_FAILURE = "(on_failure)"
"""Instead of a state: the state that a failure of the action leads to."""

ABSENT = "absent"
"""An agent's observation of an object that does not exist."""

BROKEN = "broken"
"""An agent's observation of an object that exists and is damaged."""

LEAVE: Literal["leave"] = "leave"
"""Instead of a rollback: a failed attempt stays as it is, on purpose."""

PROBE = "probe"
"""The verb of an order to observe an object."""

MINUTE = 60
HOUR = 60 * MINUTE
DAY = 24 * HOUR


class StateClass(StrEnum):
    """The four classes of state."""

    STABLE = "stable"
    """The resource stays in it until an actor requests a change."""
    TRANSITIONAL = "transitional"
    """A change is in progress; the state has a timeout and a way out on success, on failure and on timeout."""
    FINAL = "final"
    """The end of the lifecycle: only a request leaves it."""
    ABSENT = "absent"
    """The object does not exist: before its creation, or after its record was removed."""


class Actor(StrEnum):
    """An actor that makes transitions. An admin may do everything that a user may."""

    USER = "user"
    ADMIN = "admin"
    CONTROLLER = "controller"
    AGENT = "agent"
    SUCCESSOR = "successor"
    """The new agent of a site while an upgrade has two of them."""
    CLOCK = "clock"


class AwaitedParty(StrEnum):
    """The party whose report a transitional state waits for."""

    AGENT = "agent"
    """An agent has an order, and reports."""
    CHILDREN = "children"
    """Other resources are in transition: members, dependents, prerequisites."""
    CONTROLLER = "controller"
    """The controller goes on at once, unless the operation is held."""
    STEP = "step"
    """The controller works on a step of its own and reports it; after a crash it starts the step again."""


class Trigger(StrEnum):
    """The kinds of event that make a transition."""

    REQUEST = "request"
    """An actor requested the action."""
    STARTED = "started"
    """The agent began the work."""
    SUCCEEDED = "succeeded"
    """The agent finished the work."""
    FAILED = "failed"
    """The agent, or the controller's own step, could not finish the work."""
    DECLINED = "declined"
    """The agent or the controller checked the work and did not begin it: nothing changed."""
    OBSERVED = "observed"
    """The agent observed the object."""
    ACCEPTED = "accepted"
    """A user requested that the observed state becomes the recorded one, and the agent observed it."""
    NEXT = "next"
    """The controller went on to the next state of the action."""
    CHILDREN = "children"
    """The aggregated state of the children changed."""
    ROLLED_BACK = "rolled_back"
    """A failed action was rolled back."""
    TIMED_OUT = "timed_out"
    """No report came in time, and no answer to a probe either."""
    CONNECTED = "connected"
    """An agent connected with a new notify-id."""
    DISCONNECTED = "disconnected"
    """The agent that connected last is gone."""


class Aggregation(StrEnum):
    """The rule by which a parent's state follows from its children."""

    NONE = "none"
    """The parent's state does not depend on its children."""
    ALL = "all"
    """The action's target when every child reached it, its failure state otherwise."""
    DOMINANT = "dominant"
    """The state that most members are in."""
    WORST = "worst"
    """The first state, in the order of severity, that a child is in."""
    EVENTS = "events"
    """The stable state that the timed events imply."""


@dataclass(frozen=True, slots=True)
class Expiry:
    """A state that ends after a time: the clock then requests the action."""

    after: int
    """Seconds."""
    action: str


@dataclass(frozen=True, slots=True)
class AncestorCondition:
    """A change is accepted only while the ancestor of that kind is in one of these states."""

    kind: str
    states: tuple[str, ...]
    must_exist: bool = False
    """The ancestor has to exist as a record."""
    field: str = ""
    """The field of the spec that has the path of the resource, where it is no ancestor; then the condition also holds
    for requests of the controller."""
    actions: tuple[str, ...] = ()
    """The actions that depend on the condition; none: all."""


@dataclass(frozen=True, slots=True)
class State:
    """One state of a kind, with one sentence about it."""

    name: str
    cls: StateClass
    description: str
    timeout: int | None = None
    """Seconds that a transitional state may last before an agent probes the object."""
    awaits: AwaitedParty = AwaitedParty.AGENT
    """The party whose report a transitional state waits for; without meaning for the other classes."""
    observed_as: str = ""
    """The observation that agrees with this state; empty where no observation can tell."""
    member_action: str = ""
    """For a state that awaits children: the action that they get, if it is not the member action of the action."""
    on_failure: str = ""
    """The state that failure and timeout in this transitional state lead to, if the action's is not the one."""
    probe_first: bool = False
    """An action that starts here begins with an observation of the object."""
    rarely_changes: bool = False
    """The object hardly changes by itself, so agents observe it seldom."""
    expiry: Expiry | None = None


@dataclass(frozen=True, slots=True, order=True)
class Transition:
    """One edge: source, trigger, actor and target."""

    source: str
    trigger: Trigger
    on: str
    """The action of the trigger; for `observed` the observation; for `children` and presence the name of the row."""
    actor: Actor
    target: str
    forced: bool = False
    """Only a forced request makes it."""
    contended: bool = False
    """Declared: several actors may leave the source state, and the first one wins."""


@dataclass(frozen=True, slots=True)
class Orders:
    """The action is work of an agent, in one order or several, one after the other."""

    verbs: tuple[str, ...] = ()
    """None: one order, with the action's name as its verb."""
    attempts: int = 3
    """How often the order runs before a probe that shows no change counts as failure."""


@dataclass(frozen=True, slots=True)
class MemberAction:
    """The action of a group is another action of its members."""

    action: str
    skips_claimed: bool = False
    """The claim leaves out members that other operations have claims on, and the action skips them."""


@dataclass(frozen=True, slots=True)
class Signal:
    """The action is no operation of its own but a signal to the running operation of another action."""

    action: str


@dataclass(frozen=True, slots=True)
class ScopedOperation:
    """The action runs beside others: an intention on the resource, exclusive on the path below it in the request."""


@dataclass(frozen=True, slots=True)
class Observation:
    """The action observes the object, and does nothing else; for a group it observes the members."""

    member_action: str = ""
    skips_claimed: bool = False


Work = Orders | MemberAction | Signal | ScopedOperation | Observation
"""What an action does, besides the change of state."""


@dataclass(frozen=True, slots=True)
class Rollback:
    """A failed attempt is rolled back."""

    verb: str
    """The order that does it (`probe`: an observation decides), or for a group the action of the members."""
    target: str = ORIGIN
    """The state that a completed rollback leads to."""


@dataclass(frozen=True, slots=True)
class SpecChange:
    """The action brings a new spec: the resource's when the action succeeded, dropped when it was rolled back."""

    amends: bool = False
    """The new fields are laid over the spec instead of replacing it."""


class ConflictPolicy(StrEnum):
    """What happens to a request while another operation has the claim."""

    REJECT = "reject"
    QUEUE = "queue"
    """The request waits its turn, unless the caller says otherwise."""
    PREEMPT = "preempt"
    """The action takes over from the running operation."""


@dataclass(frozen=True, slots=True)
class Action:
    """An action that actors request, and the way it goes."""

    name: str
    description: str
    source: tuple[str, ...]
    """The states in which it may start."""
    via: tuple[str, ...]
    """The transitional states on its way. None: the state stays as it is until the work is done."""
    target: str
    """The state that success leads to; `ORIGIN` for the one in which the operation began."""
    on_failure: str = ""
    """The state that failure leads to; empty where the action cannot fail."""
    on_timeout: str = ON_FAILURE
    """The state that a timeout leads to, after a probe without an answer."""
    actors: tuple[Actor, ...] = (Actor.USER,)
    work: Work | None = Orders()
    """None: the change of state is all, or its states await the controller or children."""
    rollback: Rollback | Literal["leave"] | None = None
    """What becomes of a failed attempt; `leave`: on purpose nothing. None: there is nothing to roll back."""
    spec_change: SpecChange | None = None
    conflict: ConflictPolicy = ConflictPolicy.REJECT
    joins: bool = True
    """A second request for the same action joins the running operation."""
    idle: tuple[str, ...] = ()
    """States in which the action succeeds and does nothing."""
    forceable: bool = False
    hidden: bool = False
    """The visible state stays; the resource accepts one request meanwhile, which runs afterwards."""
    checked: bool = False
    """The work begins with a check that may decline; then nothing has changed and the state is as before."""
    spares: tuple[str, ...] = ()
    """The work begins with an observation, and does nothing to an object that is observed in one of these states."""
    empty_only: bool = False
    """Rejected while the resource has children."""
    claims: str = ""
    """The field of the request's spec, or of the known facts or spec, with the path of another object that the action
    claims as well."""
    needs_reason: bool = False
    """The caller has to give a reason; the journal keeps it."""

    @property
    def verbs(self) -> tuple[str, ...]:
        """The orders to an agent, in sequence."""
        match self.work:
            case Orders(verbs):
                return verbs or (self.name,)
            case Observation(""):
                return (PROBE,)
        return ()

    @property
    def attempts(self) -> int:
        """How often its orders run before a probe that shows no change counts as failure."""
        return self.work.attempts if isinstance(self.work, Orders) else Orders().attempts

    @property
    def member_action(self) -> str:
        """For a group: the action of its members; else empty."""
        match self.work:
            case MemberAction(action) | Observation(action):
                return action
        return ""

    @property
    def skips_claimed(self) -> bool:
        """Whether members that other operations have claims on are left out of the claim and skipped."""
        return isinstance(self.work, MemberAction | Observation) and self.work.skips_claimed

    @property
    def signals(self) -> str:
        """The action whose running operation it is a signal to; empty for an operation of its own."""
        return self.work.action if isinstance(self.work, Signal) else ""

    @property
    def scoped(self) -> bool:
        """Whether it runs beside others, with a claim on a path below the resource."""
        return isinstance(self.work, ScopedOperation)

    @property
    def observes(self) -> bool:
        """Whether it observes the object, and does nothing else."""
        return isinstance(self.work, Observation)

    @property
    def rollback_verb(self) -> str:
        """The verb that rolls a failed attempt back; empty where none does."""
        return self.rollback.verb if isinstance(self.rollback, Rollback) else ""

    @property
    def rollback_target(self) -> str:
        """The state that a completed rollback leads to."""
        return self.rollback.target if isinstance(self.rollback, Rollback) else ORIGIN

    @property
    def changes_spec(self) -> bool:
        """Whether it brings a new spec."""
        return self.spec_change is not None

    @property
    def amends_spec(self) -> bool:
        """Whether its spec is laid over the resource's."""
        return self.spec_change is not None and self.spec_change.amends

    @property
    def queues(self) -> bool:
        """Whether its requests wait their turn, unless the caller says otherwise."""
        return self.conflict is ConflictPolicy.QUEUE

    @property
    def preempts(self) -> bool:
        """Whether it takes over from the running operation."""
        return self.conflict is ConflictPolicy.PREEMPT


def absent(name: str, description: str) -> State:
    """A state of an object that does not exist."""
    return State(name, StateClass.ABSENT, description, observed_as=ABSENT)


def stable(
    name: str,
    description: str,
    *,
    observed_as: str | None = None,
    probe_first: bool = False,
    rarely_changes: bool = False,
    expiry: Expiry | None = None,
) -> State:
    """A stable state; agents observe it under its own name unless `observed_as` says otherwise."""
    return State(
        name,
        StateClass.STABLE,
        description,
        observed_as=name if observed_as is None else observed_as,
        probe_first=probe_first,
        rarely_changes=rarely_changes,
        expiry=expiry,
    )


def transitional(
    name: str,
    description: str,
    timeout: int,
    awaits: AwaitedParty = AwaitedParty.AGENT,
    *,
    member_action: str = "",
    on_failure: str = "",
) -> State:
    """A transitional state with its timeout in seconds."""
    return State(
        name,
        StateClass.TRANSITIONAL,
        description,
        timeout=timeout,
        awaits=awaits,
        member_action=member_action,
        on_failure=on_failure,
    )


def final(name: str, description: str, *, observed_as: str = ABSENT) -> State:
    """A final state; at the provider the object is gone, unless `observed_as` says otherwise."""
    return State(name, StateClass.FINAL, description, observed_as=observed_as)
