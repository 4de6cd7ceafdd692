"""What a machine, a disk or an image is to be: specs as users write them, read and checked."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from stead.drivers.base import PermanentError

MIB = 2**20

Size = Annotated[int, Meta(ge=1, le=2**26)]


class Machine(Struct, frozen=True, kw_only=True):
    """Of a machine. What else stands in a spec is for others."""

    cpu: Annotated[int, Meta(ge=1, le=512)] = 1
    memory: Size = 512
    """MiB."""
    image: str = ""
    """The path of the image that its first disk is a copy of."""
    disk: Size | None = None
    """MiB of its first disk, where that is larger than its image, or where there is none."""
    kernel: str = ""
    """With which it is booted, and not from its disk: a file on every node."""
    initrd: str = ""
    cmdline: str = ""
    node: str = ""
    """The node that it is put on: its name, or its path."""

    @property
    def on(self) -> str:
        """The name of that node."""
        return self.node.rpartition("/")[2]


class Disk(Struct, frozen=True, kw_only=True):
    """Of a disk."""

    size: Size = 1024
    """MiB."""
    machine: str | None = None
    """The path of the machine that it is, or is to be, attached to."""


class Image(Struct, frozen=True, kw_only=True):
    """Of an image."""

    file: str
    """On the host of the agent."""


def read[T: Struct](kind: type[T], spec: Mapping[str, Any]) -> T:
    """The spec; who wrote nonsense is told where."""
    try:
        return msgspec.convert(dict(spec), kind, strict=False)
    except msgspec.ValidationError as error:
        raise PermanentError(f"the spec is wrong: {error}") from None


def digest(spec: Mapping[str, Any], *without: str) -> str:
    """Tells one spec from another."""
    kept = {name: value for name, value in spec.items() if name not in without}
    return hashlib.sha256(msgspec.json.encode(kept, order="sorted", enc_hook=str)).hexdigest()[:16]


for _kind in (Machine, Disk, Image):
    msgspec.convert({"file": ""}, _kind)  # threads must not be the first to use a type
