"""`stead login`, `logout` and `whoami`: the identity of a caller."""

from __future__ import annotations

import sys
import time
from typing import Annotated, Any

import httpx
import typer

from stead.cli import credentials
from stead.cli.output import Code, Format, data, fail, line, note
from stead.cli.roles import role_text
from stead.cli.server_commands import Server, SingleOutput, clock, plain, reach
from stead.client import DEFAULT_SERVER

PATIENCE = 20.0
DEVICE = "urn:ietf:params:oauth:grant-type:device_code"


def login(
    with_token: Annotated[
        bool,
        typer.Option("--with-token", help="Read a token from stdin and keep it, instead of a login at the issuer."),
    ] = False,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Log in to a server, and keep the login.

    A server with an issuer (OpenID Connect) uses its device flow: open the address that is shown in a browser, on any
    machine, and confirm. The login is kept in a file that only you can read.
    """
    if with_token:
        kept = {"token": sys.stdin.readline().strip()}
    else:
        with reach(server, token=None) as client:
            way = client.login()
        if way.anonymous_access:
            note(f"{server} is open and needs no login")
            return
        if way.issuer is None or way.client is None:
            fail(f"{server} has no issuer; give a token with --with-token or in {credentials.TOKEN}", Code.USAGE)
        kept = _device(way.issuer, way.client, way.scopes)
    with reach(server, token=kept["token"]) as client:
        me = client.whoami()
    file = credentials.keep(server, kept)
    line(f"logged in to {server} as {me.name}")
    note(f"kept in {file}")


def _device(issuer: str, client: str, scopes: str) -> dict[str, Any]:
    """Log in by the device flow of an issuer (RFC 8628): wait until a person has confirmed in a browser."""
    try:
        found = _json(httpx.get(f"{issuer.rstrip('/')}/.well-known/openid-configuration", timeout=PATIENCE))
        if "device_authorization_endpoint" not in found:
            fail(f"{issuer} has no device flow; give a token with --with-token")
        begun = _json(
            httpx.post(
                found["device_authorization_endpoint"],
                data={"client_id": client, "scope": scopes},
                timeout=PATIENCE,
            )
        )
        note(f"open {begun.get('verification_uri_complete') or begun['verification_uri']}")
        note(f"and check that it shows the code {begun['user_code']}")
        said = _waited(found["token_endpoint"], client, begun)
    except (httpx.HTTPError, KeyError, ValueError) as error:
        fail(f"{issuer}: invalid answer: {type(error).__name__}: {error}")
    return credentials.login_of(said, client, found["token_endpoint"])


def _waited(endpoint: str, client: str, begun: dict[str, Any]) -> dict[str, Any]:
    pause, until = float(begun.get("interval", 5)), time.monotonic() + float(begun.get("expires_in", 600))
    asked = {"grant_type": DEVICE, "device_code": begun["device_code"], "client_id": client}
    while time.monotonic() < until:
        time.sleep(pause)
        answer = httpx.post(endpoint, data=asked, timeout=PATIENCE)
        said: dict[str, Any] = answer.json()
        if answer.status_code == 200 and "id_token" in said:
            return said
        match said.get("error"):
            case "authorization_pending":
                continue
            case "slow_down":
                pause += 5
            case error:
                fail(f"the issuer rejected the login: {error or 'no reason given'}", Code.NOT_ALLOWED)
    fail("the login was not confirmed in time; repeat: stead login", Code.TIMED_OUT)


def _json(answer: httpx.Response) -> dict[str, Any]:
    answer.raise_for_status()
    said: dict[str, Any] = answer.json()
    return said


def logout(server: Server = DEFAULT_SERVER) -> None:
    """Forget the login at a server."""
    if credentials.forget(server):
        line(f"logged out of {server}")
    else:
        note(f"no login at {server} is kept")


def whoami(
    output: SingleOutput = Format.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Show the current identity and its permissions."""
    with reach(server) as client:
        me = client.whoami()
    if output is not Format.TABLE:
        data(plain(me), output)
        return
    line(f"name    {me.name}")
    if me.groups:
        line(f"groups  {', '.join(me.groups)}")
    roles = ", ".join(map(role_text, me.roles)) or "none"
    line(f"roles   {'all: the server is open' if me.anonymous_access else roles}")
    if me.expires_at:
        line(f"until   {clock(me.expires_at)}")
