"""What runs beside Hermes: in a worker process, a container or a Flyte task. The only importer of hermes-agent.

Needs the standard library, hermes-agent and `hermes_nb.model`, nothing else, so that it can travel by value.
"""
