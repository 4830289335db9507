from __future__ import annotations

import gzip
import http.server
import importlib
import importlib.util
import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from hermes_nb.errors import ExportError
from hermes_nb.views import otlp
from tests.golden.logs import ALL, load

HAS_OTEL = all(importlib.util.find_spec(name) for name in ("opentelemetry", "opentelemetry.sdk", "opentelemetry.exporter"))
needs_otel = pytest.mark.skipif(not HAS_OTEL, reason="the extra otel is not installed: OTLP is NOT tested")


def by_name(spans: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {span["name"]: span for span in spans}


def test_names_and_attributes_are_those_of_the_conventions() -> None:
    spans = by_name(otlp.render(load("plain")))
    chat = spans["chat scripted-1"]
    assert chat["kind"] == "client"
    assert chat["attributes"]["gen_ai.operation.name"] == "chat"
    assert chat["attributes"]["gen_ai.request.model"] == "scripted-1"
    assert chat["attributes"]["gen_ai.usage.output_tokens"] == 20
    assert chat["attributes"]["gen_ai.response.finish_reasons"] == ["stop"]
    tool = spans["execute_tool top_customers"]
    assert tool["attributes"]["gen_ai.tool.name"] == "top_customers"
    assert tool["attributes"]["gen_ai.tool.call.id"] == "c1"
    turn = spans["invoke_agent analyst"]
    assert turn["attributes"]["gen_ai.agent.name"] == "analyst"
    assert turn["attributes"]["gen_ai.conversation.id"] == "s-golden"
    assert turn["parent_id"] is None
    assert tool["parent_id"] == turn["span_id"]
    assert {s["trace_id"] for s in spans.values()} == {turn["trace_id"]}


def test_text_stays_here_unless_it_is_asked_for() -> None:
    words = ("Which customers", "revenue", "matters most")
    silent = json.dumps(otlp.render(load("plain")))
    assert not [word for word in words if word in silent]
    told = json.dumps(otlp.render(load("plain"), content=True))
    assert [word for word in words if word in told] == list(words)


def test_content_has_the_form_of_the_conventions() -> None:
    spans = by_name(otlp.render(load("plain"), content=True))
    asked = json.loads(spans["invoke_agent analyst"]["attributes"]["gen_ai.input.messages"])
    assert asked[0]["parts"] == [{"type": "text", "content": "Which customers matter most, and why?"}]
    assert spans["execute_tool top_customers"]["attributes"]["gen_ai.tool.call.arguments"] == '{"n": 3}'


def test_what_is_unknown_has_no_attribute() -> None:
    spans = by_name(otlp.render(load("parallel")))
    assert "gen_ai.usage.cache_read.input_tokens" not in spans["chat scripted-1"]["attributes"]
    assert "hermes_nb.cost_usd" not in spans["invoke_agent analyst"]["attributes"]


def test_errors_have_status_type_and_retries_as_events() -> None:
    spans = otlp.render(load("failed"))
    chat = next(s for s in spans if s["name"] == "chat scripted-1" and s["status"] == "error")
    assert chat["description"] == "RateLimitError"
    assert chat["attributes"]["error.type"] == "RateLimitError"
    assert [e["name"] for e in chat["events"]] == ["hermes_nb.model.retried"] * 2


@pytest.mark.parametrize("name", sorted(set(ALL) - {"huge"}))
def test_the_text_of_an_error_leaves_with_the_content_alone(name: str) -> None:
    events = load(name)
    errors = {str(e.data["error"]) for e in events if e.data.get("error")}
    silent = json.dumps(otlp.render(events), ensure_ascii=False)
    assert [error for error in errors if error in silent] == []
    assert all(e["attributes"] == {} for s in otlp.render(events) for e in s["events"])
    if name == "failed":
        told = otlp.render(events, content=True)
        assert "Rate limit reached for scripted-1." in [s["description"] for s in told]


def test_a_model_call_has_its_input_and_what_it_asked_for() -> None:
    first, second = (s["attributes"] for s in otlp.render(load("parallel"), content=True) if s["name"] == "chat scripted-1")
    question = {"role": "user", "parts": [{"type": "text", "content": "Fetch three pages."}]}
    calls = [{"type": "tool_call", "id": f"c{n}", "name": "fetch", "arguments": {"page": n}} for n in (1, 2, 3)]
    assert json.loads(first["gen_ai.input.messages"]) == [question]
    assert json.loads(first["gen_ai.output.messages"]) == [
        {"role": "assistant", "parts": calls, "finish_reason": "tool_call"}
    ]
    assert json.loads(second["gen_ai.input.messages"]) == [
        question,
        {"role": "assistant", "parts": calls},
        *(
            {"role": "tool", "parts": [{"type": "tool_call_response", "id": f"c{n}", "response": f"page {word}"}]}
            for n, word in enumerate(("one", "two", "three"), 1)
        ),
    ]
    assert [t["name"] for t in json.loads(first["gen_ai.tool.definitions"])] == ["top_customers", "plot"]


def test_instructions_go_with_the_content() -> None:
    told = [replace(e, data={**e.data, "instructions": "Be brief."}) for e in load("plain")]
    spans = otlp.render(told, content=True)
    chats = [s["attributes"] for s in spans if s["name"].startswith(("chat", "invoke_agent"))]
    assert {a["gen_ai.system_instructions"] for a in chats} == {'[{"type": "text", "content": "Be brief."}]'}
    assert "Be brief" not in json.dumps(otlp.render(told))


def test_a_later_attempt_links_to_the_one_before() -> None:
    first, second = (s for s in otlp.render(load("two_attempts")) if s["name"] == "invoke_agent analyst")
    assert first["attributes"]["error.type"] == "killed"
    assert second["links"] == [first["span_id"]]


def test_ids_are_the_same_at_each_export_and_differ_between_spans() -> None:
    spans = otlp.render(load("nested"))
    assert spans == otlp.render(load("nested"))
    assert len({s["span_id"] for s in spans}) == len(spans) == 13


def test_what_still_runs_is_not_exported() -> None:
    assert [s["name"] for s in otlp.render(load("running"))] == ["chat scripted-1"]


# -- over the wire ----------------------------------------------------------------------------------------------------


class Collector(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        request = ExportTraceServiceRequest()
        request.ParseFromString(body)
        self.server.received.append((self.path, dict(self.headers), request))  # type: ignore[attr-defined]
        self.send_response(self.server.answer)  # type: ignore[attr-defined]
        self.end_headers()

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def collector() -> Iterator[Any]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    server.received, server.answer = [], 200  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def url(collector: Any) -> str:
    return f"http://127.0.0.1:{collector.server_address[1]}/v1/traces"


@needs_otel
@pytest.mark.parametrize("name", sorted(set(ALL) - {"huge"}))
def test_a_collector_gets_every_span_that_ended(name: str, collector: Any) -> None:
    events = load(name)
    expected = otlp.render(events, content=True)
    assert otlp.export(events, url(collector), content=True, headers={"x-key": "k"}) == len(expected)
    got = []
    for path, headers, request in collector.received:
        assert path == "/v1/traces"
        assert headers["x-key"] == "k"
        for resource in request.resource_spans:
            assert ("service.name", "hermes_nb") in [(a.key, a.value.string_value) for a in resource.resource.attributes]
            got += [span for scope in resource.scope_spans for span in scope.spans]
    assert [s.span_id.hex() for s in got] == [s["span_id"] for s in expected]
    for span, wanted in zip(got, expected, strict=True):
        assert span.name == wanted["name"]
        assert span.trace_id.hex() == wanted["trace_id"]
        assert (span.parent_span_id.hex() or None) == wanted["parent_id"]
        assert (span.start_time_unix_nano, span.end_time_unix_nano) == (wanted["start_unix_ns"], wanted["end_unix_ns"])
        assert {a.key for a in span.attributes} == set(wanted["attributes"])
        assert span.status.code == (2 if wanted["status"] == "error" else 0)


@needs_otel
def test_a_collector_that_refuses_is_named(collector: Any, caplog: pytest.LogCaptureFixture) -> None:
    collector.answer = 400
    with pytest.raises(ExportError, match=r"did not take spans 1 to 4 of 4"):
        otlp.export(load("plain"), url(collector))


@needs_otel
def test_the_scope_names_its_schema(collector: Any) -> None:
    schemas = importlib.import_module("opentelemetry.semconv.schemas")
    otlp.export(load("plain"), url(collector))
    [scope] = collector.received[0][2].resource_spans[0].scope_spans
    assert scope.schema_url == otlp.SCHEMA_URL
    assert otlp.SCHEMA_URL in [schema.value for schema in schemas.Schemas]


@needs_otel
def test_a_collector_that_does_not_answer_in_time_is_said_to(caplog: pytest.LogCaptureFixture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://me:secret@127.0.0.1:{silent.getsockname()[1]}/v1/traces"
        with pytest.raises(ExportError, match=r"did not answer .* within 0.3 s.*timeout_s=60") as error:
            otlp.export(load("plain"), address, timeout_s=0.3)
    assert "secret" not in str(error.value)


@needs_otel
def test_odd_events_are_encoded_too() -> None:
    encoder = importlib.import_module("opentelemetry.exporter.otlp.proto.common.trace_encoder")
    odd = {"finish_reason": "\ud800", "usage": {"input_tokens": 10**30}}
    changes: list[dict[str, Any]] = [{"at_unix_s": -5.0}, {"kind": "odd.\ud800"}, {"data": odd}]
    for change in changes:
        events = [replace(e, **{**change, "data": {**e.data, **change.get("data", {})}}) for e in load("nested")]
        spans = otlp.render(events, content=True)
        json.dumps(spans).encode("ascii")
        assert "\ud800" not in "".join(map(str, (v for s in spans for v in (*s["attributes"].values(), *s["events"]))))
        encoder.encode_spans(otlp.to_spans(spans)).SerializeToString()
