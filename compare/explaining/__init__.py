"""Why is there no speed-up? Sentences over one workload of a record, each with its numbers. Pure."""
