"""The public functions that judge: they ask jaxport's other packages, whatever a project calls packages of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from jaxport._neighbours import neighbours

if TYPE_CHECKING:
    from compare.api.carried_weights import CarriedWeights as CarriedWeights
    from compare.api.check_report import CheckReport as CheckReport
    from compare.api.live_weights import WeightPairs as WeightPairs
    from workloads.core.spec import Deviation


class RequestError(ValueError):
    """A check that cannot be carried out: one sentence with what was expected, found, and what to do."""


@overload
def check(
    tf_fn: str | Path,
    *,
    timeout_s: float = 300,
    quiet: bool = False,
    isolated: bool = False,
    fail_fast: bool = False,
) -> CheckReport: ...


@overload
def check(
    tf_fn: Callable[..., Any] | str | Path,
    jax_fn: Callable[..., Any] | str | Path,
    inputs: Mapping[str, Any],
    *,
    dimensions: Mapping[str, str] | None = None,
    map: Mapping[str, str] | None = None,
    deviations: Sequence[Deviation] = (),
    name: str | None = None,
    timeout_s: float = 300,
    quiet: bool = False,
    isolated: bool = False,
    fail_fast: bool = False,
) -> CheckReport: ...


def check(
    tf_fn: Callable[..., Any] | str | Path,
    jax_fn: Callable[..., Any] | str | Path | None = None,
    inputs: Mapping[str, Any] | None = None,
    *,
    dimensions: Mapping[str, str] | None = None,
    map: Mapping[str, str] | None = None,
    deviations: Sequence[Deviation] = (),
    name: str | None = None,
    timeout_s: float = 300,
    quiet: bool = False,
    isolated: bool = False,
    fail_fast: bool = False,
) -> CheckReport:
    """Judge a port by the gates of `jaxport run --parity-only`, on objects of this process or on files.

    Both functions run here, in this thread, where a breakpoint in them stops. Programs that are made of them run in a
    worker besides, which stays for the next check. Settings of both frameworks are afterwards what they were. What is
    named by a file, "port.py" or "my_tf.py:f", is imported by workers alone.

    Args:
      tf_fn: the original: a function of tensors, a `tf.function`, or a Keras model or layer, which is called in
        inference. Or a port file, alone, or FILE.py:NAME of the original.
      jax_fn: its port: a function of arrays, which `jax.jit` can trace, or an nnx module, which is called as it stands.
        Of a Keras model and a module, weights are paired by the rules of `carry_weights`: where they are equal,
        gradients are judged with respect to them too, and where they differ, the port fails. Other variables that
        either function reads are constants. Or FILE.py:NAME of the port.
      inputs: by name, in the order of the arguments: "f32[8,128]" as for `jaxport run --input`; "i32[8]:0..10" with a
        range, its end excluded for integers; "f32[B,128]" to be judged at several sizes of B; an `ArraySpec`; or an
        array. An array is judged as a case of its own, beside others of its shape and dtype: integers between its least
        and its largest, floats normal and as large as its root mean square.
      dimensions: of those that inputs name, "1..64" to judge between, or "32" to judge first.
      map: the path of a layer in a Keras model -> that of its module in an nnx module, where names differ.
      name: the port's name in messages; by default the name of `jax_fn`.
      timeout_s: seconds that one program, or one request to a worker, may take.
      quiet: draw no bar, which a terminal or a notebook shows meanwhile.
      fail_fast: judge the forward pass, then gradients, then the rest; stop at the first that fails, and say in
        `places` which lines differ, or why that is not known.

    Returns:
      What was found: `passed`, `verdict`, `gates`, `failures`, `places`, `assert_passed()`; a port that fails is no
      exception.

    Raises:
      RequestError: an object cannot be called, an input is missing or does not fit, a function does not run or cannot
        be traced, or the two return other nests.

    Example:
      >>> import jax, tensorflow as tf, jaxport
      >>> report = jaxport.check(tf.nn.softplus, jax.nn.softplus, {"features": "f32[4,8]"})
      >>> report.passed, report.gates["gradients"].verdict
      (True, 'pass')
    """
    with judges():
        from compare.api import doors
        from compare.api.live_workload import Options

        options = Options(dimensions or {}, map or {}, deviations, name, timeout_s, quiet, isolated, fail_fast)
        return doors.check(tf_fn, jax_fn, inputs, options)


def carry_weights(
    keras_model: Any, nnx_module: Any, *, map: Mapping[str, str] | None = None, allow: Mapping[str, str] | None = None
) -> CarriedWeights:
    """Set the variables of an nnx module to the weights of a Keras model, as `jaxport weights` does with files.

    Every weight is used once and every variable is set once, in its exact shape and dtype; otherwise nothing is set.
    States of random generators stay as they are.

    Args:
      nnx_module: its port, which is changed.
      map: the path of a layer -> that of its module, where names differ.
      allow: the path of a variable that keeps what it has -> why.

    Returns:
      What became of each weight: `carried`, `left`, `allowed`, `receipt`.

    Raises:
      RequestError: a weight or a variable is left over, a shape or dtype differs, or an attribute that decides what a
        layer computes, such as epsilon.

    Example:
      >>> import keras, jaxport
      >>> from flax import nnx
      >>> layer = keras.layers.Dense(3)
      >>> layer.build((None, 5))
      >>> jaxport.carry_weights(layer, nnx.Linear(5, 3, rngs=nnx.Rngs(0))).carried
      {'kernel': ('kernel',), 'bias': ('bias',)}
    """
    with judges():
        from compare.api import carried_weights

        return carried_weights.carry_weights(keras_model, nnx_module, map or {}, allow or {})


@contextmanager
def judges() -> Iterator[None]:
    """Make jaxport's other packages importable in the block, and errors that a caller can correct a RequestError."""
    with neighbours():
        from compare.api.in_python import in_python
        from compare.errors import Foreseen

        try:
            yield
        except Foreseen as error:
            raise RequestError(in_python(str(error))) from error.__cause__
