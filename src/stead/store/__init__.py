"""PostgreSQL, the truth: schema, migrations, named statements, and the one class that runs them."""

from stead.store.brief import Brief
from stead.store.change import Change, Conflict
from stead.store.row import Row
from stead.store.store import Store

__all__ = ["Brief", "Change", "Conflict", "Row", "Store"]
