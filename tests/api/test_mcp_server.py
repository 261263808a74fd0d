"""`jaxport mcp` to a client of the SDK: an agent's loop of check, locate, edit and check ends in a proved port."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

mcp = pytest.importorskip("mcp")
anyio = pytest.importorskip("anyio")

TENSORFLOW = """
import tensorflow as tf

def norm(x, scale):
    mean, variance = tf.nn.moments(x, -1, keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + 1e-3) * scale
"""
JAX = """
import jax
import jax.numpy as jnp

def norm(x, scale):
    centred = x - x.mean(-1, keepdims=True)
    variance = jnp.square(centred).mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt(variance + 1e-5) * scale
"""
PORT_FILE = """
from jaxport import ArraySpec, Workload

inputs = {"x": ArraySpec((4, 8)), "scale": ArraySpec((8,))}
port = Workload(name="norm", tf="my_tf.py:norm", jax="my_jax.py:norm", inputs=inputs, builds=False)
"""
PORT = {"tf_fn": "my_tf.py:norm", "jax_fn": "my_jax.py:norm", "inputs": {"x": "f32[4,8]", "scale": "f32[8]"}}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "my_tf.py").write_text(TENSORFLOW)
    (folder / "my_jax.py").write_text(JAX)
    (folder / "port.py").write_text(PORT_FILE)
    (folder / "ends.py").write_text("import os\n\nos._exit(3)\n")
    return folder


def edited(root: Path, place: str, value: float) -> None:
    """What an agent does with the reply of locate: the number of the port's line is the original's."""
    file, _, line = place.rpartition(":")
    lines = (root / file).read_text().splitlines()
    lines[int(line) - 1] = re.sub(r"1e-5", repr(value), lines[int(line) - 1])
    (root / file).write_text("\n".join(lines))


async def answer(client: Any, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def refusal(client: Any, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return result.content[0].text


async def loop(root: Path) -> None:
    command = [sys.executable, "-m", "jaxport", "mcp", "--root", str(root)]
    started = mcp.StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ), cwd=root.parent)
    async with mcp.Client(started) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert list(tools) == ["check", "locate", "next", "gotchas", "ops", "doctor", "write_port"]
        assert tools["check"].output_schema["properties"]["verdict"] == {"title": "Verdict", "type": "string"}
        first = await answer(client, "check", **PORT)
        assert first["verdict"] == "fail" and first["hint"].startswith("call locate")
        failure = first["failures"][0]
        assert failure["gate"] == "semantics" and failure["expected"] != failure["found"]
        located = await answer(client, "locate", **PORT, passes=["forward"])
        (departure,) = located["departures"]
        assert departure["jax_line"] == "my_jax.py:8" and departure["tf_line"] == "my_tf.py:6"
        assert departure["cause"] == "epsilon" and str(root) not in str(located)
        entries = await answer(client, "gotchas", words=[departure["gotchas"], "normalization"])
        assert any("epsilon" in entry["why"] for entry in entries["entries"]) or entries["further"]
        rungs = await answer(client, "next", port="port.py")
        assert (rungs["verdict"], rungs["fails"], rungs["rungs"]["gradients"]) == ("fail", "forward", "not_reached")
        assert rungs["operations"][0]["jax_line"] == departure["jax_line"] and str(root) not in str(rungs)
        edited(root, departure["jax_line"], 1e-3)
        last = await answer(client, "check", **PORT)
        assert last["verdict"] == "pass" and last["failures"] == [] and last["hint"].startswith("the port is proved")
        assert "expected a path within" in await refusal(client, "check", tf_fn="../elsewhere.py")
        assert "Traceback" not in await refusal(client, "check", tf_fn="ends.py")
        operation = await answer(client, "ops", words=["tf.nn.softmax"])
        assert operation["operations"][0]["counterparts"]["tf.nn.softmax"].startswith("jax.nn.softmax")


@pytest.mark.process
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_check_locate_edit_check_ends_in_a_proved_port(root: Path) -> None:
    anyio.run(loop, root)
