"""Options of commands that time, and the plan that they amount to."""

from __future__ import annotations

import argparse

from compare.commands import _option_types
from compare.errors import RequestError
from compare.inputs.request import Plan


def add_unroll(command: argparse._ActionsContainer) -> None:
    """Add --unroll."""
    command.add_argument(
        "--unroll", type=_option_types.count, default=0, metavar="K",
        help="compile, profile and time K training steps as a loop in one program (tf.while_loop, jax.lax.scan); times "
        "are per step (default: one step)",
    )  # fmt: skip


def check_unroll(options: argparse.Namespace) -> None:
    """Check that nothing was asked for that a loop of steps has not.

    Raises:
      RequestError: it was.
    """
    for name in ("main_pass", "batches", "parity_only", "tf_recorded", "jax_recorded"):
        if options.unroll and getattr(options, name, None):
            option = "pass" if name == "main_pass" else name.replace("_", "-")
            raise RequestError(f"expected --unroll without --{option}, found both: drop one")


def add_baseline(command: argparse._ActionsContainer) -> None:
    """Add --baseline."""
    command.add_argument(
        "--baseline", metavar="MODE", type=_option_types.mode,
        help="also print the time of each mode relative to this one, such as tf/graph, where their ratio was measured",
    )  # fmt: skip


def add_plan(command: argparse._ActionsContainer, pairs: int = 12, budget: float = 2.0) -> None:
    """Add how often and how long to time, with more pairs until the A/A interval is narrow enough.

    Args:
      budget: the default of --budget, in seconds.
    """
    add_pairs(command, pairs)
    command.add_argument(
        "--max-pairs", type=_option_types.count, metavar="N",
        help="maximum pairs; pairs are added while the A/A interval is wider than --precision "
        "(default: twice --pairs)",
    )  # fmt: skip
    command.add_argument(
        "--precision", type=_option_types.fraction, default=Plan.precision, metavar="P",
        help="target half-width of the 95%% A/A interval, as 0.04 or 4%% (default: %(default)s)",
    )  # fmt: skip
    add_budget(command, budget)
    add_seed(command)


def add_pairs(command: argparse._ActionsContainer, default: int) -> None:
    """Add --pairs."""
    command.add_argument(
        "--pairs", type=_option_types.count, default=default, metavar="N",
        help="process pairs: each is a fresh TensorFlow and a fresh JAX process, with a copy of both as the A/A "
        "control; fewer than 5 give no interval (default: %(default)s)",
    )  # fmt: skip


def add_budget(command: argparse._ActionsContainer, default: float) -> None:
    """Add --budget."""
    command.add_argument(
        "--budget", type=_option_types.seconds, default=default, metavar="S",
        help="seconds of timed calls for each workload and pair (default: %(default)s)",
    )  # fmt: skip


def add_seed(command: argparse._ActionsContainer) -> None:
    """Add --seed."""
    command.add_argument(
        "--seed", type=_option_types.count_or_zero, default=0, metavar="N",
        help="seed of the order in which processes and modes take turns (default: %(default)s)",
    )  # fmt: skip


def add_threads(command: argparse._ActionsContainer) -> None:
    """Add --threads as one number."""
    command.add_argument(
        "--threads", default=_option_types.ALL, metavar="N",
        help="threads of every process, or `all` for one a processor (default: %(default)s)",
    )  # fmt: skip


def plan(options: argparse.Namespace, threads: int) -> Plan:
    """The plan of the options of `add_plan`, on `threads` threads.

    Raises:
      RequestError: fewer pairs at most than at least.
    """
    maximum = options.max_pairs or 2 * options.pairs
    if maximum < options.pairs:
        raise RequestError(f"expected --max-pairs of at least --pairs {options.pairs}, found {maximum}: raise it")
    return Plan(options.pairs, maximum, options.precision, options.budget, threads, options.seed)
