"""An identity is a folder: who one is on the bus, and what proves it.

Certificate, claims and keys are read anew for every connection, so whoever renews them has only to connect again.
"""

from __future__ import annotations

import base64
import ssl
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from stead.pki import certificates, claims, files
from stead.pki.nkeys import Key, Role

DESCRIPTION, AUTHORITY, CERTIFICATE, KEY, CREDENTIALS = "identity.json", "ca.pem", "cert.pem", "key.pem", "user.creds"


class NoIdentity(Exception):
    """The folder has no identity in it, or none that can be read."""


class Description(msgspec.Struct, frozen=True):
    """What an identity is called, and where its bus is."""

    name: str
    cell: str
    bus: list[str]
    role: str = "agent"
    lanes: list[str] = []


class Identity:
    """The folder of one identity."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            self.description = msgspec.json.decode(self._read(DESCRIPTION), type=Description)
        except (msgspec.DecodeError, RecursionError) as error:
            raise NoIdentity(f"{folder / DESCRIPTION} cannot be read: {error}") from error

    def _read(self, name: str) -> str:
        try:
            return (self.folder / name).read_text(encoding="utf-8")
        except OSError as error:
            raise NoIdentity(f"{self.folder} has no identity in it: {name}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise NoIdentity(f"{self.folder / name} is not text") from error

    @property
    def name(self) -> str:
        return self.description.name

    def options(self, credentials: str = CREDENTIALS) -> dict[str, Any]:
        """What the client library is told to connect with; read from the folder now."""
        jwt, seed = claims.from_credentials(self._read(credentials))
        return {"tls": self.tls(), "user_jwt_cb": jwt.encode, "signature_cb": _signing(Key(seed))}

    def tls(self) -> ssl.SSLContext:
        """Knows the authority, and has a certificate to show."""
        context = ssl.create_default_context(cafile=str(self.folder / AUTHORITY))
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.load_cert_chain(self.folder / CERTIFICATE, self.folder / KEY)
        return context

    def window(self) -> tuple[datetime, datetime]:
        """From when what it connects with counts, and until when, whichever part of it ends first."""
        jwt, _ = claims.from_credentials(self._read(CREDENTIALS))
        said = claims.decode(jwt)
        ends = [certificates.expires(self._read(CERTIFICATE))]
        if "exp" in said:
            ends.append(datetime.fromtimestamp(said["exp"], UTC))
        return datetime.fromtimestamp(said["iat"], UTC), min(ends)

    def authority_expiry(self) -> datetime:
        """When the certificate authority expires."""
        return certificates.expires(self._read(AUTHORITY))

    def received(self) -> datetime:
        """When this machine wrote what it connects with, by its own clock."""
        return datetime.fromtimestamp((self.folder / CREDENTIALS).stat().st_mtime, UTC)

    def request(self) -> str:
        """For a certificate, with the key that is there."""
        return certificates.request(certificates.read_key(self._read(KEY)), self.name)

    def renewed(self, jwt: str, certificate: str) -> None:
        """Keep what one was given anew. The keys stay, so each file holds by itself, whichever was written last."""
        _, seed = claims.from_credentials(self._read(CREDENTIALS))
        files.replace(self.folder, {CERTIFICATE: certificate, CREDENTIALS: claims.credentials(jwt, seed)})


class Candidate:
    """Somebody who is to get an identity: keys that were made here and stay here, and what is sent of them."""

    def __init__(self, name: str = "agent") -> None:
        self._user = Key.new(Role.USER)
        self._key = certificates.new_key()
        self.request = certificates.request(self._key, name)
        self.user_key = self._user.public
        self.proof = base64.b64encode(self._user.sign(self.request.encode())).decode()
        """That whoever sends the request has the user's key, too."""

    def admitted(self, folder: Path, description: Description, jwt: str, certificate: str, authority: str) -> None:
        """Write down what it has become."""
        files.write_new(
            folder,
            {
                AUTHORITY: authority,
                CERTIFICATE: certificate,
                KEY: certificates.key_text(self._key),
                CREDENTIALS: claims.credentials(jwt, self._user.seed),
                DESCRIPTION: described(description),
            },
        )


def described(description: Description) -> str:
    """As it is kept."""
    return msgspec.json.format(msgspec.json.encode(description), indent=2).decode() + "\n"


def _signing(key: Key) -> Callable[[str], bytes]:
    def sign(nonce: str) -> bytes:
        return base64.b64encode(key.sign(nonce.encode()))

    return sign
