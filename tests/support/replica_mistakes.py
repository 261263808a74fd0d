"""A model with clipped gradients, decay and Adam, and distributed steps with the mistakes that such a one invites."""

from __future__ import annotations

from pathlib import Path

PORT = """\
from pathlib import Path
import numpy as np
from workloads import ArraySpec, Training, Workload

def examples(dimensions):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((64, 6)).astype(np.float32)
    return {"x": x, "y": np.tanh(x[:, :3]), "mask": np.ones((64,), np.float32)}

port = Workload(
    name="replicas",
    tf="twin_tf.py:build",
    jax="twin_jax.py:build",
    inputs=lambda dimensions: {
        "x": ArraySpec((dimensions["batch"], 6)),
        "y": ArraySpec((dimensions["batch"], 3)),
        "mask": ArraySpec((dimensions["batch"],), low=0, high=1),
        "seed": ArraySpec((1,), "int32", low=0, high=1000),
    },
    weights=lambda dimensions: {"kernel": ArraySpec((6, 3))},
    sizes={name: {"batch": 8, "case": number} for number, name in enumerate(NAMES)},
    training=Training(synthetic=examples, steps=4, checkpoints=(4,)),
    folder=Path(__file__).parent,
)
"""

HEAD = """\
import jax
import jax.numpy as jnp
import optax
from jax.sharding import PartitionSpec as P
from jaxport import Model, Parts

RATE, DECAY = 1e-2, 0.1
"""

CASE = """
class CASE:
    average, limit, seeded = AVERAGE, LIMIT, SEEDED

    @staticmethod
    def reduced(parameters, state, inputs, gradients, update):
        mean, total = lambda tree: jax.lax.pmean(tree, "data"), lambda tree: jax.lax.psum(tree, "data")
        found, value, moved = gradients(parameters, state, *inputs)
        BODY
        return (*update(parameters, state, found, moved), value)
"""

TAIL = """
def build(dimensions, dtype):
    case = CASES[dimensions["case"]]
    optimizer = optax.chain(optax.clip_by_global_norm(case.limit), optax.adamw(RATE, weight_decay=DECAY))

    def loss(kernel, x, y, mask, seed):
        draws = jax.random.bernoulli(jax.random.key(seed[0]), 0.5, x.shape) if case.seeded else 1
        errors = jnp.square(jnp.tanh(x * draws @ kernel) - y).mean(1) * mask
        return jnp.mean(errors) if case.average else jnp.sum(errors)

    def gradients(parameters, state, *inputs):
        value, found = jax.value_and_grad(loss)(parameters, *inputs)
        return found, value, ()

    def update(parameters, state, gradients, moved):
        updates, state = optimizer.update(gradients, state, parameters)
        return optax.apply_updates(parameters, updates), state

    def sharded(mesh):
        def of_device(parameters, state, *inputs):
            return case.reduced(parameters, state, inputs, gradients, update)

        specs = (P(), P(), P("data"), P("data"), P("data"), P())
        return jax.shard_map(of_device, mesh=mesh, in_specs=specs, out_specs=(P(), P(), P()), check_vma=False)

    parts = Parts(gradients, update)
    return Model(
        lambda kernel, x, y, mask, seed: x @ kernel,
        from_weights=lambda weights: weights["kernel"],
        to_weights=lambda kernel: {"kernel": kernel},
        init=optimizer.init,
        step=parts.step,
        parts=parts,
        sharded=sharded,
    )
"""

MEAN, IDLE, ACTIVE = "found, value = mean((found, value))", 1e9, 0.05
"""What a right step does; clipping that does nothing, and clipping that does."""

CASES: dict[str, tuple[bool, float, bool, str]] = {
    "right": (True, IDLE, False, MEAN),
    "right-clipped": (True, ACTIVE, False, MEAN),
    "averaged-twice": (True, IDLE, False, "found, value = mean((jax.tree.map(lambda each: each / 2, found), value))"),
    "moments-of-each": (
        True,
        IDLE,
        False,
        "value, kept = mean(value), update(parameters, state, found, moved)[1]\n"
        "        return update(parameters, state, mean(found), moved)[0], kept, value",
    ),
    "clipped-apart": (
        True,
        ACTIVE,
        False,
        "found = optax.clip_by_global_norm(0.05).update(found, None)[0]\n        found, value = mean((found, value))",
    ),
    "clipped-apart-idle": (
        True,
        IDLE,
        False,
        "found = optax.clip_by_global_norm(1e9).update(found, None)[0]\n        found, value = mean((found, value))",
    ),
    "decayed-by-each": (
        True,
        IDLE,
        False,
        f"{MEAN}\n        after, state = update(parameters, state, found, moved)\n"
        "        return after - RATE * DECAY * parameters, state, value",
    ),
    "counted-by-each": (
        True,
        IDLE,
        False,
        f"{MEAN}\n        after, state = update(parameters, state, found, moved)\n"
        "        counted = lambda leaf: leaf + 1 if leaf.dtype.kind == 'i' else leaf\n"
        "        return after, jax.tree.map(counted, state), value",
    ),
    "with-a-neighbour": (
        True,
        IDLE,
        False,
        "ring = [(at, (at + 1) % jax.lax.axis_size('data')) for at in range(jax.lax.axis_size('data'))]\n"
        "        found = (found + jax.lax.ppermute(found, 'data', ring)) / 2\n        value = mean(value)",
    ),
    "sum-averaged": (False, IDLE, False, MEAN),
    "sum-summed": (False, IDLE, False, "found, value = total((found, value))"),
    "seed-of-all": (True, IDLE, True, MEAN),
}
"""By name: whether the loss is a mean, the norm that gradients are clipped to, whether inputs are dropped by draws
from a seed that all devices are given, and what is done with a device's gradients."""


def write(folder: Path) -> Path:
    """The port file, one size a case."""
    (folder / "port.py").write_text(PORT.replace("NAMES", repr(list(CASES))))
    classes = "".join(
        CASE.replace("CASE", f"Case{number}")
        .replace("AVERAGE", str(average))
        .replace("LIMIT", str(limit))
        .replace("SEEDED", str(seeded))
        .replace("BODY", body)
        for number, (average, limit, seeded, body) in enumerate(CASES.values())
    )
    listed = f"\nCASES = [{', '.join(f'Case{number}' for number in range(len(CASES)))}]\n"
    (folder / "twin_jax.py").write_text(HEAD + classes + listed + TAIL)
    return folder / "port.py"
