"""The nouns everything else is made of: agent, tool spec, event, span, content. Standard library only, no I/O.

Nothing here knows of kernels, workers or views; a container or a Flyte task can import it alone.
"""
