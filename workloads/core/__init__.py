"""What a workload is, and how it is found: specifications, files, sizes, names, and drawn arrays."""
