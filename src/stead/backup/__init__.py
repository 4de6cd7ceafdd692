"""The whole cell in a file, and back: nothing that was accepted is lost, and nothing said since is believed."""

from stead.backup.archive import Broken, Manifest, read_manifest, verify
from stead.backup.clients import ToolFailed, ToolMissing
from stead.backup.copies import CopyFailed, copy
from stead.backup.create import NotTaken, record, take
from stead.backup.incarnation import NotRaised, raise_incarnation
from stead.backup.restore import NotRestored, Restored, restore
from stead.store.migrate import CannotMigrate

__all__ = [
    "Broken",
    "CannotMigrate",
    "CopyFailed",
    "Manifest",
    "NotRaised",
    "NotRestored",
    "NotTaken",
    "Restored",
    "ToolFailed",
    "ToolMissing",
    "copy",
    "raise_incarnation",
    "read_manifest",
    "record",
    "restore",
    "take",
    "verify",
]
