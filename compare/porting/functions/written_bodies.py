"""Bodies of branches and loops as functions in the function that they belong to."""

from __future__ import annotations

from collections.abc import Sequence

from compare.porting.functions.body_writer import BodyWriter
from compare.porting.functions.statements import Definition, Variable
from compare.porting.functions.written_values import Value, tuple_text
from workloads._function_graph import Body


def function(writer: BodyWriter, body: Body, given: Sequence[Value]) -> tuple[Sequence[Value], BodyWriter]:
    """What a body returns, and its writer.

    Args:
      writer: of the body that calls it.
      body: itself.
      given: what it takes.
    """
    inner = BodyWriter(writer.module, body, given)
    return inner.write(), inner


def defined(
    writer: BodyWriter, wanted: str, inner: BodyWriter, parameters: Sequence[Variable], returned: Sequence[str]
) -> str:
    """Define a function of what an inner writer wrote; its name.

    Args:
      writer: of the body that it is defined in.
      wanted: what it is to be called.
      inner: writer of its statements.
      parameters: of it.
      returned: expressions of what it returns.
    """
    name = Variable(writer.module.token(), wanted)
    result = returned[0] if len(returned) == 1 else tuple_text(list(returned))
    writer.statements.append(Definition(name, tuple(parameters), tuple(inner.statements), result))
    return name.token
