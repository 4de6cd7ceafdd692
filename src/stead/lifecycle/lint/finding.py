"""What lint says: the rules by name, and one finding."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Rule(StrEnum):
    """What a sound lifecycle keeps to. The names are stable: people write them down."""

    NO_STATES = "no-states"
    """There is no state, so nothing can begin."""
    NOWHERE = "nowhere"
    """A state is named that does not exist."""
    NAME_TWICE = "name-twice"
    """Two states or actions have the same name, but for large and small letters."""
    UNKNOWN_ACTION = "unknown-action"
    """An action is named that does not exist."""
    ABSENT_TWICE = "absent-twice"
    """More than one state says that there is no such object."""
    AMBIGUOUS_SEEN = "ambiguous-seen"
    """One observation may mean two states."""
    VAIN_STRIKE = "vain-strike"
    """A move is struck that no action implies."""
    VAIN_EXPIRY = "vain-expiry"
    """A state expires into an action that would be refused."""
    UNREACHABLE = "unreachable"
    """No way leads to a state."""
    DEAD_END = "dead-end"
    """No way leads out of a settled state, or from a moving one to rest."""
    THROUGH_RESTING = "through-resting"
    """An action passes through a state that is not moving."""
    NO_DEADLINE = "no-deadline"
    """A moving state may last forever."""
    NO_SUCCESS_EXIT = "no-success-exit"
    """A moving state has no way out when the work is done."""
    NO_FAILURE_EXIT = "no-failure-exit"
    """A moving state has no way out when the work fails."""
    NO_SILENCE_EXIT = "no-silence-exit"
    """A moving state has no way out when nobody answers."""
    SILENT_MOVING = "silent-moving"
    """Silence leads to another state that somebody would have to leave."""
    TWO_ACTORS = "two-actors"
    """More than one actor may leave a moving state."""
    FINAL_LEFT = "final-left"
    """Something leaves a final state though nobody asked."""
    NO_UNDO = "no-undo"
    """An action can fail half-way, and nothing says what becomes of the half."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not sound."""

    rule: Rule
    where: str
    """`state Creating`, `action suspend`, `move Running -> Stopped`, or the key of the lifecycle."""
    message: str
    remedy: str
    """What to do about it."""

    def __str__(self) -> str:
        return f"{self.where}: {self.message}; {self.remedy} ({self.rule})"
