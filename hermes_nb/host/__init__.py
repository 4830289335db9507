"""Where a tool runs and where a turn shows: a plain process (script, bare IPython) or a Jupyter kernel.

The only importer of IPython below the magics. A host knows nothing of sessions or workers: it is handed a call to run, a
stream of events to draw, and something to wait for.
"""
