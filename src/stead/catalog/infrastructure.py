"""What an infrastructure file says: subgroups of VMs, where each is to be, and what they share.

A person writes as little as possible. What is said once under `defaults` holds for every subgroup; a subgroup that
names no network, security group or key gets its region's default ones, which are made if there are none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from stead.lifecycle.files import nodes
from stead.lifecycle.files.decoded import NAME, InvalidDescription, decoded
from stead.lifecycle.files.problems import Problem, error

PLACE = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,49}$"
LABEL = r"^[A-Za-z0-9]([A-Za-z0-9_./-]{0,61}[A-Za-z0-9])?$"
DEFAULT = "default"
MOST = 100_000
"""VMs in one infrastructure."""

Name = Annotated[str, Meta(pattern=NAME, description="Lower-case letters, digits and dashes; at most 63.")]
Place = Annotated[str, Meta(pattern=PLACE)]
Size = Annotated[int, Meta(ge=1, le=MOST)]
Labels = Annotated[
    dict[Annotated[str, Meta(pattern=LABEL)], Annotated[str, Meta(max_length=200)]],
    Meta(max_length=50, description="Words that policies may look at, such as env: prod."),
]


class Rule(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, rename={"source": "from"}):
    """Traffic that is let in."""

    protocol: Annotated[Literal["tcp", "udp", "icmp", "all"], Meta(description="What kind of traffic.")] = "tcp"
    ports: Annotated[
        str, Meta(pattern=r"^(all|[0-9]{1,5}(-[0-9]{1,5})?)$", description="Such as 22, 8000-8100 or all.")
    ] = "all"
    source: Annotated[str, Meta(description="A range of addresses, such as 10.0.0.0/8.")] = "0.0.0.0/0"


class Network(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, rename="camel"):
    """A network, made in every region in which a subgroup names it."""

    name: Name = DEFAULT
    cidr: Annotated[str, Meta(description="Its range of addresses. Without it, the driver's own choice.")] = ""


class SecurityGroup(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, rename="camel"):
    """A security group, made in every region in which a subgroup names it."""

    name: Name = DEFAULT
    rules: Annotated[
        tuple[Rule, ...], Meta(description="Without any: SSH from anywhere, and all among its VMs.")
    ] = ()


class SshKey(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, rename="camel"):
    """A public key, brought to every region in which a subgroup names it."""

    name: Name = DEFAULT
    public_key: Annotated[str, Meta(description="One line, as in id_ed25519.pub.")] = ""


class SharedDefaults(
    Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, rename="camel"
):
    """What subgroups have in common, unless they say otherwise."""

    provider: Annotated[Place | None, Meta(description="Whose cloud, such as aws.")] = None
    region: Annotated[Place | None, Meta(description="Where in it, such as us-east-1.")] = None
    spec: Annotated[str | None, Meta(description="The provider's name for a size of VM.")] = None
    image: Annotated[str | None, Meta(description="The provider's name for what is on its disk.")] = None
    network: Annotated[Name | None, Meta(description="Without it, the region's default one.")] = None
    security_group: Annotated[Name | None, Meta(description="Without it, the region's default one.")] = None
    ssh_key: Annotated[Name | None, Meta(description="Without it, the one called default, if there is one.")] = None


class Subgroup(
    SharedDefaults, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, rename="camel"
):
    """VMs that are alike."""

    name: Name
    size: Annotated[Size, Meta(description="How many of them.")] = 1
    labels: Labels = {}


class Infrastructure(
    Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, rename="camel"
):
    """An infrastructure file."""

    subgroups: Annotated[tuple[Subgroup, ...], Meta(min_length=1, description="VMs that are alike; one at least.")]
    description: Annotated[str, Meta(description="For people.")] = ""
    defaults: Annotated[
        SharedDefaults, Meta(description="What holds for every subgroup that does not say otherwise.")
    ] = SharedDefaults()
    networks: Annotated[tuple[Network, ...], Meta(description="Networks that are named above.")] = ()
    security_groups: Annotated[
        tuple[SecurityGroup, ...], Meta(description="Security groups that are named above.")
    ] = ()
    ssh_keys: Annotated[tuple[SshKey, ...], Meta(description="Keys that are named above.")] = ()
    labels: Labels = {}


class PlannedMember(Struct, frozen=True, kw_only=True):
    """A subgroup with everything that was left to the defaults."""

    name: str
    provider: str
    region: str
    spec: str
    image: str
    size: int
    network: str
    security_group: str
    ssh_key: str
    labels: Mapping[str, str]

    @property
    def lane(self) -> str:
        """Where its orders go."""
        return f"{self.provider}.{self.region}"

    def written(self) -> dict[str, Any]:
        """The spec of the subgroup: what each of its VMs is to be, and by name what they share."""
        vm = {"provider": self.provider, "region": self.region, "spec": self.spec, "image": self.image}
        names = {"network": self.network, "securityGroup": self.security_group, "sshKey": self.ssh_key}
        labels = {"labels": dict(self.labels)} if self.labels else {}
        return vm | {name: value for name, value in names.items() if value} | labels


class SharedResource(Struct, frozen=True):
    """Something that VMs of a region share."""

    kind: str
    path: str
    lane: str
    spec: Mapping[str, Any]


def read(spec: Mapping[str, Any]) -> Infrastructure:
    """An infrastructure from what a request says; raises `InvalidDescription`."""
    return _checked(spec, strict=True)


def parse(text: str, source: str = "") -> dict[str, Any]:
    """What an infrastructure file says, as a request has it; raises `DocumentError`, which names lines."""
    tree = nodes.read(text)
    found = list(tree.problems)
    if not found:
        try:
            spec: dict[str, Any] = msgspec.to_builtins(_checked(tree.data, strict=False))
            return spec
        except InvalidDescription as wrong:
            found = list(wrong.problems)
    raise error(found, source, tree.lines)


def _checked(spec: Any, *, strict: bool) -> Infrastructure:
    try:
        found = msgspec.convert(spec, Infrastructure, strict=strict)
    except msgspec.ValidationError as wrong:
        raise InvalidDescription([decoded(str(wrong), FIELDS)]) from wrong
    problems = list(_problems(found))
    if problems:
        raise InvalidDescription(problems)
    return found


def parts(infrastructure: Infrastructure) -> list[PlannedMember]:
    """Its subgroups, each with everything that the defaults say."""
    keys = {key.name for key in infrastructure.ssh_keys}
    return [
        PlannedMember(
            name=subgroup.name,
            size=subgroup.size,
            provider=_said(infrastructure, subgroup, "provider"),
            region=_said(infrastructure, subgroup, "region"),
            spec=_said(infrastructure, subgroup, "spec"),
            image=_said(infrastructure, subgroup, "image"),
            network=_said(infrastructure, subgroup, "network") or DEFAULT,
            security_group=_said(infrastructure, subgroup, "security_group") or DEFAULT,
            ssh_key=_said(infrastructure, subgroup, "ssh_key") or (DEFAULT if DEFAULT in keys else ""),
            labels={**infrastructure.labels, **subgroup.labels},
        )
        for subgroup in infrastructure.subgroups
    ]


def with_subgroup(spec: Mapping[str, Any], name: str, subgroup: Mapping[str, Any]) -> Infrastructure:
    """A subgroup that is added to an infrastructure, as an infrastructure of it alone; raises `Wrong`.

    The defaults, labels, networks, security groups and keys are those of the infrastructure.
    """
    kept = {field: value for field, value in spec.items() if field not in ("subgroups", "description")}
    return read({**kept, "subgroups": [{**subgroup, "name": name}]})


def shared_by(path: str, infrastructure: Infrastructure) -> dict[str, SharedResource]:
    """By path, all that has to be there before the VMs of the infrastructure at a path can be made."""
    networks = {thing.name: {"cidr": thing.cidr} for thing in infrastructure.networks if thing.cidr}
    groups: dict[str, dict[str, Any]] = {
        thing.name: {"rules": [msgspec.to_builtins(rule) for rule in thing.rules]}  # a list, as it is read back
        for thing in infrastructure.security_groups
        if thing.rules
    }
    keys = {thing.name: {"publicKey": thing.public_key} for thing in infrastructure.ssh_keys}
    needs: dict[str, SharedResource] = {}
    for part in parts(infrastructure):
        said: dict[str, dict[str, Any]] = {
            "network": networks.get(part.network, {}),
            "securitygroup": groups.get(part.security_group, {}),
            "sshkey": keys.get(part.ssh_key, {}),
        }
        for kind, place in places(path.split("/")[1], part.written()).items():
            spec = {"provider": part.provider, "region": part.region, "name": place.rpartition("/")[2], **said[kind]}
            needs[place] = SharedResource(kind, place, part.lane, spec)
    return needs


def place_of(namespace: str, kind: str, lane: str, name: str) -> str:
    """The path of something that the VMs of a region share."""
    return f"/{namespace}/{kind}s/{lane}.{name}"


def network_of(securitygroup: str) -> str:
    """The path of the network that a security group lies in."""
    namespace, _, name = securitygroup.lstrip("/").partition("/securitygroups/")
    return f"/{namespace}/networks/{name.rpartition('.')[0]}"


def groups_in(network: str) -> str:
    """What the paths of the security groups in a network begin with."""
    return f"{network.replace('/networks/', '/securitygroups/', 1)}."


RESERVED = ("networks", "securitygroups", "sshkeys")
"""Names that no infrastructure can have: what is shared lies under them."""


def places(namespace: str, subgroup: Mapping[str, Any]) -> dict[str, str]:
    """By kind, the paths of what the VMs of a subgroup share, as its spec names it."""
    lane = f"{subgroup['provider']}.{subgroup['region']}"
    network = subgroup.get("network", DEFAULT)
    names = {"network": network, "securitygroup": f"{network}.{subgroup.get('securityGroup', DEFAULT)}"}
    names |= {"sshkey": subgroup["sshKey"]} if subgroup.get("sshKey") else {}
    return {kind: place_of(namespace, kind, lane, name) for kind, name in names.items()}


def schema() -> dict[str, Any]:
    """The JSON schema of infrastructure files."""
    said = msgspec.json.schema(Infrastructure)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Stead infrastructure", **said}


def _said(infrastructure: Infrastructure, subgroup: Subgroup, field: str) -> str:
    return getattr(subgroup, field) or getattr(infrastructure.defaults, field) or ""


def _problems(found: Infrastructure) -> Iterator[Problem]:
    """What the types alone do not tell."""
    names: dict[str, int] = {}
    for place, subgroup in enumerate(found.subgroups):
        at = ("subgroups", place)
        if subgroup.name in names:
            yield Problem((*at, "name"), f"{subgroup.name} is the name of subgroup {names[subgroup.name] + 1}, too")
        names.setdefault(subgroup.name, place)
        for field in ("provider", "region", "spec", "image"):
            if not _said(found, subgroup, field):
                yield Problem(at, f"it needs {field}, here or under defaults")
    size = sum(subgroup.size for subgroup in found.subgroups)
    if size > MOST:
        yield Problem(("subgroups",), f"{size:,} VMs are more than the {MOST:,} that one infrastructure can have")
    shared = {
        "networks": [thing.name for thing in found.networks],
        "securityGroups": [thing.name for thing in found.security_groups],
        "sshKeys": [thing.name for thing in found.ssh_keys],
    }
    for field, known in shared.items():
        for place, name in enumerate(known):
            if name in known[:place]:
                yield Problem((field, place, "name"), f"{name} is there twice")
    for place, key in enumerate(found.ssh_keys):
        if not key.public_key:
            yield Problem(("sshKeys", place), "it needs publicKey")


FIELDS = sorted(
    {
        field
        for kind in (Infrastructure, Subgroup, Network, SecurityGroup, SshKey, Rule)
        for field in (f.encode_name for f in msgspec.structs.fields(kind))
    }
)
