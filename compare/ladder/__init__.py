"""Finds the first rung at which a port fails, and what to look at: rungs in order, layers by name."""
