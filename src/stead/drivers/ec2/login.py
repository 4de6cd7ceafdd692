"""Who speaks to EC2: an access key that is read where it is kept, or whatever botocore finds by itself.

What is read is asked for anew before every call, so that a key that was changed is used from the next call on.
"""

from __future__ import annotations

import threading
from typing import Any

from botocore.credentials import CredentialProvider, Credentials, ReadOnlyCredentials
from botocore.session import Session

from stead.secrets import KNOWN, NO_SECRET, Secret

INVALID_CREDENTIALS = frozenset(
    (
        "AuthFailure",
        "ExpiredToken",
        "ExpiredTokenException",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "InvalidToken",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    )
)
"""How EC2 says that the credentials are not right, or not any more. Nothing was done then."""


class Login:
    """An access key, or none of its own."""

    def __init__(self, key: Secret = NO_SECRET, secret: Secret = NO_SECRET, token: Secret = NO_SECRET) -> None:
        self._parts = (key, secret, token)
        self._here = threading.local()
        self._found: Any = None

    def enter(self, session: Session) -> None:
        """From now on the session speaks for it."""
        if self._parts[0]:
            session.get_component("credential_provider").insert_before("env", _Provider(self))
        self._found = session.get_credentials()

    def now(self) -> ReadOnlyCredentials:
        """The key as it is known now."""
        used = tuple(part.reveal() if part else None for part in self._parts)
        self._here.used = used
        return ReadOnlyCredentials(*used)

    def renewed(self) -> bool:
        """EC2 did not take what this thread has used last: is there something else by now?"""
        used = getattr(self._here, "used", (None, None, None))
        return any([part.doubt(said) for part, said in zip(self._parts, used, strict=True) if part and said])

    def hide(self) -> None:
        """What botocore found by itself is secret as well: an error may be about to repeat it."""
        if self._found is not None and not self._parts[0]:
            found = self._found.get_frozen_credentials()
            for value in (found.secret_key, found.token):
                KNOWN.remember(value or "")


class _Key(Credentials):  # type: ignore[misc]  # it has no types
    """The key of a login, in the form that botocore asks for it."""

    def __init__(self, login: Login) -> None:
        self._login = login
        self.method = "stead"
        self.account_id = None

    def get_frozen_credentials(self) -> ReadOnlyCredentials:
        return self._login.now()


class _Provider(CredentialProvider):  # type: ignore[misc]  # it has no types
    METHOD = "stead"
    CANONICAL_NAME = "stead"

    def __init__(self, login: Login) -> None:
        super().__init__()
        self._login = login

    def load(self) -> _Key:
        return _Key(self._login)
