"""Stead measured beside the bare engines and beside its peers, in one run. `make bench`."""
