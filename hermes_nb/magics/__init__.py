"""The `%hermes` and `%%hermes` magics."""
