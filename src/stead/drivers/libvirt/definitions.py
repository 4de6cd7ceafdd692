"""Machines in libvirt's words: the definition that one is made from, and the disks in it."""

from __future__ import annotations

import uuid
import xml.etree.ElementTree as ET
from pathlib import Path
from string import ascii_lowercase
from xml.sax.saxutils import escape, quoteattr

from stead.drivers.base import PermanentError
from stead.drivers.libvirt import marks
from stead.drivers.libvirt.marks import SPACE, Mark
from stead.drivers.libvirt.spec import Machine

_SPACE = uuid.UUID("1d5f8a3e-6a3c-4be0-9a55-8a8f0d3b0f5e")
ET.register_namespace(marks.PREFIX, SPACE)


def uuid_of(name: str) -> str:
    """The same on every node, so that no node can have two of one name."""
    return str(uuid.uuid5(_SPACE, name))


def machine(
    name: str, spec: Machine, mark: Mark, hypervisor: str, root: tuple[Path, str] | None, console: Path
) -> str:
    """The definition of a machine."""
    boot = "".join(
        f"<{field}>{escape(value)}</{field}>"
        for field, value in (("kernel", spec.kernel), ("initrd", spec.initrd), ("cmdline", spec.cmdline))
        if value
    )
    devices = disk(*root, "vda") if root else ""
    if hypervisor != "test":
        devices += (
            "<controller type='usb' model='none'/><memballoon model='none'/>"
            f"<serial type='file'><source path={quoteattr(str(console))} append='on'/></serial>"
        )
    return (
        f"<domain type='{hypervisor}'><name>{name}</name><uuid>{uuid_of(name)}</uuid>{marks.embedded(mark)}"
        f"<memory unit='MiB'>{spec.memory}</memory><vcpu>{spec.cpu}</vcpu>"
        f"<os><type>hvm</type>{boot}{'' if boot else '<boot dev="hd"/>'}</os>"
        "<features><acpi/></features>"
        "<on_poweroff>destroy</on_poweroff><on_reboot>restart</on_reboot><on_crash>destroy</on_crash>"
        f"<devices>{devices}</devices></domain>"
    )


def disk(file: Path, format: str, target: str) -> str:
    """A disk. Nothing of it is kept in a node's memory, since another node may have it next."""
    return (
        f"<disk type='file' device='disk'><driver name='qemu' type='{format}' cache='none'/>"
        f"<source file={quoteattr(str(file))}/><target dev='{target}' bus='virtio'/></disk>"
    )


def target_of(definition: str, file: Path) -> str:
    """Where a file is attached in a definition; nothing, where it is not."""
    for found in ET.fromstring(definition).iterfind("devices/disk"):
        source, target = found.find("source"), found.find("target")
        if source is not None and target is not None and source.get("file") == str(file):
            return target.get("dev", "")
    return ""


def free_target(*found: str) -> str:
    """The first place after `vda` that no disk has in any of these definitions."""
    taken = {target.get("dev") for one in found for target in ET.fromstring(one).iterfind("devices/disk/target")}
    for letter in ascii_lowercase[1:]:
        if f"vd{letter}" not in taken:
            return f"vd{letter}"
    raise PermanentError("it has as many disks as it can have")


def with_disk(definition: str, device: str) -> str:
    """The definition, and one disk more."""
    tree = ET.fromstring(definition)
    devices = tree.find("devices")
    assert devices is not None
    devices.append(ET.fromstring(device))
    return ET.tostring(tree, encoding="unicode")


def without_disk(definition: str, file: Path) -> str:
    """The definition, and one disk less."""
    tree = ET.fromstring(definition)
    devices = tree.find("devices")
    assert devices is not None
    for found in devices.findall("disk"):
        source = found.find("source")
        if source is not None and source.get("file") == str(file):
            devices.remove(found)
    return ET.tostring(tree, encoding="unicode")
