"""The lines of versions of Hermes that the engine runs on: every private name that it uses, and which are missing."""
