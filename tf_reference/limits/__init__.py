"""TensorFlow's half of every limit: under its name the function beyond it, with `within_` before it the edited one."""
