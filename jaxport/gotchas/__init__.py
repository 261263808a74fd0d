"""JAX's half of gotchas: under an entry's name the right port, with `naive_` before it the likely one."""
