"""How a server is made once, although Nova has no token for that, and takes any number of servers of one name.

Something must be there that only one can make, that tells later comers that the other has begun, and that still says
so when the server has long been removed. Looked at were:

- Names of servers: Nova takes any number of the same, unless its operator has set it otherwise.
- Key pairs: unique by name, but a user has a quota of 100 of them, and what is deleted is forgotten.
- Ports: a hardware address is unique in a network, but few users may choose one, and not every server has a port.
- **Images.** Whoever makes one may choose its id, Glance refuses a second one of that id, and also refuses it after
  the image was deleted: it keeps the row, so that an id never comes to mean something else. An image without data
  costs nothing and counts nowhere, a deleted one is not even seen. Nova needs Glance to make a server anyway.

So the lock of a member is an image without data, whose id follows from the token:

1. Who makes the image may make the server. When the server is there, the image is deleted: the token is spent.
2. Who finds that the image was made looks for the server, and takes what is there. If there is none and the image is
   deleted, they look once more, since it may just have been made; if there still is none, it was removed since, and
   is not made again. `terminate` deletes the image first, and then the server.
3. If there is no server and the image is still there, somebody is at it, or was when they crashed. The image says how
   long their calls last; after that they send nothing any more, and the next may go on, by making the image of the
   next generation, whose id follows from the token and its number. Only one can make that, too. They look once more.
4. Whom Nova refused writes the number of the next generation into the first image, so that nobody waits in vain.

The age of an image is told by Glance's own clock: it says when the image was made, and when it was last written to.
"""

from __future__ import annotations

import uuid
from contextlib import suppress
from datetime import datetime
from typing import Any

from msgspec import Struct

from stead.drivers.base import DriverError, RetryableError
from stead.drivers.openstack.calls import IMAGE, Calls, Task
from stead.drivers.openstack.errors import RejectedError

TIMEOUT_MARGIN = 2.0
"""Seconds: Glance tells times without their fractions, and may run on several machines."""

STEP = 0.25
"""The share of the longest call that is waited between two looks for whoever is at it."""

_LOCKS = uuid.UUID("0b0d5b5e-6f0c-4f1c-8f43-6f8a6b1c6f0e")


class TokenSpentError(Exception):
    """What was made under this token has been removed since."""


class Image(Struct, frozen=True):
    """As far as we read it."""

    created_at: datetime
    updated_at: datetime
    stead_seconds: str = "0"
    stead_next: str = "0"


class Lock:
    """The right to make the server of one token."""

    def __init__(self, calls: Calls, task: Task, owner: str, token: str) -> None:
        self._calls = calls
        self._task = task
        self._owner = owner
        self._token = token
        self._held: int | None = None

    def id(self, generation: int = 0) -> str:
        """Of the image of that generation."""
        number = f"\0{generation}" if generation else ""
        return str(uuid.uuid5(_LOCKS, f"{self._owner}\0{self._token}{number}"))

    async def take(self) -> bool:
        """Whether nobody was here before. If so, the server may be made."""
        return await self._make(0)

    async def take_over(self) -> None:
        """After a look that has not found the server: the right to make it, all the same.

        Raises `TokenSpentError`, or `RetryableError` as long as another may be at it. Otherwise, look once more."""
        first = await self._touch(0)
        if first is None:
            raise TokenSpentError
        generation = int(first.stead_next)
        last = first if generation == 0 else None
        while True:
            if last is not None:
                self._wait_for(last)
                generation += 1
            if await self._make(generation):
                return
            last = await self._touch(generation)
            if last is None:  # who had it was refused
                generation += 1

    async def give_back(self) -> None:
        """Nova refused: nothing was made, and the next may try at once. If this fails, they have to wait."""
        if self._held is None:
            return
        after = [{"op": "add", "path": "/stead_next", "value": str(self._held + 1)}]
        with suppress(DriverError):
            await self._ask(Any, "PATCH", f"/images/{self.id()}", after)
            if self._held:
                await self._delete(self._held)

    async def spend(self) -> None:
        """See to it that nothing is made under this token again."""
        await self._make(0)
        await self._delete(0)

    async def settle(self) -> None:
        """The server is there. If this fails, the image stays until the server is removed, and says the same."""
        with suppress(DriverError):
            await self._delete(0)
            if self._held:
                await self._delete(self._held)

    def _wait_for(self, image: Image) -> None:
        """Its maker may still be at it, for so long."""
        age = (image.updated_at - image.created_at).total_seconds()
        left = max(float(image.stead_seconds), self._calls.longest) + TIMEOUT_MARGIN - age
        if left > 0:
            # Most likely it is there in a moment. Whoever crashed is waited for in a few steps.
            after = min(left, STEP * self._calls.longest)
            raise RetryableError("somebody else is making it", after=after, unknown=True, detail=f"age {age:.0f} s")

    async def _make(self, generation: int) -> bool:
        content = {
            "id": self.id(generation),
            "name": f"stead lock {self._token}"[:255],
            "visibility": "private",
            "stead_owner": self._owner,
            "stead_seconds": str(self._calls.longest),
            "stead_looked": "",
        }
        try:
            await self._ask(Any, "POST", "/images", content)
        except RejectedError as error:
            if error.status == 409:
                return False
            raise RejectedError(f"the lock cannot be made: {error.message}", status=error.status) from error
        self._held = generation
        return True

    async def _touch(self, generation: int) -> Image | None:
        """What Glance has of it, with the time of this very moment; None, if it was deleted."""
        now = [{"op": "replace", "path": "/stead_looked", "value": str(uuid.uuid4())}]
        try:
            return await self._ask(Image, "PATCH", f"/images/{self.id(generation)}", now)
        except RejectedError as error:
            if error.status == 404:
                return None
            if error.status == 409:  # somebody else writes to it at this very moment
                raise RetryableError("somebody else is making it", unknown=True, detail=error.detail) from error
            raise

    async def _delete(self, generation: int) -> None:
        for last in (False, True):
            try:
                return await self._ask(type(None), "DELETE", f"/images/{self.id(generation)}")
            except RejectedError as error:
                if error.status == 404:
                    return None
                if error.status != 409 or last:  # whoever writes to it at this very moment has soon done so
                    raise
        return None

    async def _ask[T](self, kind: type[T], method: str, path: str, body: Any = None) -> T:
        return await self._calls.ask(self._task, kind, IMAGE, method, path, body, acts=False)
