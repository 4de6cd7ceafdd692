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


DIGEST = "c396dd0a39722f3846bd44414f10b9b912e6a17581c01c423831078d39b76913"
EXPLORED = {
    "vm": Size(130_968, 986_670),
    "subgroup": Size(302, 27_133),
    "mci": Size(326, 33_089),
    "network": Size(23_699, 183_710),
    "securitygroup": Size(23_699, 183_710),
    "sshkey": Size(23_699, 183_710),
    "clusterinst": Size(152_145, 1_109_530),
    "appinst": Size(152_145, 1_109_530),
    "cloudlet": Size(120_005, 3_318_651),
    "machine": Size(357_243, 2_603_502),
    "cloudspace": Size(44_160, 346_611),
    "account": Size(16, 33),
    "disk": Size(152_025, 1_274_951),
    "image": Size(103_376, 873_047),
    "node": Size(23_966, 189_515),
    "lease": Size(33, 201),
    "reservation": Size(60_260, 507_985),
    "event": Size(6, 8),
    "system": Size(28, 404),
    "service": Size(67_238, 493_329),
}
