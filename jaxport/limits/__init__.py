"""JAX's half of every limit: one function, under its name."""
