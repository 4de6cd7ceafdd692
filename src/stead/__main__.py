"""`python -m stead` is the command `stead`."""

from stead.cli.main import app

app(prog_name="stead")
