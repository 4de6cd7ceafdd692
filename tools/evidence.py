"""A pytest plugin that notes how the tests ended that carry requirements.

At the end of a session the file holds, for each id that any test carried, every such test with its outcome.
The ids travel on the reports themselves, so it makes no difference whether the tests ran here or in xdist's
workers.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest

OUTCOMES = ("passed", "skipped", "failed")
"""From the best to the worst; a test ended as badly as the worst of its setup, call and teardown."""


class Evidence:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.outcomes: defaultdict[str, dict[str, str]] = defaultdict(dict)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            item.user_properties += [("req", str(id_)) for mark in item.iter_markers("req") for id_ in mark.args]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, id_ in report.user_properties:
            if name == "req":
                tests = self.outcomes[str(id_)]
                so_far = tests.get(report.nodeid, "passed")
                tests[report.nodeid] = max(so_far, report.outcome, key=OUTCOMES.index)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if not hasattr(session.config, "workerinput"):
            self.path.parent.mkdir(exist_ok=True)
            self.path.write_text(json.dumps(self.outcomes, indent=1, sort_keys=True))
