"""TensorFlow's strategies on two logical devices: a right step holds, a loss that is no share of it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from compare.distribution import distributing
from compare.distribution.distributing import Asked
from compare.distribution.strategies import BY_NAME
from compare.distribution.worker_groups import Groups
from compare.inputs import port_files
from compare.progress import Silent
from compare.record.vocabulary import FAIL, NOT_APPLICABLE, PASS
from compare.report.distribution_tables import sentences

pytestmark = pytest.mark.process

PORT = """
import dataclasses
from pathlib import Path
from workloads.core import registry
port = dataclasses.replace(
    registry.get("mnist_mlp"), tf="twin.py:build", folder=Path(__file__).parent,
    sizes={"small": {"batch": 8, "hidden": 4, "features": 64}},
)
"""

TWIN = """
import dataclasses
import tensorflow as tf
from tf_reference import mnist_mlp

def build(dimensions, dtype):
    model = mnist_mlp.build(dimensions, dtype)

    def mean(images, labels):
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, model.forward(images, labels)))

    def unscaled(images, labels):
        weights = [variable.value for variable in model.weights.values()]
        with tf.GradientTape() as tape:
            value = mean(images, labels)
        model.optimizer.apply_gradients(zip(tape.gradient(value, weights), model.weights.values()))
        return value / 2

    return dataclasses.replace(model, replicated=unscaled)
"""


def test_what_is_right_holds_what_is_summed_fails_and_what_is_refused_is_said(tmp_path: Path) -> None:
    (tmp_path / "twin.py").write_text(TWIN)
    (tmp_path / "port.py").write_text(PORT)
    strategies = [BY_NAME[name] for name in ("tf/mirrored", "tf/own", "tf/mirrored-compiled")]
    with port_files.ports_apart(), Groups({}, 300, 30, tmp_path) as groups:
        workload = port_files.get(str(tmp_path / "port.py"))
        found = distributing.distribute(
            workload, Asked(strategies, None, 2, 2, timed=False), groups, tmp_path, Silent()
        )
    assert {name: step.verdict for name, step in found.strategies.items()} == {
        "tf/mirrored": PASS,
        "tf/own": FAIL,
        "tf/mirrored-compiled": NOT_APPLICABLE,
    }
    assert found.verdict == FAIL
    mirrored = found.strategies["tf/mirrored"]
    assert mirrored.compilations == 2  # one a device
    assert [transfer.kind for transfer in mirrored.transfers] == ["CollectiveReduceV2"]
    # The loss is right, and after one step of Adam the weights nearly are: its moments are of another size.
    departures = found.strategies["tf/own"].parity
    assert {each.step for each in departures} == {1}
    assert {each.against for each in departures} == {"tf/single", "tf/in-turn"}
    for each in departures:
        assert each.leaf.startswith("optimizer state") and each.found and each.expected
        assert each.found / each.expected == pytest.approx(2) or each.found / each.expected == pytest.approx(4)
    assert any("refused: InvalidArgumentError: Trying to access resource" in line for line in sentences(found))
