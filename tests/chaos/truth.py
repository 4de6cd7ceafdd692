"""The cloud's ledger beside what is believed: nothing twice, nothing left over, and every word true.

The ledger has the time of every deed, by the same clock as the journal. So it can also be told whether what an agent
said was so at any time between the beginning of the operation and the line in the journal.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from stead.catalog import KINDS
from stead.drivers.ec2.wire import WORDS as STRICT_WORDS
from stead.drivers.sim import rules
from stead.drivers.sim.driver import word as word_of
from stead.lifecycle.rows import ABSENT, Trigger
from tests.chaos.history import History, Instance

UNASKED = 60.0
"""Seconds before a line about drift in which what it says must have been so."""

REBOOT = "reboot"

OTHERS = ("machine", "disk", "node")
"""Kinds that the cloud does not have."""


def twice(history: History) -> Iterator[str]:
    """No token and no path has two instances that live, and no order did the same thing to an instance twice."""
    by_token = Counter(instance.token for instance in history.instances)
    for token, count in by_token.items():
        if count > 1:
            ids = [instance.id for instance in history.instances if instance.token == token]
            yield f"the token {token} has {count} instances: {', '.join(ids)}"
    by_path = Counter(instance.path for instance in _living(history) if instance.path)
    for path, count in by_path.items():
        if count > 1:
            yield f"{path} has {count} instances that live"
    for deed in history.twice:
        yield f"one order did {deed['verb']} to instance {deed['id']} {deed['times']} times ({deed['order']})"


def reboots(history: History) -> Iterator[str]:
    """A reboot cannot be recognised by the provider when it is repeated, so there are no more than were asked for."""
    asked = Counter(
        line.path
        for line in history.journal
        if (line.trigger, line.detail) == (Trigger.REQUEST, REBOOT) and not line.rejections
    )
    for instance in history.instances:
        done = sum(deed.verb == REBOOT for deed in instance.deeds)
        if done > asked[instance.path]:
            yield f"{instance.path} was rebooted {done} times and asked to {asked[instance.path]} times"


def orphans(history: History) -> Iterator[str]:
    """Whatever lives at the cloud belongs to a resource that may have it, at its place."""
    owners = {resource.token: resource for resource in history.resources}
    for instance in _living(history):
        owner = owners.get(instance.token)
        if owner is None:
            yield f"nobody owns instance {instance.id} ({instance.state}), made for {instance.path}"
        elif KINDS[owner.kind].state(owner.state).observed_as == ABSENT:
            yield f"{owner.path} is {owner.state}, and instance {instance.id} is {instance.state}"
        elif (owner.path, owner.lane) != (instance.path, instance.lane):
            yield f"instance {instance.id} of {owner.path} is at {instance.lane} and says it is {instance.path}"


def strict(history: History) -> Iterator[str]:
    """At the strict EC2 a token has one instance, whatever lives there has an owner, and what is believed is so."""
    by_token: defaultdict[str, list[Instance]] = defaultdict(list)
    for instance in history.strict:
        by_token[instance.token].append(instance)
    owners = {resource.token: resource for resource in history.resources if _elsewhere(resource.lane)}
    for token, its in by_token.items():
        owner = owners.get(token)
        if len(its) > 1:
            yield f"the token {token} has {len(its)} instances: {', '.join(one.id for one in its)}"
        elif owner is None and STRICT_WORDS.get(its[0].state) != ABSENT:
            yield f"nobody owns instance {its[0].id} ({its[0].state})"
    for resource in owners.values():
        its = by_token[resource.token]
        believed = KINDS[resource.kind].state(resource.state).observed_as
        true = STRICT_WORDS.get(its[0].state, its[0].state) if its else ABSENT
        if resource.kind == "vm" and believed and believed != true:
            yield f"{resource.path} is believed {resource.state}, and the strict EC2 has it as {true}"


def _elsewhere(place: str) -> bool:
    """Whether a path or a lane is about the strict EC2, of whose past there is no ledger."""
    return "ec2.eu-central-1" in place or "/ec2-eu-central-1" in place


def beliefs(history: History) -> Iterator[str]:
    """A state that can be seen is what the cloud has."""
    instances = {instance.token: instance for instance in history.instances}
    for resource in history.resources:
        if _elsewhere(resource.lane) or resource.kind in OTHERS:
            continue
        believed = KINDS[resource.kind].state(resource.state).observed_as
        instance = instances.get(resource.token)
        true = ABSENT if instance is None else word_of(instance.kind, instance.state)
        if believed and believed != true:
            yield f"{resource.path} is believed {resource.state}, and the cloud has it as {_said(instance)}"
        id = resource.facts.get("id")
        if id and (instance is None or instance.id != id):
            yield f"{resource.path} is believed to be instance {id}, and is {_said(instance)}"


def words(history: History) -> Iterator[str]:
    """What an agent said was done or seen was so, at some time since the operation began."""
    begun = {op.id: op.created_at for op in history.ended}
    instances: defaultdict[str, list[Instance]] = defaultdict(list)
    for instance in history.instances:
        instances[instance.path].append(instance)
    for line in history.journal:
        if line.rejections or line.trigger not in (Trigger.SUCCEEDED, Trigger.OBSERVED):
            continue
        if _elsewhere(line.path) or line.kind in OTHERS:
            continue
        word = KINDS[line.kind].state(line.target).observed_as
        since = begun.get(line.operation, line.at - UNASKED)
        told = f"line {line.position} says {line.trigger} {line.detail} of {line.path}"
        its = instances[line.path]
        if word and not was(its, word, since, line.at):
            yield f"{told}, and it was not {line.target} at any time since the operation began"
        elif (line.trigger, line.detail) == (Trigger.SUCCEEDED, REBOOT) and not _rebooted(its, since, line.at):
            yield f"{told}, and nobody had rebooted it"


def _living(history: History) -> Iterator[Instance]:
    return (instance for instance in history.instances if instance.state != rules.TERMINATED)


def _said(instance: Instance | None) -> str:
    return "nothing" if instance is None else f"{instance.id} ({instance.state})"


def was(instances: Sequence[Instance], word: str, since: float, until: float) -> bool:
    """Whether a word was true of any of these at any time between two times."""
    return any(word in _words(one, since, until) for one in instances) if instances else word == ABSENT


def _words(instance: Instance, since: float, until: float) -> set[str]:
    """All that could be said of an instance between two times."""
    found: set[str] = set()
    word = ABSENT
    for deed in instance.deeds:
        if deed.at > until:
            break
        if deed.at > since:
            found.add(word)
        word = word_of(instance.kind, deed.after)
    return {*found, word}


def _rebooted(instances: Sequence[Instance], since: float, until: float) -> bool:
    return any(deed.verb == REBOOT and since <= deed.at <= until for one in instances for deed in one.deeds)
