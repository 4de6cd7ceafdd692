"""Keys of NATS: an Ed25519 pair whose public half says by its first letter what it is for."""

from __future__ import annotations

import base64
import secrets
from enum import IntEnum

import nkeys as library  # type: ignore[import-untyped]
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


class Role(IntEnum):
    """What a key is for."""

    OPERATOR = library.PREFIX_BYTE_OPERATOR
    ACCOUNT = library.PREFIX_BYTE_ACCOUNT
    USER = library.PREFIX_BYTE_USER


class Key:
    """A pair of keys, by its seed."""

    def __init__(self, seed: str) -> None:
        try:
            self._pair = library.from_seed(seed.strip().encode())
            self.public: str = self._pair.public_key.decode()
        except (library.NkeysError, ValueError) as error:
            raise ValueError("this is not the seed of a key") from error
        self.seed = seed.strip()

    @classmethod
    def new(cls, role: Role) -> Key:
        """One that nobody has had before."""
        return cls(library.encode_seed(secrets.token_bytes(32), role).decode())

    def sign(self, data: bytes) -> bytes:
        """What only the holder of the seed can say of these bytes."""
        signature: bytes = self._pair.sign(data)
        return signature


def raw(public: str, role: Role) -> bytes:
    """The bytes of a public key, which must be one of that role and whole."""
    try:
        data = base64.b32decode(public)
    except ValueError as error:
        raise ValueError("this is not a public key") from error
    whole = len(data) == 35 and data[0] == role
    if not whole or library.crc16_checksum(data[:-2]) != data[-2:]:
        raise ValueError("this is not a public key of that kind")
    return data[1:-2]


def signed_by(public: str, role: Role, data: bytes, signature: bytes) -> bool:
    """Whether the holder of a key has signed these bytes."""
    try:
        Ed25519PublicKey.from_public_bytes(raw(public, role)).verify(signature, data)
    except (InvalidSignature, ValueError):
        return False
    return True
