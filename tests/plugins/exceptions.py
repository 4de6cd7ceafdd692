"""Tests of the fast tier that may cost more than the budget, each with the reason. At most forty."""

from __future__ import annotations

EXCEPTIONS: dict[str, str] = {
    "tests/chaos/test_chaos.py::test_brief_run": "a whole cell of processes, each part of which is killed",
    "tests/docs/test_quickstart.py::fixture terminal": "starts `stead dev` for the pages that are typed",
    "tests/docs/test_quickstart.py::test_readme": "types every command of the README in a terminal",
    "tests/terminal/test_commands.py::test_ctrl_c": "the cell beside it works meanwhile, and its processes count",
    "tests/terminal/test_commands.py::fixture dev": "starts `stead dev` for the commands that are typed",
    "tests/browser::fixture cell": "starts `stead dev` for the console",
    "tests/browser/test_console.py::": "a browser that draws every page, beside a cell that works meanwhile",
    "tests/browser/test_login.py::test_a_token": "a browser beside a server, each of which has to start",
    "tests/api/test_any_request.py::fixture server": "a server, a controller and an agent as processes",
    "tests/api/test_any_request.py::test_any_request_has_an_answer[GET-/v1/resources-": "builds all strategies",
    "tests/integration/test_survives.py::test_a_dead_consumer": "a process, and the time until the bus forgets it",
    "tests/integration/test_survives.py::test_the_bus_forgets": "a bus of its own, which is lost and starts again",
    "tests/integration/test_survives.py::test_what_was_moving": "agents, and the time until one is missed",
    "tests/integration/test_every_step_twice.py::": "waits until messages are delivered again, action by action",
    "tests/integration/test_tumblebug.py::": "a server, a controller and an agent as processes",
    "tests/access/test_oidc.py::test_the_command": "commands as processes, beside a server and an issuer",
    "tests/cli/test_what_is_loaded.py::": "imports of whole processes, one after the other",
    "tests/cli/test_mci.py::test_an_infrastructure": "every command of an infrastructure, from its file to its end",
    "tests/drivers/test_podman.py::Test": "starts, stops and replaces real containers",
    "tests/drivers/test_lxd.py::TestThroughEveryLayer": "starts and stops a real container, through all parts",
    "tests/leases/test_bookings.py::test_of_many": "a hundred bookings at once",
    "tests/access/test_compound_properties.py::": "a hundred combinations of policies, each with all requests",
    "tests/leases/test_lives.py::test_a_lease": "waits for the clock of leases, whose step is seconds",
    "tests/tools/test_docs.py::": "the first of its tests makes all pages",
    "tests/telemetry/test_deploy.py::test_the_alerts": "promtool plays every alert through",
    "tests/integration/test_restored_histories.py::": "a cell, its backup, and the cell again after the restore",
    "tests/plugins/test_budget.py::": "each runs pytest with workers in a folder of its own",
}
"""The beginning of a test's node id, and why it may take longer."""
