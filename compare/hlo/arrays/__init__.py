"""Whether two arrays are one value: by what is told of each, and element by element."""
