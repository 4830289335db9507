"""Run one scripted turn through the real Flyte adapter and print the rows it logs to the Agent tab, as JSON.

Its own process, because the adapter builds its AIAgent in the process that calls it: `python -P agent_tab.py BASE_URL`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from types import SimpleNamespace

LOGGED: list[str] = []


def capture() -> None:
    import flyte.report

    flyte.report.get_tab = lambda name, *a, **k: SimpleNamespace(log=LOGGED.append)


def lookup(city: str, days: int = 1) -> str:
    """What is known about a city.

    Args:
        city: Its name.
        days: How many days.
    """
    if city == "Nowhere":
        raise ValueError(f"No city named {city!r} & <none>.")
    return f"{city}: " + "sun, rain & <wind>, " * (30 * days)


def count(word: str) -> dict[str, int]:
    """Letters of a word.

    Args:
        word: Any word.
    """
    return {letter: word.count(letter) for letter in sorted(set(word))}


def replayed_row() -> str:
    """The row the adapter renders for a turn answered from its record; only its private door leads there."""
    from flyteplugins.agents.core import ReportTimeline
    from flyteplugins.agents.hermes import _observability as door

    message = {"content": "Seen before.", "tool_calls": [{"function": {"name": "lookup", "arguments": "{}"}}]}
    response = {"choices": [{"message": message}], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}
    token = door.start_recording(ReportTimeline())
    request = {"model": "scripted", "messages": [{"role": "user", "content": "Again?"}]}
    door.record_model_turn(request, response, 0.01, replayed=True)
    door.stop_recording(token)
    return LOGGED.pop()


def main() -> None:
    capture()
    from flyteplugins.agents.hermes import run_agent

    answer = asyncio.run(
        run_agent(
            "Compare the cities, please.",
            tools=[lookup, count],
            model="scripted",
            name="analyst",
            base_url=sys.argv[1],
            api_key="sk-scripted",
            provider="custom",
            tool_delay=0,
            skip_context_files=True,
            skip_memory=True,
        )
    )
    rows = list(LOGGED)
    LOGGED.clear()
    print("ROWS " + json.dumps({"answer": answer, "rows": rows, "replayed": replayed_row()}), file=sys.__stdout__)


if __name__ == "__main__":
    main()
