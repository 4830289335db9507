from __future__ import annotations

import pytest

from hermes_nb.model.span import Folder
from hermes_nb.views._bundle import bundle
from tests.golden.logs import ALL, HERE, STORED, Log, load
from tests.golden.snapshots import SNAPSHOTS


@pytest.mark.parametrize("name", sorted(STORED))
def test_the_stored_log_is_what_the_code_writes(name: str) -> None:
    assert (HERE / f"{name}.jsonl").read_bytes().decode() == "".join(e.to_json() + "\n" for e in STORED[name]())


@pytest.mark.parametrize("ending", sorted(SNAPSHOTS))
@pytest.mark.parametrize("name", sorted(STORED))
def test_the_view_is_what_its_snapshot_says(name: str, ending: str) -> None:
    """`python -m tests.golden` writes the snapshots anew; look at what changed before you commit it."""
    assert SNAPSHOTS[ending](load(name)) == (HERE / f"{name}.{ending}").read_bytes().decode()


def test_a_result_of_5_mb_stays_small_in_every_view() -> None:
    events = ALL["huge"]()
    sizes = {ending: len(SNAPSHOTS[ending](events)) for ending in ("html", "md", "txt")}
    assert max(sizes.values()) < 60_000, sizes
    assert "(5,000,000 characters)" in SNAPSHOTS["txt"](events)
    assert "4,980,000 more characters" in SNAPSHOTS["html"](events)


def test_a_log_of_100_000_spans_stays_small_in_every_view() -> None:
    log = Log()
    log.turn("x")
    for i in range(50_000):
        log.model(i + 1, last="x" * 500, text="y" * 500, calls=((f"c{i}", "f", "{}"),), s=0.001)
        log.tool(f"c{i}", "f", '{"text": "' + "z" * 400 + '"}', "r" * 30_000 if i % 1000 == 0 else "r", s=0.001)
    log.done("done", ms=1.0, n_models=50_000, n_tools=50_000)
    folder = Folder()
    folder.feed_all(log.events)
    made = bundle(folder)
    assert sum(map(len, made.values())) < 300_000, {k: len(v) for k, v in made.items()}
    assert "more rows are left out here" in made["text/plain"]
    assert made["text/plain"].count("\n") < 320
