"""The whole cell in a file, and back: nothing that was accepted is lost, and nothing said since is believed."""

from stead.backup.archive import BrokenArchive, Manifest, read_manifest, verify
from stead.backup.clients import ToolFailed, ToolMissing
from stead.backup.copies import CopyFailed, copy
from stead.backup.create import BackupFailed, record, take
from stead.backup.incarnation import IncarnationNotRaised, raise_incarnation
from stead.backup.restore import RestoreFailed, RestoreSummary, restore
from stead.store.migrate import MigrationFailed

__all__ = [
    "BackupFailed",
    "BrokenArchive",
    "CopyFailed",
    "IncarnationNotRaised",
    "Manifest",
    "MigrationFailed",
    "RestoreFailed",
    "RestoreSummary",
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
