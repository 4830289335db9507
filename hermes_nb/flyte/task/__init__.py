"""What runs inside a task: the turn, its middleware, calls of tools, the report."""
