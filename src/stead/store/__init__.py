"""PostgreSQL, the truth: schema, migrations, named statements, and the one class that runs them."""

from stead.store.commit import Change, Conflict
from stead.store.resource_row import Row
from stead.store.store import Store
from stead.store.summary import ResourceSummary

__all__ = ["Change", "Conflict", "ResourceSummary", "Row", "Store"]
