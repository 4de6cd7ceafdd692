"""One question, asked often enough to have a name: may this object go from here to there?"""

from stead.catalog.datacenter import ACCOUNT, CLOUDSPACE, DISK, IMAGE, MACHINE, NODE
from stead.lifecycle.rows import ORIGIN

_KINDS = {lc.kind: lc for lc in (MACHINE, CLOUDSPACE, ACCOUNT, DISK, IMAGE, NODE)}


def validate_transition(object_type: str, init_state: str, desired_state: str) -> bool:
    """Whether one action leads an object of the private cloud from one static state to another.

    The visible actions count that change an object: not a hidden migration, and not an observation.
    """
    lifecycle = _KINDS.get(object_type)
    if lifecycle is None:
        return False
    return any(
        init_state in action.source and desired_state == (init_state if action.target == ORIGIN else action.target)
        for action in lifecycle.actions
        if not (action.hidden or action.observes)
    )
