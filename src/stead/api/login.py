"""The way in: how one can log in here, who one is, and sessions for browsers.

A browser gets a cookie that scripts cannot read and other sites cannot use. What stands behind it is a token, or an
issuer's word after the authorization code flow with PKCE.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import urlencode

import httpx
from fastapi import Query, Request, Response
from fastapi.responses import RedirectResponse

from stead.access.access import Access, UnknownCredentials
from stead.access.caller import Caller
from stead.access.oidc import InvalidIdToken, IssuerUnavailable, OidcVerifier
from stead.api.identity import COOKIE, Who, login_failed, same_origin
from stead.api.limits import Limits
from stead.api.models import ResponseModel
from stead.api.problems import ProblemResponse
from stead.api.routing import ApplicationDep, router

FLOW = "stead_login"
"""The cookie of a login that is under way."""
FLOW_LASTS = 600
"""Seconds for somebody to find their password."""
HOME = "/console/"
SCOPES = "openid profile email groups offline_access"


class Login(ResponseModel):
    """How one can log in."""

    anonymous_access: bool
    """The server authenticates no caller: there is nothing to log in to."""
    issuer: str | None
    """The OpenID Connect issuer, if there is one beside tokens."""
    client: str | None
    """The id of the client that programs log in as, with the device flow."""
    scopes: str


class LoginCredentials(ResponseModel):
    """Credentials to open a session with."""

    token: str


class RoleBinding(ResponseModel):
    """A role, and where one has it."""

    role: str
    namespace: str
    """`*`: in every namespace, and in the cell itself."""


class Whoami(ResponseModel):
    """Who one is here."""

    name: str
    groups: list[str]
    roles: list[RoleBinding]
    anonymous_access: bool
    """The server authenticates no caller, and permits everything."""
    expires_at: datetime | None
    """When one has to show again who one is."""


routes = router("access")


@routes.get("/v1/login")
async def read_login(application: ApplicationDep) -> Login:
    """How one can log in here. It is for everybody."""
    access = application.access
    issuer = access.oidc.issuer if access is not None and access.oidc is not None else None
    return Login(
        anonymous_access=access is None or access.open,
        issuer=issuer.url if issuer else None,
        client=issuer.client if issuer else None,
        scopes=SCOPES,
    )


@routes.get("/v1/whoami")
async def whoami(caller: Who) -> Whoami:
    """Who one is here, and which roles one has."""
    return shown(caller)


@routes.post("/v1/session")
async def begin_session(
    application: ApplicationDep, body: LoginCredentials, request: Request, response: Response
) -> Whoami:
    """For browsers: show a token once, and get a cookie that stands for it."""
    if not same_origin(request):
        raise ProblemResponse("cross-origin", "a page of another address has sent this")
    return await _open(_needed(application.access), body.token, request, response)


@routes.delete("/v1/session", status_code=204)
async def end_session(application: ApplicationDep, request: Request, response: Response) -> None:
    """Log out: the cookie opens nothing any more."""
    cookie = request.cookies.get(COOKIE, "")
    if cookie and same_origin(request):
        await _needed(application.access).end_session(cookie)
        response.delete_cookie(COOKIE)


@routes.get("/v1/session/login", response_class=RedirectResponse, status_code=302)
async def start_login(
    application: ApplicationDep,
    request: Request,
    to: Annotated[str, Query(max_length=1000, description="Where to go then.")] = HOME,
) -> Response:
    """Send a browser to the issuer."""
    oidc = _issuer(application.access)
    flow = {name: secrets.token_urlsafe(32) for name in ("state", "nonce", "verifier")}
    challenge = base64.urlsafe_b64encode(hashlib.sha256(flow["verifier"].encode()).digest()).decode().rstrip("=")
    asked = {
        "response_type": "code",
        "client_id": oidc.issuer.client,
        "redirect_uri": _back(request),
        "scope": "openid profile email groups",
        "state": flow["state"],
        "nonce": flow["nonce"],
        "code_challenge": challenge,
        "code_challenge_method": "S256",
    }
    endpoint = (await _found(oidc))["authorization_endpoint"]
    answer = RedirectResponse(f"{endpoint}?{urlencode(asked)}", 302)
    kept = json.dumps({**flow, "to": to if to.startswith(HOME) else HOME})
    answer.set_cookie(
        FLOW,
        base64.urlsafe_b64encode(kept.encode()).decode(),
        max_age=FLOW_LASTS,
        path="/v1/session",
        httponly=True,
        secure=_secure(request),
        samesite="lax",
    )
    return answer


@routes.get("/v1/session/back", response_class=RedirectResponse, status_code=302)
async def complete_login(
    application: ApplicationDep,
    request: Request,
    state: Annotated[str, Query(max_length=200)] = "",
    code: Annotated[str, Query(max_length=4000)] = "",
    error: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """Where the issuer sends a browser back to."""
    known, oidc = _needed(application.access), _issuer(application.access)
    flow = _flow(request)
    if not flow or not secrets.compare_digest(flow.get("state", ""), state):
        raise login_failed("this login was begun elsewhere, or took too long: begin again")
    if error or not code:
        raise login_failed(f"the issuer did not let you in: {error or 'without a word'}")
    token = await _exchanged(oidc, code, flow["verifier"], _back(request))
    try:
        verified = await oidc.verify(token)
    except InvalidIdToken as wrong:
        raise login_failed(str(wrong)) from None
    if not secrets.compare_digest(verified.nonce, flow["nonce"]):
        raise login_failed("the issuer's word is for another login")
    answer = RedirectResponse(flow.get("to", HOME), 302)
    await _open(known, token, request, answer)
    answer.delete_cookie(FLOW, path="/v1/session")
    return answer


def shown(caller: Caller) -> Whoami:
    """A caller, as they are told who they are."""
    return Whoami(
        name=caller.name,
        groups=list(caller.groups),
        roles=[RoleBinding(role=role, namespace=where) for role, where in sorted(caller.roles)],
        anonymous_access=caller.open,
        expires_at=datetime.fromtimestamp(caller.until, UTC) if caller.until < 2**40 else None,
    )


async def _open(access: Access, token: str, request: Request, response: Response) -> Whoami:
    limits: Limits = request.app.state.limits
    try:
        secret, caller = await access.begin_session(token, lambda: limits.wait_unknown(request))
    except UnknownCredentials as error:
        limits.take_unknown(request)
        raise login_failed(str(error)) from None
    except IssuerUnavailable as error:
        raise ProblemResponse("issuer-unavailable", str(error), retry_after=5) from None
    response.set_cookie(COOKIE, secret, httponly=True, secure=_secure(request), samesite="lax", path="/")
    return shown(caller)


async def _exchanged(oidc: OidcVerifier, code: str, verifier: str, back: str) -> str:
    """The ID token that a code stands for."""
    asked = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": back,
        "client_id": oidc.issuer.client,
        "code_verifier": verifier,
    } | ({"client_secret": oidc.issuer.secret} if oidc.issuer.secret else {})
    endpoint = (await _found(oidc))["token_endpoint"]
    try:
        async with oidc.http() as http:
            answer = await http.post(endpoint, data=asked)
        said = answer.json() if answer.status_code == 200 else {}
    except (httpx.HTTPError, ValueError):
        raise ProblemResponse(
            "issuer-unavailable", "the issuer does not answer as it should", retry_after=5
        ) from None
    token = said.get("id_token") if isinstance(said, dict) else None
    if not isinstance(token, str):
        raise login_failed("the issuer did not say who you are")
    return token


async def _found(oidc: OidcVerifier) -> dict[str, str]:
    try:
        return {name: str(value) for name, value in (await oidc.discovered()).items()}
    except IssuerUnavailable as error:
        raise ProblemResponse("issuer-unavailable", str(error), retry_after=5) from None


def _flow(request: Request) -> dict[str, str]:
    """What was kept of a login that is under way."""
    try:
        said = json.loads(base64.urlsafe_b64decode(request.cookies.get(FLOW, "")))
        return {str(name): str(value) for name, value in said.items()}
    except (ValueError, AttributeError, RecursionError):
        return {}


def _back(request: Request) -> str:
    return str(request.url_for("complete_login"))


def _secure(request: Request) -> bool:
    return request.url.scheme == "https"


def _needed(access: Access | None) -> Access:
    if access is None or access.open:
        raise ProblemResponse("invalid", "nobody is asked who they are here: there is nothing to log in to")
    return access


def _issuer(access: Access | None) -> OidcVerifier:
    if _needed(access).oidc is None:
        raise ProblemResponse("invalid", "there is no issuer here: log in with a token")
    assert access is not None
    assert access.oidc is not None
    return access.oidc
