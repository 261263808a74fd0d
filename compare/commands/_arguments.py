"""Options that several commands share, each defined once."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from compare.commands import _option_types
from compare.commands._parser import DEFAULT_TIMEOUT_S
from compare.inputs.keras_files import check_custom
from compare.sides._side import SIDES
from workloads.core.device import CPU, HIGHEST, PRECISIONS
from workloads.core.modes import ON_REQUEST
from workloads.core.spec import SIZES
from workloads.protocol.framework import PASSES

DEFAULT_OUT = Path("jaxport-report")
DEFAULT_HISTORY = Path(".jaxport/history")

_FRAMEWORKS = {"tf": "TensorFlow", "jax": "JAX"}


def add_workloads(command: argparse.ArgumentParser, is_required: bool = False) -> None:
    """Add what to work on: workloads or two functions, at which size and on which data.

    Args:
      is_required: whether the command refuses to work without a workload, in place of working on the tour.
    """
    default = "" if is_required else " (default: the tour, or with --size all built-in workloads)"
    command.add_argument(
        "workloads", nargs="*", metavar="WORKLOAD",
        help=f"name of a workload (see `jaxport list`) or a port file{default}",
    )  # fmt: skip
    add_size_and_data(command)
    add_functions(command)


def add_custom(command: argparse.ArgumentParser) -> None:
    """Add --custom: the classes that a file of Keras names and Keras does not have."""
    command.add_argument(
        "--custom", action="append", default=[], metavar="FILE.py:CLASS",
        help="a class or function that a .keras or .h5 file names and Keras does not have; FILE.py is run; repeatable",
    )  # fmt: skip


def custom(options: argparse.Namespace, target: str) -> tuple[str, ...]:
    """The files that --custom names.

    Raises:
      RequestError: it names nothing, or the target is no file of Keras.
    """
    check_custom(options.custom, target, "--custom")
    return tuple(options.custom)


def add_size_and_data(command: argparse.ArgumentParser) -> None:
    """Add --size and --data."""
    group = command.add_argument_group("size and data")
    add_size(group)
    group.add_argument(
        "--data", type=Path, metavar="FILE",
        help="training data, such as an mnist.npz (default: the data that comes with the workload)",
    )  # fmt: skip


def add_size(command: argparse._ActionsContainer) -> None:
    """Add --size."""
    command.add_argument(
        "--size", metavar="SIZE",
        help=f"{', '.join(SIZES)}, or another size that the workload defines (default: `default` for functions, "
        "`smoke` for models that train)",
    )  # fmt: skip


def add_functions(command: argparse.ArgumentParser) -> None:
    """Add two functions in place of a workload."""
    group = command.add_argument_group("two functions instead of a workload")
    group.add_argument("--tf", metavar="FILE.py:NAME", help="the TensorFlow function")
    group.add_argument("--jax", metavar="FILE.py:NAME", help="the JAX function")
    add_inputs(group)


def add_inputs(command: argparse._ActionsContainer) -> None:
    """Add what functions take that are named on the command line."""
    command.add_argument(
        "--input", action="append", default=[], metavar="NAME=TYPE[SHAPE]",
        help="an input, such as x=f32[8,128]; `:LOW..HIGH` after it bounds its values; a name in the shape, as in "
        "x=f32[B,128], is a dimension of which several sizes are judged (repeat, in the order of the arguments)",
    )  # fmt: skip
    command.add_argument(
        "--dimension", action="append", default=[], metavar="NAME=LOW..HIGH",
        help="the sizes of a named dimension that are judged (default: 1..200); B=32 sets the size that is compiled "
        "and timed (repeatable)",
    )  # fmt: skip


def add_workers(
    command: argparse.ArgumentParser, with_recorded: bool = True, device: bool = True, sides: Sequence[str] = SIDES
) -> None:
    """Add where each side runs, and how long it may take.

    Args:
      with_recorded: whether a recorded side may stand in for a live one.
      device: whether both may run on another device than the CPU.
    """
    group = command.add_argument_group("workers")
    for side in sides:
        group.add_argument(
            f"--{side}-python", metavar="PATH",
            help=f"Python interpreter that runs {_FRAMEWORKS[side]} (default: this one)",
        )  # fmt: skip
    for side in sides if with_recorded else ():
        group.add_argument(
            f"--{side}-recorded", type=Path, metavar="FILE",
            help=f"replay the {_FRAMEWORKS[side]} side from a file that `jaxport record` wrote",
        )  # fmt: skip
    if device:
        add_device(group)
    add_timeout(group)


def add_targets(command: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add --target and the interpreter that compiles for targets; the group, for what else they take."""
    group = command.add_argument_group("targets")
    group.add_argument(
        "--target", dest="targets", action="append", default=[], metavar="NAME",
        help="also compile both programs for this device, which need not be here: H100, v5e:2x2, or a file with a "
        "GpuTargetConfigProto; repeatable (`jaxport list targets` lists them)",
    )  # fmt: skip
    add_target_python(group)
    return group


def add_target_python(command: argparse._ActionsContainer) -> None:
    """Add --target-python."""
    command.add_argument(
        "--target-python", metavar="PATH",
        help="Python interpreter that compiles for targets (default: that of `make targets`, or this one)",
    )  # fmt: skip


def add_device(command: argparse._ActionsContainer) -> None:
    """Add --device, and what is pinned on a GPU."""
    command.add_argument(
        "--device", type=_option_types.device, default=(CPU, 0), metavar="cpu|gpu[:N]",
        help="device that both sides compute on; N counts the NVIDIA GPUs that CUDA_VISIBLE_DEVICES names (default: "
        "cpu, also where there is a GPU)",
    )  # fmt: skip
    command.add_argument(
        "--matmul-precision", choices=PRECISIONS,
        help="precision of float32 products on a GPU, on both sides: all of float32, or TensorFloat-32 (default: "
        f"{HIGHEST})",
    )  # fmt: skip
    command.add_argument(
        "--deterministic", action="store_true",
        help="with --device gpu, let no result depend on the order in which threads add; slower",
    )  # fmt: skip


def add_timeout(command: argparse._ActionsContainer) -> None:
    """Add --timeout."""
    command.add_argument(
        "--timeout", type=_option_types.seconds, default=DEFAULT_TIMEOUT_S, metavar="S",
        help="seconds that one request to a worker may take (default: %(default)s)",
    )  # fmt: skip


def add_fail_fast(command: argparse._ActionsContainer) -> None:
    """Add --fail-fast."""
    command.add_argument(
        "--fail-fast", action="store_true",
        help="judge pass after pass, the forward pass first; stop at the first failure, and say which lines differ",
    )  # fmt: skip


def add_modes(command: argparse._ActionsContainer, what: str = "judge and time") -> None:
    """Add --modes.

    Args:
      what: the command does with the modes.
    """
    command.add_argument(
        "--modes", nargs="+", default=(), metavar="MODE", type=_option_types.mode,
        help=f"{what} only these modes, and always tf/eager and jax/jit; of {', '.join(_option_types.MODES)} "
        f"(default: every mode that the workload has but {' and '.join(map(str, ON_REQUEST))})",
    )  # fmt: skip


def add_pass(command: argparse._ActionsContainer, what: str) -> None:
    """Add --pass.

    Args:
      what: is chosen, such as "what is run".
    """
    command.add_argument(
        "--pass", dest="main_pass", choices=PASSES, metavar="PASS",
        help=f"{what}: {', '.join(PASSES)} (default: step, or forward if there is none)",
    )  # fmt: skip


def add_parity_size(command: argparse._ActionsContainer) -> None:
    """Add --parity-size."""
    command.add_argument(
        "--parity-size", metavar="SIZE",
        help="judge parity at this size; programs and times stay at --size (default: --size). Faster for large models",
    )  # fmt: skip


def add_no_alignment(command: argparse._ActionsContainer) -> None:
    """Add --no-alignment."""
    command.add_argument(
        "--no-alignment", action="store_true",
        help="do not align the two programs: the report does not say where they differ. Faster for large models",
    )  # fmt: skip


def add_out_folder(command: argparse._ActionsContainer, default: Path) -> None:
    """Add -o for a command that writes a folder."""
    command.add_argument(
        "-o", "--out", type=Path, default=default, metavar="DIR", help="output folder (default: %(default)s)"
    )


def add_out_file(command: argparse._ActionsContainer, what: str) -> None:
    """Add -o for a command that writes one file where it is asked to.

    Args:
      what: the content, such as "the record as JSON".
    """
    command.add_argument("-o", "--out", type=Path, metavar="FILE", help=f"output file: {what} (default: none)")


def add_json(command: argparse._ActionsContainer, what: str = "the record") -> None:
    """Add --json."""
    command.add_argument(
        "--json", action="store_true", help=f"print {what} as JSON on standard output, and nothing else there"
    )


def add_output(command: argparse.ArgumentParser, default: Path, what: str = "the record") -> None:
    """Add the group of a command that writes a folder, and prints what it holds with --json."""
    output = command.add_argument_group("output")
    add_out_folder(output, default)
    add_json(output, what)


def add_history(command: argparse._ActionsContainer) -> None:
    """Add where saved runs are."""
    command.add_argument(
        "--history",
        type=Path,
        default=DEFAULT_HISTORY,
        metavar="DIR",
        help="folder of saved runs (default: %(default)s)",
    )


def add_ray(command: argparse.ArgumentParser) -> None:
    """Add a cluster that the workloads are given to."""
    group = command.add_argument_group("several machines")
    group.add_argument(
        "--ray", metavar="ADDRESS",
        help="give each workload to a node of this Ray cluster: HOST:PORT, ray://HOST:PORT or auto; --size may name "
        "several then, by commas (default: all on this machine)",
    )  # fmt: skip
    group.add_argument(
        "--ray-limit", type=_option_types.seconds, default=60.0, metavar="S",
        help="seconds that the cluster and its nodes may take to answer (default: %(default)s)",
    )  # fmt: skip
    group.add_argument(
        "--ray-attempts", type=_option_types.count, default=3, metavar="N",
        help="nodes that a workload is tried on at most, where each is lost meanwhile (default: %(default)s)",
    )  # fmt: skip
