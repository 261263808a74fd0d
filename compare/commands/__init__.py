"""The command line, one file a command: its help, its options, and what it does with them."""
