"""A log as OpenTelemetry spans, and their way to a collector (extra `otel`).

One trace per turn; ids are made of ours, so that a second export of a log names the same spans. Names and attributes
follow the GenAI conventions; what they have no word for is under `hermes_nb.`. Text of prompts, arguments, results,
answers and errors leaves this machine only when asked for.

Source: OpenTelemetry semantic conventions for generative AI, as in opentelemetry-semantic-conventions 0.66b2.

Example:
    from hermes_nb.views import otlp
    result = await bound.run("Which customers matter most?")
    otlp.export(result.events, "http://localhost:6006/v1/traces", content=True)  # Phoenix; MLflow, Jaeger ... likewise
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from hermes_nb._near import suggesting_call
from hermes_nb._require import require
from hermes_nb._version import __version__
from hermes_nb.errors import ExportError
from hermes_nb.model.credential import shown
from hermes_nb.model.span import Note, Span
from hermes_nb.views._conversation import definitions, exchanges, instructions
from hermes_nb.views._input import Source, folder_of
from hermes_nb.views.rows import valid

BATCH_SPANS = 512
SCHEMA_URL = "https://opentelemetry.io/schemas/1.44.0"
_WHY = "to export a session as OpenTelemetry spans"
_OPTIONS = {
    "temperature": "gen_ai.request.temperature",
    "top_p": "gen_ai.request.top_p",
    "stop": "gen_ai.request.stop_sequences",
    "seed": "gen_ai.request.seed",
}
_USAGE = {
    "input_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "cache_read_tokens": "gen_ai.usage.cache_read.input_tokens",
    "cache_write_tokens": "gen_ai.usage.cache_creation.input_tokens",
    "reasoning_tokens": "gen_ai.usage.reasoning.output_tokens",
}
# Hermes's names of providers, where the conventions have a name of their own.
_PROVIDERS = {
    "openai-api": "openai",
    "openai-codex": "openai",
    "gemini": "gcp.gemini",
    "vertex": "gcp.vertex_ai",
    "xai": "x_ai",
    "bedrock": "aws.bedrock",
    "mistral": "mistral_ai",
    "azure": "azure.ai.openai",
}


@suggesting_call
def render(source: Source, *, content: bool = False) -> list[dict[str, Any]]:
    """The spans that ended, as plain data.

    Args:
        source: Events of one or many sessions, or a folder.
        content: Whether prompts, instructions, arguments, results, answers and the text of errors are included.

    Returns:
        One dict per span, ordered by start: name, trace_id (32 hex digits), span_id (16), parent_id or None, kind
        (`client` for a model call, else `internal`), start_unix_ns, end_unix_ns, attributes, events (name, at_unix_ns,
        attributes), links (span ids: the attempt before), status (`unset` or `error`), description.
    """
    folder = folder_of(source)
    spans = [span for span in folder.spans() if span.end_unix_s is not None]
    known = {span.key for span in spans}
    said = exchanges(list(folder.spans())) if content else {}
    notes: dict[tuple[str, str, int, str], list[Note]] = {}
    for note in folder.notes():
        where = (note.session_id, note.turn_id, note.attempt)
        key = (*where, note.span_id)
        notes.setdefault(key if key in known else (*where, note.turn_id), []).append(note)
    turns = {span.key[:3]: span for span in spans if span.kind == "turn"}
    return [
        _span(span, notes.get(span.key, ()), known, content=_content(span, said, turns) if content else None)
        for span in spans
    ]


def to_spans(spans: Sequence[Mapping[str, Any]]) -> list[Any]:
    """A `render` result as spans of the official SDK (`opentelemetry.sdk.trace.ReadableSpan`).

    Raises:
        MissingPackageError: opentelemetry-sdk is not installed.
    """
    api = require("opentelemetry.trace", why=_WHY)
    sdk = require("opentelemetry.sdk.trace", why=_WHY)
    resource = require("opentelemetry.sdk.resources", why=_WHY).Resource(
        {"service.name": "hermes_nb", "service.version": __version__}
    )
    scope = require("opentelemetry.sdk.util.instrumentation", why=_WHY).InstrumentationScope(
        "hermes_nb", __version__, schema_url=SCHEMA_URL
    )

    def context(trace_id: str, span_id: str) -> Any:
        flags = api.TraceFlags(api.TraceFlags.SAMPLED)
        return api.SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=False, trace_flags=flags)

    made = []
    for span in spans:
        status = api.StatusCode.ERROR if span["status"] == "error" else api.StatusCode.UNSET
        made.append(
            sdk.ReadableSpan(
                name=span["name"],
                context=context(span["trace_id"], span["span_id"]),
                parent=context(span["trace_id"], span["parent_id"]) if span["parent_id"] else None,
                resource=resource,
                attributes=span["attributes"],
                events=[sdk.Event(e["name"], e["attributes"], e["at_unix_ns"]) for e in span["events"]],
                links=[api.Link(context(span["trace_id"], link)) for link in span["links"]],
                kind=api.SpanKind.CLIENT if span["kind"] == "client" else api.SpanKind.INTERNAL,
                instrumentation_scope=scope,
                status=api.Status(status, span["description"] or None),
                start_time=span["start_unix_ns"],
                end_time=span["end_unix_ns"],
            )
        )
    return made


@suggesting_call
def export(
    source: Source,
    endpoint: str,
    *,
    headers: Mapping[str, str] | None = None,
    content: bool = False,
    timeout_s: float = 10.0,
) -> int:
    """Send the spans that ended to a collector, by OTLP over HTTP; how many were sent.

    Args:
        source: Events of one or many sessions, or a folder.
        endpoint: Where traces go, e.g. `http://localhost:4318/v1/traces`.
        headers: Headers of the request, as a key of the collector.
        content: Whether prompts, instructions, arguments, results, answers and the text of errors are sent too.
        timeout_s: How long one batch may take, tries included. A server that is just starting may need 60.

    Raises:
        ExportError: The collector did not take a batch; what had been sent before stays there.
        MissingPackageError: The extra `otel` is not installed.
    """
    door = require("opentelemetry.exporter.otlp.proto.http.trace_exporter", why=_WHY)
    success = require("opentelemetry.sdk.trace.export", why=_WHY).SpanExportResult.SUCCESS
    spans = to_spans(render(source, content=content))
    exporter = door.OTLPSpanExporter(endpoint=endpoint, headers=dict(headers or {}), timeout=timeout_s)
    try:
        for at in range(0, len(spans), BATCH_SPANS):
            began_s = time.monotonic()
            if exporter.export(spans[at : at + BATCH_SPANS]) is not success:
                which = f"spans {at + 1} to {min(at + BATCH_SPANS, len(spans))} of {len(spans)}"
                raise ExportError(_why_not(shown(endpoint), which, time.monotonic() - began_s, timeout_s))
    finally:
        exporter.shutdown()
    return len(spans)


def _why_not(endpoint: str, which: str, took_s: float, timeout_s: float) -> str:
    if took_s >= 0.9 * timeout_s:
        return (
            f"The collector at {endpoint} did not answer for {which} within {timeout_s:g} s. One that is just starting may"
            f" need longer: export(..., timeout_s={max(60, 3 * timeout_s):g}). Otherwise check that it listens there."
        )
    return (
        f"The collector at {endpoint} did not take {which}. Check that it listens there for OTLP over HTTP; the log of"
        " opentelemetry says more."
    )


def _event(note: Note, *, has_content: bool) -> dict[str, Any]:
    """A note as an event of its span; a score by the name and the attributes that the conventions have for it."""
    name = f"hermes_nb.{note.kind}"
    attributes: dict[str, Any] = {"message": valid(note.text)} if has_content else {}
    if note.kind == "evaluation.result" and note.data is not None:
        said, name = note.data, "gen_ai.evaluation.result"
        known = {
            "gen_ai.evaluation.name": str(said.get("name") or ""),
            "gen_ai.evaluation.score.value": said.get("value"),
            "gen_ai.evaluation.score.label": said.get("label"),
            "gen_ai.evaluation.explanation": said.get("reason") if has_content else None,
            "error.type": "scorer" if said.get("error") else None,
        }
        attributes = {key: valid(v) if isinstance(v, str) else v for key, v in known.items() if v is not None}
    return {"name": valid(name), "at_unix_ns": _nanoseconds(note.at_unix_s), "attributes": attributes}


def _span(
    span: Span, notes: Sequence[Note], known: set[tuple[str, str, int, str]], *, content: Mapping[str, Any] | None
) -> dict[str, Any]:
    is_bad = span.status in ("error", "timed_out", "killed")
    before = (span.session_id, span.turn_id, span.attempt - 1, span.span_id)
    parent = span.parent_key
    ended = span.end_unix_s if span.end_unix_s is not None else span.start_unix_s
    return {
        "name": valid(span.otel_name),
        "trace_id": _digits((span.session_id, span.turn_id), 16),
        "span_id": _digits(span.key, 8),
        "parent_id": _digits(parent, 8) if parent is not None and parent in known else None,
        "kind": "client" if span.kind == "model" else "internal",
        "start_unix_ns": _nanoseconds(span.start_unix_s),
        "end_unix_ns": _nanoseconds(ended),
        "attributes": _attributes(span, content=content),
        "events": [_event(note, has_content=content is not None) for note in notes],
        "links": [_digits(before, 8)] if span.kind == "turn" and before in known else [],
        "status": "error" if is_bad else "unset",
        "description": valid(_description(span, has_content=content is not None)) if is_bad else "",
    }


def _description(span: Span, *, has_content: bool) -> str:
    """The error's text where text may leave, else its type: a text may quote arguments, prompts and answers."""
    return (span.error if has_content else span.error_type) or span.status.replace("_", " ")


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _attributes(span: Span, *, content: Mapping[str, Any] | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "gen_ai.operation.name": span.operation if span.kind != "wait" else None,
        "gen_ai.conversation.id": span.session_id,
        "gen_ai.agent.name": span.agent,
        "gen_ai.provider.name": _PROVIDERS.get(span.provider, span.provider),
        "hermes_nb.turn_id": span.turn_id,
        "hermes_nb.attempt": span.attempt,
        "hermes_nb.status": span.outcome or span.status,
        "hermes_nb.replayed": True if span.replayed else None,
        "hermes_nb.n_retries": span.n_retries or None,
        "hermes_nb.cost_usd": span.cost_usd,
    }
    if span.status in ("error", "timed_out", "killed"):
        found["error.type"] = span.error_type or span.status
    if span.kind in ("model", "turn"):
        found["gen_ai.request.model"] = span.model
        found |= {name: span.usage.get(key) for key, name in _USAGE.items()}
    if span.kind == "model":
        found |= {_OPTIONS.get(name, f"hermes_nb.request.{name}"): _plain(value) for name, value in span.options.items()}
        found["gen_ai.response.finish_reasons"] = [span.finish_reason] if span.finish_reason else None
    if span.kind == "turn":
        found["server.address"] = span.host
        found["hermes_nb.runtime"] = span.runtime
    if span.kind == "tool":
        found |= {
            "gen_ai.tool.name": span.name,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": span.tool_call_id,
            "hermes_nb.result_chars": span.result_chars,
        }
    found |= content or {}
    return {
        name: valid(value) if isinstance(value, str) else [valid(v) for v in value] if isinstance(value, list) else value
        for name, value in found.items()
        if value is not None and value != ""
    }


def _content(
    span: Span,
    said: Mapping[tuple[str, str, int, str], tuple[list[Any], list[Any]]],
    turns: Mapping[tuple[str, str, int], Span],
) -> dict[str, str]:
    if span.kind == "tool":
        return {"gen_ai.tool.call.arguments": span.arguments, "gen_ai.tool.call.result": span.result}
    if span.kind == "wait":
        return {"hermes_nb.question": span.prompt, "hermes_nb.answer": span.result}
    turn = turns.get(span.key[:3])
    is_of_turn = turn is not None and span.parent_key in (None, turn.key)
    if span.kind == "model":
        asked, answered = said.get(span.key, ([], []))
    else:
        asked = [{"role": "user", "parts": [{"type": "text", "content": span.prompt}]}] if span.prompt else []
        finish = "stop" if span.status == "ok" else "error"
        parts = [{"type": "text", "content": span.text}]
        answered = [{"role": "assistant", "parts": parts, "finish_reason": finish}] if span.text else []
    found: dict[str, Any] = {"gen_ai.input.messages": asked, "gen_ai.output.messages": answered}
    if turn is not None and is_of_turn:
        found["gen_ai.system_instructions"] = instructions(turn.instructions) if turn.instructions else []
        found["gen_ai.tool.definitions"] = definitions(turn.offered)
    return {name: json.dumps(value, ensure_ascii=False) for name, value in found.items() if value}


def _digits(of: tuple[Any, ...], n_bytes: int) -> str:
    """A name of that many bytes, made of the parts; never all zeros, which OpenTelemetry takes for no name."""
    text = json.dumps(of).encode("utf-8", "replace")
    return hashlib.blake2b(text, digest_size=n_bytes).digest().hex()


def _nanoseconds(unix_s: float) -> int:
    return min(max(round(unix_s * 1e6) * 1000, 0), 2**63 - 1)  # the form has no time before 1970
