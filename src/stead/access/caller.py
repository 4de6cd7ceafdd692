"""Somebody who asks, as far as it was made sure who that is."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

EVERYWHERE = "*"
"""Of a role: in every namespace, and in the cell itself."""

USER, TOKEN, GROUP = "user", "token", "group"
"""What stands before a name: a program cannot pass for a person of the same name."""


@dataclass(slots=True)
class Caller:
    """Who asks, what is known of them, and until when that counts."""

    name: str
    actor: str = "user"
    """As which actor of the lifecycles; policies say when somebody acts as an admin."""
    groups: tuple[str, ...] = ()
    roles: frozenset[tuple[str, str]] = frozenset()
    """Pairs of a role and a namespace."""
    until: float = math.inf
    """Seconds since the epoch; after that they have to say again who they are."""
    open: bool = False
    """Nobody is asked who they are here, and everybody may everything."""
    bearer: str = field(default="", repr=False)
    """What they showed, under which it is looked up again."""
    judged: bool = field(default=False, compare=False)
    """Somebody has asked whether they may do what they do."""

    @property
    def subjects(self) -> tuple[str, ...]:
        """Under which names roles are given to them."""
        return (self.name, *(f"{GROUP}:{group}" for group in self.groups))


def anonymous() -> Caller:
    """Whoever it is, where nobody is asked."""
    return Caller("anonymous", open=True)
