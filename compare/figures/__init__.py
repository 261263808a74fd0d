"""Figures of documents: how each is measured here, and how ours stands to it."""
