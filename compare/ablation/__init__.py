"""What each pass and feature of XLA buys: a program compiled with one of them left out at a time."""
