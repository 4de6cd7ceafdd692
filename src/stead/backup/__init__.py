"""The whole cell in a file, and back: nothing that was accepted is lost, and nothing said since is believed."""

from stead.backup.archive import Broken, Manifest, read_manifest, verify
from stead.backup.clients import ToolFailed, ToolMissing
from stead.backup.copies import CopyFailed, copy
from stead.backup.raising import NotRaised, raise_incarnation
from stead.backup.restoring import NotRestored, Restored, restore
from stead.backup.taking import NotTaken, record, take
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
