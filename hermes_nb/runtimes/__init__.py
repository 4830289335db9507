"""Where a worker runs: one file each, none knows another. A module without an underscore is a runtime, found by name."""
