"""Public functions beside `check`: they ask jaxport's other packages, as the commands of the same names do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from jaxport._checking import judges

if TYPE_CHECKING:
    from compare.api.diagnosis import DoctorReport as DoctorReport
    from compare.api.locate_report import LocateReport as LocateReport
    from compare.api.port_writing import WrittenPort as WrittenPort


@overload
def locate(
    tf_fn: str | Path,
    *,
    passes: Sequence[str] = (),
    timeout_s: float = 300,
    quiet: bool = False,
    isolated: bool = False,
) -> LocateReport: ...


@overload
def locate(
    tf_fn: Callable[..., Any] | str | Path,
    jax_fn: Callable[..., Any] | str | Path,
    inputs: Mapping[str, Any],
    *,
    passes: Sequence[str] = (),
    dimensions: Mapping[str, str] | None = None,
    map: Mapping[str, str] | None = None,
    name: str | None = None,
    timeout_s: float = 300,
    quiet: bool = False,
    isolated: bool = False,
) -> LocateReport: ...


def locate(
    tf_fn: Callable[..., Any] | str | Path,
    jax_fn: Callable[..., Any] | str | Path | None = None,
    inputs: Mapping[str, Any] | None = None,
    *,
    passes: Sequence[str] = (),
    dimensions: Mapping[str, str] | None = None,
    map: Mapping[str, str] | None = None,
    name: str | None = None,
    timeout_s: float = 300,
    quiet: bool = False,
    isolated: bool = False,
) -> LocateReport:
    """The operation to blame in a port that fails: the first whose value departs while all that it reads agrees.

    Args:
      tf_fn: the original, or a port file, as of `check`.
      inputs: by name, in the order of the arguments.
      passes: "forward", "gradients", "step"; all that there are by default.

    Returns:
      Both source lines, both values and the likely cause of each departure: `verdict`, `departures`, `passes`.

    Raises:
      RequestError: as of `check`.

    Example:
      >>> import jax, jax.numpy as jnp, tensorflow as tf, jaxport
      >>> report = jaxport.locate(tf.nn.gelu, jax.nn.gelu, {"features": "f32[4,8]"}, passes=["forward"])
      >>> report.verdict, report.departures[0].in_pass
      ('fail', 'forward')
    """
    with judges():
        from compare.api import doors
        from compare.api.live_workload import Options

        options = Options(dimensions or {}, map or {}, (), name, timeout_s, quiet, isolated)
        return doors.locate(tf_fn, jax_fn, inputs, passes, options)


def doctor(
    model: Any, inputs: Mapping[str, str] | None = None, *, custom: Sequence[str] = (), timeout_s: float = 300
) -> DoctorReport:
    """List the parts of a model, and what will be hard to port.

    A worker reads the model. A Keras model of this process is saved to a temporary file first.

    Args:
      model: a Keras model, a .keras or .h5 file, the folder of a SavedModel, or FILE.py:NAME.
      inputs: of the arguments of FILE.py:NAME, by name: {"x": "f32[B,128]"}.
      custom: FILE.py:NAME of every class that the model has and Keras does not.
      timeout_s: seconds that one request may take.

    Returns:
      `blockers`, `findings`, and the `places` that `write_port` would leave to be written.

    Raises:
      RequestError: there is no such model, or it cannot be read.

    Example:
      >>> import keras, jaxport
      >>> report = jaxport.doctor(keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)]))
      >>> report.blockers, report.places
      ((), ('the training step: it has no loss or no optimizer',))
    """
    with judges():
        from compare.api import doors

        return doors.diagnose(model, inputs, custom, timeout_s)


def write_port(
    model: Any,
    folder: str | Path,
    inputs: Mapping[str, str] | None = None,
    *,
    batch: int | None = None,
    steps: int = 10,
    custom: Sequence[str] = (),
    style: str = "nnx",
    force: bool = False,
    run: bool = True,
    timeout_s: float = 300,
    quiet: bool = False,
) -> WrittenPort:
    """Write a Flax port of a Keras model, with its weights, or a port of a function in `jax.numpy`; and judge it.

    Args:
      model: a Keras model, a .keras or .h5 file, FILE.py:NAME, a .pb file, or the folder of a SavedModel, of which the
        default signature is ported: `jaxport init` takes another.
      folder: of the port: none that is there, or an empty one.
      inputs: of the arguments of a function, by name: {"x": "f32[B,128]"}.
      batch: examples of a call that is judged; None is 4, or as many as the states of stateful layers are made for.
      custom: FILE.py:NAME of every class that the model has and Keras does not.
      style: of the modules of a Keras model, "nnx" or "linen": one of Linen is written whole or not at all.
      force: whether to write into a folder with files, over those of a port.
      run: whether to judge the port.
      timeout_s: seconds that one request to a worker may take.
      quiet: draw no bar, which a terminal or a notebook shows meanwhile.

    Returns:
      The `file` that `check` takes, the places that are `unwritten`, and the `report` of the gates.

    Raises:
      RequestError: the model cannot be read, has no counterpart in the style, or the folder is not to be written to.

    Example:
      >>> import keras, jaxport
      >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
      >>> model.compile("sgd", "mse")
      >>> port = jaxport.write_port(model, "my_port")
      >>> port.file.name, port.passed
      ('port.py', True)
    """
    with judges():
        from compare.api import doors

        return doors.write_port_files(
            model, folder, inputs, custom, timeout_s,
            batch=batch, steps=steps, style=style, force=force, run=run, quiet=quiet,
        )  # fmt: skip
