"""A server shows the certificate that is in its files, also when they change while it runs."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest
from cryptography import x509

from stead.cli.processes.https import HttpsCertificate
from stead.pki import certificates
from stead.telemetry import metrics


class Shown:
    """A server with a certificate, and what a client is shown."""

    def __init__(self, folder: Path) -> None:
        self.authority = certificates.authority("test", 10)
        self.file, self.key = folder / "cert.pem", folder / "key.pem"
        self.write()
        self.certificate = HttpsCertificate(self.file, self.key, every=0.02)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(self.file, self.key)
        self.port = 0

    def write(self) -> None:
        certificate, key = certificates.server(self.authority, ["localhost"], 9)
        self.write_key(key)
        self.file.write_text(certificate)

    def write_key(self, text: str) -> None:
        self.key.write_text(text)
        self.key.chmod(0o600)

    def in_file(self) -> int:
        return x509.load_pem_x509_certificate(self.file.read_bytes()).serial_number

    async def shown(self) -> int:
        """The number of the certificate that a new client gets."""
        trusting = ssl.create_default_context(cadata=certificates.text_of(self.authority.certificate))
        _, writer = await asyncio.open_connection("127.0.0.1", self.port, ssl=trusting, server_hostname="localhost")
        found = x509.load_der_x509_certificate(writer.get_extra_info("ssl_object").getpeercert(binary_form=True))
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
        return found.serial_number


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Shown]:
    one = Shown(tmp_path)
    listening = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=one.context)
    one.port = listening.sockets[0].getsockname()[1]
    following = asyncio.create_task(one.certificate.follow(one.context))
    yield one
    following.cancel()
    listening.close()


async def test_a_new_certificate_is_shown_without_a_restart(server: Shown) -> None:
    before = await server.shown()
    assert before == server.in_file()
    server.write()
    async with asyncio.timeout(60):
        while await server.shown() == before:
            await asyncio.sleep(0.02)
    assert await server.shown() == server.in_file()


async def test_what_does_not_fit_together_is_not_shown(server: Shown, caplog: pytest.LogCaptureFixture) -> None:
    before, key = await server.shown(), server.key.read_text()
    server.write_key(certificates.key_text(certificates.new_key()))
    async with asyncio.timeout(60):
        while "certificate_not_reloaded" not in caplog.text:
            await asyncio.sleep(0.02)
    assert await server.shown() == before
    server.write_key(key)
    server.write()
    async with asyncio.timeout(60):
        while await server.shown() == before:
            await asyncio.sleep(0.02)
    assert caplog.text.count("certificate_not_reloaded") == 1


async def test_its_end_is_a_metric(server: Shown) -> None:
    expiry = metrics.CERTIFICATE_EXPIRY.labels("https")
    assert expiry._value.get() == server.certificate.expiry().timestamp()


def test_a_key_that_others_may_read_is_refused(tmp_path: Path) -> None:
    one = Shown(tmp_path)
    one.key.chmod(0o644)
    with pytest.raises(ValueError, match="chmod o-rw"):
        HttpsCertificate(one.file, one.key)
