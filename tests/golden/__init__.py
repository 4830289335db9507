"""Golden logs: each a whole log of one situation, as JSON lines, and what every view makes of it.

`logs.py` writes the logs by a clock of its own; `python -m tests.golden` writes logs and snapshots anew. A change of a
snapshot is a change of what people see: look at it, then commit it.
"""
