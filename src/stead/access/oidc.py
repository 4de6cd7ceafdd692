"""OpenID Connect: who somebody is, as an issuer says that the operator trusts.

What counts is the ID token: every issuer makes it a signed JWT for the client it is meant for. Keys are found by
discovery, kept for a while, and looked up anew when a token names one that is not known; not more often than every
few seconds, or anybody could have the issuer asked.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import httpx
import jwt

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures only: with a shared secret, whoever verifies a token could make one."""

LEEWAY_SECONDS = 30.0
"""Seconds by which clocks may differ."""
KEYS_LIFETIME_SECONDS = 3600.0
"""Seconds after which keys are looked up anew: one that the issuer has withdrawn counts for so long at most."""
RETRY_SECONDS = 5.0
"""Seconds between two lookups, whatever tokens say."""
TIMEOUT_SECONDS = 10.0
MAX_ANSWER_BYTES = 1_000_000
"""Bytes of an issuer's answer."""


class InvalidIdToken(Exception):
    """It does not show who somebody is."""


class IssuerUnavailable(Exception):
    """Nobody can say: the issuer does not answer as it should."""


@dataclass(frozen=True, slots=True)
class Issuer:
    """Whom to trust, and with what."""

    url: str
    client: str
    """The id under which the issuer knows this installation; tokens are to be for it."""
    name_claim: str = "sub"
    """Which claim is the name. One that people can change themselves lets them be somebody else."""
    groups_claim: str = "groups"
    secret: str = ""
    """Of the client, where the issuer wants one for logins in a browser."""
    ca: str = ""
    """A file of certificates to trust, beside those of the system."""


@dataclass(frozen=True, slots=True)
class IssuedIdentity:
    """Somebody whom an issuer knows."""

    name: str
    groups: tuple[str, ...]
    until: float
    nonce: str


class OidcVerifier:
    """Verifies ID tokens of one issuer."""

    def __init__(self, issuer: Issuer) -> None:
        self.issuer = issuer
        self._found: Mapping[str, Any] = {}
        self._keys: dict[str, jwt.PyJWK] = {}
        self._asked = -KEYS_LIFETIME_SECONDS
        self._lock = asyncio.Lock()

    async def discovered(self) -> Mapping[str, Any]:
        """What the issuer says of itself: its endpoints."""
        if not self._found:
            await self._refresh(0)
        return self._found

    async def verify(self, token: str) -> IssuedIdentity:
        """Who it is; raises `InvalidIdToken`, or `IssuerUnavailable` where nobody can tell."""
        try:
            header = jwt.get_unverified_header(token)
        except (jwt.InvalidTokenError, ValueError, RecursionError):
            raise InvalidIdToken("it is no token of an issuer") from None
        if header.get("alg") not in ALGORITHMS:
            raise InvalidIdToken(f"it is signed with {str(header.get('alg'))[:20]}, which shows nothing")
        key = await self._key(str(header.get("kid", "")))
        try:
            claims = jwt.decode(
                token,
                key,
                algorithms=[str(header["alg"])],
                audience=self.issuer.client,
                issuer=self.issuer.url,
                leeway=LEEWAY_SECONDS,
                options={"require": ["exp", "iat", "iss", "aud", "sub"]},
            )
        except (jwt.ExpiredSignatureError, jwt.ImmatureSignatureError) as error:
            raise InvalidIdToken(f"{error}, by the clock of this server, which says {_now()}") from None
        except (jwt.InvalidTokenError, TypeError, ValueError, RecursionError) as error:
            raise InvalidIdToken(str(error) or type(error).__name__) from None
        return self._person(claims)

    def _person(self, claims: Mapping[str, Any]) -> IssuedIdentity:
        if isinstance(claims["aud"], list) and len(claims["aud"]) > 1 and claims.get("azp") != self.issuer.client:
            raise InvalidIdToken("it was made for another client")
        name, groups = claims.get(self.issuer.name_claim), claims.get(self.issuer.groups_claim, [])
        if not isinstance(name, str) or not 0 < len(name) <= 200 or not name.isprintable():
            raise InvalidIdToken(f"its claim {self.issuer.name_claim} is no name")
        if self.issuer.name_claim == "email" and claims.get("email_verified") is not True:
            raise InvalidIdToken("the issuer has not verified the address")
        known = [g for g in groups if isinstance(g, str) and g.isprintable()] if isinstance(groups, list) else []
        nonce = claims.get("nonce")
        return IssuedIdentity(
            name, tuple(sorted(known)), float(claims["exp"]), nonce if isinstance(nonce, str) else ""
        )

    async def _key(self, id: str) -> jwt.PyJWK:
        age = time.monotonic() - self._asked
        if age > KEYS_LIFETIME_SECONDS or (id not in self._keys and age > RETRY_SECONDS):
            await self._refresh(self._asked)
        if id not in self._keys:
            raise InvalidIdToken("it is signed with a key that the issuer does not have")
        return self._keys[id]

    async def _refresh(self, asked: float) -> None:
        """Ask the issuer, unless somebody else has since."""
        async with self._lock:
            if self._asked > asked and self._found:
                return
            self._asked = time.monotonic()
            async with self.http() as http:
                found = await _json(http, f"{self.issuer.url.rstrip('/')}/.well-known/openid-configuration")
                if found.get("issuer") != self.issuer.url:
                    raise IssuerUnavailable(f"{self.issuer.url} says that it is {str(found.get('issuer'))[:200]}")
                said = await _json(http, str(found.get("jwks_uri")))
            self._found, self._keys = found, dict(_keys(said))

    def http(self) -> httpx.AsyncClient:
        """To speak with the issuer."""
        verify: Any = True
        if self.issuer.ca:
            verify = ssl.create_default_context(cafile=self.issuer.ca)
        return httpx.AsyncClient(timeout=TIMEOUT_SECONDS, verify=verify, follow_redirects=False)


def _now() -> str:
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"


async def _json(http: httpx.AsyncClient, url: str) -> Mapping[str, Any]:
    try:
        answer = await http.get(url)
        answer.raise_for_status()
        said = answer.json() if len(answer.content) <= MAX_ANSWER_BYTES else None
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise IssuerUnavailable(f"the issuer does not answer as it should: {type(error).__name__} at {url}") from None
    if not isinstance(said, dict):
        raise IssuerUnavailable(f"the issuer does not answer as it should: {url}")
    return said


def _keys(said: Mapping[str, Any]) -> list[tuple[str, jwt.PyJWK]]:
    found: list[tuple[str, jwt.PyJWK]] = []
    for key in said.get("keys", []):
        if not isinstance(key, dict) or key.get("use", "sig") != "sig" or key.get("kty") not in ("RSA", "EC", "OKP"):
            continue
        try:
            found.append((str(key.get("kid", "")), jwt.PyJWK.from_dict(key)))
        except jwt.PyJWTError:
            continue
    return found
