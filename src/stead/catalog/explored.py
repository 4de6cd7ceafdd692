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


DIGEST = "18f6adec3a48fd6280b9b47ac052c4022970097a0f7c0949220daa9bda85df58"
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
