"""The driver of Amazon EC2: VMs, and the networks, security groups and keys that they share.

Each kind is a module of its own. This one says where EC2 is, and which module is asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Protocol

from botocore.exceptions import BotoCoreError
from msgspec import Meta, Struct

from stead.drivers import settings
from stead.drivers.base import PROBE, VM, FoundObject, Member, ObservedObject, Result, check_batch
from stead.drivers.ec2.calls import Calls
from stead.drivers.ec2.instances import Instances
from stead.drivers.ec2.keys import Keys
from stead.drivers.ec2.login import Login
from stead.drivers.ec2.networks import Networks
from stead.drivers.ec2.offers import Offers
from stead.drivers.ec2.securitygroups import SecurityGroups
from stead.secrets import NO_SECRET, Secret


class Kind(Protocol):
    """One kind of thing that EC2 has."""

    def limit(self, verb: str) -> int | None:
        """How many members a call of that verb takes; None for what is no verb."""

    async def perform(self, verb: str, members: Sequence[Member], order: str) -> list[Result]:
        """As the driver's own, for members of this kind, of which there is one at least."""

    async def describe(self, members: Sequence[Member]) -> list[ObservedObject]:
        """As the driver's own, for members of this kind, of which there is one at least."""

    async def inventory(self) -> list[FoundObject]:
        """Everything of this kind that carries our tag."""


class Config(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where EC2 is, and who speaks to it.

    Credentials: `access_key_id` and `secret_access_key`; without them, found as boto3 and the AWS command line find
    them, from environment variables, the profile, single sign-on, or the role of the container or the instance.
    """

    region: str
    """As the lane has it."""
    provider: str = ""
    """As the lane has it; it makes no difference here."""
    profile: str = ""
    """Of the shared credentials and configuration files; without it, the default chain of boto3 is used."""
    access_key_id: Secret = NO_SECRET
    """Of an access key, instead of a profile. It changes together with its secret, and so is named like one."""
    secret_access_key: Secret = NO_SECRET
    """With `access_key_id`: its secret."""
    session_token: Secret = NO_SECRET
    """With `access_key_id`: the token of credentials that last for a while."""
    endpoint_url: str = ""
    """Where the interface is, if not at Amazon's own address for the region."""
    owner: str = "stead"
    """What all that we make is tagged with; two who share an account differ in it."""
    timeout: Annotated[float, Meta(gt=0)] = 10.0
    """Seconds that a `perform` or a look may last, with all the calls it takes."""

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        if bool(self.access_key_id) != bool(self.secret_access_key):
            raise ValueError("access_key_id and secret_access_key are given together")
        if self.session_token and not self.access_key_id:
            raise ValueError("a session_token needs an access_key_id")
        if self.profile and self.access_key_id:
            raise ValueError("it needs a profile or an access key, and not both")


def from_config(config: Mapping[str, Any]) -> Ec2Driver:
    """For the registry."""
    try:
        return Ec2Driver(settings.read(Config, config))
    except (BotoCoreError, ValueError) as error:
        raise ValueError(f"the configuration of EC2 is wrong: {error}") from error


class Ec2Driver:
    """Speaks to one region of one account."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._calls = Calls(
            region=config.region,
            profile=config.profile,
            endpoint_url=config.endpoint_url,
            timeout=config.timeout,
            login=Login(config.access_key_id, config.secret_access_key, config.session_token),
        )
        self._offers = Offers(self._calls)
        self._kinds: dict[str, Kind] = {
            VM: Instances(self._calls, config.owner, self._offers),
            "network": Networks(self._calls, config.owner),
            "securitygroup": SecurityGroups(self._calls, config.owner),
            "sshkey": Keys(self._calls, config.owner),
        }

    @property
    def kinds(self) -> frozenset[str]:
        """All of them."""
        return frozenset(self._kinds)

    @property
    def longest_call(self) -> float:
        """The time in which calls are sent, and the time that the last of them may take."""
        return self._config.timeout

    def batch_limit(self, verb: str, kind: str = VM) -> int:
        """A hundred VMs; of what they share, one at a time, since each takes several calls."""
        limit = self._kinds[kind].limit(verb) if kind in self._kinds else None
        if limit is None:
            raise ValueError(f"EC2 does not know {verb} of a {kind}")
        return limit

    async def perform(self, verb: str, members: Sequence[Member], token: str) -> list[Result]:
        """As the module of their kind does it."""
        check_batch(self, verb, members)
        if verb == PROBE:
            raise ValueError("a probe is answered by describe")
        return await self._kinds[members[0].kind].perform(verb, members, token) if members else []

    async def describe(self, members: Sequence[Member]) -> list[ObservedObject]:
        """As the module of their kind does it."""
        check_batch(self, PROBE, members)
        return await self._kinds[members[0].kind].describe(members) if members else []

    async def inventory(self) -> list[FoundObject]:
        """One kind after the other. What is part of a network is not listed for itself."""
        return [found for kind in self._kinds.values() for found in await kind.inventory()]

    async def check_offer(self, field: str, name: str) -> list[str] | None:
        """By the lists of instance types and images."""
        return await self._offers.check_offer(field, name)

    async def close(self) -> None:
        """Let the threads go."""
        self._calls.close()
