"""Proves a port: collects evidence of both sides, judges the gates, aligns programs, locates causes."""
