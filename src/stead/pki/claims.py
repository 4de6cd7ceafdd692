"""The words by which NATS knows operators, accounts and users: a JWT of its own kind, signed with an Ed25519 key.

The server asks nobody whether a user may do something: it reads it in the user's claims, which an account's key has
signed, and the account's claims, which the operator's key has signed. Whoever is no longer to be let in stands in
the account's claims, with the time up to which whatever was signed for that user counts no more.
"""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stead.bus.permissions import Service
from stead.pki.nkeys import Key

HEADER = {"typ": "JWT", "alg": "ed25519-nkey"}
ANY = -1
"""No limit."""


@dataclass(frozen=True)
class Permissions:
    """On which subjects a user may speak, and on which it may listen."""

    publish: tuple[str, ...]
    listen: tuple[str, ...]
    answers: int = 0
    """How often it may answer each question that was put to it, wherever the answer is wanted."""
    answer_within: float = 120.0
    """Seconds."""
    deny_publish: tuple[str, ...] = ()
    deny_listen: tuple[str, ...] = ()


EVERYTHING = Permissions((">",), (">",))


def _plain(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def encode(
    signer: Key,
    subject: str,
    name: str,
    nats: Mapping[str, Any],
    expires: float | None = None,
    now: float | None = None,
) -> str:
    """Signed claims about a subject, which is a public key."""
    signed_at = int(time.time() if now is None else now)
    claims: dict[str, Any] = {"iat": signed_at, "iss": signer.public, "name": name, "sub": subject}
    if expires is not None:
        claims["exp"] = int(expires)
    claims["nats"] = {**nats, "version": 2}
    # The id is a digest of the claims without it.
    digest = hashlib.new("sha512_256", _json(claims)).digest()
    claims = {"jti": base64.b32encode(digest).decode().rstrip("="), **claims}
    said = f"{_plain(_json(HEADER))}.{_plain(_json(claims))}"
    return f"{said}.{_plain(signer.sign(said.encode()))}"


def decode(jwt: str) -> dict[str, Any]:
    """The claims, without a look at who has signed them."""
    try:
        body = jwt.strip().split(".")[1]
        claims: dict[str, Any] = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    except (ValueError, IndexError, RecursionError) as error:
        raise ValueError("these are not claims") from error
    return claims


def operator(key: Key, name: str, signing: Sequence[str], system: str) -> str:
    """The operator, which signs itself: who else may sign accounts in its name, and which account is the system's."""
    nats = {"type": "operator", "signing_keys": list(signing), "system_account": system}
    return encode(key, key.public, name, nats)


def account(
    signer: Key,
    subject: str,
    name: str,
    *,
    signing: Sequence[str] = (),
    revoked: Mapping[str, int] | None = None,
    jetstream: bool = False,
    exports: Sequence[Service] = (),
    imports: Sequence[Service] = (),
    of: str = "",
) -> str:
    """An account: who may sign users of it, and of which users whatever was signed up to a time counts no more.

    It offers services to other accounts, and uses those of another, `of` which the public key is said.
    """
    limits = dict.fromkeys(("subs", "data", "payload", "imports", "exports", "conn", "leaf"), ANY)
    storage = dict.fromkeys(("mem_storage", "disk_storage", "streams", "consumer"), ANY) if jetstream else {}
    nats: dict[str, Any] = {"type": "account", "limits": {**limits, "wildcards": True, **storage}}
    if signing:
        nats["signing_keys"] = list(signing)
    if exports:
        nats["exports"] = [
            {
                "name": one.subject,
                "subject": one.subject,
                "type": "service",
                "response_type": "Stream" if one.many else "Singleton",
            }
            for one in exports
        ]
    if imports:
        nats["imports"] = [
            {"name": one.subject, "subject": one.subject, "account": of, "type": "service"}
            | ({"local_subject": one.known_as} if one.known_as else {})
            for one in imports
        ]
    if revoked:
        nats["revocations"] = dict(sorted(revoked.items()))
    return encode(signer, subject, name, nats)


def user(
    signer: Key,
    account: str,
    subject: str,
    name: str,
    may: Permissions,
    expires: float | None = None,
    now: float | None = None,
) -> str:
    """A user of an account, with what it may do."""
    nats: dict[str, Any] = {
        "type": "user",
        "issuer_account": account,
        "pub": {"allow": list(may.publish), **_denied(may.deny_publish)},
        "sub": {"allow": list(may.listen), **_denied(may.deny_listen)},
        **dict.fromkeys(("subs", "data", "payload"), ANY),
    }
    if may.answers:
        nats["resp"] = {"max": may.answers, "ttl": int(may.answer_within * 1e9)}
    return encode(signer, subject, name, nats, expires, now)


def _denied(subjects: Sequence[str]) -> dict[str, list[str]]:
    return {"deny": list(subjects)} if subjects else {}


def credentials(jwt: str, seed: str) -> str:
    """Claims and seed in one file, in the form that the tools of NATS read, too."""
    return (
        f"-----BEGIN NATS USER JWT-----\n{jwt}\n------END NATS USER JWT------\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
    )


def from_credentials(text: str) -> tuple[str, str]:
    """Claims and seed out of such a file."""
    found = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("---")]
    if len(found) != 2:
        raise ValueError("these are not credentials")
    return found[0], found[1]
