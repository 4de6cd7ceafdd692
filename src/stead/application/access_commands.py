"""Commands about access: tokens for programs, roles of people and groups, and an operator's own policies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from stead.access.access import Access, NewToken
from stead.access.authorized import THE_CELL, Authorized
from stead.access.caller import EVERYWHERE, Caller
from stead.access.policies import ACCESS, NAMESPACE, VIEW, PolicyResource
from stead.application.commands import Application

type Record = Mapping[str, Any]


class AuthenticationDisabled(Exception):
    """The server authenticates no caller: there is no access to give."""


@dataclass(frozen=True)
class AccessCommands:
    """Queries and commands about who may do what. They demand the permission for all namespaces that they concern."""

    application: Application

    def authorize(self, caller: Caller, namespaces: Iterable[str]) -> Authorized:
        """The permission to give access in some namespaces. Raises `NotPermitted`, `AuthenticationDisabled`."""
        found = [self.application.authorization.require(caller, ACCESS, _place(where)) for where in namespaces]
        self._enabled()
        return found[0]

    def _enabled(self) -> Access:
        access = self.application.access
        if access is None or access.open:
            raise AuthenticationDisabled
        return access

    def _may(self, caller: Caller, namespaces: Iterable[str]) -> bool:
        """Whether a caller gives access in all of some namespaces."""
        evaluate = self.application.authorization.evaluate
        return all(evaluate(caller, ACCESS, _place(where), admin=True).allowed for where in namespaces)

    # Tokens

    async def tokens(self, authorized: Authorized) -> Sequence[Record]:
        """Tokens of the namespaces in which the caller gives access."""
        authorized.check(VIEW)
        found = await self.application.reader.store.credentials.read_tokens()
        return [token for token in found if self._may(authorized.caller, [where for _, where in token["roles"]])]

    async def create_token(
        self, name: str, roles: Sequence[tuple[str, str]], lasts: timedelta, authorized: Authorized
    ) -> NewToken:
        """Make a token. The name of one that an admin of namespaces makes begins with these namespaces.

        Raises `InvalidAccessRequest`.
        """
        authorized.check(ACCESS)
        # Policies of the cell name tokens: a name without a namespace is given by admins of the cell alone.
        of_cell = self._may(authorized.caller, [EVERYWHERE])
        within = [] if of_cell else sorted({namespace for _, namespace in roles})
        return await self._enabled().create_token("/".join([*within, name]), roles, lasts, authorized.principal)

    async def authorize_revocation(self, name: str, caller: Caller) -> Authorized | None:
        """The permission to revoke a token; None where there is none of that name that the caller may revoke."""
        tokens = await self.application.reader.store.credentials.read_tokens()
        found = next((token for token in tokens if token["name"] == name), None)
        if found is None or not self._may(caller, [where for _, where in found["roles"]]):
            return None
        require = self.application.authorization.require
        permissions = [require(caller, ACCESS, _place(where)) for _, where in found["roles"]]
        return permissions[0]

    async def revoke_token(self, name: str, authorized: Authorized) -> None:
        """Revoke a token: within a second it lets no program in any more, at any server."""
        authorized.check(ACCESS)
        await self.application.reader.store.credentials.remove_token(name, authorized.principal)

    # Roles

    async def grants(self, authorized: Authorized) -> Sequence[Record]:
        """Who has which role, in the namespaces in which the caller gives access."""
        authorized.check(VIEW)
        found = await self.application.reader.store.access.read_grants()
        return [grant for grant in found if self._may(authorized.caller, [grant["namespace"]])]

    async def grant(self, subject: str, role: str, namespace: str, authorized: Authorized) -> None:
        """Give a person or a group a role. Raises `InvalidAccessRequest`."""
        authorized.check(ACCESS)
        await self._enabled().grant(subject, role, namespace, authorized.principal)

    async def revoke_grant(self, subject: str, role: str, namespace: str, authorized: Authorized) -> bool:
        """Take a role from a person or a group; whether they had it."""
        authorized.check(ACCESS)
        return await self.application.reader.store.access.remove_grant(subject, role, namespace, authorized.principal)

    # Policies

    async def policies(self, authorized: Authorized) -> Sequence[Record]:
        """The operator's own policies."""
        authorized.check(ACCESS)
        access = self.application.access
        return await access.all_policies() if access is not None else []

    async def put_policy(self, name: str, text: str, authorized: Authorized) -> None:
        """Make a policy, or put another in its place. Raises `InvalidPolicy`."""
        authorized.check(ACCESS)
        await self._enabled().put_policy(name, text, authorized.principal)

    async def remove_policy(self, name: str, authorized: Authorized) -> bool:
        """Remove a policy; whether there was one in the store."""
        authorized.check(ACCESS)
        return await self._enabled().remove_policy(name, authorized.principal)


def _place(namespace: str) -> PolicyResource:
    return THE_CELL if namespace == EVERYWHERE else PolicyResource(f"/{namespace}", NAMESPACE)
