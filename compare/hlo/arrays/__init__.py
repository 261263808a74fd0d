"""Whether two arrays are one value: by their fingerprints, and element by element."""
