"""A host of tools, asked by the official MCP client and by requests that no good program sends."""

from __future__ import annotations

import asyncio
import gc
import http.client
import json
import logging
import os
import socket
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uv

from hermes_nb import ToolHost, tool
from hermes_nb.environments import package_index
from hermes_nb.errors import ToolError, UsageError
from hermes_nb.tool_host import Listener, guard

pytest.importorskip("mcp")
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.version import SUPPORTED_PROTOCOL_VERSIONS
from mcp.types import Implementation

SECRET = "sk-not-to-be-seen-0123456789"


@tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@tool
async def fail(word: str) -> str:
    """Fail."""
    raise ValueError(f"no {word}")


@tool(approval=True)
def send(text: str) -> str:
    """Send."""
    return text


@pytest.fixture(scope="module")
def listener() -> Iterator[Listener]:
    listener = Listener()
    yield listener
    listener.close()
    listener.join()
    gc.collect()


@pytest.fixture
def url(listener: Listener) -> Iterator[str]:
    url = listener.host.register([add, fail])
    yield url
    if url.rpartition("/")[2] in listener.host.tools:
        listener.host.unregister(url)


async def asked(url: str, name: str, arguments: dict[str, Any], version: str | None = None) -> Any:
    async with streamable_http_client(url) as (reads, writes, _):
        async with ClientSession(reads, writes, client_info=Implementation(name="an editor", version="1")) as session:
            told = await session.initialize()
            assert version is None or told.protocolVersion == version
            tools = {t.name: t for t in (await session.list_tools()).tools}
            assert set(tools) == {"add", "fail"}
            assert tools["add"].inputSchema == add.definition()["parameters"]
            assert told.capabilities.prompts is None
            assert told.capabilities.resources is None
            return await session.call_tool(name, arguments)


@pytest.mark.parametrize("version", SUPPORTED_PROTOCOL_VERSIONS[-2:])
async def test_a_client_lists_and_calls_tools_in_each_revision(
    url: str, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp.types.LATEST_PROTOCOL_VERSION", version)
    result = await asked(url, "add", {"a": 40, "b": "2"}, version)
    assert (result.isError, result.content[0].text) == (False, "42")


async def test_an_error_of_a_tool_is_told_as_one(url: str) -> None:
    result = await asked(url, "fail", {"word": "milk"})
    assert result.isError
    assert "no milk" in result.content[0].text
    result = await asked(url, "add", {"wrong": 1})
    assert result.isError
    assert "a" in result.content[0].text
    assert (await asked(url, "no_such", {})).isError


def post(url: str, body: bytes | None = b"{}", method: str = "POST", **headers: str) -> tuple[int, Any]:
    netloc, _, path = url.removeprefix("http://").partition("/")
    connection = http.client.HTTPConnection(netloc, timeout=10)
    try:
        connection.request(method, f"/{path}", body, {"Content-Type": "application/json", **headers})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read() or b"null")
    finally:
        connection.close()


def call_of(url: str, name: str = "add") -> str:
    return f"{url.replace('/mcp/', '/call/')}/{name}"


def test_a_plain_call_has_the_capability_in_its_path_or_as_bearer(listener: Listener, url: str) -> None:
    assert post(call_of(url), b'{"a": 2}') == (200, {"status": "ok", "result": "3"})
    key = url.rpartition("/")[2]
    assert post(f"{listener.host.base_url}/call/add", b'{"a": 2}', Authorization=f"Bearer {key}")[0] == 200
    assert post(call_of(url, "nothing"))[0] == 404
    assert post(call_of(url), b"[1]")[0] == 400
    assert len(key) >= 43  # 256 bits


def test_a_capability_that_is_forged_revoked_or_of_other_tools_opens_nothing(listener: Listener) -> None:
    first, second = listener.host.register([add]), listener.host.register([fail])
    assert post(call_of(second, "add"))[0] == 404
    assert post(call_of(first)[:-6] + "x/add")[0] == 404
    assert post(call_of(first), b'{"a": 2}')[0] == 200
    listener.host.unregister(first)
    assert post(call_of(first), b'{"a": 2}')[0] == post(first)[0] == 404
    with pytest.raises(UsageError, match="revoked already"):
        listener.host.unregister(first)
    listener.host.unregister(second)
    assert listener.host.tools == {}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1"}, 421),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Length": "999999999"}, 413),
    ],
)
def test_rebound_names_foreign_pages_and_large_bodies_are_refused(url: str, headers: dict[str, str], status: int) -> None:
    assert post(call_of(url), **headers)[0] == status
    assert post(url, **headers)[0] == status


def test_a_page_of_its_own_origin_and_no_other_method_is_answered(listener: Listener, url: str) -> None:
    assert post(call_of(url), b'{"a": 1}', Origin=listener.host.base_url)[0] == 200
    assert post(url, None, "GET")[0] == 405
    assert post(listener.host.base_url + "/openapi.json", None, "GET")[0] == 404
    assert post(listener.host.base_url + "/mcp/../call", None)[0] == 404


def test_a_body_that_is_larger_than_it_says_or_too_slow_is_cut(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    netloc, _, path = call_of(url).removeprefix("http://").partition("/")
    host, _, port = netloc.partition(":")
    head = f"POST /{path} HTTP/1.1\r\nHost: {netloc}\r\nContent-Type: application/json\r\n"
    monkeypatch.setattr(guard, "BODY_S", 0.2)
    with socket.create_connection((host, int(port)), timeout=5) as slow:
        slow.sendall(f"{head}Content-Length: 20\r\n\r\n{{".encode())
        assert slow.recv(100).startswith(b"HTTP/1.1 408")
    monkeypatch.setattr(guard, "BODY_S", 10.0)
    with socket.create_connection((host, int(port)), timeout=5) as large:
        large.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        chunk = b"40000\r\n" + b" " * 0x40000 + b"\r\n"
        threading.Thread(target=lambda: [large.sendall(chunk) for _ in range(4)] and large.sendall(b"1\r\n \r\n")).start()
        assert large.recv(100).startswith(b"HTTP/1.1 413")


async def test_nothing_of_a_request_is_logged(
    url: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    threads = {"hermes-nb-io-tool-host"}
    await asked(url, "fail", {"word": SECRET})
    await asyncio.to_thread(post, call_of(url, "fail"), json.dumps({"word": SECRET}).encode(), Host="evil.example")
    said = [r.getMessage() for r in caplog.records if r.threadName in threads]
    assert not [text for text in said if SECRET in text or url.rpartition("/")[2] in text]
    out, err = capfd.readouterr()
    assert SECRET not in out + err


def test_what_needs_an_approval_and_an_address_that_is_none_are_refused() -> None:
    host = ToolHost("https://tools.example/")
    assert (host.base_url, host.tools) == ("https://tools.example", {})
    with pytest.raises(ToolError, match=r"%hermes serve send"):
        host.register([send])
    with pytest.raises(ToolError, match="one name"):
        host.register([add, add])
    for wrong in ("tools.example", "", None):
        with pytest.raises(UsageError, match="takes an address"):
            ToolHost(wrong)  # type: ignore[arg-type]


def test_a_port_that_is_taken_is_named(listener: Listener) -> None:
    port = int(listener.host.base_url.rpartition(":")[2])
    with pytest.raises(UsageError, match=f"Port {port}"):
        Listener(port)


def test_who_calls_is_what_this_host_signed_and_nothing_a_client_makes_up(listener: Listener) -> None:
    made = guard.Guard(None, host=listener.host, mcp=None)  # type: ignore[arg-type]
    hello = json.dumps({"method": "initialize", "params": {"clientInfo": {"name": "Good\n\x1b[31meditor" + "x" * 90}}})
    client, session = made._client({}, hello.encode())
    assert session is not None
    assert client.name.startswith("Good [31meditor")
    assert len(client.name) == guard.NAME_CHARS
    again, _ = made._client({b"mcp-session-id": session.encode()}, b"{}")
    assert (again, made._client({}, hello.encode())[0] == client) == (client, False)
    claim, _, signature = session.partition(".")
    forged, _ = made._client({b"mcp-session-id": f"{claim}x.{signature}".encode(), b"user-agent": b"curl"}, b"{}")
    assert (forged.id, forged.name) == ("name:curl", "curl")


@pytest.mark.release
def test_the_newest_revision_is_spoken_where_the_newest_sdk_is(tmp_path: Path) -> None:
    root = Path(__file__).resolve().parents[2]
    env = {**os.environ, **package_index.uv_environment(package_index.pip_settings(), os.environ), "PYTHONPATH": str(root)}
    made, python = tmp_path / "venv", tmp_path / "venv" / "bin" / "python"
    ours = tomllib.loads((root / "pyproject.toml").read_text())["project"]["dependencies"]
    wanted = ["mcp==2.0.0", "fastapi", "uvicorn", *ours]
    subprocess.run([uv.find_uv_bin(), "venv", "-q", made, "--python", sys.executable], env=env, check=True)
    subprocess.run([uv.find_uv_bin(), "pip", "install", "-q", "--python", python, *wanted], env=env, check=True)
    script = Path(__file__).with_name("second_generation.py")
    said = subprocess.run([python, script], env=env, check=True, capture_output=True, text=True, timeout=60).stdout
    assert json.loads(said) == {"2025-11-25": [["add"], False, "42"], "2026-07-28": [["add"], False, "42"]}
