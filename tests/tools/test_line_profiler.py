"""What line_profiler does to a tool reaches its function."""

from __future__ import annotations

import pytest

from hermes_nb.tools.decorator import tool


class Counter:
    def add(self, n: int) -> int:
        """Add."""
        return n + 1

    tool_of_it = tool(add)


@pytest.mark.parametrize("made", [tool(Counter().add), Counter().tool_of_it, Counter.tool_of_it])
def test_code_put_into_a_tool_is_what_runs(made):
    """As line_profiler's `%lprun -f TOOL` does; it saw no call, because the function kept its code."""
    before = made.__code__
    made.__code__ = before.replace(co_consts=tuple(100 if const == 1 else const for const in before.co_consts))
    try:
        assert made(*([Counter()] if made is Counter.tool_of_it else []), n=1) == 101
    finally:
        made.__code__ = before
