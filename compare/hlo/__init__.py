"""Same program? Graphs of values, canonical levels, alignment, optimized modules."""
