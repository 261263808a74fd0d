"""Functions that close over a model: whatever it keeps, makes late or writes to, every pass is lowered and judged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from compare.inputs.functions import from_functions
from compare.plain_json import to_json
from compare.progress import Silent
from compare.prove import locating
from compare.prove.locating import AGREES, DEPARTS, Choice
from compare.run import whole_run
from compare.sides._side import SIDES
from compare.sides.pool import Pool, Source
from jaxport._framework import Jax
from workloads import Workload
from workloads.core.modes import JAX_JIT, TF_JIT
from workloads.protocol.framework import FORWARD, GRADIENTS, Twin

TF = """
import numpy as np
import tensorflow as tf

KERNEL = np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4)

class Late:
    kernel = None
    def __call__(self, x):
        if self.kernel is None:
            self.kernel = tf.constant(KERNEL) * 2
        return tf.tanh(x @ self.kernel)

late = Late()

def made_late(x):
    return late(x)

given = tf.keras.Input((4,))
model = tf.keras.Model(given, tf.keras.layers.BatchNormalization()(given))

def trains(x):
    return model(x, training=True)

def carries(x):
    return {"state": {"h": tf.tanh(x @ KERNEL)}, "y": x}
"""

JAX = """
import jax
import jax.numpy as jnp
import numpy as np

KERNEL = np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4)

class Late:
    kernel = None
    def __call__(self, x):
        if self.kernel is None:
            self.kernel = jnp.asarray(KERNEL) * 2
        return jnp.tanh(x @ self.kernel)

late, wrong = Late(), Late()

def made_late(x):
    return late(x)

def made_wrong(x):
    return wrong(x) * 1.01

class Norm:
    mean = jnp.zeros(4)
    def __call__(self, x):
        mean, variance = x.mean(0), x.var(0)
        self.mean = 0.99 * self.mean + 0.01 * mean
        return (x - mean) / jnp.sqrt(variance + 1e-3)

norm = Norm()

def trains(x):
    return norm(x)

calls, moving = jax.new_ref(jnp.zeros(4)), jax.new_ref(jnp.asarray(KERNEL) * 2)

def refers(x):
    calls[...] = calls[...] + 1
    return jnp.tanh(x @ moving[...])

def carries(x):
    return {"state": {"h": jnp.tanh(x @ KERNEL)}, "y": x}

def keeps(x):
    jax.kept = getattr(jax, "kept", 1.0) * x
    return jax.kept * x
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("closures")
    (path / "original.py").write_text(TF)
    (path / "ported.py").write_text(JAX)
    return path


def port(folder: Path, tf: str, jax: str) -> Workload:
    return from_functions(f"{folder}/original.py:{tf}", f"{folder}/ported.py:{jax}", ["x=f32[3,4]"])


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    with Pool({side: Source() for side in SIDES}, tmp_path_factory.mktemp("pool"), 300) as pool:
        yield pool


@pytest.mark.parametrize(
    ("tf", "jax", "verdict"),
    [
        ("made_late", "made_late", AGREES),
        ("made_late", "refers", AGREES),
        ("trains", "trains", AGREES),
        ("made_late", "made_wrong", DEPARTS),
    ],
)
def test_every_pass_of_a_closed_over_model_is_located(
    pool: Pool, folder: Path, tmp_path: Path, tf: str, jax: str, verdict: str
) -> None:
    found = locating.locate_workload(pool, port(folder, tf, jax), Choice(), tmp_path, Silent())
    assert {pass_: each.verdict for pass_, each in found.items()} == dict.fromkeys((FORWARD, GRADIENTS), verdict)


@pytest.fixture(scope="module")
def judged(folder: Path) -> dict[str, Any]:
    workloads = [port(folder, "trains", "trains"), port(folder, "carries", "carries")]
    asked = whole_run.Request(workloads, plans=(), parity_only=True, modes=(TF_JIT, JAX_JIT))
    return to_json(whole_run.run(asked, Silent()).record)["workloads"]


@pytest.mark.parametrize("name", ["trains", "carries"])
def test_what_a_model_writes_is_no_output_and_an_output_called_state_is_one(judged: dict[str, Any], name: str) -> None:
    parity = judged[name]["parity"]
    rounding = parity["gates"]["rounding"]["comparisons"]
    assert parity["verdict"] == "pass", [each["message"] for each in rounding]
    leaves = {each["leaf"] for each in rounding if each["pass"] == FORWARD}
    assert leaves == ({"output"} if name == "trains" else {"state/h", "y"})


def twin(folder: Path, name: str, rows: int = 3) -> Twin:
    x = np.linspace(-1, 1, rows * 4, dtype=np.float32).reshape(rows, 4)
    return Twin(f"{folder}/ported.py:{name}", False, {}, {"seed0": {"x": x}}, {})


class TestJax:
    def test_a_program_holds_mutable_arrays_as_they_stand(self, folder: Path) -> None:
        framework = Jax()
        framework.load(twin(folder, "refers"))
        program = framework.program(FORWARD, "float32")
        assert [each.name for each in program.parameters] == ["x"]
        handle = framework.compile(program, {}).handle
        expected = framework.outputs("eager", FORWARD, "seed0", "float32")["output"]
        np.testing.assert_allclose(framework.execute(handle, "seed0")["output"], expected, rtol=1e-6)

    def test_any_order_of_requests_finds_a_model_that_makes_its_weights_late(self, folder: Path) -> None:
        framework = Jax()
        framework.load(twin(folder, "made_late"))
        framework.outputs("jit", FORWARD, "seed0", "float32")
        eager, jitted = (framework.outputs(mode, GRADIENTS, "seed0", "float32")["x"] for mode in ("eager", "jit"))
        np.testing.assert_allclose(eager, jitted, rtol=1e-5)
        assert len(framework.profile("jit")) == len(framework.profile("eager")) > 0

    def test_what_stays_in_reach_of_every_build_is_one_line(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(jax, "kept", jnp.ones(()), raising=False)
        framework = Jax()
        framework.load(twin(folder, "keeps"))
        framework.program(FORWARD, "float32")
        with pytest.raises(RuntimeError, match="expected a JAX function that keeps nothing of a call, found one"):
            framework.program(GRADIENTS, "float32")

    def test_a_module_is_run_again_where_a_model_is_built_anew(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.syspath_prepend(folder)
        given = twin(folder, "made_late")
        framework = Jax()
        framework.load(Twin("ported:made_late", False, {}, given.cases, {}))
        assert [len(framework.program(pass_, "float32").results) for pass_ in (FORWARD, GRADIENTS)] == [1, 1]

    def test_nothing_that_was_compiled_for_a_twin_outlives_it(self, folder: Path) -> None:
        framework = Jax()
        alive = []
        for rows in range(3, 8):
            framework.load(twin(folder, "carries", rows))
            alive.append(len(jax.devices()[0].client.live_executables()))
            for mode in ("eager", "jit"):
                framework.outputs(mode, GRADIENTS, "seed0", "float32")
            framework.compile(framework.program(FORWARD, "float32"), {})
        assert max(alive[1:]) == alive[1] < len(jax.devices()[0].client.live_executables())
