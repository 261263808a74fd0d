"""The module of a written function: its text, its constants, and what is left in it."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compare.porting.functions.body_writer import BodyWriter
from compare.porting.functions.statements import render
from compare.porting.functions.written_module import LEFT_OUT, Module, Unwritten, short
from compare.porting.functions.written_values import Value, tuple_text
from compare.porting.identifiers import Names, comment_text, identifier
from compare.porting.regular_arrays import MOST_IN_TEXT
from workloads._function_graph import VALUE, Captured, FunctionGraph, Result
from workloads._inspection import Plain
from workloads._spec import Arrays

MODULE, CONSTANTS = "function_jax.py", "constants.safetensors"
WEIGHTS = "weights"
_NAMES_OF_FILE = (WEIGHTS, "CONSTANTS", "Path", "load_file", "load_weights", "safetensors", "traverse_util")
"""Names that a written module has for something of its own."""


@dataclass(frozen=True)
class WrittenFunction:
    """A function as source.

    Attributes:
      name: of it.
      text: of the module, not formatted.
      constants: that it reads from a file, by name.
      unwritten: places that are left.
      operations: how many were written, by type.
      left: how many were not.
      weights: the variables that it takes, by their names.
      values: what they hold, where the port carries that.
      inputs: what it takes, by the names of its parameters.
      keys: what the graph calls these, by the same names.
      remarks: on what stays in TensorFlow's input pipeline.
    """

    name: str
    text: str
    constants: Mapping[str, np.ndarray[Any, Any]]
    unwritten: Sequence[Unwritten]
    operations: Counter[str]
    left: Counter[str]
    weights: Mapping[str, Captured]
    values: Arrays
    inputs: Mapping[str, Result]
    keys: Mapping[str, str]
    remarks: Sequence[str] = ()


def function_source(graph: FunctionGraph, arrays: Arrays) -> WrittenFunction:
    """Write a function.

    Args:
      graph: of it.
      arrays: its constants.
    """
    module = Module(graph, arrays)
    body = graph.bodies[0]
    names, tokens, inputs, parameters = Names(), dict[str, str](), list[Value](), list[str]()
    for name in _NAMES_OF_FILE:
        names.of(name)
    for name, index in zip(graph.inputs, body.inputs, strict=False):
        result, token = body.nodes[index].results[0], module.token()
        tokens[token] = names.of(identifier(name, "x"))
        parameters.append(tokens[token])
        inputs.append(Value(result, text=token))
        if result.follows and not module.follows:
            module.follows = f"{token}.real.dtype" if result.dtype.startswith("complex") else f"{token}.dtype"
    weights = {capture.name: capture for capture in graph.captured if capture.is_variable}
    weight_followed = next((weight for weight in weights.values() if weight.result.follows), None)
    if weight_followed and not module.follows:
        module.follows = f"{_weight_text(weight_followed.name)}.dtype"
    writer = BodyWriter(module, body, [*inputs, *(_captured_value(capture, module) for capture in graph.captured)])
    results = writer.write()
    result = _result_text(graph.returned, [writer.array(value) for value in results])
    name = identifier(graph.name, "function")
    name = f"{name}_" if name in _NAMES_OF_FILE else name
    names_reserved = [name, *_NAMES_OF_FILE, *(place.name for place in module.unwritten)]
    lines = render(writer.statements, result, tokens, names_reserved, list(tokens))
    effects = [
        f"# {comment_text(effect.type)} is left out: {comment_text(short(effect.line))}"
        for effect in body.effects
        if effect.type in LEFT_OUT
    ]
    effects_dropped = [effect for effect in body.effects if effect.type not in LEFT_OUT]
    for effect in effects_dropped:
        reason = "it has an effect, and nothing that is returned needs it"
        place = Unwritten(
            f"{identifier(effect.type.lower(), 'place')}_effect_{len(module.unwritten) + 1}",
            effect.type,
            effect.line,
            reason,
        )
        module.unwritten.append(place)
        module.left[effect.type] += 1
        lines.insert(0, f"{place.name}()")
    takes = [f"{WEIGHTS}: Any"] * bool(weights) + [f"{parameter}: jax.Array" for parameter in parameters]
    kind = "jax.Array" if isinstance(graph.returned, dict) and "tensor" in graph.returned else "Any"
    docstring = _docstring(graph, parameters, results, body.nodes, body.inputs)
    head = [docstring, *effects]
    values = {name: arrays[f"{VALUE}{name}"] for name in weights if f"{VALUE}{name}" in arrays}
    text = "\n".join([
        f'"""{name}, in jax.numpy."""\n',
        *([_LOADING_IMPORTS] if values else []),
        _IMPORTS,
        *([LOADED] if module.constants else []),
        *(_place(place) for place in module.unwritten),
        *([_LOADING] if values else []),
        f"def {name}({', '.join(takes)}) -> {kind}:",
        textwrap.indent("\n".join([*head, *lines]), "    "),
        "",
    ])  # fmt: skip
    results_taken = {
        parameter: body.nodes[index].results[0] for parameter, index in zip(parameters, body.inputs, strict=False)
    }
    return WrittenFunction(
        name, text, module.constants, module.unwritten, module.written, module.left, weights, values, results_taken,
        dict(zip(parameters, graph.inputs, strict=False)), graph.remarks,
    )  # fmt: skip


_LOADING_IMPORTS = "import safetensors.flax\nfrom flax import traverse_util"
_IMPORTS = """from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from safetensors.numpy import load_file

import jaxport

"""
LOADED = f'CONSTANTS = load_file(Path(__file__).parent / "{CONSTANTS}")\n\n'
"""The line that reads large constants."""
WEIGHTS_FILE = "weights.safetensors"
_LOADING = f'''
def load_weights(path: Path = Path(__file__).parent / "{WEIGHTS_FILE}") -> Any:
    """What the variables hold: arrays in a dict for each scope."""
    return traverse_util.unflatten_dict(safetensors.flax.load_file(path), sep="/")

'''


def _weight_text(name: str) -> str:
    """A weight, grouped by its scopes."""
    return WEIGHTS + "".join(f"[{scope!r}]" for scope in name.split("/"))


def _captured_value(capture: Captured, module: Module) -> Value:
    if capture.is_variable:
        text = _weight_text(capture.name)
        # TensorFlow takes no gradient of what it does not train.
        is_fixed = not capture.trainable and capture.result.dtype.startswith(("float", "bfloat", "complex"))
        return Value(capture.result, text=f"jax.lax.stop_gradient({text})" if is_fixed else text)
    array = module.arrays.get(capture.name)
    if array is None:
        return Value(capture.result)
    if array.size <= MOST_IN_TEXT:
        return Value(capture.result, host=np.asarray(array))
    module.constants[capture.name] = np.asarray(array)
    return Value(capture.result, text=f"jnp.asarray(CONSTANTS[{capture.name!r}])")


def _result_text(nest: Plain, texts: Sequence[str]) -> str:
    if isinstance(nest, dict):
        if "tensor" in nest:
            return texts[int(nest["tensor"])]
        if "tuple" in nest:
            return tuple_text([_result_text(element, texts) for element in nest["tuple"]])
        return f"{{{', '.join(f'{key!r}: {_result_text(value, texts)}' for key, value in nest['dict'])}}}"
    if isinstance(nest, list):
        return f"[{', '.join(_result_text(element, texts) for element in nest)}]"
    return "None"


def _place(place: Unwritten) -> str:
    return (
        f"def {place.name}(*given: Any) -> Any:\n"
        f'    """To be written: {comment_text(place.type)}."""\n'
        f"    raise NotImplementedError({f'{place.told}: write it here'!r})\n\n"
    )


def _docstring(
    graph: FunctionGraph,
    parameters: Sequence[str],
    results: Sequence[Value],
    nodes: Sequence[Any],
    inputs: Sequence[int],
) -> str:
    takes = ", ".join(
        f"{name} {_type(nodes[index].results[0])}" for name, index in zip(parameters, inputs, strict=False)
    )
    gives = ", ".join(_type(value.result) for value in results)
    return f'"""{takes} -> {gives}."""'


def _type(result: Result) -> str:
    sizes = "..." if result.shape is None else ", ".join("?" if size is None else str(size) for size in result.shape)
    return f"{result.dtype}[{sizes}]"
