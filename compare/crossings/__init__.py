"""From which size on does compiling win? Functions timed over a series of sizes."""
