"""What a check leaves behind of both frameworks and of the process: nothing, however it ends."""

from __future__ import annotations

import logging
import random
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest
import tensorflow as tf
from programs_here import ProgramsHere
from tensorflow.python.eager import context
from tensorflow.python.framework import config

import jaxport
from compare.hlo.executing import Executable
from compare.sides.process_state import ProcessState
from jaxport import _private as private_jax
from workloads.protocol.framework import CompilerOptions

pytestmark = pytest.mark.usefixtures("programs_here")

INPUTS = {"x": "f32[2,3]"}
AT_SIZES = {"x": "f32[B,3]"}
"""Both functions are loaded anew for each: workers forget then what their frameworks keep."""
OF_THE_THREAD = ("enable_x64", "disable_jit", "debug_nans", "debug_infs", "transfer_guard", "default_matmul_precision",
                 "numpy_dtype_promotion", "numpy_rank_promotion")  # fmt: skip
"""Settings of JAX that `with` changes for one thread."""


def state_of_jax() -> dict[str, Any]:
    of_thread = {name: getattr(jax.config, f"jax_{name}", None) for name in OF_THE_THREAD}
    return private_jax.settings() | of_thread | {"devices": jax.devices()}


def state_of_tensorflow() -> dict[str, Any]:
    return {
        "clustering": tf.config.optimizer.get_jit(),
        "optimizer": tf.config.optimizer.get_experimental_options(),
        "eager functions": tf.config.functions_run_eagerly(),
        "tf32": tf.config.experimental.tensor_float_32_execution_enabled(),
        "determinism": config.is_op_determinism_enabled(),
        "threads": (
            tf.config.threading.get_intra_op_parallelism_threads(),
            tf.config.threading.get_inter_op_parallelism_threads(),
        ),
        "placement": (tf.config.get_soft_device_placement(), tf.config.get_visible_devices()),
        "seed": context.global_seed(),
        "log": (tf.get_logger().level, logging.getLogger("absl").level),
        "floats": (keras.config.floatx(), keras.config.epsilon(), keras.config.image_data_format()),
        "policy": keras.mixed_precision.global_policy().name,
        "session": keras.backend.get_uid("dense_of_this_test"),
    }


def state_of_python() -> dict[str, Any]:
    return {
        "path": list(sys.path),
        "warnings": list(warnings.filters),
        "signals": {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)},
        "random": (random.getstate(), str(np.random.get_state())),
        "executables": private_jax.signatures_kept(jitted),
    }


def has_64_bits() -> bool:
    return jax.dtypes.canonicalize_dtype(np.int64) == np.int64


@jax.jit
def jitted(x: jax.Array) -> jax.Array:
    """A function of the caller's that is compiled already."""
    return x + 1


def passes(x: jax.Array) -> jax.Array:
    return jnp.tanh(x)


def fails(x: jax.Array) -> jax.Array:
    return jnp.sin(x)


def raises(x: jax.Array) -> jax.Array:
    raise TypeError("not today")


def is_interrupted(x: jax.Array) -> jax.Array:
    raise KeyboardInterrupt


@contextmanager
def usual() -> Iterator[None]:
    yield


@contextmanager
def unusual() -> Iterator[None]:
    """Settings that nobody has by default, in JAX for the process and for the thread."""
    with ExitStack() as undone:
        tf.config.optimizer.set_jit("autoclustering")
        undone.callback(tf.config.optimizer.set_jit, False)
        tf.config.run_functions_eagerly(True)
        undone.callback(tf.config.run_functions_eagerly, False)
        tf.config.optimizer.set_experimental_options({"remapping": False})
        undone.callback(tf.config.optimizer.set_experimental_options, {"remapping": True})
        jax.config.update("jax_debug_nans", True)
        undone.callback(jax.config.update, "jax_debug_nans", False)
        undone.enter_context(jax.disable_jit(True))
        undone.enter_context(jax.debug_infs(True))
        undone.enter_context(jax.default_matmul_precision("bfloat16"))
        undone.enter_context(jax.transfer_guard("log"))
        undone.enter_context(jax.numpy_dtype_promotion("strict"))
        undone.enter_context(jax.numpy_rank_promotion("raise"))
        undone.enter_context(np.errstate(all="raise"))
        yield


@pytest.mark.parametrize("settings", [usual, unusual])
@pytest.mark.parametrize(
    ("port", "verdict"),
    [(passes, "pass"), (fails, "fail"), (raises, jaxport.RequestError), (is_interrupted, KeyboardInterrupt)],
)
def test_both_frameworks_and_the_process_are_as_before(
    settings: Callable[[], Any], port: Callable[..., Any], verdict: Any
) -> None:
    jitted(1.0)
    with settings():
        before = state_of_tensorflow() | state_of_jax() | state_of_python()
        process = ProcessState({})
        if isinstance(verdict, str):
            assert jaxport.check(tf.tanh, port, AT_SIZES, dimensions={"B": "2..3"}).verdict == verdict
        else:
            with pytest.raises(verdict):
                jaxport.check(tf.tanh, port, INPUTS)
        after = state_of_tensorflow() | state_of_jax() | state_of_python()
        before["session"] += 1  # a name that Keras gives is given once: it would start anew where its session ended
        assert {name: (before[name], value) for name, value in after.items() if before[name] != value} == {}
        assert process.find_changes({}) == [] and process.find_replacements() == []


def test_an_interrupt_arrives_while_the_caller_waits_for_the_judges(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = ProgramsHere.compile

    def interrupting(executor: ProgramsHere, bytecode: bytes, options: CompilerOptions) -> Executable:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        return compiled(executor, bytecode, options)

    with monkeypatch.context() as patch:
        patch.setattr(ProgramsHere, "compile", interrupting)
        with pytest.raises(KeyboardInterrupt):
            jaxport.check(tf.tanh, passes, INPUTS)
    assert jaxport.check(tf.tanh, passes, INPUTS).passed


def test_64_bits_of_the_callers_thread_are_those_of_the_port() -> None:
    def original(n: tf.Tensor) -> tf.Tensor:
        return n * 2**40

    def port(n: jax.Array) -> jax.Array:
        return n * 2**40

    assert not has_64_bits()
    with jax.enable_x64(True):
        assert jaxport.check(original, port, {"n": "i64[3]:0..100"}).passed
        assert has_64_bits()
    assert not has_64_bits()


def test_what_a_function_warns_of_inputs_that_were_drawn_is_not_the_callers_concern() -> None:
    def port(x: jax.Array) -> jax.Array:
        warnings.warn("this is large", stacklevel=1)
        return jnp.tanh(x)

    with warnings.catch_warnings(action="error"):
        assert jaxport.check(tf.tanh, port, INPUTS).passed
