"""A plain script on AIAgent, to compare with: `python plain.py BASE_URL HOME` runs each line of its input as one turn.

Input lines: `{"prompt": ..., "keep": true}` (keep: go on with the messages Hermes returned). Writes one line per turn with
its duration. Its tool `work` returns what it is given.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any


def main(base_url: str, home: str) -> None:
    Path(home).mkdir(parents=True, exist_ok=True)
    config = {
        "model": {"context_length": 200000, "ollama_num_ctx": 0},
        "agent": {"environment_probe": False},
        "tools": {"tool_search": {"enabled": "off"}},
        "security": {"allow_lazy_installs": False},
    }
    (Path(home) / "config.yaml").write_text(json.dumps(config))
    os.environ["HERMES_HOME"] = home
    from agent import process_bootstrap

    process_bootstrap._install_safe_stdio = lambda: None
    from run_agent import AIAgent
    from tools.registry import registry

    schema = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}
    registry.register(
        name="work",
        toolset="plain",
        schema={"name": "work", "description": "A tool.", "parameters": schema},
        handler=lambda args, **context: f"did {args['x']}",
    )
    messages: list[dict[str, Any]] = []
    agent = AIAgent(
        base_url=base_url,
        api_key="test-key-0123456789",
        provider="custom",
        model="scripted",
        quiet_mode=True,
        tool_delay=0,
        enabled_toolsets=["plain"],
        skip_context_files=True,
        skip_memory=True,
        stream_delta_callback=lambda text: None,
    )
    agent.suppress_status_output = True
    for line in sys.stdin:
        turn = json.loads(line)
        started = time.perf_counter()
        result = agent.run_conversation(turn["prompt"], conversation_history=messages if turn.get("keep") else None)
        messages = result["messages"]
        print(json.dumps({"took_s": time.perf_counter() - started, "text": result["final_response"]}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
