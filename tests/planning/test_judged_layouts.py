"""Layouts that are run on CPU devices, errors that are planted in them, and a plan whose bytes are known by hand.

Needs the environment that `make targets` builds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hlo_programs import exported

from compare import cli
from compare.planning.judged_layouts import against
from compare.sides.device_worker import DeviceWorker, interpreter
from compare.sides.replies import Sharding

RANDOM = np.random.default_rng(7)
KERNEL = RANDOM.standard_normal((12, 8), np.float32)
X = RANDOM.standard_normal((16, 12), np.float32)
WHOLE = ("", "")
DATA = Sharding({"data": 4}, (WHOLE, ("data", "")), (WHOLE, ()))
FSDP = Sharding({"data": 4}, (("data", ""), ("data", "")), (("data", ""), ()))
TENSOR = Sharding({"model": 4}, (("", "model"), WHOLE), (("", "model"), ()))


def update(kernel, x, examples=16):
    loss, gradient = jax.value_and_grad(lambda kernel: jnp.sum(jnp.tanh(x @ kernel) ** 2) / examples)(kernel)
    return kernel - 0.1 * gradient, loss


def forgetting_the_replicas(kernel, x):
    return update(kernel, x, examples=4)


def not_summing_over_devices(kernel, x):
    return update(kernel, x[:4], examples=16)


@pytest.fixture(scope="module")
def worker() -> Iterator[DeviceWorker]:
    with ExitStack() as stack:
        yield DeviceWorker(interpreter(None), 300, stack)


def judged(worker: DeviceWorker, function: Callable, sharding: Sharding, kernel: np.ndarray):
    found = worker.run_sharded(exported(function, KERNEL, X), sharding, [kernel, X])
    expected = dict(zip(("kernel", "loss"), map(np.asarray, jax.jit(update)(KERNEL, X)), strict=True))
    return against("planted", sharding.axes, dict(zip(expected, found, strict=True)), expected)


@pytest.mark.process
@pytest.mark.parametrize("sharding", [DATA, FSDP, TENSOR])
def test_every_layout_computes_the_same(worker: DeviceWorker, sharding: Sharding) -> None:
    assert judged(worker, update, sharding, KERNEL).agrees is True


@pytest.mark.process
@pytest.mark.parametrize("planted", [forgetting_the_replicas, not_summing_over_devices])
def test_a_wrong_reduction_is_caught(worker: DeviceWorker, planted: Callable) -> None:
    assert judged(worker, planted, DATA, KERNEL).agrees is False


@pytest.mark.process
def test_parts_on_the_wrong_devices_are_caught(worker: DeviceWorker) -> None:
    assert judged(worker, update, TENSOR, np.roll(KERNEL, 2, axis=1)).agrees is False


@pytest.mark.process
def test_the_plan_of_a_small_model_has_the_bytes_of_its_parameters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["plan", "mnist_mlp", "--size", "smoke", "--target", "H100:2x2", "--layout", "data", "--json"]
    assert cli.main([*asked, "-o", str(tmp_path)]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert json.loads((tmp_path / "plan.json").read_text()) == plan
    (step,) = plan["steps"]
    assert [one["agrees"] for one in step["judged"]] == [True]
    (row,) = step["clusters"][0]["layouts"]
    # 2,410 numbers of four bytes, and the loss.
    assert step["parameters"] == 2410
    assert row["collectives"] == [
        {"kind": "all-reduce", "count": 1, "bytes": 9644, "groups": 1, "devices": 4, "hosts": 2}
    ]
    assert (row["inside_bytes"], row["between_bytes"]) == (9644, 9644 / 2)
    assert row["inside_s"] == pytest.approx(9644 / 450e9)
    assert row["fits"] is True


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--target", "H100"], "expected hosts x GPUs of each, as in H100:2x8, found 'H100'"),
        (["--layers", "4,2"], "expected two numbers of layers, the smaller first, found '4,2'"),
    ],
)
def test_what_cannot_be_planned_is_one_line(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["plan", "bert", *arguments, "-o", str(tmp_path)]) == 2
    assert said in capsys.readouterr().err
