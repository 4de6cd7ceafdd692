"""The agent: pulls orders from lanes, works through a driver, and reports."""

from stead.agent.agent import Agent

__all__ = ["Agent"]
