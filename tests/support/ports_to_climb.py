"""A small Keras model with its port by hand, and errors that are planted in the port, one for each rung."""

from dataclasses import dataclass
from pathlib import Path

PORT = """
import numpy as np
from workloads import ArraySpec, Training, Workload

WEIGHTS = {
    "first/kernel": ArraySpec((4, 6)), "first/bias": ArraySpec((6,)),
    "norm/gamma": ArraySpec((6,)), "norm/beta": ArraySpec((6,)),
    "block/middle/kernel": ArraySpec((6, 6)), "block/middle/bias": ArraySpec((6,)),
    "head/kernel": ArraySpec((6, 3)), "head/bias": ArraySpec((3,)),
}

def examples(dimensions):
    draw = np.random.default_rng(0).standard_normal
    return {"x": draw((40, 4), np.float32), "y": draw((40, 3), np.float32)}

port = Workload(
    name="climbed", summary="a small model", weights=WEIGHTS, sizes={"default": {"batch": 8}},
    inputs=lambda d: {"x": ArraySpec((d["batch"], 4)), "y": ArraySpec((d["batch"], 3))},
    training=Training(synthetic=examples, steps=6, checkpoints=(1, 3)), tf="half_tf.py:build", jax="half_jax.py:build",
)
"""

ORIGINAL = """
import keras
import tensorflow as tf
from keras import layers
from tf_reference import Model, keras_train_step

def build(dimensions, dtype):
    keras.config.set_floatx(dtype)
    x = keras.Input((4,), dtype=dtype)
    inside = keras.Input((6,), dtype=dtype)
    middle = layers.Dense(6, name="middle", dtype=dtype)
    block = keras.Model(inside, middle(inside), name="block")
    first, head = layers.Dense(6, "tanh", name="first", dtype=dtype), layers.Dense(3, name="head", dtype=dtype)
    norm = layers.LayerNormalization(name="norm", dtype=dtype)
    made = layers.Activation("tanh", name="bend", dtype=dtype)(block(norm(first(x))))
    model = keras.Model(x, head(made))
    rate = keras.optimizers.schedules.PiecewiseConstantDecay([2], [2.0**-9, 2.0**-11])
    optimizer = keras.optimizers.Adam(rate)
    optimizer.build(model.trainable_variables)

    def loss(x, y):
        return tf.reduce_mean(tf.square(model(x, training=True) - y))

    def step(x, y):
        with tf.GradientTape() as tape:
            value = loss(x, y)
        gradients = tape.gradient(value, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return value

    weights = {f"first/{n}": getattr(first, n) for n in ("kernel", "bias")}
    weights |= {f"norm/{n}": getattr(norm, n) for n in ("gamma", "beta")}
    weights |= {f"block/middle/{n}": getattr(middle, n) for n in ("kernel", "bias")}
    weights |= {f"head/{n}": getattr(head, n) for n in ("kernel", "bias")}
    state = {each.path: each for each in optimizer.variables}
    return Model(lambda x, y: model(x), weights, loss=loss, step=step, state=state)
"""

MODULES = """
import jax
import jax.numpy as jnp
import jaxport
import optax
from flax import nnx

class Block(nnx.Module):
    def __init__(self, rngs):
        self.middle = nnx.Linear(6, 6, rngs=rngs)

    def __call__(self, x):
        return self.middle(x)

class Net(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(4, 6, rngs=rngs)
        self.norm = nnx.LayerNorm(6, epsilon=1e-3, use_fast_variance=False, rngs=rngs)
        self.block = Block(rngs)
        self.head = nnx.Linear(6, 3, rngs=rngs)

    def __call__(self, x):
        x = self.norm(jnp.tanh(self.first(x)))
        x = jnp.tanh(self.block(x))
        return self.head(x)

NAMES = {"gamma": "scale", "beta": "bias"}

def there(weights):
    held = {}
    for path, array in weights.items():
        *around, layer, leaf = path.split("/")
        inner = held
        for name in (*around, layer):
            inner = inner.setdefault(name, {})
        inner[NAMES.get(leaf, leaf) if layer == "norm" else leaf] = array
    return held

def back(held):
    flat = {}
    for name, inner in held.items():
        if name == "block":
            inner = inner["middle"]
            name = "block/middle"
        swap = {v: k for k, v in NAMES.items()} if name == "norm" else {}
        flat |= {f"{name}/{swap.get(leaf, leaf)}": array for leaf, array in inner.items()}
    return flat

def build(dimensions, dtype):
    graph, _ = nnx.split(nnx.eval_shape(lambda: Net(nnx.Rngs(0))))
    forward = lambda held, x, y: nnx.merge(graph, held)(x)
    return whole(forward)

def rate(step, dtype):
    return jnp.where(step <= 2, 2.0**-9, 2.0**-11).astype(dtype)

def whole(forward):
    optimizer = jaxport.optimizers.adam(rate)

    def loss(held, x, y):
        return jnp.mean((forward(held, x, y) - y) ** 2)

    def step(held, state, x, y):
        value, gradients = jax.value_and_grad(loss)(held, x, y)
        updates, state = optimizer.update(gradients, state, held)
        return optax.apply_updates(held, updates), state, value

    return jaxport.Model(forward, there, back, loss=loss, init=optimizer.init, step=step)
"""

FUNCTIONS = (
    MODULES.replace("    graph, _ = nnx.split(nnx.eval_shape(lambda: Net(nnx.Rngs(0))))\n", "")
    .replace("nnx.merge(graph, held)(x)", "plain(held, x)")
    .replace(
        "def rate(",
        """def plain(held, x):
    def dense(layer, x):
        return x @ layer["kernel"] + layer["bias"]

    x = jnp.tanh(dense(held["first"], x))
    x = (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-3)
    x = x * held["norm"]["scale"] + held["norm"]["bias"]
    x = jnp.tanh(dense(held["block"]["middle"], x))
    return dense(held["head"], x)

def rate(""",
    )
)


@dataclass(frozen=True)
class Planted:
    """An error.

    Attributes:
      old: what stands in the port's half.
      new: what is put there.
      rung: that fails.
      told: what is said of it, somewhere.
    """

    old: str
    new: str
    rung: str
    told: str


PLANTED = {
    "output shape": Planted("return self.head(x)", "return self.head(x)[:, None]", "structure", "shape"),
    "half that raises": Planted("x = jnp.tanh(self.block(x))", "x = self.absent(x)", "structure", "absent"),
    "replaced function of NumPy": Planted(
        "import optax\n", "import numpy\nimport optax\nnumpy.median = numpy.mean\n", "structure", "proves nothing"
    ),
    "weight left out": Planted(
        'if name == "block":', 'if name == "head":\n            continue\n        if name == "block":',
        "weights", "head/",
    ),
    "transposed on the way in": Planted(
        "    return held\n",
        "    inner = held['block']['middle']\n    inner['kernel'] = inner['kernel'].T\n    return held\n",
        "weights", "block/middle/kernel",
    ),
    "swapped both ways": Planted(
        "(forward, there, back,", "(forward, swapping(there), swapping_back(back),", "weights", "lie in module"
    ),
    "epsilon of the middle layer": Planted("epsilon=1e-3", "epsilon=2e-3", "forward", "norm (LayerNormalization"),
    "transposed kernel": Planted(
        "        return self.middle(x)", "        return self.turned(x)\n\n    def turned(self, x):\n"
        "        return self.middle(x @ jnp.eye(6)[::-1])", "forward", "block/middle",
    ),
    "activation left out": Planted("x = jnp.tanh(self.block(x))", "x = self.block(x)", "forward", "bend (Activation)"),
    "stopped gradient": Planted("jnp.tanh(self.block(x))", "jnp.tanh(jax.lax.stop_gradient(self.block(x)))",
                                "gradients", "block"),
    "epsilon of the optimizer": Planted("adam(rate)", "adam(rate, epsilon=1e-6)", "optimizer", "after 1 update"),
    "schedule off by one": Planted("step <= 2", "step <= 1", "trajectory", "update 3"),
}  # fmt: skip

SWAPPING = """

def swapping(there):
    def swapped(weights):
        held = there(weights)
        held["first"]["bias"], held["norm"]["bias"] = held["norm"]["bias"], held["first"]["bias"]
        return held
    return swapped

def swapping_back(back):
    def swapped(held):
        held = {name: dict(inner) for name, inner in held.items()}
        held["first"]["bias"], held["norm"]["bias"] = held["norm"]["bias"], held["first"]["bias"]
        return back(held)
    return swapped
"""


def written(folder: Path, half: str, planted: Planted | None = None) -> Path:
    """A port with an error planted in JAX's half; its port file."""
    if planted is not None:
        assert half.count(planted.old) == 1, planted
        half = half.replace(planted.old, planted.new) + SWAPPING
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (("port.py", PORT), ("half_tf.py", ORIGINAL), ("half_jax.py", half)):
        (folder / name).write_text(text)
    return folder / "port.py"
