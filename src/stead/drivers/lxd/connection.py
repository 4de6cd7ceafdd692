"""Where an LXD server is, and how it is reached: by its socket, or by https with a certificate that it trusts."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Annotated, Literal

import httpx
from msgspec import Meta, Struct

from stead.secrets.sources import private

LEFT = 5.0
"""Seconds of a call that are left after a gentle stop has failed, at the least."""


class Config(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where LXD is, and who speaks to it.

    Credentials: none over its socket, beyond the right to open it; over the network a certificate that it trusts.
    """

    provider: str
    """As the lane has it."""
    region: str
    """As the lane has it."""
    socket: str = ""
    """The path of its socket, where there is no `url`."""
    url: str = ""
    """Its address, such as `https://lxd.example:8443`, where there is no `socket`."""
    certificate: str = ""
    """With `url`: the file of a certificate that it trusts."""
    key: str = ""
    """With `url`: the file of that certificate's key, which others may not read."""
    server_certificate: str = ""
    """With `url`: the file of its own certificate, where it is not signed by somebody the system knows."""
    project: str = ""
    """The project that is this region; one with the region's name, if not said."""
    owner: str = "stead"
    """What our instances are marked with; two who share a project differ in it."""
    type: Literal["container", "virtual-machine"] = "container"
    """What kind of instance is made."""
    grace: Annotated[float, Meta(ge=0)] = 5.0
    """Seconds that an instance has to shut down before it is stopped by force; 0: at once."""
    timeout: Annotated[float, Meta(gt=0)] = 10.0
    """Seconds that a call may last. A cell has a limit for that, which its pace makes longer."""

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        if bool(self.socket) == bool(self.url):
            raise ValueError("it needs a socket or a url, and not both")
        if self.url and not (self.url.startswith("https://") and self.certificate and self.key):
            raise ValueError("a url begins with https:// and needs a certificate and its key")
        if self.grace and self.timeout < self.grace + LEFT:
            raise ValueError(f"the timeout must be {LEFT:.0f} seconds longer than the grace")


def connect(config: Config) -> httpx.AsyncClient:
    """A client that speaks to that server. Nothing is sent yet."""
    if config.socket:
        transport = httpx.AsyncHTTPTransport(uds=config.socket, verify=False)
        return httpx.AsyncClient(transport=transport, base_url="http://lxd", timeout=config.timeout, trust_env=False)
    return httpx.AsyncClient(base_url=config.url, verify=_trust(config), timeout=config.timeout, trust_env=False)


def _trust(config: Config) -> ssl.SSLContext:
    try:
        private(Path(config.key))
        context = ssl.create_default_context(cafile=config.server_certificate or None)
        if config.server_certificate:
            context.check_hostname = False  # it is this very certificate, whatever name the server is called by
        context.load_cert_chain(config.certificate, config.key)
    except OSError as error:
        raise ValueError(f"the certificates of LXD cannot be read: {error}") from error
    return context
