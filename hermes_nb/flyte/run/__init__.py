"""A run as the notebook follows it: the runtime, local and remote, and runs that are attached again."""
