"""Lists the parts of a TensorFlow model, and what will be hard to port, from plain data."""
