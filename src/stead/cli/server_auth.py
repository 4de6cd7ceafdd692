"""How `stead server` authenticates callers, from its options: without authentication only on loopback."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import typer

from stead.access.oidc import Issuer
from stead.access.policies import InvalidPolicy, Policies
from stead.build import Authenticator

SECRET, CA = "STEAD_CLIENT_SECRET", "STEAD_ISSUER_CA"
"""In the environment: of the client, where the issuer wants one; and certificates to trust for the issuer."""


def loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_address(host: str, *, tls: bool, behind_proxy: bool) -> None:
    """End the command where tokens would travel in clear."""
    if not (loopback(host) or tls or behind_proxy):
        raise typer.BadParameter(
            f"{host} is reachable from other machines, and tokens would travel unencrypted: "
            "give it a certificate (--tls-cert, --tls-key), or name the proxy that ends TLS (--behind-proxy CIDR)",
            param_hint="--host",
        )


def networks(words: Sequence[str]) -> list[str]:
    """The networks of trusted proxies; ends the command where one is none, or is every address."""
    found = []
    for word in words:
        try:
            network = ipaddress.ip_network(word)
        except ValueError as error:
            says = f"{error}; name a network, as in 10.0.0.5/32"
            raise typer.BadParameter(says, param_hint="--behind-proxy") from None
        if network.prefixlen == 0:
            raise typer.BadParameter(
                f"{word} is every address: any client could pass for any other", param_hint="--behind-proxy"
            )
        found.append(str(network))
    return found


def authenticator(
    host: str, open: bool, issuer: str | None, client: str, name: str, groups: str, folder: Path | None
) -> Authenticator:
    """The authenticator of a server; ends the command where options are invalid or would give everyone access."""
    if open and not loopback(host):
        raise typer.BadParameter(
            f"{host} is reachable from other machines, and every caller would have access: listen on 127.0.0.1, "
            "or authenticate callers (without --open)",
            param_hint="--open",
        )
    trusted = None
    if issuer is not None:
        if not issuer.startswith("https://") and not loopback(
            issuer.removeprefix("http://").split("/")[0].split(":")[0]
        ):
            raise typer.BadParameter("an issuer is reached with https", param_hint="--issuer")
        secret, ca = os.environ.get(SECRET, ""), os.environ.get(CA, "")
        trusted = Issuer(issuer, client, name, groups, secret, ca)
    return Authenticator(trusted, _policies(folder), open)


def _policies(folder: Path | None) -> Mapping[str, str]:
    if folder is None:
        return {}
    try:
        found = {file.stem: file.read_text(encoding="utf-8") for file in sorted(folder.glob("*.cedar"))}
        Policies(found)
    except (OSError, InvalidPolicy) as error:
        raise typer.BadParameter(str(error), param_hint="--policies") from None
    if not found:
        raise typer.BadParameter(f"there is no policy in {folder}", param_hint="--policies")
    return found
