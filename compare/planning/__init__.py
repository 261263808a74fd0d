"""How a training step is laid out over a cluster, and what that takes there."""
