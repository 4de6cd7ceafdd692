"""Which user a program runs as.

An agent that runs as root gives every namespace a user id of its own on this machine, and runs all that a spec of the
namespace names (program, health check, job) under it. A spec chooses another user only where the operator has listed
it in the setting `allowed_users`. An agent that does not run as root runs everything as itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pwd
from collections.abc import Callable, Iterable
from pathlib import Path

from msgspec import Struct

from stead.drivers.base import PermanentError
from stead.drivers.process import user_ids
from stead.drivers.process.user_ids import UserIds


class User(Struct, frozen=True, kw_only=True):
    """The user of a program, as the kernel knows it."""

    uid: int
    gid: int
    namespace_gid: int
    """The group that may pass through the folders of the namespace."""
    name: str
    """For the environment: the machine need not have an account of that name."""
    confined: bool = True
    """The namespace's own id: it can gain no privileges, by no program."""

    @property
    def groups(self) -> list[int]:
        """Besides its own one: what an allowed user needs to reach its working folder."""
        return [] if self.namespace_gid == self.gid or self.uid == 0 else [self.namespace_gid]


class Users:
    """The users of programs on this machine, for one agent that runs as root."""

    def __init__(self, ids: UserIds, allowed: frozenset[int], in_use: Callable[[], Iterable[int]]) -> None:
        self.ids = ids
        self.allowed = allowed
        self._in_use = in_use
        """Ids that own folders of the root: a new namespace gets none of these, even if the file was lost."""

    def first(self, path: str) -> int:
        """The first id of a path's namespace."""
        return self.ids.of(namespace(path), self._in_use)

    def program(self, path: str, named: int | str | None) -> User:
        """The user of a program. Raises `PermanentError` where its spec names one that it may not have."""
        uid = None if named is None else number(named)
        if named is not None and uid not in self.allowed and (uid is None or self.ids.owner(uid) != namespace(path)):
            raise PermanentError(self.rejection(named))
        mine = self.first(path)
        if uid is None or uid == mine:
            return User(uid=mine, gid=mine, namespace_gid=mine, name=f"stead-{namespace(path)}")
        if uid not in self.allowed:
            raise PermanentError(self.rejection(named))
        return account(uid, mine)

    def rejection(self, named: int | str | None) -> str:
        """Why a spec may not have a user."""
        uid = None if named is None else number(named)
        shown = f"{named} (root)" if uid == 0 and named != "root" else str(named)
        return (
            f"user {shown} is not allowed on this lane. Leave `user` out to run under the namespace's own id; "
            "an operator allows users with the agent's setting allowed_users"
        )


def account(uid: int, namespace_gid: int) -> User:
    """A user that the operator has allowed."""
    gid, name = uid, str(uid)
    with contextlib.suppress(KeyError):
        found = pwd.getpwuid(uid)
        gid, name = found.pw_gid, found.pw_name
    return User(uid=uid, gid=gid, namespace_gid=namespace_gid, name=name, confined=False)


def make_users(
    ids: str, allowed: str, file: str, *, count: int = 1, in_use: Callable[[], Iterable[int]]
) -> Users | None:
    """From an agent's settings; None where it does not run as root. Raises `ValueError` where they are wrong."""
    given = user_ids.parse_range(ids, count)
    permitted = parse_allowed(allowed)
    if both := sorted(uid for uid in permitted if uid in given):
        raise ValueError(f"allowed_users: {both[0]} is one of uids, which belong to namespaces")
    if os.geteuid() != 0:
        if permitted:
            raise ValueError("allowed_users: only an agent that runs as root runs programs as another user")
        return None
    user_ids.check_mapped(given)
    where = Path(file or os.environ.get(user_ids.VARIABLE) or user_ids.DEFAULT_FILE)
    if not where.is_absolute():
        raise ValueError(f"uid_file: {where} is not an absolute path")
    return Users(UserIds(where, given, count), permitted, in_use)


def parse_allowed(text: str) -> frozenset[int]:
    """Names and numbers of users, with commas between them. Raises `ValueError` where there is no such user."""
    found = set()
    for word in filter(None, (word.strip() for word in text.split(","))):
        uid = number(word)
        if uid is None:
            raise ValueError(f"allowed_users: this machine has no user {word}")
        found.add(uid)
    return frozenset(found)


def number(named: int | str) -> int | None:
    """The id of a user that was named by its number or its name; None where there is none."""
    if isinstance(named, int) or (named.isascii() and named.isdecimal()):
        return int(named)
    with contextlib.suppress(KeyError, ValueError):
        return pwd.getpwnam(named).pw_uid
    return None


def namespace(path: str) -> str:
    """The namespace of a resource."""
    return path.strip("/").partition("/")[0]


def marked(digest: str, user: User | None) -> str:
    """A digest that also tells under which user something runs: what ran under another one is started anew."""
    if user is None:
        return digest
    return hashlib.sha256(f"{digest} {user.uid}:{user.gid}".encode()).hexdigest()[:32]
