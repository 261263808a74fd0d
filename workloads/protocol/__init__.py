"""What both sides implement, and the data that crosses between processes."""
