"""The functions of `jaxport` as tools of the Model Context Protocol, served by its Python SDK."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

from compare import versions
from compare.api.tools import Tools
from compare.errors import FORESEEN, RequestError

INSTRUCTIONS = """\
jaxport proves that a port of TensorFlow code to JAX is right. Work in a loop: check; where it fails, locate names the
operation to blame; edit; check again, until the verdict is "pass". In a port of a model, next tells which layer is
wrong. gotchas and ops tell what something of TensorFlow is in JAX, doctor what is hard in a model, and write_port
writes a port of a Keras model. Name files relative to the root.
"""

NAMES = ("check", "locate", "next", "gotchas", "ops", "doctor", "write_port")


def server(tools: Tools) -> Any:
    """A server of the SDK that offers the tools.

    Raises:
      RequestError: the SDK is not installed.
    """
    try:
        sdk = importlib.import_module("mcp.server")
        tool_error = importlib.import_module("mcp.server.mcpserver.exceptions").ToolError
    except ModuleNotFoundError as error:
        raise RequestError(f"expected the package mcp, found no {error.name}: pip install 'jaxport[mcp]'") from error
    mcp_server = sdk.MCPServer("jaxport", instructions=INSTRUCTIONS, version=versions.own(), log_level="WARNING")
    for name in NAMES:
        mcp_server.add_tool(_with_refusals(getattr(tools, name), tool_error), name=name, structured_output=True)
    return mcp_server


def _with_refusals(tool: Callable[..., Any], tool_error: type[Exception]) -> Callable[..., Any]:
    """The tool; the agent reads the text of an error that it can put right."""

    @functools.wraps(tool)
    def call(*arguments: Any, **keywords: Any) -> Any:
        try:
            return tool(*arguments, **keywords)
        except FORESEEN as error:
            raise tool_error(str(error)) from error

    return call
