"""OpenTelemetry behind `tracing`: loaded only where traces are collected. Its own variables tell it where and how.

See https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/ for those.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanContext, Status, StatusCode, get_current_span, use_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from stead import __version__
from stead.secrets.scrubbing import scrub

_words = TraceContextTextMapPropagator()


class Otlp:
    """Collects spans and sends them on, in batches, from a thread of its own."""

    def __init__(self, part: str) -> None:
        about = {"service.name": f"stead-{part}", "service.version": __version__}
        provider = TracerProvider(resource=Resource.create(about))
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._tracer = provider.get_tracer("stead", __version__)

    def begin(
        self, name: str, parent: str, since: float, attributes: dict[str, str]
    ) -> tuple[OtlpSpan, tuple[Span, AbstractContextManager[Span]]]:
        """A span that is the current one until it ends."""
        context = _words.extract({"traceparent": parent}) if parent else None
        said = {f"stead.{name}": scrub(word) for name, word in attributes.items()}
        made = self._tracer.start_span(name, context, attributes=said, start_time=int(since * 1e9))
        current = use_span(made)
        current.__enter__()
        return OtlpSpan(made), (made, current)

    def end(self, held: tuple[Span, AbstractContextManager[Span]]) -> None:
        """End it."""
        made, current = held
        current.__exit__(None, None, None)
        made.end()

    def current(self) -> str:
        """As the standard has it."""
        context = get_current_span().get_span_context()
        return named(context) if context.is_valid else ""


def named(context: SpanContext) -> str:
    """A span, as the standard names it."""
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{int(context.trace_flags):02x}"


class OtlpSpan:
    """A span of OpenTelemetry."""

    def __init__(self, made: Span) -> None:
        self.made = made

    @property
    def traceparent(self) -> str:
        """As the standard has it."""
        return named(self.made.get_span_context())

    def rename(self, name: str) -> None:
        """Say what it is."""
        self.made.update_name(name)

    def fail(self, why: str) -> None:
        """It did not go well."""
        self.made.set_status(Status(StatusCode.ERROR, scrub(why)))
