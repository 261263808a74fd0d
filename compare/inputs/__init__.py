"""What a run is given: workloads at a size, port files and the worker that hosts them."""
