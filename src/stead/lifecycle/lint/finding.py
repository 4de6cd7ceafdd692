"""What lint says: the rules by name, and one finding."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Rule(StrEnum):
    """What a sound lifecycle keeps to. The names are stable: people write them down."""

    NO_STATES = "no-states"
    """There is no state, so nothing can begin."""
    UNKNOWN_STATE = "unknown-state"
    """A state is named that does not exist."""
    DUPLICATE_NAME = "duplicate-name"
    """Two states or actions have the same name, but for large and small letters."""
    UNKNOWN_ACTION = "unknown-action"
    """An action is named that does not exist."""
    SEVERAL_ABSENT = "several-absent"
    """More than one state says that there is no such object."""
    AMBIGUOUS_OBSERVATION = "ambiguous-observation"
    """One observation may mean two states."""
    USELESS_EXCLUSION = "useless-exclusion"
    """A move is struck that no action implies."""
    USELESS_EXPIRY = "useless-expiry"
    """A state expires into an action that would be refused."""
    UNREACHABLE = "unreachable"
    """No way leads to a state."""
    DEAD_END = "dead-end"
    """No way leads out of a settled state, or from a moving one to rest."""
    VIA_NOT_TRANSITIONAL = "via-not-transitional"
    """An action passes through a state that is not moving."""
    NO_TIMEOUT = "no-timeout"
    """A moving state may last forever."""
    NO_SUCCESS_EXIT = "no-success-exit"
    """A moving state has no way out when the work is done."""
    NO_FAILURE_EXIT = "no-failure-exit"
    """A moving state has no way out when the work fails."""
    NO_TIMEOUT_EXIT = "no-timeout-exit"
    """A moving state has no way out when nobody answers."""
    TIMEOUT_NOT_RESTING = "timeout-not-resting"
    """Silence leads to another state that somebody would have to leave."""
    TWO_ACTORS = "two-actors"
    """More than one actor may leave a moving state."""
    FINAL_LEFT = "final-left"
    """Something leaves a final state though nobody asked."""
    NO_ROLLBACK = "no-rollback"
    """An action can fail half-way, and says nothing about the failed attempt."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not sound."""

    rule: Rule
    where: str
    """`state Creating`, `action suspend`, `transition Running -> Stopped`, or the key of the lifecycle."""
    message: str
    remedy: str
    """What to do about it."""

    def __str__(self) -> str:
        return f"{self.where}: {self.message}; {self.remedy} ({self.rule})"
