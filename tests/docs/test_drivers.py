"""The page about drivers is typed part by part, beside a `stead dev` and what each part speaks to."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from stead.dev.children import children, free_port
from stead.drivers.process import user_ids
from tests.docs.blocks import ROOT
from tests.docs.driver_parts import BEGIN, PAGE, follow
from tests.docs.providers import Relay, WithProvider, lacking, need
from tests.drivers import libvirt_server, lxd_server
from tests.drivers.lxd_server import Lxd
from tests.drivers.process_world import ProcessWorld
from tests.drivers.test_podman import Podman

pytestmark = [pytest.mark.slow, pytest.mark.long]


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WithProvider]:
    """Of which nothing is left in the end."""
    one = WithProvider(tmp_path_factory.mktemp("drivers"))
    try:
        one.env[user_ids.VARIABLE] = str(one.folder / "ids.json")
        one.said.known["8100"] = str(free_port())
        one.places = {
            "/var/lib/stead-users/ids.json": str(one.folder / "ids.json"),
            "/var/lib/stead": str(one.folder / "site"),
        }
        yield one
    finally:
        one.end()


def test_the_parts_of_the_page_are_all_typed() -> None:
    headings = re.findall(r"(?m)^## (.*)$", PAGE.read_text(encoding="utf-8"))
    tests = [Path(__file__), ROOT / "tests/heavy/test_openstack_page.py"]
    typed = re.findall(r'follow\(terminal, "(.*)"\)', "".join(file.read_text(encoding="utf-8") for file in tests))
    assert sorted(headings) == sorted([BEGIN, *typed])


@pytest.fixture
def lxd() -> Iterator[Lxd]:
    """A server with the image that the page copies from elsewhere."""
    need(lxd_server.missing() or lacking("jq", "openssl"))
    with Lxd() as server:
        tiny = server.request("GET", "/1.0/images/aliases/tiny")["target"]
        server.request("POST", "/1.0/images/aliases", json={"name": "debian-12", "target": tiny})
        yield server


def test_lxd(lxd: Lxd, terminal: WithProvider) -> None:
    relay = Relay(children(lxd.pid)[0], 8443)
    terminal.env |= {"LXD_DIR": str(lxd.home), "LXD_CONF": str(lxd.folder / "lxc")}
    terminal.places = {
        **terminal.places,
        "/var/snap/lxd/common/lxd/unix.socket": str(lxd.socket),
        "https://127.0.0.1:8443": f"https://127.0.0.1:{relay.here}",
    }
    try:
        follow(terminal, "LXD")
    finally:
        relay.close()


def test_libvirt(terminal: WithProvider) -> None:
    need(libvirt_server.missing())
    follow(terminal, "libvirt")


@pytest.mark.skipif(os.geteuid() != 0, reason="the page's programs have users of their own, which takes root")
def test_processes(terminal: WithProvider) -> None:
    follow(terminal, "Processes")
    assert ProcessWorld(terminal.folder / "site").keepers() == []


@pytest.mark.skipif(os.geteuid() != 0, reason="podman has storage of its own, which takes root")
def test_containers(terminal: WithProvider) -> None:
    need(lacking("podman", "busybox"))
    with tempfile.TemporaryDirectory(prefix="pod-", ignore_cleanup_errors=True) as folder:
        podman = Podman(Path(folder))
        try:
            podman.furnish()
            podman("tag", "tiny", "docker.io/library/busybox:latest")
            terminal.have_podman(podman)
            follow(terminal, "Podman")
        finally:
            podman.clean()


def test_a_program(terminal: WithProvider) -> None:
    need(lacking("jq"))
    follow(terminal, "A program of one's own")


def test_a_class(terminal: WithProvider) -> None:
    follow(terminal, "A class of one's own")
