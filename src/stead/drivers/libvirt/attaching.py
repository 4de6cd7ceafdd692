"""How a machine gets a disk, and loses it: in what it will be, and, where it runs, in what it is.

libvirt's test driver has no devices that come and go. There the definition is changed, and what runs has the disk
from its next start on.
"""

from __future__ import annotations

import time
from pathlib import Path

from stead.drivers.base import PermanentError, RetryableError
from stead.drivers.libvirt import definitions, domains
from stead.drivers.libvirt.domains import PAUSED, Domain
from stead.drivers.libvirt.errors import NoAnswer
from stead.drivers.libvirt.nodes import Call

_PAUSE = 0.1
_AGAIN = 2.0
"""Seconds after which a machine that has not let go of a disk is asked again: who just boots does not listen."""


class Attaching:
    """For one kind of hypervisor."""

    def __init__(self, hypervisor: str) -> None:
        self._plugs = hypervisor != "test"

    def has(self, domain: Domain, file: Path, call: Call) -> bool:
        """Whether the machine has it, now or from its next start on."""
        if definitions.target_of(domain.definition(call), file):
            return True
        return self._plugs and bool(definitions.target_of(domain.running_definition(call), file))

    def attach(self, domain: Domain, file: Path, format: str, call: Call) -> None:
        """It has the disk."""
        later = domain.definition(call)
        live = self._plugs and domain.is_on(call)
        now = domain.running_definition(call) if live else later
        target = definitions.target_of(later, file) or definitions.target_of(now, file)
        target = target or definitions.free_target(later, now)
        device = definitions.disk(file, format, target)
        if not definitions.target_of(later, file):
            if self._plugs:
                domain.attach(call, device, live=False)
            else:
                domains.define(call, domain.node, definitions.with_disk(later, device))
        if live and not definitions.target_of(now, file):
            domain.attach(call, device, live=True)

    def detach(self, domain: Domain, file: Path, format: str, call: Call) -> None:
        """It no longer has the disk. What runs has to let go of it by itself."""
        if self._plugs and domain.is_on(call):
            self._unplug(domain, file, format, call)
        later = domain.definition(call)
        if target := definitions.target_of(later, file):
            if self._plugs:
                domain.detach(call, definitions.disk(file, format, target), live=False)
            else:
                domains.define(call, domain.node, definitions.without_disk(later, file))

    def _unplug(self, domain: Domain, file: Path, format: str, call: Call) -> None:
        asked = 0.0
        while target := definitions.target_of(domain.running_definition(call), file):
            sight = domain.sight(call)
            if sight is not None and sight.state == PAUSED:
                raise PermanentError("it is paused, and lets go of a disk only while it runs")
            if time.monotonic() > asked + _AGAIN:
                asked = time.monotonic()
                self._ask(domain, definitions.disk(file, format, target), call)
            if call.left < 1:
                raise RetryableError("the machine has not let go of the disk yet", after=0.5, unknown=call.acted)
            time.sleep(_PAUSE)

    def _ask(self, domain: Domain, device: str, call: Call) -> None:
        try:
            domain.detach(call, device, live=True)
        except NoAnswer:
            raise
        except (PermanentError, RetryableError):
            return  # it was asked before, and is at it; or it has just done so. What is there tells.
