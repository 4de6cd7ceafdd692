"""A small receiver of traces: what is sent to it over HTTP, as the protocol has it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True)
class Got:
    """A span that came."""

    service: str
    name: str
    trace: str
    id: str
    parent: str


class Collector:
    """Keeps what comes."""

    def __init__(self) -> None:
        self.spans: list[Got] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                outer.keep(ExportTraceServiceRequest.FromString(body))
                self.send_response(200)
                self.send_header("content-type", "application/x-protobuf")
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                """Nobody wants to know."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def keep(self, request: ExportTraceServiceRequest) -> None:
        for part in request.resource_spans:
            names = {word.key: word.value.string_value for word in part.resource.attributes}
            for scope in part.scope_spans:
                self.spans += [
                    Got(names["service.name"], s.name, s.trace_id.hex(), s.span_id.hex(), s.parent_span_id.hex())
                    for s in scope.spans
                ]


@contextmanager
def collector() -> Iterator[Collector]:
    """One that listens while this lasts."""
    one = Collector()
    thread = threading.Thread(target=one.server.serve_forever)
    thread.start()
    try:
        yield one
    finally:
        one.server.shutdown()
        one.server.server_close()
        thread.join()
