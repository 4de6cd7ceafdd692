"""The rows a lifecycle is written in: a state, a move, an action, and the words they use."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

BACK = "(back)"
"""In place of a state: the one in which the operation began."""

FAILS = "(fails)"
"""In place of a state: wherever the action goes when it fails."""

ABSENT = "absent"
"""What an agent says of an object that is not there."""

BROKEN = "broken"
"""What an agent says of an object that is neither whole nor gone."""

MINUTE = 60
HOUR = 60 * MINUTE
DAY = 24 * HOUR


class StateClass(StrEnum):
    """The four classes of state."""

    STABLE = "stable"
    """Stays until somebody asks for a change."""
    TRANSITIONAL = "transitional"
    """On the way; has a deadline and a way out on success, on failure and on silence."""
    FINAL = "final"
    """The end of the road: nothing leaves it by itself."""
    ABSENT = "absent"
    """There is no such object: before its creation, or after its record left."""


class Actor(StrEnum):
    """Who may make a move. An admin may do whatever a user may."""

    USER = "user"
    ADMIN = "admin"
    CONTROLLER = "controller"
    AGENT = "agent"
    SUCCESSOR = "successor"
    """The new agent of a site while an upgrade has two of them."""
    CLOCK = "clock"


class AwaitedParty(StrEnum):
    """Whose word a moving state waits for."""

    AGENT = "agent"
    """An order is out; the agent that has it reports."""
    CHILDREN = "children"
    """Other resources are on their way: members, dependents, things to be made first."""
    CONTROLLER = "controller"
    """Nobody: the controller goes on at once, unless it is held."""
    STEP = "step"
    """Work of the controller's own, which it reports; after a crash it is taken up again."""


class Trigger(StrEnum):
    """On what word a move is made."""

    REQUEST = "request"
    """Somebody asked for the action."""
    STARTED = "started"
    """The agent has begun."""
    SUCCEEDED = "succeeded"
    """The agent has finished."""
    FAILED = "failed"
    """The agent (or the controller's own step) could not finish."""
    DECLINED = "declined"
    """The work was checked and not begun: nothing changed."""
    OBSERVED = "observed"
    """The agent looked, and says what is there."""
    ACCEPTED = "accepted"
    """A user asked to record what the agent observes, and this is what it observed."""
    NEXT = "next"
    """The controller goes on to the next state of the action."""
    CHILDREN = "children"
    """What the children amount to changed."""
    ROLLED_BACK = "rolled_back"
    """A failed action was taken back."""
    TIMED_OUT = "timed_out"
    """Nobody answered, not even a probe."""
    CONNECTED = "connected"
    """An agent connected with a new notify-id."""
    DISCONNECTED = "disconnected"
    """The agent that had connected last is gone."""


class Fold(StrEnum):
    """How a parent's state follows from its children."""

    NONE = "none"
    """It does not."""
    ALL = "all"
    """The action's end when every child reached it, its failure otherwise."""
    DOMINANT = "dominant"
    """The state most members have."""
    WORST = "worst"
    """The first of an order of badness that any child is in."""
    EVENTS = "events"
    """The settled state that the timed events imply."""


@dataclass(frozen=True, slots=True)
class Expiry:
    """A state that ends by the clock: after so many seconds the clock asks for the action."""

    after: int
    action: str


@dataclass(frozen=True, slots=True)
class AncestorCondition:
    """A change is accepted only while the ancestor of that kind is in one of these states."""

    kind: str
    states: tuple[str, ...]
    there: bool = False
    """The ancestor has to be there at all."""
    named: str = ""
    """It is no ancestor, but what this field of the spec has the path of; and it counts whoever asks."""
    only: tuple[str, ...] = ()
    """The actions that need it; none: all."""


@dataclass(frozen=True, slots=True)
class State:
    """One state of a kind, with one sentence."""

    name: str
    cls: StateClass
    says: str
    deadline: int | None = None
    """Seconds that a moving state may last before the object is probed."""
    awaits: AwaitedParty = AwaitedParty.AGENT
    """Whose word a moving state waits for; without meaning for the other classes."""
    seen: str = ""
    """What an agent says when the provider agrees with this state; empty where no look at the provider can tell."""
    asks: str = ""
    """In a state that awaits children: what is asked of them, if not what the action says."""
    fails: str = ""
    """Where failure and silence in this moving state lead, if not where the action says."""
    probe_first: bool = False
    """An action that starts here looks at the object before it acts on it."""
    still: bool = False
    """It hardly changes by itself, and is looked at seldom."""
    expires: Expiry | None = None


@dataclass(frozen=True, slots=True, order=True)
class Transition:
    """One edge: on what word, by whom, from where to where."""

    source: str
    trigger: Trigger
    on: str
    """The action the word is about; for `seen` what was seen; for `children` and presence whatever names the row."""
    actor: Actor
    target: str
    forced: bool = False
    """Only a forced request makes it."""
    contended: bool = False
    """Declared: more than one actor may leave the source state, and whoever comes first wins."""


@dataclass(frozen=True, slots=True)
class Action:
    """What somebody may ask for, and how it goes."""

    name: str
    says: str
    starts: tuple[str, ...]
    through: tuple[str, ...]
    """The moving states on the way. None: the state stays as it is until the work is done."""
    ends: str
    """Where success leads; `BACK` for where it began."""
    fails: str = ""
    """Where failure leads; empty where the action cannot fail."""
    by: tuple[Actor, ...] = (Actor.USER,)
    orders: tuple[str, ...] | None = None
    """The verbs an agent is told, one after the other. None: one verb, the action's name."""
    undo: str = ""
    """The verb that takes a failed attempt back; `probe` where a look decides; `leave` where nobody is to."""
    undone: str = BACK
    """Where a completed undo leads."""
    silent: str = FAILS
    """Where silence leads, after a probe that nobody answered."""
    attempts: int = 3
    """How often the order is run before a probe that shows no change counts as failure."""
    members: str = ""
    """For a group: the action asked of its members."""
    idle: tuple[str, ...] = ()
    """States in which the action succeeds and does nothing."""
    joins: bool = True
    """The same action asked again joins the running operation."""
    steers: str = ""
    """Not an operation of its own: a word to the running operation of this action."""
    forceable: bool = False
    hidden: bool = False
    """The visible state stays; one request is accepted meanwhile and runs afterwards."""
    beside: bool = False
    """Runs beside others: intention on the resource, exclusive on the path below it that the request names."""
    outranks: bool = False
    """Takes over from whatever operation is running."""
    checked: bool = False
    """Its work begins with a check that may say no; then nothing has changed and the state is as before."""
    spares: tuple[str, ...] = ()
    """It begins with a look, and does nothing to what is seen so."""
    respec: bool = False
    """It brings a new spec, which becomes the resource's when it is done and is dropped when it is undone."""
    amends: bool = False
    """What it brings is laid over the spec that there is, instead of taking its place."""
    empty_only: bool = False
    """Refused while the resource has children."""
    queues: bool = False
    """On conflict the request waits its turn, unless the caller says otherwise."""
    leaves_out: bool = False
    """For a group: what is claimed below it is left out of its claim, and members there are skipped."""
    claims: str = ""
    """The field of the request's spec, or of the known facts or spec, with the path of another object that the action
    claims as well."""
    observes: bool = False
    """Its work is to observe the object, and nothing else."""
    needs_reason: bool = False
    """The caller has to say why; the journal keeps it."""

    @property
    def verbs(self) -> tuple[str, ...]:
        """The orders to an agent, in sequence."""
        return (self.name,) if self.orders is None else self.orders


def absent(name: str, says: str) -> State:
    """There is no such object."""
    return State(name, StateClass.ABSENT, says, seen=ABSENT)


def stable(
    name: str,
    says: str,
    *,
    seen: str | None = None,
    probe_first: bool = False,
    still: bool = False,
    expires: Expiry | None = None,
) -> State:
    """A settled state; an agent sees it under its own name unless `seen` says otherwise."""
    return State(
        name,
        StateClass.STABLE,
        says,
        seen=name if seen is None else seen,
        probe_first=probe_first,
        still=still,
        expires=expires,
    )


def transitional(
    name: str, says: str, deadline: int, awaits: AwaitedParty = AwaitedParty.AGENT, *, asks: str = "", fails: str = ""
) -> State:
    """A moving state with its deadline in seconds."""
    return State(name, StateClass.TRANSITIONAL, says, deadline=deadline, awaits=awaits, asks=asks, fails=fails)


def final(name: str, says: str, *, seen: str = ABSENT) -> State:
    """A final state; at the provider there is nothing left, unless `seen` says otherwise."""
    return State(name, StateClass.FINAL, says, seen=seen)
