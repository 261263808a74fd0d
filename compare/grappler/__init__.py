"""What the graph optimizer did: a graph before and after it aligned, and each change ascribed to a pass. Pure."""
