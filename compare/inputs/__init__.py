"""The inputs of a run: workloads at a size, port files and the worker that hosts them."""
