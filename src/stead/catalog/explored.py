"""How many worlds each kind was explored in, in full. Made by `make explore`; change nothing here.

A world is where things can stand: the resource, messages under way, agents, what is really there. A step leads from
one to the next.
"""

from __future__ import annotations

from typing import NamedTuple


class ExploredSize(NamedTuple):
    """How much there was to see; nothing of it was as it must not be."""

    worlds: int
    steps: int


DIGEST = "e23b0ecadb3d9c416e4012367a09aca39a82ca5f3c300ac87245e703c93a8cd3"
EXPLORED = {
    "vm": ExploredSize(159_638, 1_312_476),
    "subgroup": ExploredSize(394, 35_496),
    "mci": ExploredSize(466, 46_946),
    "network": ExploredSize(29_820, 246_609),
    "securitygroup": ExploredSize(29_820, 246_609),
    "sshkey": ExploredSize(29_820, 246_609),
    "clusterinst": ExploredSize(169_912, 1_328_409),
    "appinst": ExploredSize(168_787, 1_322_555),
    "cloudlet": ExploredSize(215_754, 3_459_024),
    "machine": ExploredSize(348_675, 2_518_418),
    "cloudspace": ExploredSize(48_703, 422_435),
    "account": ExploredSize(45, 154),
    "disk": ExploredSize(198_925, 1_607_265),
    "image": ExploredSize(107_950, 913_835),
    "node": ExploredSize(20_418, 189_576),
    "lease": ExploredSize(40, 141),
    "reservation": ExploredSize(70_981, 591_904),
    "event": ExploredSize(7, 12),
    "system": ExploredSize(42, 694),
    "service": ExploredSize(98_918, 719_241),
    "job": ExploredSize(53_095, 391_944),
}
