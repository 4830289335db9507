"""Sub-commands of `%hermes`: one file each, found by name."""
