"""Ports with one planted error each: what was written, what stands there instead, and what is to be found."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from places import ROOT

SMALL = ROOT / "examples" / "alignment"
FEED_FORWARD = ROOT / "examples" / "feed_forward"
TWINS = ROOT / "jaxport"

_TRAINED = """\
import dataclasses
from pathlib import Path
from workloads.core import registry
port = dataclasses.replace(registry.get("mnist_mlp"), jax="twin.py:build", folder=Path(__file__).parent)
"""


@dataclass(frozen=True)
class Planted:
    """One error.

    Attributes:
      workload: whose JAX half is broken.
      old, new: the text that is replaced, and by what.
      op: the opcode to be named, of TensorFlow's operation where the port lacks it.
      cause: to be named, from the list of known causes.
      pass_: the first pass that shows it.
      near: a text in the line that is found, where that is not the line that was broken.
    """

    name: str
    workload: str
    old: str
    new: str
    op: str
    cause: str
    pass_: str = "forward"
    near: str = ""


_RESULT = 'x + hidden @ weights["contract/kernel"] + weights["contract/bias"]'

PLANTED = (
    Planted("epsilon", "feed_forward", "variance + 1e-3", "variance + 1e-5", "add", "epsilon"),
    Planted("epsilon outside of the root", "feed_forward", "jnp.sqrt(variance + 1e-3)", "(jnp.sqrt(variance) + 1e-3)",
            "sqrt", "place of epsilon"),
    Planted("gelu by tanh", "feed_forward", "approximate=False", "approximate=True", "multiply", "gelu"),
    Planted("gamma and beta swapped", "feed_forward", '* weights["norm/gamma"] + weights["norm/beta"]',
            '* weights["norm/beta"] + weights["norm/gamma"]', "multiply", "weights swapped"),
    Planted("no bias", "feed_forward", ' + weights["contract/bias"]', "", "add", "bias left out"),
    Planted("axis of a mean", "feed_forward", "x.mean(axis=-1", "x.mean(axis=-2", "reduce", "axis"),
    Planted("unbiased variance", "feed_forward", "x.var(axis=-1, keepdims=True)",
            "x.var(axis=-1, keepdims=True, ddof=1)", "divide", "biased or unbiased variance"),
    Planted("no residual", "feed_forward", "return x + hidden", "return hidden", "add", "residual connection"),
    Planted("difference the other way round", "feed_forward", "(x - mean) /", "(mean - x) /", "subtract",
            "operands swapped"),
    Planted("bfloat16 inside", "feed_forward", "normed @", "normed.astype(jnp.bfloat16).astype(x.dtype) @", "convert",
            "narrow type"),
    Planted("float16 result", "feed_forward", _RESULT, f"({_RESULT}).astype(jnp.float16)", "convert", "narrow type"),
    Planted("sum instead of mean", "mean", "jnp.mean(", "jnp.sum(", "divide", "mean or sum"),
    Planted("third power", "mean", "x**2", "x**3", "multiply", "power"),
    Planted("no scale", "attention", " / jnp.sqrt(query.shape[-1]).astype(query.dtype)", "", "divide",
            "scale by the root of the depth"),
    Planted("scale of another axis", "attention", "query.shape[-1]", "query.shape[1]", "divide",
            "scale by the root of the depth"),
    Planted("axis of the softmax", "attention", "softmax(scores)", "softmax(scores, axis=-2)", "reduce",
            "axis of the softmax"),
    Planted("subscripts of einsum", "attention", '"bhqk,bkhd->bqhd"', '"bhkq,bkhd->bqhd"', "dot", "axes of a product"),
    Planted("symmetric padding", "conv_pool", '(2, 2), "SAME"', "(2, 2), ((1, 1), (1, 1))", "convolution", "padding"),
    Planted("leaky relu", "conv_pool", "jax.nn.relu(maps", "jax.nn.leaky_relu(maps", "multiply",
            "slope of leaky relu"),
    Planted("pooling by sum", "conv_pool", "-jnp.inf, jax.lax.max", "0.0, jax.lax.add", "reduce-window",
            "another reduction"),
    Planted("kernel of a transposed convolution", "upsampling", '["kernel"], (2, 2), "SAME", transpose_kernel=True',
            '["kernel"].swapaxes(2, 3), (2, 2), "SAME"', "reverse", "kernel of a transposed convolution"),
    Planted("indices from one", "gather_clip", "jnp.take(table, indices", "jnp.take(table, indices + 1", "add",
            "index"),
    Planted("no gamma", "layernorm", ' * weights["gamma"]', "", "multiply", "weight left out"),
    Planted("silu for relu", "mlp", "jax.nn.relu(x", "jax.nn.silu(x", "negate", "another activation"),
    Planted("half the gradient at zero", "mlp", "jax.nn.relu(x", "jax.numpy.maximum(0.0, x", "compare",
            "subgradient at an edge", "gradients"),
    Planted("factor inside of a loop", "while_loop", "matrix) * 0.5", "matrix) * 0.6", "multiply", "another constant"),
    Planted("one turn more", "while_loop", "fori_loop(0, STEPS", "fori_loop(0, STEPS + 1", "compare",
            "number of iterations"),
    Planted("transposed kernel inside of a loop", "while_loop", "state @ matrix", "state @ matrix.T", "dot",
            "transposed kernel"),
    Planted("stopped gradient", "mlp_grad", "= hidden @", "= jax.lax.stop_gradient(hidden) @", "dot", "stop_gradient"),
    Planted("second moment by the first beta", "_adam_family", "(g * g - v) * (1 - beta_2)",
            "(g * g - v) * (1 - beta_1)", "multiply", "optimizer's averages", "step"),
    Planted("learning rate", "mnist_mlp", "adam(1e-3)", "adam(1e-2)", "multiply", "learning rate", "step",
            near="return rate * jnp.sqrt"),
)  # fmt: skip
"""Thirty-one, of different kinds."""


@dataclass(frozen=True)
class Port:
    """A port on disk: the file to ask for, and where the planted line stands (no line of an honest port)."""

    file: Path
    broken: str


def write(planted: Planted, folder: Path) -> Port:
    """The port with its error, in a folder of its own."""
    folder.mkdir()
    if planted.workload in ("mnist_mlp", "_adam_family"):
        return _write_trained(planted, folder)
    small = planted.workload != "feed_forward"
    source = SMALL / f"{planted.workload}.py" if small else FEED_FORWARD / "model_jax.py"
    text = source.read_text()
    half = text.index("def in_jax" if small else "def ")
    copy_honest(planted.workload, folder)
    return Port(port_of(planted.workload, folder), _replace(planted, text, half, folder / source.name))


def copy_honest(workload: str, folder: Path) -> None:
    """The port as it is; fewer examples of the larger one, so that it runs in no time."""
    small = workload != "feed_forward"
    for source in [SMALL / f"{workload}.py"] if small else sorted(FEED_FORWARD.glob("*.py")):
        shutil.copy(source, folder / source.name)
    if not small:
        port = folder / "port.py"
        port.write_text(port.read_text().replace("(8, 32, 64)", "(2, 4, 64)"))


def port_of(workload: str, folder: Path) -> Path:
    """The file that declares the workload."""
    return folder / ("port.py" if workload == "feed_forward" else f"{workload}.py")


def _write_trained(planted: Planted, folder: Path) -> Port:
    module = f"optimizers_of_{folder.name}"
    texts = {name: (TWINS / f"{name}.py").read_text() for name in ("mnist_mlp", "_adam_family")}
    imported = "from jaxport import Model, optimizers"
    assert imported in texts["mnist_mlp"]
    if planted.workload == "_adam_family":
        copied = f"from jaxport import Model; import {module} as optimizers"
        texts["mnist_mlp"] = texts["mnist_mlp"].replace(imported, copied)
    files = {"mnist_mlp": folder / "twin.py", "_adam_family": folder / f"{module}.py"}
    for name, file in files.items():
        file.write_text(texts[name])
    (folder / "port.py").write_text(_TRAINED)
    return Port(folder / "port.py", _replace(planted, texts[planted.workload], 0, files[planted.workload]))


def _replace(planted: Planted, text: str, start: int, file: Path) -> str:
    at = text.index(planted.old, start)
    file.write_text(text[:at] + planted.new + text[at + len(planted.old) :])
    return f"{file}:{text[:at].count(chr(10)) + 1}"
