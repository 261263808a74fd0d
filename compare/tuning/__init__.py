"""The search for compiler options of a port."""
