"""A datacenter for tests: two nodes with a libvirt each, and a pool; from behind."""

from __future__ import annotations

import asyncio
import secrets
import threading
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stead.drivers.base import Member
from stead.drivers.libvirt.pool import Pool, named
from stead.drivers.libvirt.settings import Config
from tests.drivers.libvirt_server import Libvirt

if TYPE_CHECKING:
    from stead.drivers.libvirt.driver import LibvirtDriver

with suppress(ModuleNotFoundError):  # tests that need it are skipped; others only import this module
    import libvirt

NODES = {"n1": "3f1c7e0a-5f0e-4a57-9d0e-0d6b3a6d1a01", "n2": "3f1c7e0a-5f0e-4a57-9d0e-0d6b3a6d1a02"}
"""The nodes, and who their hosts say that they are."""
STATES = {1: "RUNNING", 3: "PAUSED", 5: "HALTED"}


class LibvirtWorld:
    """What is on the nodes and in the pool. Its connections keep alive what libvirt's test driver has."""

    hypervisor = "test"
    detaches_while_paused = True
    machine_spec: Mapping[str, Any] = {"cpu": 1, "memory": 64}

    def __init__(self, daemons: Mapping[str, Libvirt], folder: Path) -> None:
        self.daemons = daemons
        self.folder = folder
        self.folder.mkdir(mode=0o711, exist_ok=True)
        self.pool = Pool(folder)
        self.space = f"/acme/{secrets.token_hex(4)}"
        self._lock = threading.Lock()
        self._connections: dict[str, Any] = {}
        for name in daemons:
            self.connection(name)

    def connection(self, node: str) -> Any:
        """One of its own to a node."""
        with self._lock:
            there = self._connections.get(node)
            if there is None or not there.isAlive():
                driver = "test" if self.hypervisor == "test" else "qemu"
                there = self._connections[node] = libvirt.open(self.daemons[node].address(driver))
            return there

    def config(self, **config: Any) -> dict[str, Any]:
        """With much time, for a machine that has other work; what is about time says so."""
        driver = "test" if self.hypervisor == "test" else "qemu"
        nodes = {name: daemon.address(driver) for name, daemon in self.daemons.items()}
        return {"nodes": nodes, "pool": str(self.folder), "hypervisor": self.hypervisor, "timeout": 60, **config}

    def driver(self, **config: Any) -> LibvirtDriver:
        from stead.drivers.libvirt.driver import LibvirtDriver  # noqa: PLC0415 - needs libvirt-python

        return LibvirtDriver(Config(**self.config(**config)))

    def member(self, kind: str, **spec: Any) -> Member:
        name = secrets.token_hex(4)
        path = {"cloudspace": f"/acme/{name}", "image": f"/dc/{name}"}.get(kind, f"{self.space}/{name}")
        given = {**self.machine_spec, "node": "n1", **spec} if kind == "machine" else spec
        return Member(path=path, token=f"token-{name}", spec=given, kind=kind, revision=1)

    async def there(self, machine: Member) -> dict[str, str]:
        """On which nodes a machine is defined, and how it is there by libvirt's own word."""
        return await asyncio.to_thread(self.observe, named(machine.token))

    def observe(self, name: str) -> dict[str, str]:
        found = {}
        for node in self.daemons:
            state = self.on(node, name)
            if state is not None:
                found[node] = state
        return found

    def on(self, node: str, name: str) -> str | None:
        """How a machine is on one node, whatever the others say."""
        state = self.ask(node, lambda connection: connection.lookupByName(name).state())
        return None if state is None else STATES.get(state[0], str(state))

    def ask(self, node: str, question: Callable[[Any], Any]) -> Any:
        """What libvirt says; None where it says that there is none. If its connection has died, by another."""
        for last in (False, True):
            try:
                return question(self.connection(node))
            except libvirt.libvirtError as error:
                if error.get_error_code() in (libvirt.VIR_ERR_NO_DOMAIN, libvirt.VIR_ERR_NO_NETWORK):
                    return None
                if last:
                    raise
                self._connections.pop(node, None)
        return None

    async def disks(self, machine: Member) -> list[str]:
        return await asyncio.to_thread(self.targets, named(machine.token))

    def targets(self, name: str) -> list[str]:
        """Of the test driver only what a machine will be: there, what runs is not changed."""
        for node in self.daemons:
            with suppress(libvirt.libvirtError):
                words = self.connection(node).lookupByName(name).XMLDesc(2 if self.hypervisor == "test" else 0)
                return sorted(
                    target.get("dev", "") for target in ET.fromstring(words).iterfind("devices/disk/target")
                )
        return []

    async def networks(self, cloudspace: Member) -> dict[str, bool]:
        return await asyncio.to_thread(self.active, named(cloudspace.token))

    def active(self, name: str) -> dict[str, bool]:
        found = {}
        for node in self.daemons:
            active = self.ask(node, lambda connection: connection.networkLookupByName(name).isActive())
            if active is not None:
                found[node] = bool(active)
        return found

    def volume(self, member: Member) -> bool:
        folder = {"machine": "roots", "disk": "disks", "image": "images"}[member.kind]
        return (self.folder / folder / f"{named(member.token)}.img").exists()

    def file(self) -> str:
        file = self.folder.parent / "image"
        file.write_bytes(b"boot" + bytes(2**20))
        return str(file)

    async def silence(self, *nodes: str) -> None:
        """These nodes, or all, answer nothing."""
        for node in nodes or self.daemons:
            await asyncio.to_thread(self.daemons[node].freeze)

    async def heal(self) -> None:
        for daemon in self.daemons.values():
            await asyncio.to_thread(daemon.heal)

    def clean(self) -> None:
        """Nothing of ours is left on any node."""
        for node, daemon in self.daemons.items():
            daemon.heal()
            self.ask(node, lambda connection: connection.getHostname())
            connection = self.connection(node)
            for domain in connection.listAllDomains():
                if domain.name().startswith("stead-"):
                    with suppress(libvirt.libvirtError):
                        domain.destroy()
                    with suppress(libvirt.libvirtError):
                        domain.undefine()
            for network in connection.listAllNetworks():
                if network.name().startswith("stead-"):
                    with suppress(libvirt.libvirtError):
                        network.destroy()
                    with suppress(libvirt.libvirtError):
                        network.undefine()
            connection.close()
