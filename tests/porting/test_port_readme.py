"""README.md of a written port, from what the run found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from compare import versions
from compare.porting.functions.function_ports import FunctionPort
from compare.porting.port_facts import PortFacts
from compare.record.envelope import Environment, Record
from compare.record.parity_part import Comparison, Gate, Parity
from compare.record.workload_part import Workload
from compare.report.port_readme import readme
from workloads.core.spec import GATES

FACTS = PortFacts(
    name="small",
    what="A Flax NNX port",
    original="../my_tf.py:build",
    subject="Small",
    module="model_jax.py",
    inputs="x float32[batch, 4]",
    outputs="float32[batch, 2]",
    loading=("from model_jax import Small",),
    obstacle="the original is not compiled",
    steps=10,
)

TEXT = f"""\
# small

A Flax NNX port of `../my_tf.py:build`: `Small` in `model_jax.py`, of `x float32[batch, 4]` to `float32[batch, 2]`. \
3 weights of the original are in `weights.safetensors`. Written by jaxport {versions.own()}.

VERDICT

- Judge it again: `jaxport run port.py` (programs and times too), or `pytest test_port.py`.
- Train it: there is no `train.py`, because the original is not compiled.
- Load it, in Python in this folder:

  ```python
  from model_jax import Small
  ```

`jaxport init --force` writes this file anew, unless this line is gone.
"""


def port(facts: PortFacts = FACTS) -> Any:
    """A port with as many weights as the text says."""
    written: Any = type("Written", (), {"values": dict.fromkeys("abc")})
    return FunctionPort(Path("port"), facts, written)


def record(verdict: str, **gates: Gate) -> Record:
    """A record in which every gate holds, but those that are named."""
    all_gates = {name: gates.get(name, Gate(verdict="pass")) for name in GATES}
    sides = {"tf": {"tensorflow": "2.21.0", "device": "cpu"}, "jax": {"jax": "0.10.2", "flax": "0.12.8"}}
    parity = Parity(verdict=verdict, gates=all_gates)
    part = Workload(dimensions={"batch": 4}, parity=parity)
    return Record(schema=1, workloads={"small": part}, environment=Environment(sides=sides))


def test_a_port_that_was_not_judged_says_how() -> None:
    assert readme(port(), (), "port.py", None) == TEXT.replace(
        "VERDICT", "**Not judged yet**: run `jaxport run port.py`."
    )


def test_a_port_that_holds_says_of_each_gate_with_sizes_and_versions() -> None:
    verdict = "**Verdict: pass** at batch 4, 10 steps of training (tensorflow 2.21.0, jax 0.10.2, flax 0.12.8). "
    gates = "pass: structure, semantics, rounding, gradients, training, stability."
    assert readme(port(), (), "port.py", record("pass")) == TEXT.replace("VERDICT", verdict + gates)


def test_steps_are_of_no_port_without_training() -> None:
    text = readme(port(), (), "port.py", record("pass", training=Gate(verdict="not_applicable")))
    assert "**Verdict: pass** at batch 4 (tensorflow" in text
    assert "pass: structure, semantics, rounding, gradients, stability; not applicable: training." in text


def test_a_gate_that_fails_says_where() -> None:
    wrong = Comparison(verdict="fail", message="kernel: error 0.5, bound 1e-06")
    text = readme(port(), (), "port.py", record("fail", gradients=Gate(verdict="fail", comparisons=(wrong,))))
    assert "**Verdict: fail** at batch 4" in text and "; fail: gradients." in text
    assert "\n\n- kernel: error 0.5, bound 1e-06\n\n" in text


def test_places_are_listed_and_the_verdict_is_that_of_the_rest() -> None:
    places = ("twice (Lambda): it calls Python", "<b>`x`</b>")
    text = readme(port(), places, "rest.py", record("pass"))
    head = "**To be written**, since jaxport could not (2):\n\n- twice (Lambda): it calls Python\n"
    assert f"{head}- &lt;b&gt;\\`x\\`&lt;/b&gt;\n\nWithout that, `rest.py`: **Verdict: pass** at batch 4" in text
    assert "judged" not in readme(port(), places, "", None)


def test_a_port_with_a_script_says_how_it_is_trained_and_its_checkpoint_is_loaded() -> None:
    text = readme(port(replace(FACTS, obstacle="")), (), "port.py", None)
    assert "- Train it: `python train.py --data FILE.npz`." in text
    assert 'restore(checkpoints("checkpoint"), model, optimizer)  # 0: there is no checkpoint\n  model.eval()\n' in text
