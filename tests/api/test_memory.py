"""The largest pages, asked for by many at once, take little memory."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest

from tests.api.cell import Cell

SERVER = """
import sys
from tests.api.cell import Cell
with Cell(sys.argv[1]) as cell:
    print(cell.url, flush=True)
    sys.stdin.read()
"""
PLACE = {"provider": "sim", "region": "a", "spec": "small", "image": "debian-12"}
LARGE, MANY, CLIENTS, SECONDS = 500_000, 80, 10, 30.0
LISTS = ("/v1/resources?limit=1000&specs=true", "/v1/operations?limit=1000", "/v1/journal?limit=1000")


def resident(pid: int) -> int:
    """Bytes of memory that a process has."""
    text = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(next(line for line in text.splitlines() if line.startswith("VmRSS")).split()[1]) * 1024


@pytest.mark.long
def test_memory_stays_near_idle_while_clients_ask_for_the_largest_pages(migrated: str) -> None:
    with Cell(migrated) as cell, httpx.Client(base_url=cell.url, trust_env=False, timeout=60) as web:
        for n in range(MANY):
            body = {"kind": "vm", "spec": {**PLACE, "pad": "x" * LARGE}}
            assert web.post(f"/v1/resources/shop/m/g/{n}", json=body).status_code == 202
        cell.numbered()
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", SERVER, migrated]
    with subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        url = server.stdout.readline().strip()
        with httpx.Client(base_url=url, trust_env=False, timeout=60) as web:
            for where in LISTS:
                assert web.get(where.replace("1000", "1")).status_code == 200
        idle = resident(server.pid)
        until, wrong, answers = time.monotonic() + SECONDS, list[int](), list[int]()

        def ask(n: int) -> None:
            with httpx.Client(base_url=url, trust_env=False, timeout=120) as web:
                while time.monotonic() < until:
                    answer = web.get(LISTS[n % len(LISTS)])
                    answers.append(len(answer.content))
                    if answer.status_code != 200:
                        wrong.append(answer.status_code)

        clients = [threading.Thread(target=ask, args=(n,)) for n in range(CLIENTS)]
        for client in clients:
            client.start()
        most = idle
        while any(client.is_alive() for client in clients):
            most = max(most, resident(server.pid))
            clients[0].join(0.05)
        for client in clients:
            client.join()
        server.stdin.close()
    assert not wrong
    assert len(answers) >= CLIENTS
    assert max(answers) > 1024 * 1024
    assert most <= 1.5 * idle, f"{most / idle:.2f} times the idle {idle:,} bytes after {len(answers)} answers"
