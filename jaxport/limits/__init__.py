"""The limits' examples in JAX, one file a theme."""
