"""Where the time of a recorded profile went: kernels and operations, their lines, and when nothing ran."""
