"""TensorFlow's half of every limit, under its name; `within_` before it is the edited function where there is one."""
