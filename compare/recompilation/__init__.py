"""What is traced and compiled again in a stream of calls, why, and what helps."""
