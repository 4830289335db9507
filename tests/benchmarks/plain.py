"""The plain side of the benchmarks: a script that uses AIAgent as its documentation shows, with its probes switched off.

python -P plain.py BASE_URL WHAT     prints JSON: seconds by name, and memory
"""

import json
import os
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

CONFIG = """
model: {context_length: 200000, ollama_num_ctx: 0}
agent: {environment_probe: false}
tools: {tool_search: {enabled: 'off'}}
security: {allow_lazy_installs: false}
"""


def main(url: str, what: str) -> None:
    began_s = time.perf_counter()
    home = tempfile.mkdtemp()
    os.environ["HERMES_HOME"] = home
    Path(home, "config.yaml").write_text(CONFIG)
    from run_agent import AIAgent
    from tools.registry import registry

    schema = {
        "name": "add",
        "description": "Add two numbers.",
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "required": ["a", "b"],
        },
    }
    registry.register("add", "bench", schema, lambda args, **_: str(args["a"] + args["b"]))

    def agent() -> AIAgent:
        made = AIAgent(
            base_url=url,
            api_key="k",
            model="scripted",
            provider="custom",
            quiet_mode=True,
            enabled_toolsets=["bench"],
            skip_context_files=True,
            skip_memory=True,
            tool_delay=0,
            stream_delta_callback=lambda text: None,
        )
        made.suppress_status_output = True
        return made

    def timed(one: AIAgent, prompt: str, n_calls: int = 1) -> float:
        start_s = time.perf_counter()
        result = one.run_conversation(prompt)
        elapsed_s = time.perf_counter() - start_s
        assert result["api_calls"] == n_calls, result
        return elapsed_s

    first = agent()
    first.run_conversation("hello")
    out = {"first": time.perf_counter() - began_s}
    if what == "turns":
        out["warm"] = statistics.median(timed(first, "hello") for _ in range(15))
        out["tool"] = statistics.median(timed(first, "tool", 2) for _ in range(15))
        out["deltas"] = statistics.median(timed(first, "deltas") for _ in range(3))
        agents = [agent() for _ in range(4)]
        for one in agents:
            one.run_conversation("hello")
        start_s = time.perf_counter()
        for one in agents:
            one.run_conversation("slow")
        out["four in turn"] = time.perf_counter() - start_s
        start_s = time.perf_counter()
        threads = [threading.Thread(target=one.run_conversation, args=("slow",)) for one in agents]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        out["four at once"] = time.perf_counter() - start_s
    import psutil

    out["rss_mb"] = psutil.Process().memory_info().rss / 1e6
    sys.__stdout__.write("\n" + json.dumps(out) + "\n")
    sys.__stdout__.flush()
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
