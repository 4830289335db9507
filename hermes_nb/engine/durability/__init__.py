"""What is committed before it is used, and how it is found again: journal, fingerprints, recordings, events."""
