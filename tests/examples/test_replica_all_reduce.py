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
    assert list(found["refused"]) == [*COMPILED, *ALONE]
    for name, reason in found["refused"].items():
        line = 28 if "alone" in name else 30
        assert f"(defined @ replica_all_reduce.py:{line})" in reason, name
        assert "device:CPU:1 from device /job:localhost/replica:0/task:0/device:CPU:0" in reason


SUM = "all_reduce(tf.distribute.ReduceOp.SUM"
UPDATE = f"assign_sub(RATE * context.{SUM}, gradient))"
ALONE = tuple(f"all_reduce alone, {name}" for name in COMPILED)
UNCOMPILED = ("of_both(tf.function(only_exchange, jit_compile=True))", "of_both(tf.function(only_exchange))")
"""One of the exchanges alone as TensorFlow does run it."""
PLANTED = {
    "no exchange in the step": ([UNCOMPILED, (UPDATE, "assign_sub(RATE * gradient)")], ["plain"]),
    "weights zeroed, a mean": (
        [UNCOMPILED, (UPDATE, "assign(tf.zeros([4]))"), (f"{SUM}, x)", f"{SUM.replace('SUM', 'MEAN')}, x)")],
        ["plain", ALONE[0]],
    ),
    "another loss, no exchange alone": (
        [UNCOMPILED, ("return loss", "return 2 * loss"), (f".{SUM}, x)", " and x")],
        ["plain", *ALONE],
    ),
}  # fmt: skip
"""By what is wrong: what the source says, and instead; the ways that must be found wrong."""


@pytest.mark.process
@pytest.mark.parametrize(("changes", "wrong"), PLANTED.values(), ids=PLANTED)
def test_a_wrong_result_of_what_runs_is_noticed(
    tmp_path: Path, changes: list[tuple[str, str]], wrong: list[str]
) -> None:
    text = EXAMPLE.read_text()
    for right, other in changes:
        assert right in text
        text = text.replace(right, other)
    (tmp_path / "planted.py").write_text(text)
    assert reported(tmp_path / "planted.py")["wrong"] == wrong


def test_only_where_all_devices_are_gpus_the_source_takes_another_way() -> None:
    spec = find_spec("tensorflow")
    if spec is None or spec.origin is None:
        pytest.skip("there is no TensorFlow")
    source = (Path(spec.origin).parent / "python" / "distribute" / "mirrored_strategy.py").read_text()
    _, found, rest = source.partition("def _use_merge_call(self):")
    assert found and "and all devices are GPU" in rest[:200] and "GraphOrParentsInXlaContext" in rest[:400]
