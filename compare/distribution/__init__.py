"""Is the distributed training step the training step? Strategies of both sides, their parity and what they exchange."""
