"""Who somebody is by what they show, and what they may; as it is now, to a second.

What was read is remembered until the version of all this rises, which is looked at once a second at most: so a
request costs no statement, and a token that is revoked lets nobody in for longer than a second, at any server.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from stead.access import tokens
from stead.access.caller import EVERYWHERE, TOKEN, USER, Caller, anonymous
from stead.access.oidc import InvalidIdToken, IssuedIdentity, IssuerUnavailable, OidcVerifier
from stead.access.policies import ROLES, InvalidPolicy, Policies, check
from stead.store import Store

REFRESH_SECONDS = 1.0
"""Seconds for which what was read counts without a look."""
MAX_CACHED_CALLERS = 50_000
"""Callers that are remembered."""
SESSION_LIFETIME = timedelta(hours=12)
"""How long a login in a browser lasts at most."""
MAX_TOKEN_LIFETIME = timedelta(days=366)
"""How long a token lasts at most."""

type Roles = Collection[tuple[str, str]]


class UnknownCredentials(Exception):
    """What somebody shows does not say who they are."""


class InvalidAccessRequest(ValueError):
    """A role, a token or a policy makes no sense."""


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token that was just made; its text is shown once."""

    name: str
    text: str
    roles: tuple[tuple[str, str], ...]
    expires_at: datetime


class Access:
    """Knows callers, and judges them by policies."""

    def __init__(
        self,
        store: Store,
        actions: Sequence[str] | Callable[[], Sequence[str]],
        *,
        oidc: OidcVerifier | None = None,
        files: Mapping[str, str] | None = None,
        open: bool = False,
    ) -> None:
        """`actions` are those of all lifecycles, or say which these are by now; `files` are policies that stand
        beside those in the store.
        """
        self.store = store
        self.oidc = oidc
        self.open = open
        self.actions = actions if callable(actions) else lambda: actions
        self.policies = Policies(files, self.actions())
        self._files = dict(files or {})
        self._grants: dict[str, set[tuple[str, str]]] = {}
        self._callers: dict[str, Caller] = {}
        self._digests: set[bytes] = set()
        self._version = 0
        self._looked = -REFRESH_SECONDS
        self._lock = asyncio.Lock()

    # Who asks

    async def known(self, shown: str, before_lookup: Callable[[], None] = lambda: None) -> Caller:
        """Whoever shows this: a token, an ID token, or the secret of a session. Raises `NotKnown`, `IssuerAway`.

        Which tokens and sessions exist is in memory, so a wrong one costs no statement. `before_lookup` is called
        before the database is asked for one that may have been made a moment ago at another server; it may raise.
        """
        if self.open:
            return anonymous()
        await self.fresh()
        found = self._callers.get(shown)
        if found is None or found.until <= self.store.clock():
            secret = shown.startswith(SESSION_MARK) or tokens.id_of(shown) is not None
            if secret and tokens.digest(shown) not in self._digests:
                before_lookup()
            found = await self._find(shown)
            if len(self._callers) >= MAX_CACHED_CALLERS:
                self._callers.clear()
            self._callers[shown] = found
        return found

    async def still(self, caller: Caller) -> bool:
        """Whether they are who they were: nobody has revoked what they showed, and it is not expired."""
        if caller.open:
            return True
        try:
            await self.known(caller.bearer)
        except (UnknownCredentials, IssuerUnavailable):
            return False
        return True

    async def fresh(self) -> None:
        """Have read what there is, a second ago at most."""
        if time.monotonic() - self._looked < REFRESH_SECONDS:
            return
        async with self._lock:
            if time.monotonic() - self._looked < REFRESH_SECONDS:
                return
            version = await self.store.access.read_version()
            if version != self._version:
                await self._load()
                self._version = version
            self._looked = time.monotonic()

    async def _load(self) -> None:
        grants: dict[str, set[tuple[str, str]]] = {}
        for grant in await self.store.access.read_grants():
            grants.setdefault(grant["subject"], set()).add((grant["role"], grant["namespace"]))
        own = {record["name"]: record["text"] for record in await self.store.access.read_policies()}
        # One that was fit when it was made may speak of an action that is gone by now: that harms nobody.
        self.policies = Policies({**own, **self._files})
        self._grants = grants
        self._digests = await self.store.credentials.read_digests()
        self._callers.clear()

    async def _find(self, shown: str) -> Caller:
        if shown.startswith(f"{SESSION_MARK}"):
            return await self._session(shown)
        id = tokens.id_of(shown)
        if id is not None:
            return await self._token(id, shown)
        if self.oidc is None:
            raise UnknownCredentials("it is no token of this server")
        try:
            return self._person(await self.oidc.verify(shown), shown)
        except InvalidIdToken as error:
            raise UnknownCredentials(str(error)) from None

    async def _token(self, id: str, shown: str) -> Caller:
        record = await self.store.credentials.read_token(id)
        if record is None or not tokens.same(shown, record["hash"]):
            raise UnknownCredentials("there is no such token, or it is expired")
        roles = frozenset((role, where) for role, where in record["roles"])
        return Caller(f"{TOKEN}:{record['name']}", roles=roles, until=record["until"], bearer=shown)

    def _person(self, person: IssuedIdentity, shown: str) -> Caller:
        caller = Caller(f"{USER}:{person.name}", groups=person.groups, until=person.until, bearer=shown)
        return self._with_grants(caller)

    async def _session(self, shown: str) -> Caller:
        record = await self.store.credentials.read_session(tokens.digest(shown))
        if record is None:
            raise UnknownCredentials("the session is over")
        caller = Caller(record["principal"], groups=tuple(record["groups"]), until=record["until"], bearer=shown)
        if record["roles"] is None:
            return self._with_grants(caller)
        return replace(caller, roles=frozenset((role, where) for role, where in record["roles"]))

    def _with_grants(self, caller: Caller) -> Caller:
        roles = frozenset[tuple[str, str]]().union(*(self._grants.get(subject, ()) for subject in caller.subjects))
        return replace(caller, roles=roles)

    # Sessions

    async def begin_session(self, shown: str, before_lookup: Callable[[], None] = lambda: None) -> tuple[str, Caller]:
        """For a browser: a secret that stands for what was shown, and may be kept in a cookie."""
        caller = await self.known(shown, before_lookup)
        secret = f"{SESSION_MARK}{tokens.make().text}"
        until = min(self.store.clock.now() + SESSION_LIFETIME, datetime.fromtimestamp(min(caller.until, 2**33), UTC))
        token = tokens.id_of(shown)
        await self.store.credentials.add_session(tokens.digest(secret), caller.name, caller.groups, token, until)
        self._digests.add(tokens.digest(secret))
        return secret, caller

    async def end_session(self, secret: str) -> None:
        """It opens nothing any more."""
        await self.store.credentials.remove_session(tokens.digest(secret))
        self._callers.pop(secret, None)

    # Tokens, grants, policies

    async def create_token(self, name: str, roles: Roles, lasts: timedelta, by: str) -> NewToken:
        """A token for a program. Raises `InvalidAccessRequest`."""
        if not timedelta(0) < lasts <= MAX_TOKEN_LIFETIME:
            raise InvalidAccessRequest(f"a token lasts for {MAX_TOKEN_LIFETIME.days} days at most")
        if not roles:
            raise InvalidAccessRequest("a token without a role is good for nothing")
        for role, namespace in roles:
            _fit(role, namespace)
        made, until = tokens.make(), self.store.clock.now() + lasts
        wanted = tuple(sorted(set(roles)))
        if not await self.store.credentials.add_token(made.id, name, made.digest, wanted, by, until):
            raise InvalidAccessRequest(f"there is a token {name}: revoke it first, or take another name")
        self._digests.add(made.digest)
        return NewToken(name, made.text, wanted, until)

    async def grant(self, subject: str, role: str, namespace: str, by: str) -> None:
        """Give a person or a group a role."""
        _fit(role, namespace)
        if subject.partition(":")[0] not in (USER, "group") or not subject.partition(":")[2]:
            raise InvalidAccessRequest(f"{subject!r} is nobody: say user:NAME or group:NAME")
        await self.store.access.add_grant(subject, role, namespace, by)
        self._looked = -REFRESH_SECONDS

    async def put_policy(self, name: str, text: str, by: str) -> None:
        """Make a policy, or put another in its place. Raises `InvalidPolicy`."""
        if name in self._files:
            raise InvalidPolicy(f"{name} is in a file of the server's")
        others = {record["name"]: record["text"] for record in await self.store.access.read_policies()}
        check(name, text, self.actions())
        Policies({**others, **self._files, name: text})
        await self.store.access.put_policy(name, text, by)
        self._looked = -REFRESH_SECONDS

    async def remove_policy(self, name: str, by: str) -> bool:
        """Take a policy away; whether there was one in the store."""
        gone = await self.store.access.remove_policy(name, by)
        self._looked = -REFRESH_SECONDS
        return gone

    async def all_policies(self) -> list[Mapping[str, Any]]:
        """Those in files and those in the store, in order of name."""
        files = [{"name": n, "text": t, "changed_by": "a file", "changed_at": None} for n, t in self._files.items()]
        return sorted([*files, *await self.store.access.read_policies()], key=lambda policy: str(policy["name"]))


SESSION_MARK = "session:"
"""So that the secret of a session, which is for cookies, is no token, and no token is one."""


def _fit(role: str, namespace: str) -> None:
    if role not in ROLES:
        raise InvalidAccessRequest(f"there is no role {role}: say {', '.join(ROLES)}")
    if namespace != EVERYWHERE and not (namespace and namespace.isprintable() and "/" not in namespace):
        raise InvalidAccessRequest(f"{namespace!r} is no namespace: say its name, or {EVERYWHERE} for all")
