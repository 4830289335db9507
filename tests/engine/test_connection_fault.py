"""Why no connection came about: real certificates, ports, names and proxies of this machine, asked by the real Hermes."""

from __future__ import annotations

import contextlib
import datetime
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from hermes_nb import Agent, Hermes, Model
from hermes_nb._settings import PROXY_VARIABLES, worker_environment
from hermes_nb.engine import connection_fault
from hermes_nb.model.event import Event
from hermes_nb.runtimes.process import Process
from hermes_nb.turns.result import RunResult

KEY = "sk-abcdefgh12345678"
_REPLY = (
    b'data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":'
    b'"assistant","content":"hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
)


class _Model(BaseHTTPRequestHandler):
    status = 200

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.send_response(self.status)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(_REPLY)))
        self.end_headers()
        self.wfile.write(_REPLY)

    def log_message(self, *args: Any) -> None:
        return None


class _Forbidding(_Model):
    status = 403

    def do_CONNECT(self) -> None:
        self.send_response(self.status)
        self.send_header("content-length", "0")
        self.end_headers()


class _Asking(_Forbidding):
    status = 407


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler] = _Model, certificate: Path | None = None) -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield int(server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Certificates(NamedTuple):
    authority: Path
    good: Path
    expired: Path
    other: Path


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    folder = tmp_path_factory.mktemp("certificates")
    now = datetime.datetime.now(datetime.UTC)
    day = datetime.timedelta(days=1)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "hermes_nb tests")])
    keys = {n: ec.generate_private_key(ec.SECP256R1()) for n in Certificates._fields}

    def made(which: str, host: str, end: datetime.datetime) -> Path:
        builder = (
            x509.CertificateBuilder()
            .issuer_name(name)
            .public_key(keys[which].public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - 3 * day)
            .not_valid_after(end)
        )
        if which == "authority":
            usage = x509.KeyUsage(True, False, False, False, False, True, True, False, False)
            builder = builder.subject_name(name).add_extension(usage, critical=True)
            builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        else:
            subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host)])
            alternative = x509.SubjectAlternativeName([x509.DNSName(host)])
            builder = builder.subject_name(subject).add_extension(alternative, critical=False)
        text = builder.sign(keys["authority"], hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        if which != "authority":
            pem, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            text += keys[which].private_bytes(serialization.Encoding.PEM, pem, plain)
        path = folder / f"{which}.pem"
        path.write_bytes(text)
        return path

    return Certificates(
        made("authority", "", now + day),
        made("good", "localhost", now + day),
        made("expired", "localhost", now - day),
        made("other", "other.example", now + day),
    )


Ask = Callable[..., Any]


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    for name in (*PROXY_VARIABLES, "NO_PROXY", "no_proxy", *connection_fault.CA_VARIABLES, "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)

    async def asked(url: str, **environment: str) -> RunResult:
        runtime = Process(options={"environment": environment})
        async with Hermes.local(state=tmp_path / "state", runtime=runtime) as hermes:
            agent = Agent("a", model=Model("m", "custom", url, KEY))
            instance = await hermes.create_instance("demo", agents=[agent])
            return await instance.agent("a").run("hi", show=False, timeout_s=60)

    return asked


def retries(result: RunResult) -> list[Event]:
    return [e for e in result.events if e.kind == "model.retried"]


def code(result: RunResult) -> str:
    return str(result.events[-1].data.get("code"))


@pytest.mark.hermes
@pytest.mark.parametrize(
    ("which", "said", "cure"),
    [
        ("good", "is not trusted (unable to get local issuer certificate)", "Set SSL_CERT_FILE to a file"),
        ("expired", "has expired", "clock"),
        ("other", "is of another host", "base_url"),
    ],
)
async def test_a_certificate_that_is_refused_is_named_with_its_cure_at_once(
    ask: Ask, certificates: Certificates, which: str, said: str, cure: str
) -> None:
    trusted = {} if which == "good" else {"SSL_CERT_FILE": str(certificates.authority)}
    with serving(certificate=getattr(certificates, which)) as port:
        result = await ask(f"https://localhost:{port}/v1", **trusted)
    assert result.status == "failed"
    assert f"The certificate of localhost:{port} {said}" in str(result.error)
    assert cure in str(result.error)
    assert code(result) == "certificate"
    assert not retries(result)
    failed = next(e for e in result.events if e.kind == "model.failed")
    assert "SSLCertVerificationError" in str(failed.data["error"])


@pytest.mark.hermes
@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "HERMES_CA_BUNDLE"])
async def test_a_file_of_certificates_is_heeded_by_each_of_its_names(
    ask: Ask, certificates: Certificates, variable: str
) -> None:
    with serving(certificate=certificates.good) as port:
        result = await ask(f"https://localhost:{port}/v1", **{variable: str(certificates.authority)})
    assert (result.status, result.text) == ("completed", "hi")


@pytest.mark.hermes
@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"])
async def test_a_file_of_certificates_that_is_not_there_is_named_by_its_variable(ask: Ask, variable: str) -> None:
    result = await ask("https://localhost:1/v1", **{variable: "/no/such.pem"})
    assert f"that {variable} names is not there: /no/such.pem" in str(result.error)
    assert "pip install" not in str(result.error)
    assert code(result) == "certificate-file"


@pytest.mark.hermes
async def test_http_and_https_taken_for_one_another_are_told_apart_at_once(ask: Ask, certificates: Certificates) -> None:
    with serving() as port:
        plain = await ask(f"https://localhost:{port}/v1")
    with serving(certificate=certificates.good) as port:
        tls = await ask(f"http://localhost:{port}/v1")
    assert "does not speak TLS" in str(plain.error)
    assert "Write http:// in base_url" in str(plain.error)
    assert "speaks TLS, and base_url says http" in str(tls.error)
    assert "Write https:// in base_url" in str(tls.error)
    assert not retries(plain)
    assert not retries(tls)


@pytest.mark.parametrize("cause", [ConnectionResetError(104, "reset"), type("RemoteProtocolError", (Exception,), {})()])
def test_a_tls_server_is_known_however_it_ends_what_is_no_tls(cause: Exception, certificates: Certificates) -> None:
    error = RuntimeError("Connection error.")
    error.__cause__ = cause
    with serving(certificate=certificates.good) as port:
        fault = connection_fault.of(error, f"http://localhost:{port}/v1")
    assert fault is not None
    assert fault.code == "needs-tls"
    with serving() as port:
        assert connection_fault.of(error, f"http://localhost:{port}/v1") is None


@pytest.mark.hermes
async def test_a_name_that_is_not_known_is_said_at_once(ask: Ask) -> None:
    result = await ask("http://nosuch.invalid/v1")
    assert "The name 'nosuch.invalid' is not known" in str(result.error)


@pytest.mark.hermes
async def test_a_server_that_speaks_no_http_is_named_at_once(ask: Ask) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def greet() -> None:
            with contextlib.suppress(OSError):
                while True:  # each connection by itself: one that is only looked at holds up no other
                    threading.Thread(target=hello, args=[listener.accept()[0]], daemon=True).start()

        def hello(accepted: socket.socket) -> None:
            with contextlib.suppress(OSError), accepted:
                accepted.sendall(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")
                accepted.recv(65536)

        threading.Thread(target=greet, daemon=True).start()
        port = listener.getsockname()[1]
        result = await ask(f"http://127.0.0.1:{port}/v1")
        listener.shutdown(socket.SHUT_RDWR)
    assert f"What answers at 127.0.0.1:{port} does not speak HTTP/1" in str(result.error)
    assert not retries(result)


@pytest.mark.hermes
async def test_a_port_where_nobody_listens_is_asked_once_more(ask: Ask) -> None:
    port = free_port()
    result = await ask(f"http://localhost:{port}/v1")
    assert f"No model answers at localhost:{port}: connection refused" in str(result.error)
    assert len(retries(result)) == 1
    assert "ConnectionRefusedError" in str(retries(result)[0].data["reason"])


@pytest.mark.hermes
@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"])
async def test_a_proxy_that_is_not_there_is_named_by_its_variable(ask: Ask, variable: str) -> None:
    port = free_port()
    result = await ask("https://example.com/v1", **{variable: f"http://user:open-sesame@127.0.0.1:{port}"})
    assert f"The proxy http://[masked]@127.0.0.1:{port} ({variable}) is not there" in str(result.error)
    assert f"Correct or unset {variable}" in str(result.error)
    assert "sesame" not in str(result.events)


@pytest.mark.hermes
@pytest.mark.parametrize(
    ("handler", "said", "cure"),
    [(_Asking, "407", "Write user and password into HTTPS_PROXY"), (_Forbidding, "403", "add example.com to NO_PROXY")],
)
async def test_a_proxy_that_refuses_is_not_asked_again(
    ask: Ask, handler: type[BaseHTTPRequestHandler], said: str, cure: str
) -> None:
    with serving(handler) as port:
        result = await ask("https://example.com/v1", HTTPS_PROXY=f"http://127.0.0.1:{port}")
    assert f"The proxy http://127.0.0.1:{port} does not lead to example.com:443: {said}" in str(result.error)
    assert cure in str(result.error)
    assert not retries(result)


@pytest.mark.hermes
@pytest.mark.parametrize("address", ["foo://127.0.0.1:12", "http://user:open-sesame@127.0.0.1:http"])
async def test_a_proxy_that_cannot_be_one_is_said_without_its_password(ask: Ask, address: str) -> None:
    result = await ask("https://example.com/v1", HTTPS_PROXY=address)
    assert "The proxy that HTTPS_PROXY names can't be used" in str(result.error)
    assert "sesame" not in str(result.error)


@pytest.mark.hermes
async def test_a_local_server_is_reached_past_a_proxy(ask: Ask) -> None:
    with serving() as port:
        result = await ask(f"http://localhost:{port}/v1", HTTP_PROXY=f"http://127.0.0.1:{free_port()}")
    assert (result.status, result.text) == ("completed", "hi")


def test_the_names_that_go_past_a_proxy_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*PROXY_VARIABLES, "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    assert "NO_PROXY" not in worker_environment()
    monkeypatch.setenv("HTTP_PROXY", "http://proxy:3128")
    monkeypatch.setenv("NO_PROXY", "inner.example, localhost")
    assert worker_environment()["no_proxy"] == worker_environment()["NO_PROXY"] == "inner.example,localhost,127.0.0.1,::1"
    monkeypatch.setenv("NO_PROXY", "*")
    assert worker_environment()["no_proxy"] == worker_environment()["NO_PROXY"] == "*"


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("SSL_CERT_FILE", "/no/such.pem", "SSL_CERT_FILE names a file of certificates that is not there"),
        ("REQUESTS_CA_BUNDLE", "/no/such.pem", "REQUESTS_CA_BUNDLE names"),
        ("https_proxy", "foo://u:sesame@h", "https_proxy is no address of a proxy: 'foo://[masked]@h'"),
        ("ALL_PROXY", "http://h:http", "ALL_PROXY is no address of a proxy"),
    ],
)
def test_what_is_wrong_with_the_environment_is_known_without_a_connection(
    name: str, value: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for other in (*PROXY_VARIABLES, *connection_fault.CA_VARIABLES):
        monkeypatch.delenv(other, raising=False)
    assert connection_fault.environment_problems(worker_environment()) == []
    monkeypatch.setenv(name, value)
    (problem,) = connection_fault.environment_problems(worker_environment())
    assert said in problem


@pytest.mark.parametrize("address", ["proxy:3128", "http://proxy:3128", "socks5://u:p@proxy:1080", "https://proxy"])
def test_addresses_of_proxies_are_no_problem(address: str) -> None:
    assert connection_fault.is_proxy(address)


# -- replies that can't be read ----------------------------------------------------------------------------------------


@contextmanager
def sending(reply: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """A socket that answers each POST with these bytes as they are, and closes; gives its port and what was asked."""
    asked: list[bytes] = []

    class Sending(_Model):
        def do_POST(self) -> None:
            asked.append(self.rfile.read(int(self.headers.get("content-length", 0))))
            with contextlib.suppress(OSError):
                self.wfile.write(reply)
                self.wfile.flush()
            self.close_connection = True

    with serving(Sending) as port:
        yield port, asked


def event(delta: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": delta}]}).encode() + b"\n\n"


def call(arguments: str) -> bytes:
    function = {"name": "more", "arguments": arguments}
    return event({"tool_calls": [{"index": 0, "id": "c", "type": "function", "function": function}]}) + b"data: [DONE]\n\n"


def whole(body: bytes, *headers: str) -> bytes:
    lines = ["HTTP/1.1 200 OK", "content-type: text/event-stream", f"content-length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


CHUNKED = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
DEEP = "[" * 10_000 + "]" * 10_000


@pytest.mark.hermes
@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (whole(_REPLY, "content-encoding: gzip"), "Content-Encoding"),
        (whole(_REPLY, "content-encoding: deflate"), "Content-Encoding"),
        (whole(b"no", "content-encoding: gzip").replace(b"200 OK", b"500 No"), "Content-Encoding"),
        (CHUNKED + b"ZZZ\r\n" + _REPLY + b"\r\n0\r\n\r\n", "a chunk of it has no length"),
        (CHUNKED + b"-5\r\nabcde\r\n0\r\n\r\n", "a chunk of it has no length"),
        (CHUNKED + b"F" * 24 + b"\r\nabcde\r\n", "a chunk of it has no length"),
        (whole(b'data: {"choices": ' + DEEP.encode() + b"}\n\n"), "nested too deeply"),
    ],
    ids=["gzip", "deflate", "error-gzip", "chunk", "negative-chunk", "huge-chunk", "deep-event"],
)
async def test_a_reply_that_cant_be_read_ends_the_turn_at_once_and_names_who_sent_it(
    ask: Ask, reply: bytes, said: str
) -> None:
    with sending(reply) as (port, asked):
        result = await ask(f"http://127.0.0.1:{port}/v1")
    assert (result.status, len(asked) <= 3) == ("failed", True)  # it was 18, with waits of 36 s
    assert f"127.0.0.1:{port}" in str(result.error)
    assert said in str(result.error)
    assert code(result) == "malformed"


@pytest.mark.hermes
async def test_a_chunk_without_length_after_words_keeps_them_and_names_who_sent_them(ask: Ask) -> None:
    half = event({"content": "Half "})
    with sending(CHUNKED + b"%x\r\n%b\r\n!!\r\n" % (len(half), half)) as (port, asked):
        result = await ask(f"http://127.0.0.1:{port}/v1")
    assert (result.status, result.text) == ("failed", " ".join(["Half"] * len(asked)))
    assert f"127.0.0.1:{port}" in str(result.error)
    assert len(asked) <= 4


@pytest.mark.hermes
@pytest.mark.parametrize(
    "arguments",
    [f'{{"text": {DEEP}}}', '{"a":' * 10_000 + "1" + "}" * 10_000, '{"text": ' + "[" * 10_000],
    ids=["lists", "objects", "open"],
)
async def test_arguments_nested_ten_thousand_deep_fail_the_turn_in_plain_words(ask: Ask, arguments: str) -> None:
    with sending(whole(call(arguments))) as (port, asked):
        result = await ask(f"http://127.0.0.1:{port}/v1")
    assert (result.status, len(asked)) == ("failed", 1)
    assert "arguments that can't be read: nested too deeply" in str(result.error)
    assert f"127.0.0.1:{port}" in str(result.error)
