"""Bug reports as bundles, and their replay."""
