"""TensorFlow's half of gotchas: under the name of an entry of workloads/gotchas, a function."""
