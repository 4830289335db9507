"""Hermes, instances, agents, sessions and turns: where a runtime's events meet the store and the host."""
