"""Exhaustive search over a lifecycle with the code that decides in production.

One controller, one or two agents, a user, a channel that loses, repeats and reorders, crashes of either side,
agents that wake up too late: every order of events within the bounds is tried, and every answer is judged. Groups are
also explored together with their members, on which operations overlap.
"""

from stead.lifecycle.explore.overlap import explore_overlap
from stead.lifecycle.explore.search import Result, Violation, explore
from stead.lifecycle.explore.world import Bounds

__all__ = ["Bounds", "Result", "Violation", "explore", "explore_overlap"]
