"""Whether the answers are any good: `evaluate` and `%hermes eval`, on the runner of `hermes_nb.api.batch`."""
