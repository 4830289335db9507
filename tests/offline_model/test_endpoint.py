"""The endpoint over real sockets, and with the client Hermes uses."""

import http.client
import json
import socket
import threading
import time

import httpx
import openai
import pytest

from hermes_nb.offline_model.endpoint import (
    ChatRequest,
    ChatServer,
    Cut,
    Finish,
    Gate,
    Reasoning,
    Refusal,
    RequestedCall,
    Usage,
    Wait,
)

QUESTION = [{"role": "user", "content": "Hi"}]


def client_of(url, **options):
    return openai.OpenAI(base_url=url, api_key="sk-test", max_retries=0, timeout=20, **options)


@pytest.fixture
def serve():
    """Starts an endpoint for a responder; afterwards nothing of it may be left."""
    before = set(threading.enumerate())
    opened = []

    def start(responder, **options):
        endpoint = ChatServer(responder, model="m", **options)
        url = endpoint.start()
        opened.append((url, endpoint))
        return url, endpoint

    yield start
    for url, endpoint in opened:
        endpoint.close()
        with pytest.raises(OSError):
            socket.create_connection(("127.0.0.1", int(url.split(":")[2].split("/")[0])))
    left = [t.name for t in set(threading.enumerate()) - before if t.name.startswith("hermes-nb")]
    assert left == []


def answer(request: ChatRequest):
    yield Reasoning("hm")
    yield from ("One", " two", " ü\u2028", '"three"')
    yield Usage({"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7})


def test_openai_client_gets_a_whole_answer_with_usage(serve):
    url, _ = serve(answer)
    with client_of(url) as client:
        reply = client.chat.completions.create(model="m", messages=QUESTION)
    assert reply.choices[0].message.content == 'One two ü\u2028"three"'
    assert reply.choices[0].finish_reason == "stop"
    assert reply.choices[0].message.reasoning_content == "hm"
    assert reply.usage.total_tokens == 7


@pytest.mark.parametrize("wants_usage", [True, False])
def test_openai_client_gets_a_stream_whose_last_chunk_has_usage_when_asked(serve, wants_usage):
    url, _ = serve(answer)
    with client_of(url) as client:
        options = {"stream_options": {"include_usage": True}} if wants_usage else {}
        chunks = list(client.chat.completions.create(model="m", messages=QUESTION, stream=True, **options))
    texts = [c.choices[0].delta.content for c in chunks if c.choices and c.choices[0].delta.content]
    assert texts == ["One", " two", " ü\u2028", '"three"']
    assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "stop"
    assert len({c.id for c in chunks}) == 1
    assert [c.usage.total_tokens for c in chunks if c.usage] == ([7] if wants_usage else [])


@pytest.mark.parametrize("stream", [True, False])
def test_tool_calls_arrive_whole(serve, stream):
    def calls(request):
        yield RequestedCall("c1", "add", '{"a": 1, "b": 2}')
        yield RequestedCall("c2", "now", "")

    url, _ = serve(calls)
    with client_of(url) as client:
        if stream:
            got = {}
            for chunk in client.chat.completions.create(model="m", messages=QUESTION, stream=True):
                for call in chunk.choices[0].delta.tool_calls or ():
                    entry = got.setdefault(call.index, ["", "", ""])
                    entry[0] += call.id or ""
                    entry[1] += call.function.name or ""
                    entry[2] += call.function.arguments or ""
                finish = chunk.choices[0].finish_reason
            found = [tuple(e) for e in got.values()]
        else:
            choice = client.chat.completions.create(model="m", messages=QUESTION).choices[0]
            found = [(c.id, c.function.name, c.function.arguments) for c in choice.message.tool_calls]
            finish = choice.finish_reason
            assert choice.message.content is None
    assert found == [("c1", "add", '{"a": 1, "b": 2}'), ("c2", "now", "")]
    assert finish == "tool_calls"


def test_responder_sees_the_request(serve):
    seen = []

    def look(request):
        seen.append(request)
        yield "ok"

    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
    url, _ = serve(look)
    with client_of(url) as client:
        client.chat.completions.create(model="m", messages=QUESTION, tools=tools)
    (request,) = seen
    assert request.messages == QUESTION
    assert request.tools == [{"name": "f", "parameters": {"type": "object"}}]
    assert request.bearer == "sk-test"
    assert not request.is_streaming
    assert request.wants_usage
    assert request.path == "/v1/chat/completions"
    assert request.wait_finished()
    assert request.outcome == "answered"


def test_one_connection_serves_many_requests(serve):
    ports = set()
    url, _ = serve(lambda request: ["ok"])
    connection = http.client.HTTPConnection("127.0.0.1", int(url.split(":")[2].split("/")[0]))
    for stream in (False, True, False, True):
        connection.request("POST", "/v1/chat/completions", json.dumps({"stream": stream, "messages": []}))
        assert b"ok" in connection.getresponse().read()
        ports.add(connection.sock.getsockname()[1])
    connection.close()
    assert len(ports) == 1


def test_a_refusal_has_status_body_and_headers(serve):
    url, _ = serve(lambda r: [Refusal(429, {"error": {"message": "slow down"}}, {"Retry-After": "7"})])
    with client_of(url) as client, pytest.raises(openai.RateLimitError, match="slow down") as caught:
        client.chat.completions.create(model="m", messages=QUESTION, stream=True)
    assert caught.value.response.headers["retry-after"] == "7"


@pytest.mark.parametrize("stream", [True, False])
def test_a_responder_that_raises_is_told_and_the_connection_lives(serve, stream):
    requests = []

    def fail(request):
        requests.append(request)
        raise RuntimeError("no idea")
        yield

    url, _ = serve(fail)
    with client_of(url) as client:
        for _ in range(2):
            with pytest.raises(openai.InternalServerError, match="RuntimeError: no idea"):
                client.chat.completions.create(model="m", messages=QUESTION, stream=stream)
    assert requests[0].wait_finished()
    assert requests[0].outcome == "failed"
    assert isinstance(requests[0].error, RuntimeError)


def test_a_responder_that_raises_mid_stream_ends_in_an_error_event(serve):
    def fail(request):
        yield "One"
        raise RuntimeError("no idea")

    url, _ = serve(fail)
    texts = []
    with client_of(url) as client, client.chat.completions.create(model="m", messages=QUESTION, stream=True) as stream:
        with pytest.raises(openai.APIError, match="no idea"):
            texts.extend(chunk.choices[0].delta.content for chunk in stream)
    assert texts == ["", "One"]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("parts", [[Cut()], ["One", " two", Cut()]])
def test_a_cut_is_a_connection_error(serve, stream, parts):
    url, _ = serve(lambda request: parts)
    with client_of(url) as client, pytest.raises((openai.APIConnectionError, httpx.RemoteProtocolError)):
        list(client.chat.completions.create(model="m", messages=QUESTION, stream=stream))


def test_waiting_sends_what_there_is_and_ends_at_the_gate(serve):
    gate = Gate()

    def hold(request):
        yield "first"
        yield Wait(gate=gate)
        yield "second"

    url, _ = serve(hold)
    with client_of(url) as client:
        stream = iter(client.chat.completions.create(model="m", messages=QUESTION, stream=True))
        assert [next(stream).choices[0].delta.content for _ in range(2)] == ["", "first"]
        gate.release()
        assert [c.choices[0].delta.content for c in stream] == ["second", None]


def test_a_wait_takes_its_time(serve):
    url, _ = serve(lambda request: [Wait(0.05), "x", Finish("length")])
    before = time.monotonic()
    with client_of(url) as client:
        reply = client.chat.completions.create(model="m", messages=QUESTION)
    assert time.monotonic() - before >= 0.05
    assert reply.choices[0].finish_reason == "length"


def test_a_client_that_leaves_ends_the_responder(serve):
    requests, ended = [], threading.Event()

    def hold(request):
        requests.append(request)
        try:
            yield "first"
            yield Wait()
        finally:
            ended.set()

    url, _ = serve(hold)
    with client_of(url) as client:
        stream = client.chat.completions.create(model="m", messages=QUESTION, stream=True)
        next(iter(stream))
        stream.close()
    assert ended.wait(5)
    assert requests[0].wait_finished()
    assert requests[0].outcome == "client_closed"


def test_close_ends_requests_that_wait(serve):
    requests, entered = [], threading.Event()

    def hold(request):
        requests.append(request)
        entered.set()
        yield Wait()

    url, endpoint = serve(hold)
    errors = []

    def ask():
        with client_of(url) as client:
            try:
                client.chat.completions.create(model="m", messages=QUESTION)
            except openai.APIConnectionError as exc:
                errors.append(exc)

    thread = threading.Thread(target=ask)
    thread.start()
    assert entered.wait(10)
    before = time.monotonic()
    endpoint.close()
    assert time.monotonic() - before < 1
    thread.join(10)
    assert len(errors) == 1
    assert requests[0].outcome == "closed"


def test_close_twice_and_without_start_is_fine():
    ChatServer(answer, model="m").close()
    with ChatServer(answer, model="m") as endpoint:
        endpoint.close()


def test_base_url_before_start_is_an_error():
    with pytest.raises(RuntimeError, match=r"call start\(\) first"):
        _ = ChatServer(answer, model="m").base_url


def test_models_are_listed_and_other_probes_get_404(serve):
    url, endpoint = serve(answer, context_length=12_345)
    with client_of(url) as client:
        (card,) = client.models.list().data
        assert (card.id, card.context_length) == ("m", 12_345)
        assert client.models.retrieve("m").id == "m"
        for path in ("/api/tags", "/api/v1/models", "/v1/props", "/version"):
            with pytest.raises(openai.NotFoundError):
                client.get(url.removesuffix("/v1") + path, cast_to=object)
    assert endpoint.probes[:2] == ["GET /v1/models", "GET /v1/models/m"]
    assert "GET /api/tags" in endpoint.probes


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"what is this\r\n\r\n", b"400"),
        (b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 9\r\n\r\n{not json", b"400"),
        (b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 2\r\n\r\n[]", b"400"),
        (b"POST /v1/chat/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", b"411"),
        (b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", b"413"),
        (b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: -1\r\n\r\n", b"413"),
        (b"HEAD /v1/models HTTP/1.0\r\n\r\n", b"200"),
        (b"POST /v1/chat/completions HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n{}", b"100"),
    ],
)
def test_odd_requests_get_a_status(serve, sent, status):
    url, _ = serve(answer)
    with socket.create_connection(("127.0.0.1", int(url.split(":")[2].split("/")[0]))) as sock:
        sock.sendall(sent)
        assert sock.recv(4096).split()[1] == status


def test_twenty_thousand_deltas_are_written_in_a_fraction_of_a_second(serve):
    n = 20_000
    url, _ = serve(lambda request: (f"w{i} " for i in range(n)))
    connection = http.client.HTTPConnection("127.0.0.1", int(url.split(":")[2].split("/")[0]))
    before = time.monotonic()
    connection.request("POST", "/v1/chat/completions", json.dumps({"stream": True, "messages": []}))
    body = connection.getresponse().read()
    took = time.monotonic() - before
    connection.close()
    assert body.count(b"\ndata: ") == n + 2
    assert took < 2  # 0.1 s when nothing else runs


def test_many_clients_at_once_each_get_their_own_answer(serve):
    url, _ = serve(lambda request: [request.messages[-1]["content"]])
    got = {}

    def ask(i):
        with client_of(url) as client:
            reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": f"n{i}"}])
            got[i] = reply.choices[0].message.content

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert got == {i: f"n{i}" for i in range(8)}
