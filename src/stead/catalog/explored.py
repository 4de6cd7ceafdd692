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


DIGEST = "9d2226e894783cab0ba3ba79b4c4f9e129aa69590f7f499001b23255f75e4fb7"
EXPLORED = {
    "vm": Size(130_968, 986_670),
    "subgroup": Size(302, 27_133),
    "mci": Size(326, 33_089),
    "network": Size(23_699, 183_710),
    "securitygroup": Size(23_699, 183_710),
    "sshkey": Size(23_699, 183_710),
    "clusterinst": Size(151_939, 1_106_008),
    "appinst": Size(150_926, 1_100_886),
    "cloudlet": Size(141_534, 2_273_784),
    "machine": Size(436_484, 3_133_093),
    "cloudspace": Size(43_041, 336_506),
    "account": Size(28, 86),
    "disk": Size(168_264, 1_384_918),
    "image": Size(103_376, 873_047),
    "node": Size(20_378, 189_273),
    "lease": Size(35, 99),
    "reservation": Size(60_181, 506_653),
    "event": Size(6, 8),
    "system": Size(28, 404),
    "service": Size(67_192, 491_631),
}
