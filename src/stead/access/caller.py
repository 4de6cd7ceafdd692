"""The authenticated caller of a request."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

EVERYWHERE = "*"
"""Of a role: in every namespace, and in the cell itself."""

USER, TOKEN, GROUP = "user", "token", "group"
"""What stands before a name: a program cannot pass for a person of the same name."""


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated caller, with their roles, and until when that counts."""

    name: str
    actor: str = "user"
    """The actor of lifecycles that they act as; the policies say when that is an admin."""
    groups: tuple[str, ...] = ()
    roles: frozenset[tuple[str, str]] = frozenset()
    """Pairs of a role and a namespace."""
    until: float = math.inf
    """Seconds since the epoch; after that they have to say again who they are."""
    open: bool = False
    """The server authenticates no caller, and permits everything."""
    bearer: str = field(default="", repr=False)
    """What they showed, under which it is looked up again."""

    @property
    def subjects(self) -> tuple[str, ...]:
        """The names under which roles are given to them."""
        return (self.name, *(f"{GROUP}:{group}" for group in self.groups))


def anonymous() -> Caller:
    """The caller at a server that authenticates none."""
    return Caller("anonymous", open=True)
