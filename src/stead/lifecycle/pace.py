"""How long is waited for whom: the durations of the protocol, in seconds, which are the same for every state."""

from __future__ import annotations

from dataclasses import dataclass, fields

MINUTE, DAY = 60, 24 * 60 * 60


@dataclass(frozen=True, slots=True)
class Pace:
    """The durations that a lifecycle's timers run for, besides the deadlines of its states."""

    custody: int = 30
    """From the last that was heard of whoever took an order until nobody who had it can act any more."""
    call: int = 10
    """Of that, what is kept for the longest call to a provider: an agent makes none in that last part."""
    resend: int = 10
    """Until an order that nobody took is sent anew."""
    again: int = 10
    """Between looks for what was missed."""
    probe: int = 2 * MINUTE
    undo: int = 30 * MINUTE
    unseen_work: int = 15 * MINUTE
    """For work during which the visible state stays as it was."""
    step: int = 10
    """Until a controller's own work, of which nobody has heard, is taken up again."""
    look: int = 5 * MINUTE
    """Between looks at what is settled and may have changed by itself."""
    still: int = 60 * MINUTE
    """Between looks at what hardly ever does."""
    survey: int = 30 * MINUTE
    """Between full states of a lane, which show what nobody owns."""
    away: int = 30
    """Until an agent that has not been heard of counts as disconnected."""
    hold: int = DAY
    retention: int = 0
    """Until what lies in the recycle bin is destroyed; 0: as its lifecycle says. It is the same at any pace."""

    @property
    def custody_of_agent(self) -> int:
        """How long an agent may begin calls, from when it asked for custody."""
        return self.custody - self.call

    def scaled(self, factor: float) -> Pace:
        """The same, slower or faster; nothing is shorter than a second, and a call always fits into custody."""
        scaled = {f.name: max(1, round(getattr(self, f.name) * factor)) for f in fields(self)}
        scaled["retention"] = self.retention
        scaled["custody"] = max(scaled["custody"], scaled["call"] + 1)
        return Pace(**scaled)


DEFAULT = Pace()
