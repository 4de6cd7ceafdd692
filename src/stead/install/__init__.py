"""Stead on one machine as services of systemd: what is written, what is run, and how it goes away again."""

from stead.install.execution import Action, InstallFailed, apply, remove
from stead.install.plan import Plan, Wanted, plan

__all__ = ["Action", "InstallFailed", "Plan", "Wanted", "apply", "plan", "remove"]
