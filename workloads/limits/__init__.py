"""What compiles and what does not: examples of the limits that documents of XLA name, one file a theme."""
