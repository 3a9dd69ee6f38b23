"""Exporting spans: to where OpenTelemetry's own variables of the environment say, and nowhere without them."""

from __future__ import annotations

import os

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")


def export_spans() -> bool:
    """Send the spans of this process on, if the environment says where; whether it does."""
    if not any(os.environ.get(name) for name in _ENDPOINTS):
        return False
    service = os.environ.get("OTEL_SERVICE_NAME", "callgate")
    provider = TracerProvider(resource=Resource.create({"service.name": service}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    return True
