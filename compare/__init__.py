"""The judges: parity, programs and speed of two sides that they know only through arrays, bytes and JSON."""
