"""Who may be an agent: invited by name and lanes, let in once with a token, renewed while it works, revoked by name.

The database knows who is revoked. The servers of the bus are told, and told again when they have forgotten: they may
lose all that they have.
"""

from __future__ import annotations

import hashlib
import logging
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from stead.access.authorized import Authorized
from stead.access.policies import AGENTS
from stead.bus.errors import BadMessage
from stead.bus.messages import IdentityReply, RenewIdentity
from stead.bus.permissions import agent_permissions
from stead.bus.server_admin import ServerAdmin
from stead.bus.subjects import to_token
from stead.catalog.edge import is_site
from stead.pki.claims import Permissions, decode
from stead.pki.identity import Identity
from stead.pki.issuer import SYSTEM, CredentialIssuer, IssuedCredentials, proven
from stead.pki.nkeys import Role, raw
from stead.schema import Model
from stead.store import Store

log = logging.getLogger(__name__)

LIFETIME = 30 * 86_400.0
"""Seconds for which what an agent connects with holds, where nothing else is said."""

TOKEN = "stead-join-"
"""How a token begins, so that whoever finds one knows what it is."""

MAX_LANES = 200
"""Lanes of one agent: its claims name the subjects of each, and it shows them whenever it connects."""

MAX_ATTEMPTS = 5


class InvitationRejected(Exception):
    """The token does not hold: it is none, was used, is over, or is for another."""


class NameInUse(Exception):
    """There is an agent of that name already."""


@dataclass(frozen=True)
class Invitation(Model):
    """With its token one agent may join, once. The token is in no other place."""

    name: str
    lanes: tuple[str, ...]
    token: str
    expires_at: datetime


@dataclass(frozen=True)
class Agent(Model):
    """An agent: who it is, if it has an identity, and when it was last heard of."""

    name: str
    lanes: tuple[str, ...]
    joined_at: datetime | None = None
    expires_at: datetime | None = None
    """Of what it connects with, which it renews by itself."""
    revoked_at: datetime | None = None
    last_seen: datetime | None = None
    connected: bool = False
    version: str = ""
    rejected: Mapping[str, str] = field(default_factory=dict)
    """By lane, why its provider rejects the agent, as with wrong credentials."""
    clock_offset: float = 0.0
    """Seconds by which its clock is ahead of the database's."""


@dataclass(frozen=True)
class JoinedAgent:
    """What an agent is given that was let in."""

    name: str
    cell: str
    lanes: tuple[str, ...]
    bus: tuple[str, ...]
    issued: IssuedCredentials


class AgentIdentities:
    """Gives identities out, and takes them back."""

    def __init__(self, store: Store, identity: Identity, lifetime: float = LIFETIME, *, leaves: bool = False) -> None:
        """With `leaves`, agents of sites may be behind leaf nodes."""
        self.store = store
        self.identity = identity
        self.issuer = CredentialIssuer(identity)
        self.lifetime = lifetime
        self.leaves = leaves

    def expires(self) -> datetime:
        """Until when what this process shows the bus holds."""
        return self.identity.window()[1]

    async def invite(self, name: str, lanes: list[str], seconds: float, authorized: Authorized) -> Invitation:
        """A token with which one agent may join, once, under this name and for these lanes."""
        authorized.check(AGENTS)
        by = authorized.principal
        for word in (name, *lanes):
            to_token(word)  # or it is no name on the bus
        if not 0 < len(lanes) <= MAX_LANES:
            raise ValueError(f"an agent has between 1 and {MAX_LANES} lanes")
        token = f"{TOKEN}{secrets.token_urlsafe(32)}"
        expires_at = await self.store.identities.invite(digest(token), name, sorted(set(lanes)), by, seconds)
        if expires_at is None:
            raise NameInUse(f"there is an agent {name}; revoke it first")
        log.info("%s invites the agent %s for %s", by, name, ", ".join(lanes))
        return Invitation(name, tuple(sorted(set(lanes))), token, expires_at)

    async def join(self, token: str, name: str, user_key: str, request: str, proof: str) -> JoinedAgent:
        """Let an agent in: it has shown a token, and that it has the keys that it names."""
        raw(user_key, Role.USER)
        if not proven(user_key, request, proof):
            raise ValueError("the request is not signed with the user's key")
        # Before the token is used up for it.
        self.issuer.issue("nobody", user_key, request, Permissions((), ()), 1, self.store.clock())
        row = await self.store.identities.join(digest(token), name, user_key, self.lifetime)
        if row is None:
            raise InvitationRejected("the token is none, was used, is over, or is for another name")
        log.info("the agent %s has joined, for %s", row["name"], ", ".join(row["lanes"]))
        about = self.identity.description
        issued = self._issue(row["name"], row["lanes"], user_key, request)
        return JoinedAgent(row["name"], about.cell, tuple(row["lanes"]), tuple(about.bus), issued)

    async def renew(self, asked: RenewIdentity) -> IdentityReply:
        """What an agent connects with, anew; its key stays the same, so that whatever is revoked stays so."""
        row = await self.store.identities.renew(asked.agent, self.lifetime)
        if row is None:
            return IdentityReply(ok=False, error="there is no such agent, or it was revoked")
        try:
            issued = self._issue(asked.agent, row["lanes"], row["user_key"], asked.request)
        except ValueError as error:
            raise BadMessage(str(error)) from error
        return IdentityReply(ok=True, jwt=issued.jwt, certificate=issued.certificate)

    async def revoke(self, name: str, authorized: Authorized) -> Agent | None:
        """Revoke the identity of an agent: its connections end, and it cannot come back."""
        authorized.check(AGENTS)
        by = authorized.principal
        if not await self.store.identities.revoke(name, by):
            return None
        log.warning("%s revokes the agent %s", by, name)
        await self.push()
        (found,) = [member for member in await self.members() if member.name == name]
        return found

    async def members(self) -> list[Agent]:
        """All agents that have an identity, and all that were heard of."""
        return [member_of(record) for record in await self.store.agents.read_all()]

    async def push(self) -> None:
        """Tell the servers of the bus who is revoked. Whoever was revoked meanwhile is told, too."""
        for _ in range(MAX_ATTEMPTS):
            wanted = await self.store.identities.read_revoked_keys()
            await self._system().update(self.issuer.account_claims(wanted))
            if await self.store.identities.read_revoked_keys() == wanted:
                return

    async def heal(self) -> int:
        """Tell them again where they have forgotten, or were not told."""
        wanted = await self.store.identities.read_revoked_keys()
        known = decode(await self._system().lookup(self.issuer.account))
        if known.get("nats", {}).get("revocations", {}) == wanted:
            return 0
        await self.push()
        return 1

    def _system(self) -> ServerAdmin:
        return ServerAdmin(self.identity.description.bus, self.identity.options(SYSTEM))

    def _issue(self, name: str, lanes: list[str], user_key: str, request: str) -> IssuedCredentials:
        leaf = self.leaves and all(map(is_site, lanes))
        may = agent_permissions(self.identity.description.cell, name, lanes, leaf=leaf)
        allowed, now = Permissions(*may, answers=1), self.store.clock()
        return self.issuer.issue(name, user_key, request, allowed, self.lifetime, now)


def digest(token: str) -> bytes:
    """A token as it is kept: it has 256 random bits, so nobody finds it by trying."""
    return hashlib.sha256(token.encode()).digest()


def member_of(record: Mapping[str, Any]) -> Agent:
    """An agent from a record of the database."""
    plain = {name: value for name, value in record.items() if name not in ("lanes", "there")}
    return Agent(**plain, lanes=tuple(record["lanes"]), connected=record.get("there", False))
