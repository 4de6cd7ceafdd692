"""Stead, a lifecycle control plane.

It holds the state of everything an operator runs, lets one change happen to a thing at a time, carries every
accepted change through crashes to a settled end, and says truthfully where things stand and why.
"""

__version__ = "0.1.0"
