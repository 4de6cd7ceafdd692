"""The door of an OpenStack that knows one user and has no services behind it: enough to be let in, or not."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


class Keystone:
    """A server on a thread of its own."""

    def __init__(self, password: str, *, chatty: bool = False) -> None:
        self.password = password
        self.chatty = chatty
        """Whether it repeats in its refusal what it was asked with."""
        self.passwords: list[str] = []
        """All that it was given."""
        self._tokens: set[str] = set()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v3"

    def change(self, password: str) -> None:
        """From now on the user has another one, and whoever was let in is not any more."""
        self.password = password

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def login(self, asked: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        user = asked["auth"]["identity"]["password"]["user"]
        self.passwords.append(user["password"])
        if user["password"] != self.password:
            says = f"The request {json.dumps(asked)} needs authentication." if self.chatty else "No."
            return 401, {"error": {"code": 401, "title": "Unauthorized", "message": says}}
        times = {"issued_at": "2026-01-01T00:00:00.000000Z", "expires_at": "2026-01-01T00:00:01.000000Z"}
        project = {"id": "p1", "name": "p", "domain": {"id": "default", "name": "Default"}}
        who = {"id": "u1", "name": "u", "domain": {"id": "default", "name": "Default"}}
        return 201, {"token": {"methods": ["password"], "user": who, "project": project, "catalog": [], **times}}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        keystone = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                link = {"rel": "self", "href": f"{keystone.url}/"}
                self._say(200, {"version": {"id": "v3.14", "status": "stable", "links": [link]}})

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                self._say(*keystone.login(json.loads(body)))

            def _say(self, status: int, body: dict[str, Any]) -> None:
                text = json.dumps(body).encode()
                self.send_response(status)
                headers = {"content-type": "application/json", "content-length": str(len(text))}
                if status == 201:
                    headers["x-subject-token"] = f"token-{len(keystone.passwords)}"
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, format: str, *args: Any) -> None:
                del format, args

        return Handler
