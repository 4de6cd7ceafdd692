"""Where OpenStack is and who speaks to it, said in the way that OpenStack's own tools have it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Annotated, Any, cast

from keystoneauth1.session import Session
from msgspec import Meta, Struct
from openstack.config import OpenStackConfig
from openstack.config.cloud_region import CloudRegion

from stead.secrets import KNOWN, NO_SECRET, Secret

YES_OR_NO = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}

PASSWORD = ("username", "password", "project_name", "user_domain_name", "project_domain_name")
APPLICATION = ("application_credential_id", "application_credential_secret")


class Config(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A cloud by name, or an address with a password, or an address with an application credential.

    Credentials: those of the cloud in clouds.yaml, which the agent finds as OpenStack's own tools do; or a user's
    password; or an application credential.
    """

    region: str
    """As the lane has it."""
    provider: str = ""
    """As the lane has it; it makes no difference here."""
    region_name: str = ""
    """The cloud's own name for the region, if it is not the lane's."""
    cloud: str = ""
    """A name in clouds.yaml, which says all that the address and the credentials below would."""
    auth_url: str = ""
    """The address of Keystone, where there is no `cloud`."""
    username: str = ""
    """With `auth_url`: a user."""
    password: Secret = NO_SECRET
    """With `username`: its password."""
    project_name: str = ""
    """With `username`: the project."""
    user_domain_name: str = "Default"
    """With `username`: the domain of the user."""
    project_domain_name: str = "Default"
    """With `username`: the domain of the project."""
    application_credential_id: str = ""
    """With `auth_url`, instead of a user: an application credential."""
    application_credential_secret: Secret = NO_SECRET
    """With `application_credential_id`: its secret."""
    interface: str = ""
    """Which of a service's addresses is used: `public`, `internal` or `admin`."""
    verify: bool | str = ""
    """Whether certificates are checked, or a file of those that are trusted; if not said, as clouds.yaml has it."""
    owner: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_]{1,20}$")] = "stead"
    """What all that is ours is marked with; two who share a project differ in it."""
    timeout: Annotated[float, Meta(gt=0)] = 10.0
    """Seconds that a `perform` or a look may last, with all the calls it takes."""

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        if self.interface not in ("", "public", "internal", "admin"):
            raise ValueError(f"interface is public, internal or admin, not {self.interface}")
        said = {name: getattr(self, name) for name in ("auth_url", *PASSWORD[:3], *APPLICATION)}
        if self.cloud:
            if both := [name for name, value in said.items() if value]:
                raise ValueError(f"it has a cloud, which says all that {' and '.join(both)} would")
            return
        if not self.auth_url:
            raise ValueError("it needs a cloud, which is a name in clouds.yaml, or an auth_url")
        by_application = any(said[name] for name in APPLICATION)
        if by_application and any(said[name] for name in PASSWORD[:3]):
            raise ValueError("it needs a user with a password or an application credential, and not both")
        needed = APPLICATION if by_application else PASSWORD[:3]
        if missing := [name for name in needed if not said[name]]:
            raise ValueError(f"with an auth_url, it lacks {' and '.join(missing)}")

    @property
    def secret(self) -> Secret:
        """What it logs in with; nothing, where that stands in clouds.yaml."""
        return self.application_credential_secret or self.password

    @property
    def place(self) -> str:
        """The region, as the cloud calls it."""
        return self.region_name or self.region


def connect(config: Config, session: Callable[..., Session]) -> CloudRegion:
    """What knows the services of the region. Nothing is sent yet."""
    asked: dict[str, Any] = {"region_name": config.place}
    if config.interface:
        asked["interface"] = config.interface
    if config.verify != "":
        said = config.verify if isinstance(config.verify, bool) else YES_OR_NO.get(config.verify.lower())
        asked |= {"verify": True, "cacert": config.verify} if said is None else {"verify": said}
    if config.cloud:
        asked["cloud"] = config.cloud
    elif config.application_credential_id:
        asked["auth_type"] = "v3applicationcredential"
        asked["auth"] = {name: _plain(getattr(config, name)) for name in ("auth_url", *APPLICATION)}
    else:
        asked["auth_type"] = "password"
        asked["auth"] = {name: _plain(getattr(config, name)) for name in ("auth_url", *PASSWORD)}
    files = bool(config.cloud)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Support for InfluxDB")  # the library warns of what nobody asked for
        region = _settings(files, session).get_one(**asked)
    for name in ("password", "application_credential_secret", "token"):
        KNOWN.remember(str(region.get_auth_args().get(name) or ""))  # clouds.yaml has them, too
    return region


def _plain(value: str | Secret) -> str:
    return value.reveal() if isinstance(value, Secret) else value


def _settings(files: bool, session: Callable[..., Session]) -> OpenStackConfig:
    return OpenStackConfig(
        load_yaml_config=files,
        load_envvars=files,  # one of them says where clouds.yaml is
        session_constructor=cast("type[Session]", session),  # whatever makes one will do
        app_name="stead",
    )
