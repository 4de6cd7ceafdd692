"""What a region has to offer: instance types, and images by id or by name.

An image's name is looked for among our own images and Amazon's, and nowhere else: anybody can publish an image under
any name. It may have EC2's wildcards in it. Of several that fit, the newest is taken.
"""

from __future__ import annotations

from msgspec import Struct

from stead.drivers.base import closest_names
from stead.drivers.ec2.calls import Calls, Task
from stead.drivers.ec2.errors import RejectedError
from stead.drivers.ec2.wire import having

OURS = ("self", "amazon")
"""Whose images are looked at for a name."""

PAGE = 1000
"""Instance types on a page, at most."""

MIN_NAME_CHARS = 4
"""Letters that a name has to begin with, to be compared with Amazon's: there are very many."""


class Type(Struct, rename="pascal"):
    """An instance type that the region offers."""

    instance_type: str


class Image(Struct, rename="pascal"):
    """As it is listed."""

    image_id: str
    name: str = ""
    creation_date: str = ""
    """In an order that letters have as well."""


def named(image: object) -> bool:
    """Whether a spec has the name of an image, and not its id or a place where EC2 itself finds the id."""
    return isinstance(image, str) and not image.startswith(("ami-", "resolve:"))


class Offers:
    """Of one region."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def check_offer(self, field: str, name: str) -> list[str] | None:
        """What comes close to a name that the region does not have; None where it has it, or only trying tells."""
        task = self._calls.task()
        if field == "spec":
            return await self._lacks_type(task, name)
        if field != "image" or name.startswith("resolve:"):
            return None
        if named(name):
            return None if await self.image(task, name) else await self._near(task, name)
        return await self._lacks_id(task, name)

    async def image(self, task: Task, name: str) -> str:
        """The id of the newest image of that name; nothing, if there is none."""
        fitting = [having("name", [name]), having("state", ["available"])]
        images = await self._images(task, Owners=list(OURS), Filters=fitting)
        return max(images, key=lambda image: (image.creation_date, image.image_id)).image_id if images else ""

    async def _lacks_type(self, task: Task, name: str) -> list[str] | None:
        if name in await self._types(task, name):
            return None
        return closest_names(name, await self._types(task))

    async def _types(self, task: Task, *names: str) -> list[str]:
        only = {"Filters": [having("instance-type", names)]} if names else {}
        asked = {"LocationType": "region", "MaxResults": PAGE, **only}
        operation = "describe_instance_type_offerings"
        return [
            t.instance_type for t in await self._calls.list(task, Type, operation, "InstanceTypeOfferings", **asked)
        ]

    async def _lacks_id(self, task: Task, id: str) -> list[str] | None:
        try:
            if await self._images(task, ImageIds=[id]):
                return None
        except RejectedError as error:
            if not error.code.startswith("InvalidAMIID."):
                raise
        return closest_names(id, [image.image_id for image in await self._images(task, Owners=["self"])])

    async def _near(self, task: Task, name: str) -> list[str]:
        images = await self._images(task, Owners=["self"])
        if len(start := name[: 2 * len(name) // 3].partition("*")[0]) >= MIN_NAME_CHARS:
            images += await self._images(task, Owners=["amazon"], Filters=[having("name", [f"{start}*"])])
        return closest_names(name, sorted({image.name for image in images}))

    async def _images(self, task: Task, **asked: object) -> list[Image]:
        return await self._calls.list(task, Image, "describe_images", "Images", **asked)
