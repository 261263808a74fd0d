"""Named rules by which a canonical level writes a program; each file holds one list."""
