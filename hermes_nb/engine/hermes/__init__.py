"""What touches hermes-agent itself: its start, its agents, the patches it needs, what it answers."""
