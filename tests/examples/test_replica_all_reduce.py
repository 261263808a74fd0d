"""`examples/distribution`: a whole step with `all_reduce` in the replica context, which XLA refuses on logical CPUs."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from places import ROOT

EXAMPLE = ROOT / "examples" / "distribution" / "replica_all_reduce.py"
COMPILED = ("compiled in strategy.run", "compiled around strategy.run")


def reported(example: Path) -> dict[str, Any]:
    ran = subprocess.run([sys.executable, example], capture_output=True, text=True, timeout=300, check=True)
    return json.loads(ran.stdout.splitlines()[-1])


@pytest.mark.process
def test_the_plain_step_is_right_and_every_compiled_one_is_refused_at_a_variable() -> None:
    found = reported(EXAMPLE)
    assert found["wrong"] == []
    assert found["refused"].pop("plain") == ""
    assert list(found["refused"]) == [*COMPILED, *(f"all_reduce alone, {name}" for name in COMPILED)]
    for name, reason in found["refused"].items():
        line = 28 if "alone" in name else 30
        assert f"(defined @ replica_all_reduce.py:{line})" in reason, name
        assert "device:CPU:1 from device /job:localhost/replica:0/task:0/device:CPU:0" in reason


@pytest.mark.process
def test_a_step_without_the_exchange_is_wrong(tmp_path: Path) -> None:
    planted = tmp_path / "planted.py"
    text = EXAMPLE.read_text()
    exchange = "context.all_reduce(tf.distribute.ReduceOp.SUM, gradient)"
    assert exchange in text
    planted.write_text(text.replace(exchange, "gradient"))
    assert "plain" in reported(planted)["wrong"]


def test_only_where_all_devices_are_gpus_the_source_takes_another_way() -> None:
    spec = find_spec("tensorflow")
    if spec is None or spec.origin is None:
        pytest.skip("there is no TensorFlow")
    source = (Path(spec.origin).parent / "python" / "distribute" / "mirrored_strategy.py").read_text()
    _, found, rest = source.partition("def _use_merge_call(self):")
    assert found and "and all devices are GPU" in rest[:200] and "GraphOrParentsInXlaContext" in rest[:400]
