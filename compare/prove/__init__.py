"""What proves a port: evidence of both sides, parity by gates, programs aligned, causes located."""
