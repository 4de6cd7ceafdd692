"""The fields that the specs of built-in kinds have, to find misspelled ones before anything is begun.

A driver may have fields of its own, so a field that no built-in driver knows is left to it. One that is nearly the
name of a field that is known is taken for a mistake: the driver would leave it out without a word.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches

ANY = ("labels", "lane", "name")
LIMITS = ("cpu", "memory", "pids")

FIELDS: Mapping[str, tuple[str, ...]] = {
    "cloudlet": ("version",),
    "clusterinst": (*LIMITS, "net"),
    "appinst": (
        *LIMITS, "backoff", "command", "env", "health", "image", "restart", "settle", "stop", "user",
    ),
    "vm": (
        "image", "launch", "mark", "network", "provider", "region", "securitygroups", "shared", "spec", "sshkey",
        "subnet", "user", "zone",
    ),
    "network": ("cidr", "external", "provider", "region", "zone"),
    "securitygroup": ("network", "provider", "region", "rules", "shared"),
    "sshkey": ("provider", "publicKey", "region"),
    "cloudspace": ("cidr",),
    "machine": ("cmdline", "cpu", "disk", "disks", "image", "initrd", "kernel", "memory", "node"),
    "disk": ("machine", "size"),
    "image": ("file",),
}  # fmt: skip
"""By kind. The specs of infrastructures, leases, systems, services and jobs are read whole elsewhere."""

MIN_SIMILARITY = 0.8
"""How much alike two names are, of which one is taken for the other misspelled."""
MAX_FIELD_CHARS = 40
"""Characters of a name that is compared; a longer one is no slip of the pen."""


def misspelled(kind: str, spec: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Each field of a spec that is nearly one that the kind has, with what is wrong with it."""
    known = (*FIELDS.get(kind, ()), *ANY) if kind in FIELDS else ()
    folded = {name.casefold(): name for name in known}
    for field in spec:
        if not known or field in known or len(field) > MAX_FIELD_CHARS:
            continue
        near = get_close_matches(field.casefold().replace("-", "").replace("_", ""), folded, 1, MIN_SIMILARITY)
        if near:
            yield f"spec.{field}", f"{kind} has no field {field}; did you mean {folded[near[0]]}?"
