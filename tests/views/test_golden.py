from __future__ import annotations

import pytest

from tests.golden.logs import ALL, HERE, STORED, load
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
    sizes = {ending: len(render(events)) for ending, render in SNAPSHOTS.items()}
    assert max(sizes.values()) < 60_000, sizes
    assert "(+4999760)" in SNAPSHOTS["txt"](events)
    assert "(+4980000 more, truncated)" in SNAPSHOTS["html"](events)
