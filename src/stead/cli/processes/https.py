"""The certificate that a server shows over HTTPS: loaded at its start, and again when its files change."""

from __future__ import annotations

import asyncio
import logging
import ssl
from datetime import datetime
from pathlib import Path

from stead.pki import certificates
from stead.secrets.sources import private
from stead.telemetry import metrics

log = logging.getLogger(__name__)

EVERY = 10.0
"""Seconds between two looks at the files."""


class HttpsCertificate:
    """A certificate and its key. Raises `ValueError` if they cannot be used."""

    def __init__(self, file: Path, key: Path, every: float = EVERY) -> None:
        self.file, self.key, self.every = file, key, every
        try:
            self._shown = self._load(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
        except OSError as error:
            raise ValueError(f"{file} and {key} cannot be used: {error.strerror or error}") from None

    async def follow(self, context: ssl.SSLContext) -> None:
        """Reload the files into a server's context when they change, for ever. While certificate and key do not fit
        together, as between two writes, the context keeps those before."""
        said = ""
        while True:
            await asyncio.sleep(self.every)
            try:
                if self._version() == self._shown:
                    continue
                self._load(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
                self._shown = self._load(context)
            except (OSError, ValueError) as error:
                if said != str(error):
                    log.error("https.certificate_not_reloaded file=%s error=%r", self.file, str(error))
                said = str(error)
            else:
                said = ""
                log.info(
                    "https.certificate_reloaded file=%s expires=%s",
                    self.file,
                    self.expiry().isoformat(timespec="seconds"),
                )

    def expiry(self) -> datetime:
        """When the certificate expires."""
        return certificates.expires(self.file.read_text(encoding="utf-8"))

    def _version(self) -> tuple[int, int]:
        return self.file.stat().st_mtime_ns, self.key.stat().st_mtime_ns

    def _load(self, context: ssl.SSLContext) -> tuple[int, int]:
        version = self._version()
        private(self.key)
        context.load_cert_chain(self.file, self.key)
        metrics.CERTIFICATE_EXPIRY.labels("https").set(self.expiry().timestamp())
        return version
