"""Containers on the machine of an edge site, by podman."""
