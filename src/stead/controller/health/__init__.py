"""The health of the cell: doctor, gauges, readiness."""
