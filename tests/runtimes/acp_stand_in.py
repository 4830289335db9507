"""A program that speaks the newest schema of the Agent Client Protocol; what it does is in the prompt. No Hermes in it."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

SERVERS: dict[str, list[dict[str, Any]]] = {}  # of a session


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def update(session: str, **fields: Any) -> None:
    send(method="session/update", params={"sessionId": session, "update": fields})


def say(session: str, text: str, kind: str = "agent_message_chunk") -> None:
    update(session, sessionUpdate=kind, content={"type": "text", "text": text}, messageId="m1")


def read() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)  # type: ignore[no-any-return]


def permission(session: str) -> str:
    options = [
        {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
        {"optionId": "ever", "name": "Always", "kind": "allow_always"},
        {"optionId": "no", "name": "Reject", "kind": "reject_once"},
    ]
    call = {"toolCallId": "t1", "title": "Run it?", "kind": "execute", "rawInput": {"command": "make it so"}}
    send(id="p1", method="session/request_permission", params={"sessionId": session, "toolCall": call, "options": options})
    while (message := read()).get("id") != "p1":
        if message.get("method") == "session/cancel":
            continue
    return str(message["result"]["outcome"].get("optionId", message["result"]["outcome"]["outcome"]))


def called(server: dict[str, Any], name: str, arguments: dict[str, Any]) -> str:
    """What a tool of an MCP server gives, by the official client."""
    import httpx
    from mcp import ClientSession
    from mcp.client.streamable_http import streamable_http_client

    async def call() -> str:
        headers = {h["name"]: h["value"] for h in server["headers"]}
        async with (
            httpx.AsyncClient(headers=headers) as http,
            streamable_http_client(server["url"], http_client=http) as streams,
        ):
            async with ClientSession(streams[0], streams[1]) as client:
                await client.initialize()
                assert name in [t.name for t in (await client.list_tools()).tools]
                result = await client.call_tool(name, arguments)
                return f"{'error' if result.isError else 'ok'} {result.content[0].text}"  # type: ignore[union-attr]

    return asyncio.run(call())


def prompt(session: str, text: str, n: int) -> dict[str, Any]:
    usage = {"inputTokens": 10 * n, "outputTokens": 5 * n, "totalTokens": 15 * n}
    if "notebook" in text and (servers := SERVERS.get(session)):
        say(session, "I will call it.")
        title = f"mcp__{servers[0]['name']}__add"
        update(session, sessionUpdate="tool_call", toolCallId="n1", title=title, rawInput={"a": 40}, status="pending")
        result = called(servers[0], "add", {"a": 40, "b": "2"})
        update(session, sessionUpdate="tool_call_update", toolCallId="n1", status="completed", content=[])
        say(session, result)
        return {"stopReason": "end_turn", "usage": usage}
    if "tool" in text:
        say(session, "Let me see.", "agent_thought_chunk")
        update(session, sessionUpdate="tool_call", toolCallId="t1", title="read_file: a.txt", kind="read", status="pending")
        update(session, sessionUpdate="plan", entries=[])
        content = [{"type": "content", "content": {"type": "text", "text": "the file"}}]
        update(session, sessionUpdate="tool_call_update", toolCallId="t1", status="completed", content=content)
    if "permission" in text:
        update(session, sessionUpdate="tool_call", toolCallId="t1", title="run", rawInput={"command": "make it so"})
        chosen = permission(session)
        update(session, sessionUpdate="tool_call_update", toolCallId="t1", status="completed", content=[])
        say(session, f"chosen: {chosen}")
        return {"stopReason": "cancelled" if chosen == "cancelled" else "end_turn", "usage": usage}
    if "wait" in text:
        say(session, "Some words")
        while read().get("method") != "session/cancel":
            continue
        return {"stopReason": "cancelled"}
    say(session, "Half ")
    say(session, f"and half of: {text}")
    return {"stopReason": "end_turn", "usage": usage}


def main() -> None:
    counts: dict[str, int] = {}
    version = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    print("some library greets")  # what is no JSON is passed over
    while True:
        message = read()
        method, params = message.get("method"), message.get("params") or {}
        if method == "initialize":
            info = {"name": "stand-in", "title": "A stand-in", "version": "9.9"}
            can = {"loadSession": True, "promptCapabilities": {"image": True, "embeddedContext": True}, "_meta": {}}
            can |= {"mcpCapabilities": {"http": True}} if sys.argv[2:] == ["tools"] else {}
            send(id=message["id"], result={"protocolVersion": version, "agentInfo": info, "agentCapabilities": can})
        elif method == "session/new":
            session = f"s{len(counts)}"
            counts[session] = 0
            SERVERS[session] = params["mcpServers"]
            send(id=message["id"], result={"sessionId": session, "configOptions": [], "_meta": {"cwd": params["cwd"]}})
        elif method == "session/prompt":
            session = params["sessionId"]
            counts[session] += 1
            text = " | ".join(part.get("text", part["type"]) for part in params["prompt"])
            if "fail" in text:
                send(
                    id=message["id"], error={"code": -32603, "message": "Internal error", "data": {"details": "no credits"}}
                )
            else:
                send(id=message["id"], result=prompt(session, text, counts[session]))
        elif "id" in message:
            send(id=message["id"], error={"code": -32601, "message": "Method not found"})


if __name__ == "__main__":
    main()
