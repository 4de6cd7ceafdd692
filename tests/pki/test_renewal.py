"""Certificates are renewed in their files: keys and names stay, and connections are made with them."""

from __future__ import annotations

import asyncio
import shutil
import signal
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from typer.testing import CliRunner

from stead.bus import Bus
from stead.cli.main import app
from stead.controller.health.connections import watched
from stead.pki import certificates
from stead.pki.certificates import Signer
from stead.pki.identity import Identity
from stead.pki.initialization import found
from stead.pki.renewal import renew
from stead.store import Store
from stead.telemetry import metrics
from tests.pki.safe import SafeNats

RENEWED = ["controller/issuer.pem", "controller/cert.pem", "nats/server.pem"]


@pytest.fixture(scope="module")
def founded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("founded")
    found(folder, "main", ["localhost", "10.0.0.7"], 4222)
    return folder


@pytest.fixture
def folder(founded: Path, tmp_path: Path) -> Path:
    """One that a test may change."""
    return Path(shutil.copytree(founded, tmp_path / "pki"))


def renewed(folder: Path, **options: bool) -> list[str]:
    return [str(one.path.relative_to(folder)) for one in renew(folder, **options)]


def age(folder: Path, days: float) -> None:
    """The certificate of the controller was made so long ago, for a year."""
    issuer = Signer.read((folder / "issuer.pem").read_text(), (folder / "issuer.key").read_text())
    public = x509.load_pem_x509_certificate((folder / "cert.pem").read_bytes()).public_key()
    began = time.time() - days * 86_400
    made = certificates.client(issuer, "controller", public, timedelta(days=365), began)  # type: ignore[arg-type]
    (folder / "cert.pem").write_text(made)


def test_what_has_half_of_its_time_left_is_not_renewed(folder: Path) -> None:
    assert renewed(folder) == []
    age(folder / "controller", 180)
    assert renewed(folder) == []


@pytest.mark.parametrize("days", [190, 400])
def test_what_has_less_is_renewed_and_nothing_else(folder: Path, days: float) -> None:
    age(folder / "controller", days)
    assert renewed(folder) == ["controller/cert.pem"]
    left = Identity(folder / "controller").window()[1] - datetime.now(UTC)
    assert timedelta(days=364) < left <= timedelta(days=365)
    assert renewed(folder) == []


def test_name_hosts_and_key_stay(folder: Path) -> None:
    def kept() -> list[object]:
        found = [x509.load_pem_x509_certificate((folder / name).read_bytes()) for name in RENEWED]
        return [(one.subject, one.public_key().public_numbers(), [e.value for e in one.extensions]) for one in found]  # type: ignore[union-attr]

    before, texts = kept(), [(folder / name).read_text() for name in RENEWED]
    assert renewed(folder, everything=True) == RENEWED
    assert kept() == before
    assert not set(texts) & {(folder / name).read_text() for name in RENEWED}


def test_renewed_certificate_does_not_outlive_its_authority(folder: Path) -> None:
    time.sleep(1)  # sleep: certificates have whole seconds
    assert renewed(folder, everything=True) == RENEWED
    issuer, authority = (certificates.expires((folder / name).read_text()) for name in (RENEWED[0], "ca.pem"))
    assert issuer == authority


def test_an_agents_identity_is_left_to_the_agent(folder: Path, safe: SafeNats) -> None:
    safe.agent(folder / "a1", "a1", ["aws.one"])
    assert renewed(folder, everything=True) == RENEWED


def test_without_the_authoritys_key_nothing_is_renewed(folder: Path) -> None:
    (folder / "root" / "ca.key").unlink()
    done = CliRunner().invoke(app, ["pki", "renew", str(folder), "--all"])
    assert done.exit_code == 2
    said = " ".join(done.output.split())
    assert "root/ca.key: No such file or directory" in said
    assert "Errno" not in said


def test_the_command_says_what_was_renewed_and_what_to_do(folder: Path) -> None:
    assert "nothing to do" in CliRunner().invoke(app, ["pki", "renew", str(folder)]).output
    said = CliRunner().invoke(app, ["pki", "renew", str(folder), "--all"]).output
    assert all(name in said for name in RENEWED)
    assert "reload=nats.pid" in said


@pytest.fixture
def aged() -> Iterator[SafeNats]:
    """A bus of its own, with certificates that are to be renewed."""
    server = SafeNats()
    folder = server.founded.folder
    age(folder / "controller", 200)
    authority = Signer.read((folder / "ca.pem").read_text(), (folder / "root" / "ca.key").read_text())
    certificate, key = certificates.server(authority, ["127.0.0.1"], 365, time.time() - 200 * 86_400)
    (folder / "nats" / "server.pem").write_text(certificate)
    (folder / "nats" / "server.key").write_text(key)
    with server:
        yield server


def ends(name: str) -> float:
    (family,) = [
        one for one in metrics.REGISTRY.collect() if one.name == "stead_certificate_expiry_timestamp_seconds"
    ]
    return next(sample.value for sample in family.samples if sample.labels["certificate"] == name)


async def test_a_bus_and_its_clients_go_on_with_renewed_certificates(aged: SafeNats, migrated: str) -> None:
    folder = aged.founded.folder
    identity = aged.controller
    async with (
        Store.open(migrated, connections=1) as store,
        Bus(aged.url, aged.cell, name="test", options=identity.options) as bus,
    ):
        await bus.connect(10)
        with watched(store, bus, identity):
            before = {name: ends(name) for name in ("identity", "authority", "bus")}
            assert renewed(folder) == RENEWED[1:]
            assert aged.process is not None
            aged.process.send_signal(signal.SIGHUP)
            async with asyncio.timeout(60):
                while ends("bus") == before["bus"]:
                    await bus.reconnect()
                    while bus.certificate_expiry() is None:
                        await asyncio.sleep(0.02)
            after = {name: ends(name) for name in before}
    assert {name for name in before if after[name] > before[name]} == {"identity", "bus"}
    assert all(value > time.time() + 300 * 86_400 for value in after.values())
