"""Finds repeated traces and compilations in a stream of calls, their reasons, and cures."""
