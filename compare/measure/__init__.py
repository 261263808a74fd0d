"""What drives processes for times."""
