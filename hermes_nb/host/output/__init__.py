"""Where a turn and what its tools print are shown: cells, terminals, figures."""
