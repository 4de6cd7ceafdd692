"""Renews the certificates that a cell's authority has signed, in the same files and with the same keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from stead.pki import certificates, files
from stead.pki.certificates import Signer
from stead.pki.identity import DESCRIPTION, Identity
from stead.pki.initialization import CONTROLLER, ROOT, certificates_in
from stead.pki.issuer import ISSUER, ISSUER_KEY


@dataclass(frozen=True)
class RenewedCertificate:
    """A certificate after its renewal."""

    path: Path
    name: str
    until: datetime


def renew(folder: Path, *, everything: bool = False) -> Iterator[RenewedCertificate]:
    """Renew certificates with less than half of their lifetime left, or all.

    The authority itself is not renewed, and neither are the identities of agents, which renew them themselves. Raises
    `OSError` if the key of the authority is missing.
    """
    authority = Signer.read((folder / "ca.pem").read_text(), (folder / ROOT / "ca.key").read_text())
    issuer = folder / CONTROLLER / ISSUER
    if issuer.exists():  # first: certificates that it has signed have it in their file
        yield from _renew(issuer, [authority], everything=everything)
    signers = [authority]
    if issuer.exists():
        signers.append(Signer.read(issuer.read_text(), (issuer.parent / ISSUER_KEY).read_text()))
    for path in certificates_in(folder):
        if path != issuer and not _is_an_agents(path):
            yield from _renew(path, signers, everything=everything)


def _renew(path: Path, signers: list[Signer], *, everything: bool) -> Iterator[RenewedCertificate]:
    text = path.read_text()
    for place, signer in enumerate(signers):
        if certificates.text_of(signer.certificate) == text:
            return
        if certificates.is_of(signer, text) and (everything or certificates.is_due(text)):
            below = certificates.text_of(signer.certificate) if place else ""
            made = certificates.renewed(signer, text) + below
            files.replace(path.parent, {path.name: made})
            yield RenewedCertificate(path, certificates.named(made), certificates.expires(made))
            return


def _is_an_agents(path: Path) -> bool:
    return (path.parent / DESCRIPTION).exists() and Identity(path.parent).description.role != CONTROLLER
