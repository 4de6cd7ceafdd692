"""What a namespace bears is for those who may see it."""

from __future__ import annotations

from stead.api.limits import Limits
from stead.api.rates import RateLimits
from tests.access.house import VM, house


def test_caller_of_another_namespace_takes_nothing_of_what_a_namespace_bears(migrated: str) -> None:
    rates = RateLimits(changes=0, reads=0, namespace_changes=0.001, namespace_reads=0.001, burst=3000)
    with house(migrated, limits=Limits(rates=rates)) as one:

        def codes(role: str) -> list[int]:
            with one.as_(role) as web:
                asked = [web.get("/v1/resources/bank/web/g/1"), web.post("/v1/resources/bank/web/g/1", json=VM)]
            return [answer.status_code for answer in asked]

        strangers = [codes("operator@shop") for _ in range(5)]
        assert all(found == [404, 404] for found in strangers)
        first = codes("stranger")  # who operates that namespace
        assert first == [404, 202]
        spent: list[int] = []
        for _ in range(3):
            spent += codes("operator")
        assert 429 in spent
        assert 429 in codes("stranger")
        assert codes("operator@shop") == [404, 404]  # and learns nothing of what goes on there
