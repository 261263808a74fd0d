"""Exit codes: what a command says of its verdicts."""

HOLDS, FAILS, REFUSED = 0, 1, 2
