"""The version, in one place; pyproject.toml reads it from here."""

__version__ = "0.1.0"
# Owner and name: where the Binder badge and the links of `help` lead. A fork sets it here, then runs scripts/readme.py.
REPOSITORY = "OWNER/hermes_nb"
