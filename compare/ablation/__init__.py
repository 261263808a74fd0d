"""Measures the gain of each pass and feature of XLA: compiles a program without one of them at a time."""
