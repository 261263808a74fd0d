"""A small model that trains, with batch norm, dropout and Adam, and distributed steps: right, or with a mistake."""

from __future__ import annotations

from pathlib import Path

PORT = """\
from pathlib import Path
import numpy as np
from workloads import ArraySpec, Training, Workload

def examples(dimensions):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((64, 6)).astype(np.float32)
    if dimensions["alike"]:
        x = np.broadcast_to(x[:1], x.shape).copy()
    return {"x": x, "y": np.tanh(x[:, :3])}

port = Workload(
    name="small",
    tf="twin_tf.py:build",
    jax="twin_jax.py:build",
    inputs=lambda dimensions: {
        "x": ArraySpec((dimensions["batch"], 6)),
        "y": ArraySpec((dimensions["batch"], 3)),
        "draws": ArraySpec((2, dimensions["batch"], 3), "uint8", low=0, high=256),
    },
    weights=lambda dimensions: {"kernel": ArraySpec((6, 3)), "mean": ArraySpec((3,), scale=0.1)},
    sizes={
        name: {"batch": 8, "alike": 0, "step": number}
        for number, name in enumerate(NAMES)
    } | {"alike": {"batch": 8, "alike": 1, "step": 0}, "odd": {"batch": 7, "alike": 0, "step": 0}},
    training=Training(synthetic=examples, steps=4, checkpoints=(4,)),
    folder=Path(__file__).parent,
)
"""

JAX = """\
import dataclasses
import jax
import jax.numpy as jnp
import optax
from jax.sharding import PartitionSpec as P
from jaxport import Model, Parts

def build(dimensions, dtype):
    optimizer = optax.adam(1e-2)

    def loss(kernel, mean, x, y, draws):
        hidden = jnp.where(draws[0] < 128, x @ kernel, 0)
        own = hidden.mean(0)
        return jnp.mean(jnp.square(jnp.tanh(hidden - own) - y)), 0.9 * mean + 0.1 * own

    def gradients(parameters, state, *inputs):
        kernel, mean = parameters
        (value, moved), found = jax.value_and_grad(loss, has_aux=True)(kernel, mean, *inputs)
        return found, value, jax.lax.stop_gradient(moved)

    def update(parameters, state, gradients, moved):
        updates, state = optimizer.update(gradients, state, parameters[0])
        return (optax.apply_updates(parameters[0], updates), moved), state

    def step(mesh):
        def of_device(parameters, state, x, y, draws):
            first = lambda tree: jax.tree.map(lambda leaf: jax.lax.all_gather(leaf, "data")[0], tree)
            mean, total = lambda tree: jax.lax.pmean(tree, "data"), lambda tree: jax.lax.psum(tree, "data")
            PREPARED
            gradients_, value, moved = gradients(parameters, state, x, y, draws)
            REDUCED
            return (*update(parameters, state, gradients_, moved), value)

        specs = (P(), P(), P("data"), P("data"), P(None, "data"))
        return jax.shard_map(of_device, mesh=mesh, in_specs=specs, out_specs=(P(), P(), P()), check_vma=False)

    parts = Parts(gradients, update)
    return Model(
        lambda parameters, x, y, draws: x @ parameters[0],
        from_weights=lambda weights: (weights["kernel"], weights["mean"]),
        to_weights=lambda parameters: {"kernel": parameters[0], "mean": parameters[1]},
        init=lambda parameters: optimizer.init(parameters[0]),
        step=parts.step,
        parts=parts,
        sharded=step,
    )
"""

STEPS = {
    "right": ("", "gradients_, value, moved = mean((gradients_, value, moved))"),
    "summed": ("", "gradients_, value, moved = total(gradients_), mean(value), mean(moved)"),
    "not-reduced": ("", "value, moved = mean((value, moved))"),
    "loss-alone-of-one": ("", "gradients_, moved, value = mean(gradients_), mean(moved), first(value)"),
    "statistics-of-one": ("", "gradients_, value, moved = mean(gradients_), mean(value), first(moved)"),
    "statistics-of-each": ("", "gradients_, value = mean((gradients_, value))"),
    "draws-of-one": ("draws = first(draws)", "gradients_, value, moved = mean((gradients_, value, moved))"),
    "reduced-late": (
        "",
        "value = mean(value)\n            parameters, state = mean(update(parameters, state, gradients_, moved))\n"
        "            return parameters, state, value",
    ),
}
"""By name, what a device does before its gradients and after them. Only the first is right."""


def write(folder: Path) -> Path:
    """The port file, one size a step."""
    built = JAX
    (folder / "port.py").write_text(PORT.replace("NAMES", repr(list(STEPS))))
    choose = "".join(
        f'    if dimensions["step"] == {number}:\n        chosen = step_{number}\n' for number in range(len(STEPS))
    )
    body = built[built.index("    def step(mesh):") : built.index("    parts = Parts")]
    steps = "".join(
        body.replace("def step(mesh)", f"def step_{number}(mesh)")
        .replace("PREPARED", before or "pass")
        .replace("REDUCED", after)
        for number, (before, after) in enumerate(STEPS.values())
    )
    (folder / "twin_jax.py").write_text(built.replace(body, steps + choose).replace("sharded=step,", "sharded=chosen,"))
    return folder / "port.py"
