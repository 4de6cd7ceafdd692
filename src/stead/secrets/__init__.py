"""Secrets: where they are read from, how they are sealed, and how they are kept out of whatever is written.

A secret is named, never said: `env:NAME`, `file:PATH`, `command:WORDS` or `sealed:…`. What it stands for is known to
this process alone, and is taken out of every error and every line of the log.
"""

from stead.secrets.scrubbing import KNOWN, scrub
from stead.secrets.secret import NO_SECRET, Secret
from stead.secrets.sources import UnreadableSecret, named

__all__ = ["KNOWN", "NO_SECRET", "Secret", "UnreadableSecret", "named", "scrub"]
