"""TensorFlow's half of every gotcha: one function an entry of workloads/gotchas, under its name."""
