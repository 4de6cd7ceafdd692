"""Gives identities out: what a server needs for it lies in its own identity's folder.

That is a key which may sign users of the cell's account, one which may sign the account itself, so that a user can be
revoked, and an issuer of certificates for clients. The keys above them are needed for none of it.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

import msgspec

from stead.bus.permissions import services_for_agents, services_of_agents
from stead.pki import certificates, claims
from stead.pki.certificates import Signer
from stead.pki.claims import Permissions
from stead.pki.identity import AUTHORITY, Identity, NoIdentity
from stead.pki.nkeys import Key, Role, signed_by

ISSUER, ISSUER_KEY, ISSUING = "issuer.pem", "issuer.key", "issuing.json"
SYSTEM = "system.creds"

MAX_REQUEST_CHARS = 10_000
"""Characters of a request for a certificate."""


class SigningKeys(msgspec.Struct, frozen=True):
    """The keys that sign, and for which account: agents have one of their own."""

    cell: str
    """The public key of the cell's account."""
    account: str
    """That of the account of agents."""
    account_name: str
    signing_keys: list[str]
    """Public keys that may sign its users."""
    account_seed: str
    """Signs users of the account."""
    operator_seed: str
    """Signs the account."""


@dataclass(frozen=True)
class IssuedCredentials:
    """What somebody is given who is let in."""

    jwt: str
    certificate: str
    authority: str
    expires_at: float


class CredentialIssuer:
    """Signs what identities are made of."""

    def __init__(self, identity: Identity) -> None:
        self.identity = identity
        folder = identity.folder
        try:
            self._keys = msgspec.json.decode((folder / ISSUING).read_bytes(), type=SigningKeys)
            self._signer = Signer.read((folder / ISSUER).read_text(), (folder / ISSUER_KEY).read_text())
            self._authority = (folder / AUTHORITY).read_text()
        except (OSError, ValueError) as error:
            raise NoIdentity(f"{folder} is not the identity of a server or controller: {error}") from error
        self._users = Key(self._keys.account_seed)
        self._accounts = Key(self._keys.operator_seed)

    @property
    def account(self) -> str:
        """The account of agents, by its public key."""
        return self._keys.account

    def issue(
        self, name: str, user_key: str, request: str, may: Permissions, lifetime: float, now: float
    ) -> IssuedCredentials:
        """Claims and a certificate for the holder of these keys, for so many seconds from now, a Unix time."""
        if len(request) > MAX_REQUEST_CHARS:
            raise ValueError("the request for a certificate is too long")
        public = certificates.requested(request)
        expires_at = now + lifetime
        certificate = certificates.client(self._signer, name, public, timedelta(seconds=lifetime), now)
        jwt = claims.user(self._users, self.account, user_key, name, may, expires_at, now)
        return IssuedCredentials(jwt, certificate, self._authority, expires_at)

    def account_claims(self, revoked: Mapping[str, int]) -> str:
        """The account as it is from now on: of these users whatever was signed up to that time counts no more."""
        return agents_account(self._accounts, self._keys, self.identity.description.cell, revoked)


def agents_account(signer: Key, keys: SigningKeys, cell: str, revoked: Mapping[str, int] | None = None) -> str:
    """The account of agents: it has nothing of its own, and uses some of what the cell's account can do."""
    return claims.account(
        signer,
        keys.account,
        keys.account_name,
        signing=keys.signing_keys,
        revoked=revoked,
        exports=services_of_agents(cell),
        imports=services_for_agents(cell),
        of=keys.cell,
    )


def proven(user_key: str, request: str, proof: str) -> bool:
    """Whether a request was sent by the holder of the user's key."""
    try:
        signature = base64.b64decode(proof, validate=True)
    except ValueError:
        return False
    return signed_by(user_key, Role.USER, request.encode(), signature)
