"""Notebook functions as tools: schema, call, result, description. Knows no kernel and no worker."""
