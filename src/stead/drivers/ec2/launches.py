"""What a launch asks of EC2: the same in every attempt, whoever asks, and for whichever of its members.

Instances are made by RunInstances, many at a time, under one client token: EC2 makes them once, however often it is
asked with that token and the same parameters, and answers every time with all of them. So members that come again in
another batch, after an answer was lost, must come under the same client token with the same parameters. That is why
the batch does not decide what is launched together. The plan does: it gives alike members one launch, with a token,
and each of them its place in it.

    launch = {"token": T, "index": i, "count": n}        and the member's own token is uuid5(T, i)

Whoever is asked for one of them, or for some, asks EC2 for all n, under T; and the instance with the launch index i
is member i. Halves of a launch may be asked for by two agents at the same moment: they get the same n instances, and
each member takes its own. EC2 makes all n or none (MinCount is MaxCount). A member that nobody asks for any more is
made as well, and is then an orphan: the inventory shows it, with the token that follows from T and its index.

All instances of a launch have the same tags, from their first moment: owner, launch token and count. What is a
member's own, as its name, is left out unless the launch is for one; tags put on afterwards would be one call each.

A member without a launch is a launch of one, under its own token. EC2 keeps a client token as long as its instances
live, and a day longer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any
from uuid import UUID, uuid5

import msgspec
from msgspec import Meta, Struct

from stead.drivers.base import Member
from stead.drivers.ec2.wire import (
    COUNT_TAG,
    LAUNCH_TAG,
    MAX_TAG_CHARS,
    NAME_TAG,
    OWNER_TAG,
    PATH_TAG,
    TOKEN_TAG,
    Instance,
    client_token,
    labels,
    tagging,
    whole,
)


class Launch(Struct, frozen=True, kw_only=True):
    """A member's part in a launch, as its spec has it."""

    token: str
    index: Annotated[int, Meta(ge=0)]
    count: Annotated[int, Meta(ge=1)]
    path: str = ""
    """Of the group that all of them are in, for a tag."""


def launch_of(member: Member) -> Launch | None:
    """The launch that a member is planned in. Raises `ValueError` where that makes no sense."""
    if not member.spec.get("launch"):
        return None
    try:
        launch = msgspec.convert(member.spec["launch"], Launch)
        token = token_of(launch.token, launch.index)
    except (msgspec.ValidationError, ValueError) as error:
        raise ValueError(f"the launch in the spec is wrong: {error}") from error
    if launch.index >= launch.count:
        raise ValueError(f"the launch in the spec is wrong: there is no {launch.index} among {launch.count}")
    if token != member.token:
        # Two members in one place would be taken for one another.
        raise ValueError("the launch in the spec is wrong: the member's token is not the one of its place")
    return launch


def token_of(launch: str, index: int) -> str:
    """The token of the member in that place of a launch."""
    return str(uuid5(UUID(launch), str(index)))


def place_of(member: Member) -> tuple[str, int] | None:
    """Where to look for a member: the launch's token and the place in it, if it has one."""
    try:
        launch = launch_of(member)
    except ValueError:
        return None
    return (launch.token, launch.index) if launch else None


def told_by(instance: Instance) -> str:
    """The token of the member that an instance is."""
    if own := instance.tag(TOKEN_TAG):
        return own
    try:
        return token_of(instance.tag(LAUNCH_TAG), instance.ami_launch_index)
    except ValueError:
        return ""


def asked(member: Member, launch: Launch | None, owner: str, image: str) -> dict[str, Any]:
    """The parameters of a launch, from the spec of any of its members, with the id of the image that it names.

    Raises `ValueError` where the spec lacks something.
    """
    spec = member.spec
    if missing := [field for field in ("image", "spec") if not spec.get(field)]:
        raise ValueError(f"the spec lacks {' and '.join(missing)}")
    count = launch.count if launch else 1
    groups = spec.get("securitygroups") or []
    wishes = {
        "ImageId": image,
        "InstanceType": spec["spec"],
        "SubnetId": _shared(spec, "network", "subnet") or spec.get("subnet"),
        "SecurityGroupIds": groups.split(",") if isinstance(groups, str) else list(groups),
        "KeyName": _shared(spec, "sshkey", "name") or spec.get("sshkey"),
    }
    if group := _shared(spec, "securitygroup", "id"):
        wishes["SecurityGroupIds"] = [group]
    return {
        "MinCount": count,
        "MaxCount": count,
        "ClientToken": client_token(launch.token if launch else member.token),
        "TagSpecifications": tagging("instance", _tags(member, launch, owner)),
        **{name: value for name, value in wishes.items() if value},
    }


def _tags(member: Member, launch: Launch | None, owner: str) -> dict[str, str]:
    if launch is None:
        return labels(member, owner)
    ours = {OWNER_TAG: owner, LAUNCH_TAG: launch.token, COUNT_TAG: str(launch.count)}
    if launch.count == 1:
        return labels(member, owner) | ours
    group = launch.path.rpartition("/")[2][:MAX_TAG_CHARS]
    return {**ours, PATH_TAG: whole(launch.path), NAME_TAG: group}


def _shared(spec: Mapping[str, Any], kind: str, fact: str) -> Any:
    """What is known of something that the VM shares with others, if it shares it."""
    return ((spec.get("shared") or {}).get(kind) or {}).get(fact)
