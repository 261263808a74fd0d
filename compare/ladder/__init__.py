"""Which rung of a port fails first, and what to look at: rungs in order, layers by name."""
