"""PostgreSQL, the truth: schema, migrations, named statements, and the one class that runs them."""

from stead.store.change import Change, Committed, Conflict
from stead.store.row import Row
from stead.store.store import Store

__all__ = ["Change", "Committed", "Conflict", "Row", "Store"]
