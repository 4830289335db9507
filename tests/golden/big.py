"""A session of any number of spans, the same every time: turns of forty steps, five tools, a few errors, idle times."""

from __future__ import annotations

import random

from hermes_nb.model.event import Event
from tests.golden.logs import Log

TOOLS = ("top_customers", "plot", "fetch_page", "read_table", "search")
N_PAIRS = 19


def session(n_spans: int) -> list[Event]:
    """Events of at least so many spans."""
    chance = random.Random(1)
    log = Log("s-big")
    for turn in range(-(-n_spans // (2 * N_PAIRS + 1))):
        log.turn_id = f"t{turn}"
        log.turn(f"Question {turn}")
        began = log.now
        for i in range(N_PAIRS):
            name, call = chance.choice(TOOLS), f"t{turn}-c{i}"
            raw = f'{{"n": {i}}}'
            log.model(i + 1, last="x", calls=((call, name, raw),), s=chance.lognormvariate(-0.5, 0.7), cost_usd=0.0001)
            bad = chance.random() < 0.002
            error = {"status": "error", "error": "no such column", "error_type": "KeyError"} if bad else {}
            log.tool(call, name, raw, "[1, 2]", s=chance.lognormvariate(-2, 1.3), **error)
        log.done("Done.", ms=round((log.now - began) * 1000, 3), n_models=N_PAIRS, n_tools=N_PAIRS)
        log.wait(chance.expovariate(1 / 20))
    return log.events
