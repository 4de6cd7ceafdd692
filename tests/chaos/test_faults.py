"""Faults, each by itself: it does what it says, and nothing of it is left."""

from __future__ import annotations

import socket
import subprocess
import sys
import time

import pytest

from stead.dev.children import Server
from tests.chaos import cuts, faketime, smalldisk
from tests.chaos.cuts import LOCALHOST, Cuts
from tests.chaos.faketime import Clocks
from tests.chaos.faults import KINDS
from tests.chaos.storage import FILLER, fill

SHORTLY = 0.2


def reaches(address: str, port: int) -> bool:
    try:
        socket.create_connection((address, port), timeout=SHORTLY).close()  # deadline: it is cut, or on this machine
    except TimeoutError:
        return False
    return True


def test_a_cut_is_between_one_process_and_one_port() -> None:
    if why := cuts.missing():
        pytest.skip(why)
    with socket.create_server((LOCALHOST, 0)) as one, socket.create_server((LOCALHOST, 0)) as other, Cuts() as cut:
        ports = [one.getsockname()[1], other.getsockname()[1]]
        here, there = cut.address("agent-1"), cut.address("agent-2")
        assert here != there == cut.address("agent-2")
        assert cut.seen_by("agent-1", "nats://127.0.0.1:4222") == f"nats://{here}:4222"
        with cut.between([("agent-1", ports[0])]):
            assert [reaches(here, ports[0]), reaches(here, ports[1]), reaches(there, ports[0])] == [False, True, True]
        assert reaches(here, ports[0])
    rules = subprocess.run(["iptables-save"], check=True, capture_output=True, text=True).stdout
    assert cut.chain not in rules


def test_a_cut_holds_up_what_is_connected_already_in_both_directions() -> None:
    if why := cuts.missing():
        pytest.skip(why)
    with socket.create_server(("127.0.0.1", 0)) as server, Cuts() as cut:
        port = server.getsockname()[1]
        with socket.create_connection((cut.address("one"), port)) as client, server.accept()[0] as accepted:
            with cut.between([("one", port)]):
                for sender, receiver in ((client, accepted), (accepted, client)):
                    receiver.settimeout(SHORTLY)
                    sender.send(b"x")
                    with pytest.raises(TimeoutError):
                        receiver.recv(1)
            for receiver in (accepted, client):
                receiver.settimeout(60)
                assert receiver.recv(1) == b"x"


def test_a_clock_is_set_wrong_and_right_again_while_its_process_runs() -> None:
    if why := faketime.missing():
        pytest.skip(why)
    program = "import time\nwhile input():\n    print(time.time(), time.monotonic(), flush=True)"
    with Clocks() as clocks:
        command = ["env", *clocks.env("one"), sys.executable, "-c", program]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                for wrong in (0, 90, -90, 0):
                    clocks.set("one", wrong)
                    end = time.monotonic() + 60
                    while True:
                        process.stdin.write("say\n")
                        process.stdin.flush()
                        now, monotonic = map(float, process.stdout.readline().split())
                        assert abs(monotonic - time.monotonic()) < 30
                        if abs(now - time.time() - wrong) < 30 or time.monotonic() > end:
                            break
                        time.sleep(0.05)
                    assert abs(now - time.time() - wrong) < 30
            finally:
                process.kill()


def test_a_small_disk_is_filled_and_emptied() -> None:
    if not smalldisk.possible():
        pytest.skip("no file system can be mounted")
    server = Server("small")
    try:
        with smalldisk.under(server):
            assert server.folder.is_mount()
            fill(server.folder)
            with pytest.raises(OSError, match="No space left"):
                (server.folder / "more").write_bytes(b"x" * 4096)
            (server.folder / FILLER).unlink()
            (server.folder / "more").write_bytes(b"x" * 4096)
        assert not server.folder.exists()
    finally:
        server.close()


def test_there_are_kinds_for_all_that_can_go_wrong_in_a_cell_of_single_servers() -> None:
    assert len(KINDS) >= 24
