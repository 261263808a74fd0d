"""Connects the parts of a run: asks both sides, calls the judges and builds the record."""
