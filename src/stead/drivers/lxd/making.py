"""What an instance is made of: a name that follows from the member's token, and what the spec asks for."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from stead.drivers.base import Member, PermanentError
from stead.drivers.lxd.wire import ORDER, OWNER, PATH, SPEC, TOKEN

FINGERPRINT = re.compile(r"[0-9a-f]{64}")
MARK = re.compile(r"stead-[0-9a-f]{24}-gone")


def name_of(owner: str, token: str) -> str:
    """The name of the only instance that a token can have: LXD has no two of one name in a project."""
    return f"stead-{hashlib.sha256(f'{owner}\0{token}'.encode()).hexdigest()[:24]}"


def mark_of(name: str) -> str:
    """The name of the empty profile that says that an instance was removed for good."""
    return f"{name}-gone"


def is_mark(profile: str) -> bool:
    """Whether a profile is nothing but such a mark."""
    return MARK.fullmatch(profile) is not None


def digest(spec: Mapping[str, Any]) -> str:
    """Tells one spec from another."""
    return hashlib.sha256(msgspec.json.encode(spec, order="deterministic")).hexdigest()[:32]


def body(member: Member, owner: str, kind: str, order: str) -> dict[str, Any]:
    """What LXD is asked to make. Fields of the spec that say nothing to it are left to others."""
    spec = member.spec
    size = spec.get("spec")
    limits = {name: spec[name] for name in ("cpu", "memory") if name in spec}
    if isinstance(size, Mapping):
        limits |= size
    asked: dict[str, Any] = {
        "name": name_of(owner, member.token),
        "description": str(spec.get("name", "")),
        "type": kind,
        "source": {"type": "image", **_image(spec.get("image"))},
        "config": {
            **{f"limits.{name}": str(value) for name, value in limits.items()},
            OWNER: owner,
            PATH: member.path,
            TOKEN: member.token,
            SPEC: digest(spec),
            ORDER: order,
        },
    }
    if isinstance(size, str) and size:
        asked["profiles"] = list(dict.fromkeys(("default", size)))  # LXD refuses a profile that is named twice
    if network := spec.get("network"):
        asked["devices"] = {"eth0": _nic(network)}
    return asked


def _image(image: object) -> dict[str, Any]:
    if isinstance(image, Mapping):
        return dict(image)  # as LXD has it: an image of another server, for one
    if not isinstance(image, str) or not image:
        raise PermanentError("the spec names no image")
    return {"fingerprint" if FINGERPRINT.fullmatch(image) else "alias": image}


def _nic(network: object) -> dict[str, Any]:
    if isinstance(network, Mapping):
        return {"type": "nic", "name": "eth0", **network}
    return {"type": "nic", "name": "eth0", "network": str(network)}
