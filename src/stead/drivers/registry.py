"""Drivers by name, so that a configuration can say which one speaks to a provider.

A driver's module is imported when it is first asked for: an agent needs the libraries of the drivers it uses, and of
no others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, cast

from stead.drivers.base import Driver
from stead.drivers.guard import guarded

Factory = Callable[[Mapping[str, Any]], Driver]
"""Makes a driver from its configuration, which names the place (`provider`, `region`) and whatever else it needs.

Raises `ValueError` where the configuration is wrong."""

_BUILT_IN = {
    "ec2": "stead.drivers.ec2.driver:from_config",
    "libvirt": "stead.drivers.libvirt.driver:from_config",
    "lxd": "stead.drivers.lxd.driver:from_config",
    "openstack": "stead.drivers.openstack.driver:from_config",
    "podman": "stead.drivers.podman.driver:from_config",
    "process": "stead.drivers.process.driver:from_config",
    "program": "stead.drivers.program.driver:from_config",
    "sim": "stead.drivers.sim.driver:from_config",
}

_registered: dict[str, Factory] = {}


def register(name: str, factory: Factory) -> None:
    """Add a driver of one's own, or put another in the place of a built-in one."""
    _registered[name] = factory


def names() -> list[str]:
    """Every driver there is."""
    return sorted({*_BUILT_IN, *_registered})


def make(name: str, config: Mapping[str, Any]) -> Driver:
    """The driver of that name for one place; nothing secret leaves it."""
    return guarded(_factory(name)(config))


def _factory(name: str) -> Factory:
    if name in _registered:
        return _registered[name]
    if name not in _BUILT_IN:
        raise ValueError(f"there is no driver {name}; there are {', '.join(names())}")
    module, _, attribute = _BUILT_IN[name].partition(":")
    try:
        imported = import_module(module)
    except ModuleNotFoundError as error:
        raise ValueError(f"the driver {name} needs {error.name}, which comes with stead[{name}]") from error
    return cast(Factory, getattr(imported, attribute))
