"""History: runs that were kept, how far a ratio moved between them, and whether that was seen again."""
