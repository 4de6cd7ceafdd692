"""A provider that lets nobody in and repeats in its refusal what it was asked with. No real one does so on demand."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        host = self.headers["Host"]  # discovery, so that whoever logs in comes that far
        link = {"rel": "self", "href": f"http://{host}/v3/"}
        self._say(200, {"version": {"id": "v3.14", "status": "stable", "links": [link]}})

    def do_POST(self) -> None:
        self._no(self.rfile.read(int(self.headers.get("Content-Length", 0))).decode())

    def _no(self, asked: str) -> None:
        says = f"The request {asked} with {dict(self.headers)} needs authentication."
        self._say(401, {"error": {"code": 401, "title": "Unauthorized", "message": says}})

    def _say(self, status: int, said: dict[str, Any]) -> None:
        body = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


class Refusing:
    """A server on a thread of its own."""

    def __init__(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v3"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
