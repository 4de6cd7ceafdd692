"""How many worlds each kind was explored in, in full. Made by `make explore`; change nothing here.

A world is where things can stand: the resource, messages under way, agents, what is really there. A step leads from
one to the next.
"""

from __future__ import annotations

from typing import NamedTuple


class Size(NamedTuple):
    """How much there was to see; nothing of it was as it must not be."""

    worlds: int
    steps: int


DIGEST = "668bb3162851c53463d48c8adca27c2e249051c5238cc5905c6d24127a57c0c0"
EXPLORED = {
    "vm": Size(159_638, 1_312_476),
    "subgroup": Size(394, 35_496),
    "mci": Size(466, 46_946),
    "network": Size(29_820, 246_609),
    "securitygroup": Size(29_820, 246_609),
    "sshkey": Size(29_820, 246_609),
    "clusterinst": Size(169_912, 1_328_409),
    "appinst": Size(168_787, 1_322_555),
    "cloudlet": Size(215_754, 3_459_024),
    "machine": Size(348_675, 2_518_418),
    "cloudspace": Size(48_703, 422_435),
    "account": Size(45, 154),
    "disk": Size(198_925, 1_607_265),
    "image": Size(107_950, 913_835),
    "node": Size(20_418, 189_576),
    "lease": Size(40, 141),
    "reservation": Size(70_981, 591_904),
    "event": Size(7, 12),
    "system": Size(42, 694),
    "service": Size(98_918, 719_241),
    "job": Size(53_095, 391_944),
}
