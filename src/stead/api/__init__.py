"""The HTTP interface: resources, operations, the journal and its events, explanations, health."""

from stead.api.app import create_app, openapi

__all__ = ["create_app", "openapi"]
