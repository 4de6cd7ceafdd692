"""A server of S3 for tests, that of moto, as a process of its own."""

from __future__ import annotations

import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import boto3

from stead.dev.children import Server


class S3(Server):
    """It takes any credentials."""

    def __init__(self) -> None:
        super().__init__("s3")

    @property
    def variables(self) -> Mapping[str, str]:
        """The environment of a program that speaks to it."""
        return {
            "AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{self.port}",
            "AWS_ACCESS_KEY_ID": "any",
            "AWS_SECRET_ACCESS_KEY": "any",
            "AWS_DEFAULT_REGION": "us-east-1",
        }

    def command(self) -> Sequence[str | Path]:
        return [sys.executable, "-m", "moto.server", "--port", str(self.port)]

    def ready(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def client(self) -> Any:
        variables = self.variables
        return boto3.client(
            "s3",
            endpoint_url=variables["AWS_ENDPOINT_URL_S3"],
            aws_access_key_id=variables["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=variables["AWS_SECRET_ACCESS_KEY"],
            region_name=variables["AWS_DEFAULT_REGION"],
        )
