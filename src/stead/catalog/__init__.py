"""The built-in lifecycles: twenty-one kinds in five families."""

from collections.abc import Mapping

from stead.catalog.datacenter import ACCOUNT, CLOUDSPACE, DISK, IMAGE, MACHINE, NODE
from stead.catalog.edge import APPINST, CLOUDLET, CLUSTERINST
from stead.catalog.multicloud import MCI, SUBGROUP, VM
from stead.catalog.reservation import EVENT, LEASE, RESERVATION
from stead.catalog.shared import NETWORK, SECURITYGROUP, SSHKEY
from stead.catalog.system import JOB, SERVICE, SYSTEM
from stead.catalog.transition import validate_transition
from stead.lifecycle.definition import Lifecycle

_FAMILIES: Mapping[str, tuple[Lifecycle, ...]] = {
    "multicloud": (VM, SUBGROUP, MCI, NETWORK, SECURITYGROUP, SSHKEY),
    "edge": (CLUSTERINST, APPINST, CLOUDLET),
    "datacenter": (MACHINE, CLOUDSPACE, ACCOUNT, DISK, IMAGE, NODE),
    "reservation": (LEASE, RESERVATION, EVENT),
    "system": (SYSTEM, SERVICE, JOB),
}

KINDS: Mapping[str, Lifecycle] = {lc.kind: lc for family in _FAMILIES.values() for lc in family}
"""Every built-in lifecycle, by kind."""

FAMILIES: Mapping[str, tuple[str, ...]] = {
    name: tuple(lc.kind for lc in family) for name, family in _FAMILIES.items()
}
"""The kinds of each family."""

__all__ = ["FAMILIES", "KINDS", "validate_transition"]
