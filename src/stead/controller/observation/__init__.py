"""What agents observe and report: presence, inventory, reports, and objects without a record."""
