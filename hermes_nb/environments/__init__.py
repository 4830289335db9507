"""Interpreters that have a Hermes: found on this machine, or made once in the user's data folder.

The kernel's own packages are never changed. `discovery` says which interpreter runs a worker and why, `creation` makes an
environment, `catalog` lists and removes them, `source` is what travels to an interpreter that has no hermes_nb.
"""
