"""Build, watch and ship Hermes agents from a notebook."""
