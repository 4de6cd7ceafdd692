"""The libvirt of the tests starts wherever they run, in a network namespace too."""

from __future__ import annotations

import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.drivers.libvirt_server import missing

START = """
from uuid import uuid4
import libvirt
from tests.drivers.libvirt_server import Libvirt
for driver in ("test", "qemu"):
    with Libvirt("n1", str(uuid4())) as server:
        connection = libvirt.open(server.address(driver))
        print(connection.getHostname())
        connection.close()
"""


@pytest.fixture
def namespace() -> Iterator[str]:
    if why := missing() or ("" if shutil.which("ip") else "ip is not installed"):
        pytest.skip(why)
    name = f"t{secrets.token_hex(4)}"
    subprocess.run(["ip", "netns", "add", name], check=True)
    yield name
    subprocess.run(["ip", "netns", "del", name], check=True)


@pytest.mark.long
def test_libvirt_answers_at_once_when_it_is_ready_in_a_network_namespace(namespace: str) -> None:
    command = ["ip", "netns", "exec", namespace, sys.executable, "-c", START]
    ended = subprocess.run(
        command, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=120, check=False
    )
    assert (ended.returncode, ended.stdout.split()) == (0, ["n1", "n1"]), ended.stderr
