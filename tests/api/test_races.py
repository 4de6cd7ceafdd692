"""Many ask at once: one is let in, and the others hear what is going on."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Barrier

import httpx
import pytest

from tests.api.cell import MCI, Cell, http
from tests.api.test_resources import problem, running

ROUNDS = 25
ACTIONS = ("suspend", "reboot", "terminate")


@pytest.mark.req("S2-05")
def test_of_those_who_race_one_is_let_in_and_the_others_hear_who(cell: Cell, web: httpx.Client, ns: str) -> None:
    gate = Barrier(len(ACTIONS))

    def ask(path: str, action: str, mine: httpx.Client) -> httpx.Response:
        gate.wait(60)
        return mine.post(f"/v1/resources{path}?action={action}", headers={"X-Name": f"who-wants-{action}"})

    with ExitStack() as stack, ThreadPoolExecutor(len(ACTIONS)) as pool:
        clients = [stack.enter_context(http(cell)) for _ in ACTIONS]
        for i in range(ROUNDS):
            path = f"/{ns}/m/g/{i}"
            running(cell, web, path)
            answers = list(pool.map(ask, [path] * len(ACTIONS), ACTIONS, clients))
            (won,) = [answer for answer in answers if answer.status_code == 202]
            operation = won.json()["operation"]
            for answer in answers:
                if answer is not won:
                    said = problem(answer, 409, "in-progress")
                    assert said["current_state"] == web.get(f"/v1/resources{path}").json()["state"]
                    holder = said["holder"]
                    assert (holder["operation"], holder["action"]) == (operation["id"], operation["action"])
                    assert (holder["principal"], holder["path"]) == (f"who-wants-{operation['action']}", path)
                    assert holder["since"]
                    assert answer.headers["retry-after"]
            cell.numbered()
            lines = web.get("/v1/journal", params={"path": path}).json()["items"]
            begun = [x for x in lines if x["trigger"] == "request" and x["detail"] != "create"]
            assert [x["operation"] for x in begun] == [operation["id"]]


@pytest.mark.req("S4-03")
def test_a_refusal_names_everybody_in_the_way(cell: Cell, web: httpx.Client, ns: str) -> None:
    paths = [f"/{ns}/m/g/{i}" for i in range(3)]
    ids = []
    for path in paths:
        running(cell, web, path)
        ids.append(web.post(f"/v1/resources{path}?action=suspend").json()["operation"]["id"])
    answer = web.post(f"/v1/resources/{ns}/m", json=MCI)
    said = problem(answer, 409, "held")
    assert [(h["path"], h["operation"], h["action"]) for h in said["holders"]] == [
        (path, id, "suspend") for path, id in zip(paths, ids, strict=True)
    ]
    assert said["holder"] in said["holders"]
    why = web.get("/v1/explain", params={"path": f"/{ns}/m", "action": "create", "kind": "mci"}).json()
    assert why["holders"] == said["holders"]
