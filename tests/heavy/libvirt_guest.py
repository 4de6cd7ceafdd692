"""The smallest guest that does anything: a kernel of Debian's and one shell, which tells what it sees."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import stat
from pathlib import Path

MODULES = [
    "virtio",
    "virtio_ring",
    "virtio_pci_legacy_dev",
    "virtio_pci_modern_dev",
    "virtio_pci",
    "virtio_blk",
    "button",
    "evdev",
]

# It says that it is up, and from then on which disks it has. When its power button is pressed, it says so and ends.
INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /etc/acpi/PWRF
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sys /sys
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox --install -s /bin
for name in MODULES; do if [ -e /mod/$name.ko ]; then insmod /mod/$name.ko; fi; done
printf '#!/bin/sh\\necho GUEST-BUTTON > /dev/console; poweroff -f\\n' > /etc/acpi/PWRF/00000080
chmod +x /etc/acpi/PWRF/00000080
acpid -d -l /dev/null > /dev/null 2>&1 &
echo GUEST-UP
old=none
count=0
while :; do
    new=$(ls /sys/block | tr '\\n' ' ')
    if [ "$new" != "$old" ]; then echo "GUEST-DISKS $new"; old=$new; fi
    count=$((count + 1))
    echo "GUEST-COUNT $count"
    sleep 1
done
"""


def missing() -> str:
    """Why there can be no guests here; nothing, if there can."""
    if not shutil.which("qemu-system-x86_64"):
        return "guests cannot be started: qemu-system-x86 is not installed"
    if kernel() is None:
        return "guests cannot be started: linux-image-cloud-amd64 is not installed"
    if b"/ld-" in Path(shutil.which("busybox") or os.devnull).read_bytes()[:4096] or not shutil.which("busybox"):
        return "guests cannot be started: busybox-static is not installed"
    return ""


def kernel() -> Path | None:
    """Of the cloud's own kind: it is small, and has drivers for virtual devices."""
    there = sorted(Path("/boot").glob("vmlinuz-*-cloud-amd64"))
    return there[-1] if there else None


def initrd(folder: Path) -> Path:
    """All that the guest has, packed as the kernel takes it."""
    image = kernel()
    busybox = shutil.which("busybox")
    assert image is not None
    assert busybox is not None
    packed = io.BytesIO()
    for name in ("bin", "mod"):
        _add(packed, name, stat.S_IFDIR | 0o755, b"")
    _add(packed, "bin/busybox", stat.S_IFREG | 0o755, Path(busybox).read_bytes())
    modules = Path("/lib/modules") / image.name.removeprefix("vmlinuz-")
    names = in_order(modules / "modules.dep")
    _add(packed, "init", stat.S_IFREG | 0o755, INIT.replace("MODULES", " ".join(names)).encode())
    for name in names:
        for found in modules.rglob(f"{name}.ko"):
            _add(packed, f"mod/{name}.ko", stat.S_IFREG | 0o644, found.read_bytes())
    _add(packed, "TRAILER!!!", 0, b"")
    file = folder / "initrd.gz"
    file.write_bytes(gzip.compress(packed.getvalue(), 6))
    return file


def in_order(dependencies: Path) -> list[str]:
    """The modules, each after those that it needs, which differ from kernel to kernel."""
    found: list[str] = []
    needs = dict(line.split(":", 1) for line in dependencies.read_text().splitlines())
    of = {Path(file).stem: [Path(needed).stem for needed in rest.split()] for file, rest in needs.items()}
    for name in MODULES:
        found += [one for one in (*reversed(of.get(name, [])), name) if one not in found]
    return found


def _add(packed: io.BytesIO, name: str, mode: int, content: bytes) -> None:
    """One file of a cpio archive, in its `newc` form: thirteen numbers of eight digits, a name, what is in it."""
    raw = name.encode() + b"\0"
    numbers = (packed.tell() + 1, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(raw), 0)
    packed.write(b"070701" + b"".join(b"%08x" % number for number in numbers) + raw)
    packed.write(bytes(-packed.tell() % 4) + content)
    packed.write(bytes(-packed.tell() % 4))
