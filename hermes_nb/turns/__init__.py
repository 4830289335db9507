"""One turn, from what was asked to its result: runner, tool dispatch, approvals, replay, limits."""
