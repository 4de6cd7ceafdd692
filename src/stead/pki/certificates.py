"""Certificates: an authority, an issuer below it that can only vouch for clients, servers and clients.

The authority's key is needed rarely and can be put away. Servers hold the issuer's, with which nobody can pretend to
be a server.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID as Use
from cryptography.x509.oid import NameOID, ObjectIdentifier

SKEW = timedelta(minutes=5)
"""By so much clocks may differ."""

MAX_NAME_CHARS = 64
"""Characters of a common name."""


@dataclass(frozen=True)
class Signer:
    """Whoever vouches: its certificate, and the key that belongs to it."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @classmethod
    def read(cls, certificate: str, key: str) -> Signer:
        """From two PEM texts."""
        return cls(x509.load_pem_x509_certificate(certificate.encode()), read_key(key))


def new_key() -> ec.EllipticCurvePrivateKey:
    """On the curve P-256."""
    return ec.generate_private_key(ec.SECP256R1())


def key_text(key: ec.EllipticCurvePrivateKey) -> str:
    """A private key as PEM."""
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return key.private_bytes(*form).decode()


def read_key(text: str) -> ec.EllipticCurvePrivateKey:
    """A private key from PEM."""
    key = serialization.load_pem_private_key(text.encode(), None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError("this is not a key on an elliptic curve")
    return key


def text_of(certificate: x509.Certificate) -> str:
    """A certificate as PEM."""
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def authority(name: str, days: float) -> Signer:
    """A new authority, which vouches for itself."""
    key = new_key()
    subject = _name(name)
    made = _begin(subject, subject, key.public_key(), timedelta(days=days)).add_extension(
        x509.BasicConstraints(ca=True, path_length=1), critical=True
    )
    made = made.add_extension(_usage(ca=True), critical=True)
    return Signer(made.sign(key, hashes.SHA256()), key)


def issuer(above: Signer, name: str, days: float) -> Signer:
    """One that may vouch for clients, and for nothing else."""
    key = new_key()
    made = (
        _begin(_name(name), above.certificate.subject, key.public_key(), timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(ca=True), critical=True)
        .add_extension(x509.ExtendedKeyUsage([Use.CLIENT_AUTH]), critical=False)
        .add_extension(_above(above), critical=False)
    )
    return Signer(made.sign(above.key, hashes.SHA256()), key)


def server(above: Signer, hosts: Sequence[str], days: float, now: float | None = None) -> tuple[str, str]:
    """The certificate of a server under these names and addresses, and its key."""
    key = new_key()
    made = (
        _begin(_name(hosts[0]), above.certificate.subject, key.public_key(), timedelta(days=days), now)
        .add_extension(x509.SubjectAlternativeName([_host(host) for host in hosts]), critical=False)
        .add_extension(_usage(), critical=True)
        .add_extension(x509.ExtendedKeyUsage([Use.SERVER_AUTH]), critical=False)
    )
    return text_of(_leaf(made, above)), key_text(key)


def client(
    above: Signer, name: str, public: ec.EllipticCurvePublicKey, lifetime: timedelta, now: float | None = None
) -> str:
    """The certificate of a client, with its issuer's below it so that whoever knows the authority can follow."""
    made = (
        _begin(_name(name), above.certificate.subject, public, lifetime, now)
        .add_extension(_usage(), critical=True)
        .add_extension(x509.ExtendedKeyUsage([Use.CLIENT_AUTH]), critical=False)
    )
    return text_of(_leaf(made, above)) + text_of(above.certificate)


def request(key: ec.EllipticCurvePrivateKey, name: str) -> str:
    """What the holder of a key sends to get a certificate for it; the key stays where it is."""
    made = x509.CertificateSigningRequestBuilder().subject_name(_name(name)).sign(key, hashes.SHA256())
    return made.public_bytes(serialization.Encoding.PEM).decode()


def requested(text: str) -> ec.EllipticCurvePublicKey:
    """The public key of a request that its holder has signed; nothing else in it is believed."""
    try:
        found = x509.load_pem_x509_csr(text.encode())
        public = found.public_key()
        if not isinstance(public, ec.EllipticCurvePublicKey) or not isinstance(public.curve, ec.SECP256R1):
            raise ValueError("the key of a request has to be on the curve P-256")
        if not found.is_signature_valid:
            raise ValueError("the request is not signed with its own key")
    except Exception as error:  # the library has many of them, and what is sent may be anything
        raise ValueError(f"this is not a request for a certificate: {error}") from error
    return public


def renewed(above: Signer, text: str) -> str:
    """Renew the first certificate in a text for the same lifetime, at most its signer's. Name and key stay."""
    old = x509.load_pem_x509_certificate(text.encode())
    now = datetime.now(UTC)
    until = now + (old.not_valid_after_utc - old.not_valid_before_utc) - SKEW
    made = (
        x509.CertificateBuilder()
        .subject_name(old.subject)
        .issuer_name(above.certificate.subject)
        .public_key(old.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - SKEW)
        .not_valid_after(min(until, above.certificate.not_valid_after_utc))
    )
    for extension in old.extensions:
        made = made.add_extension(extension.value, critical=extension.critical)
    return text_of(made.sign(above.key, hashes.SHA256()))


def is_of(above: Signer, text: str) -> bool:
    """Whether a signer has signed the first certificate in a text."""
    try:
        x509.load_pem_x509_certificate(text.encode()).verify_directly_issued_by(above.certificate)
    except (InvalidSignature, TypeError, ValueError):
        return False
    return True


def is_due(text: str) -> bool:
    """Whether a certificate in a text has less than half of its lifetime left."""
    now = datetime.now(UTC)
    found = x509.load_pem_x509_certificates(text.encode())
    return any(
        now > one.not_valid_before_utc + (one.not_valid_after_utc - one.not_valid_before_utc) / 2 for one in found
    )


def expires(text: str) -> datetime:
    """When the first certificate in a text is over."""
    return x509.load_pem_x509_certificate(text.encode()).not_valid_after_utc


def named(text: str) -> str:
    """Whose the first certificate in a text is."""
    (name,) = x509.load_pem_x509_certificate(text.encode()).subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(name.value)


def _leaf(made: x509.CertificateBuilder, above: Signer) -> x509.Certificate:
    whole = made.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    return whole.add_extension(_above(above), critical=False).sign(above.key, hashes.SHA256())


def _above(above: Signer) -> x509.AuthorityKeyIdentifier:
    return x509.AuthorityKeyIdentifier.from_issuer_public_key(above.key.public_key())


def _begin(
    subject: x509.Name,
    above: x509.Name,
    public: ec.EllipticCurvePublicKey,
    lifetime: timedelta,
    at: float | None = None,
) -> x509.CertificateBuilder:
    now = datetime.now(UTC) if at is None else datetime.fromtimestamp(at, UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(above)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - SKEW)
        .not_valid_after(now + lifetime)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    )


def _name(name: str) -> x509.Name:
    kind: ObjectIdentifier = NameOID.COMMON_NAME
    return x509.Name([x509.NameAttribute(kind, name[:MAX_NAME_CHARS])])


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _usage(*, ca: bool = False) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not ca,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=ca,
        crl_sign=ca,
        encipher_only=False,
        decipher_only=False,
    )
