"""A side of a port, in a process of its own or replayed from a file."""
