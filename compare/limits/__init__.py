"""Limits of compiling: what documents state of them, and what is seen of each today."""
