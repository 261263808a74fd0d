"""Starts the command line: an interrupt while it is being imported ends in one line too."""

from __future__ import annotations

import signal
import sys

from compare.interrupting import INTERRUPTED, SIGNALS, interrupt


def start() -> int:
    """Import the command line and run one command; the exit code.

    `compare.commands._signals` has the signals from there on.
    """
    for number in SIGNALS:
        # Ignored signals stay ignored: nohup, and jobs in the background.
        if signal.getsignal(number) not in (signal.SIG_IGN, None):
            signal.signal(number, interrupt)
    try:
        from compare import cli

        return cli.main()
    except KeyboardInterrupt:
        print("jaxport: interrupted; nothing was written", file=sys.stderr)
        return INTERRUPTED
