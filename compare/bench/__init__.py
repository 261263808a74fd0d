"""Bench: is the port faster? What calls take, and what that allows to be said.

Nothing is imported here: workers use `clock`, `memory`, `threads` and `phases`, and must not load what only the
judge needs.
"""
