"""Starts and times processes."""
