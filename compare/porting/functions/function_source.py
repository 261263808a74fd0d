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
from workloads._function_graph import Captured, FunctionGraph, Result
from workloads._inspection import Plain
from workloads._spec import Arrays

MODULE, CONSTANTS = "function_jax.py", "constants.safetensors"
WEIGHTS = "weights"


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
    """

    name: str
    text: str
    constants: Mapping[str, np.ndarray[Any, Any]]
    unwritten: Sequence[Unwritten]
    operations: Counter[str]
    left: Counter[str]
    weights: Mapping[str, Captured]


def function_source(graph: FunctionGraph, arrays: Arrays) -> WrittenFunction:
    """Write a function.

    Args:
      graph: of it.
      arrays: its constants.
    """
    module = Module(graph, arrays)
    body = graph.bodies[0]
    names, tokens, inputs, parameters = Names(), dict[str, str](), list[Value](), list[str]()
    for name, index in zip(graph.inputs, body.inputs, strict=False):
        result, token = body.nodes[index].results[0], module.token()
        tokens[token] = names.of(identifier(name, "x"))
        parameters.append(tokens[token])
        inputs.append(Value(result, text=token))
        if result.follows and not module.follows:
            module.follows = f"{token}.real.dtype" if result.dtype.startswith("complex") else f"{token}.dtype"
    weights = {capture.name: capture for capture in graph.captured if capture.is_variable}
    writer = BodyWriter(module, body, [*inputs, *(_captured_value(capture, module) for capture in graph.captured)])
    results = writer.write()
    result = _result_text(graph.returned, [writer.array(value) for value in results])
    name = identifier(graph.name, "function")
    names_reserved = [name, *(place.name for place in module.unwritten)]
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
    not_trained = _not_trained(graph.captured)
    takes = [f"{WEIGHTS}: Any"] * bool(weights) + [f"{parameter}: jax.Array" for parameter in parameters]
    kind = "jax.Array" if isinstance(graph.returned, dict) and "tensor" in graph.returned else "Any"
    docstring = _docstring(graph, parameters, results, body.nodes, body.inputs)
    head = [docstring, *effects, *([_WITHOUT_GRADIENT] if not_trained else [])]
    text = "\n".join([
        f'"""{name}, in jax.numpy."""\n',
        _IMPORTS,
        *([LOADED] if module.constants else []),
        *([f"{_NOT_TRAINED} = {tuple_text([repr(name) for name in not_trained])}\n"] if not_trained else []),
        *(_place(place) for place in module.unwritten),
        f"def {name}({', '.join(takes)}) -> {kind}:",
        textwrap.indent("\n".join([*head, *lines]), "    "),
        "",
    ])  # fmt: skip
    return WrittenFunction(name, text, module.constants, module.unwritten, module.written, module.left, weights)


_IMPORTS = """from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from safetensors.numpy import load_file

import jaxport

"""
_NOT_TRAINED = "NOT_TRAINED"
_WITHOUT_GRADIENT = f"""# TensorFlow takes no gradient of these.
{WEIGHTS} = {{**{WEIGHTS}, **{{name: jax.lax.stop_gradient({WEIGHTS}[name]) for name in {_NOT_TRAINED}}}}}"""
LOADED = f'CONSTANTS = load_file(Path(__file__).parent / "{CONSTANTS}")\n\n'
"""The line that reads large constants."""


def _not_trained(captures: Sequence[Captured]) -> list[str]:
    variables = [variable for variable in captures if variable.is_variable and not variable.trainable]
    return [variable.name for variable in variables if variable.result.dtype.startswith(("float", "bfloat", "complex"))]


def _captured_value(capture: Captured, module: Module) -> Value:
    if capture.is_variable:
        return Value(capture.result, text=f"{WEIGHTS}[{capture.name!r}]")
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
