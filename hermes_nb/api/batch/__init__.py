"""One question of many rows: `BoundAgent.map` and `%hermes map`."""
