"""The proof that a caller may do something: made where policies are asked, demanded by commands and queries."""

from __future__ import annotations

from dataclasses import dataclass, field

from stead.access.caller import Caller
from stead.access.policies import CELL, PolicyResource
from stead.lifecycle.rows import Actor
from stead.store import Row

CONTROLLER = "controller"
"""The principal of what a controller does of its own accord."""

THE_CELL = PolicyResource("/", CELL)


@dataclass(frozen=True, slots=True)
class Authorized:
    """A caller whose permission to take an action was checked.

    `Authorization` makes one after the policies have allowed the action. What was authorized before, such as the
    steps of an accepted operation, goes on under `of_record` or `by_controller`. Nothing else makes one.
    """

    caller: Caller
    """As the actor that the policies let them act as."""
    action: str
    resource: PolicyResource = THE_CELL
    row: Row | None = field(default=None, compare=False)
    """The resource as it was when the policies were asked, where they were asked about one."""
    force: bool = False
    """Also by force."""
    dry_run: bool = False
    """Only to learn what the action would do."""

    @classmethod
    def of_record(cls, principal: str, actor: Actor, action: str) -> Authorized:
        """The permission under which a recorded request was accepted."""
        return cls(Caller(principal, actor=actor), action, force=True)

    @classmethod
    def by_controller(cls, action: str, principal: str = CONTROLLER) -> Authorized:
        """The permission of a controller to do what follows from an accepted operation, for its principal."""
        return cls.of_record(principal, Actor.CONTROLLER, action)

    def for_step(self, action: str, actor: Actor | None = None) -> Authorized:
        """The permission for a step of what this one permits, under the name of the same caller."""
        return Authorized.of_record(self.principal, actor or self.actor, action)

    @property
    def principal(self) -> str:
        """The name of the caller."""
        return self.caller.name

    @property
    def actor(self) -> Actor:
        """The actor of lifecycles that the caller acts as."""
        return Actor(self.caller.actor)

    def check(self, action: str, *, force: bool = False, dry_run: bool = False) -> None:
        """Raise where the permission is for less than this: a defect of the program, not of a request."""
        if self.action != action or (force and not self.force) or (self.dry_run and not dry_run):
            raise RuntimeError(f"the permission for {self.action} does not cover {action}")
