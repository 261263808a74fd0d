"""Bodies of branches and loops as functions in the function that they belong to."""

from __future__ import annotations

from collections.abc import Sequence

from compare.porting.functions.body_writer import BodyWriter
from compare.porting.functions.statements import Definition, Variable
from compare.porting.functions.written_values import Value, tuple_text
from workloads.protocol.function_graph import Body


def function(writer: BodyWriter, body: Body, inputs: Sequence[Value]) -> tuple[Sequence[Value], BodyWriter]:
    """The results of a body, and its writer.

    Args:
      writer: of the body that calls it.
    """
    inner = BodyWriter(writer.module, body, inputs)
    return inner.write(), inner


def define(
    writer: BodyWriter, wanted_name: str, inner: BodyWriter, parameters: Sequence[Variable], results: Sequence[str]
) -> str:
    """Define a function of what an inner writer wrote; its name."""
    name = Variable(writer.module.token(), wanted_name)
    result = results[0] if len(results) == 1 else tuple_text(list(results))
    writer.statements.append(Definition(name, tuple(parameters), tuple(inner.statements), result))
    return name.token
