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


DIGEST = "5c61f00a9708dccf783bbd09a34515f0e2b8a902fb5cd96392bd2f279e39b22d"
EXPLORED = {
    "vm": Size(130_968, 986_670),
    "subgroup": Size(302, 27_133),
    "mci": Size(386, 37_657),
    "network": Size(23_699, 183_710),
    "securitygroup": Size(23_699, 183_710),
    "sshkey": Size(23_699, 183_710),
    "clusterinst": Size(151_939, 1_106_008),
    "appinst": Size(150_926, 1_100_886),
    "cloudlet": Size(141_534, 2_273_784),
    "machine": Size(436_484, 3_133_093),
    "cloudspace": Size(44_985, 351_500),
    "account": Size(45, 154),
    "disk": Size(168_264, 1_384_918),
    "image": Size(103_376, 873_047),
    "node": Size(20_418, 189_576),
    "lease": Size(40, 141),
    "reservation": Size(70_981, 591_904),
    "event": Size(7, 12),
    "system": Size(30, 414),
    "service": Size(96_522, 695_283),
    "job": Size(50_699, 366_262),
}
