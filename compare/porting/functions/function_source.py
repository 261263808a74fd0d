"""The module of a written function: its text, its constants, and what is left in it."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compare.porting.functions.body_writer import BodyWriter
from compare.porting.functions.helper_making import Code, Helper
from compare.porting.functions.helper_text import helper_text
from compare.porting.functions.helpers import split
from compare.porting.functions.statements import RESERVED, render, without_unread
from compare.porting.functions.written_module import LEFT_OUT, Module, Unwritten, short
from compare.porting.functions.written_values import Value, tuple_text, type_text
from compare.porting.identifiers import Names, comment_text, identifier
from compare.porting.regular_arrays import MOST_IN_TEXT
from workloads.core.spec import Arrays
from workloads.protocol.function_graph import VALUE, Captured, Effect, FunctionGraph, Result
from workloads.protocol.inspection import Plain

MODULE, CONSTANTS = "function_jax.py", "constants.safetensors"
WEIGHTS = "weights"
_CALLED = ("bool", "complex", "float", "int", "len", "max", "min", "range", "sum", "tuple")
_NAMES_OF_FILE = (WEIGHTS, "CONSTANTS", "Path", "load_file", "load_weights", "safetensors", "traverse_util", *_CALLED)
"""Names that a written module has for something of its own, and built-in functions that its lines call."""


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


@dataclass(frozen=True)
class _Parameter:
    """An input: its name in the file, the token that stands for it until then, and its type."""

    name: str
    token: str
    result: Result


def function_source(graph: FunctionGraph, arrays: Arrays) -> WrittenFunction:
    """Write a function; pieces that repeat in it are helper functions."""
    draft = _Draft(graph, arrays, is_elementary=True)
    helpers = draft.split()
    return draft.source(helpers) if helpers else source_without_helpers(graph, arrays)


def source_without_helpers(graph: FunctionGraph, arrays: Arrays) -> WrittenFunction:
    """Write a function, and what repeats in it as often as it does."""
    return _Draft(graph, arrays, is_elementary=False).source(())


class _Draft:
    """The statements of a function.

    Args:
      is_elementary: whether each operation is a statement of its own.
    """

    def __init__(self, graph: FunctionGraph, arrays: Arrays, *, is_elementary: bool) -> None:
        self.graph, self.module = graph, Module(graph, arrays, is_elementary=is_elementary)
        self.parameters = _name_parameters(graph, self.module)
        self.weights = {capture.name: capture for capture in graph.captured if capture.is_variable}
        self.module.follows = _followed_dtype(self.parameters, self.weights)
        self.module.types |= {parameter.token: parameter.result for parameter in self.parameters}
        inputs = [Value(parameter.result, text=parameter.token) for parameter in self.parameters]
        captures = [_captured_value(capture, self.module) for capture in graph.captured]
        writer = BodyWriter(self.module, graph.bodies[0], [*inputs, *captures])
        self.returned = writer.write()
        results = list(map(writer.array, self.returned))
        name = identifier(graph.name, "function")
        self.name = f"{name}_" if name in _NAMES_OF_FILE else name
        self._tokens = {parameter.token: parameter.name for parameter in self.parameters}
        self._reserved = [self.name, *_NAMES_OF_FILE, *(place.name for place in self.module.unwritten)]
        self.code = Code(writer.statements, results)

    def split(self) -> list[Helper]:
        """Make helper functions of what repeats."""
        statements = without_unread(self.code.statements, " ".join(self.code.results), self._reserved)
        self.code = Code(statements, self.code.results)
        names = Names([*self._reserved, *self._tokens.values(), *RESERVED])
        return split(self.module, self.code, self._tokens, names)

    def source(self, helpers: Sequence[Helper]) -> WrittenFunction:
        """The function as source."""
        graph, module = self.graph, self.module
        comments, calls = _write_effects(graph.bodies[0].effects, module)
        arrays = module.arrays
        values = {name: arrays[f"{VALUE}{name}"] for name in self.weights if f"{VALUE}{name}" in arrays}
        names_reserved = [*self._reserved, *(helper.name for helper in helpers)]
        result = _result_text(graph.returned, self.code.results)
        body = render(self.code.statements, result, self._tokens, names_reserved, list(self._tokens))
        head = _head(self.name, [f"{WEIGHTS}: Any"] * bool(self.weights), self.parameters, graph.returned)
        lines = [_docstring(self.parameters, self.returned), *comments, *calls, *body]
        texts = [helper_text(helper, names_reserved) for helper in helpers]
        function = [*texts, head, textwrap.indent("\n".join(lines), "    "), ""]
        return WrittenFunction(
            name=self.name,
            text=_module_text(self.name, module, bool(values), function),
            constants=module.constants,
            unwritten=module.unwritten,
            operations=module.written,
            left=module.left,
            weights=self.weights,
            values=values,
            inputs={parameter.name: parameter.result for parameter in self.parameters},
            keys=dict(zip([parameter.name for parameter in self.parameters], graph.inputs, strict=False)),
            remarks=graph.remarks,
        )


def _name_parameters(graph: FunctionGraph, module: Module) -> list[_Parameter]:
    """The inputs, under names that nothing else in the file has."""
    body, names = graph.bodies[0], Names()
    for name in _NAMES_OF_FILE:
        names.of(name)
    return [
        _Parameter(names.of(identifier(name, "x")), module.token(), body.nodes[index].results[0])
        for name, index in zip(graph.inputs, body.inputs, strict=False)
    ]


def _followed_dtype(parameters: Sequence[_Parameter], weights: Mapping[str, Captured]) -> str:
    """The expression of the float type of the first input or weight that has it; "" where none has."""
    for parameter in parameters:
        if parameter.result.follows:
            real = ".real" if parameter.result.dtype.startswith("complex") else ""
            return f"{parameter.token}{real}.dtype"
    return next((f"{_weight_text(name)}.dtype" for name, weight in weights.items() if weight.result.follows), "")


def _write_effects(effects: Sequence[Effect], module: Module) -> tuple[list[str], list[str]]:
    """Comments for effects that JAX has in another form, and calls of places for all others, the last one first."""
    comments, calls = [], []
    for effect in effects:
        if effect.type in LEFT_OUT:
            comments.append(f"# {comment_text(effect.type)} is left out: {comment_text(short(effect.line))}")
            continue
        name = f"{identifier(effect.type.lower(), 'place')}_effect_{len(module.unwritten) + 1}"
        reason = "it has an effect, and nothing that is returned needs it"
        module.unwritten.append(Unwritten(name, effect.type, effect.line, reason))
        module.left[effect.type] += 1
        calls.insert(0, f"{name}()")
    return comments, calls


def _head(name: str, first: Sequence[str], parameters: Sequence[_Parameter], nest: Plain) -> str:
    """The line of `def`."""
    kind = "jax.Array" if isinstance(nest, dict) and "tensor" in nest else "Any"
    takes = [*first, *(f"{parameter.name}: jax.Array" for parameter in parameters)]
    return f"def {name}({', '.join(takes)}) -> {kind}:"


def _module_text(name: str, module: Module, has_values: bool, function: Sequence[str]) -> str:
    return "\n".join([
        f'"""{name}, in jax.numpy."""\n',
        *([_LOADING_IMPORTS] if has_values else []),
        _IMPORTS,
        *([LOADED] if module.constants else []),
        *map(_place, module.unwritten),
        *([_LOADING] if has_values else []),
        *function,
    ])  # fmt: skip


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
        f"    raise NotImplementedError({f'{place.description}: write it here'!r})\n\n"
    )


def _docstring(parameters: Sequence[_Parameter], results: Sequence[Value]) -> str:
    takes = ", ".join(f"{parameter.name} {type_text(parameter.result)}" for parameter in parameters)
    gives = ", ".join(type_text(value.result) for value in results)
    return f'"""{takes} -> {gives}."""'
