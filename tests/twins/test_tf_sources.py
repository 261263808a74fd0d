"""Every operation of a TensorFlow program leads back to the user's line that made it, and to no other."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest
from runs import LARGE

from compare.hlo import bindings, read_module
from compare.hlo.graph import Graph, Node
from compare.inputs.at_size import examples_of, prepare
from compare.sides import requests
from compare.sides.client import LiveSide
from compare.sides.methods import method_of
from tf_reference import _sources
from workloads import ArraySpec, Workload
from workloads.core import registry
from workloads.protocol.framework import Program
from workloads.protocol.methods import RemoteMethods

MODEL = """\
import tensorflow as tf

@tf.function
def inner(x):
    y = tf.sin(x)  # sin
    return tf.exp(y)  # exp

def calls(x):
    first = inner(x)  # called
    return tf.tanh(inner(first))  # tanh

def loops(x):
    for _ in tf.range(3):
        x = tf.sin(x)  # body
        if tf.reduce_sum(x) > 2:  # condition
            x = tf.cos(x)  # branch
        else:
            x = inner(x)
    return x

def two_loops(x):
    return looped_sin(x) + looped_cos(x)

@tf.function
def looped_sin(x):
    for _ in tf.range(2):
        x = tf.sin(x) * 2  # sin loop
    return x

@tf.function
def looped_cos(x):
    for _ in tf.range(2):
        x = tf.cos(x) * 3  # cos loop
    return x

def differentiates(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.sin(x)  # forward
    return tape.gradient(y, x)  # tape

def softmax(x):
    y = tf.nn.softmax(x)  # softmax
    return tf.sqrt(y) * 2  # sqrt
"""

MOVES = frozenset(
    {"parameter", "constant", "tuple", "get-tuple-element", "copy", "bitcast", "reshape", "broadcast", "call", "iota"}
)
LOOPS = frozenset({"while", "conditional"})


def line(comment: str) -> int:
    (found,) = [at for at, text in enumerate(MODEL.splitlines(), 1) if text.endswith(f"# {comment}")]
    return found


def computing(graph: Graph) -> Iterator[Node]:
    """What computes something, in loops and branches too; the scalar body of a reduction is part of it."""
    for node in graph:
        if node.opcode not in MOVES:
            yield node
        for region in node.regions if node.opcode in LOOPS | {"call"} else ():
            yield from computing(region)


def read(program: Program) -> Graph:
    return read_module.read(bindings.hlo_of(bindings.parse(program.artifact)), program.sources)


@pytest.fixture(scope="module")
def tensorflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveSide]:
    side = LiveSide("tf", tmp_path_factory.mktemp("tf"))
    yield side
    side.close()


class Asked:
    """Programs of the functions in MODEL."""

    def __init__(self, side: LiveSide, folder: Path) -> None:
        self.side, self.folder = side, folder
        self.file = folder / "model.py"
        self.file.write_text(MODEL)

    def program(self, function: str, pass_: str = "forward") -> Program:
        target = f"{self.file}:{function}"
        workload = Workload(
            name=f"{function}-{len(list(self.folder.iterdir()))}",
            inputs={"x": ArraySpec((4, 4))},
            tf=target,
            jax=target,
            builds=False,
        )
        requests.load(self.side, prepare(workload, "default", None, self.folder).loading)
        return requests.program(self.side, pass_, "float32")

    def lines(self, program: Program) -> Mapping[str, int]:
        """By name, the line of MODEL; every source must lie in it."""
        files = {source.rpartition(":")[0] for source in program.sources.values()}
        assert files <= {str(self.file.resolve())}
        return {name: int(source.rpartition(":")[2]) for name, source in program.sources.items()}


@pytest.fixture(scope="module")
def asked(tensorflow: LiveSide, tmp_path_factory: pytest.TempPathFactory) -> Asked:
    # One file for all: AutoGraph takes equal functions of two files for one, and its lines for those of the first.
    return Asked(tensorflow, tmp_path_factory.mktemp("model"))


# Of the large models nothing is asked: resnet50's training step has lines for 411 of 464 (sums that the tape adds have
# none), and lowering takes a minute each.
@pytest.mark.process
@pytest.mark.parametrize("name", [name for name in registry.names() if name not in LARGE])
def test_nine_in_ten_instructions_of_a_workload_have_a_line_of_its_twin(
    tensorflow: LiveSide, tmp_path: Path, name: str
) -> None:
    workload = registry.get(name)
    twins = str(Path(_sources.__file__).parent)
    loading = prepare(workload, "smoke", examples_of(workload, "smoke", None), tmp_path).loading
    for pass_ in requests.load(tensorflow, loading):
        nodes = list(computing(read(requests.program(tensorflow, pass_, "float32"))))
        placed = [node for node in nodes if node.source.startswith(twins)]
        assert len(placed) >= 0.9 * len(nodes), [node.op_name for node in nodes if node not in placed]


@pytest.mark.process
def test_a_called_function_has_its_own_lines_under_the_name_of_every_call(asked: Asked) -> None:
    lines = asked.lines(asked.program("calls"))
    assert lines["PartitionedCall/Sin"] == lines["PartitionedCall_1/Sin"] == line("sin")
    assert lines["PartitionedCall/Exp"] == line("exp")
    assert lines["PartitionedCall"] == line("called")
    assert lines["Tanh"] == line("tanh")


@pytest.mark.process
def test_loops_and_branches_have_the_lines_of_their_bodies(asked: Asked) -> None:
    program = asked.program("loops")
    lines = asked.lines(program)
    assert lines["while/Sin"] == line("body")
    assert lines["while/Sum"] == lines["while/Greater"] == line("condition")
    assert lines["while/cond/Cos"] == line("branch")
    assert lines["while/cond/PartitionedCall/Sin"] == line("sin")
    found = {node.opcode: node.source for node in computing(read(program)) if node.opcode in ("sine", "cosine")}
    assert found["cosine"].endswith(f"model.py:{line('branch')}")


@pytest.mark.process
def test_a_name_that_two_loops_share_has_no_line_at_all(asked: Asked) -> None:
    lines = asked.lines(asked.program("two_loops"))
    assert lines["while/Sin"] == line("sin loop")
    assert lines["while/Cos"] == line("cos loop")
    assert "while/mul" not in lines


@pytest.mark.process
def test_a_gradient_has_the_line_that_called_the_users_tape(asked: Asked) -> None:
    lines = asked.lines(asked.program("differentiates"))
    assert lines["Sin"] == line("forward")
    assert {found for name, found in lines.items() if name.startswith("gradient_tape/")} == {line("tape")}


@pytest.mark.process
def test_a_gradient_that_jaxport_takes_has_the_line_of_what_it_differentiates(asked: Asked) -> None:
    lines = asked.lines(asked.program("softmax", "gradients"))
    assert lines["gradient_tape/SqrtGrad"] == line("sqrt")
    assert lines["gradient_tape/sub"] == line("softmax")
    # Named as the forward product is, and part of softmax's gradient.
    assert lines["mul"] == line("sqrt") and lines["gradient_tape/mul"] == line("softmax")


@pytest.mark.process
def test_the_float64_program_has_the_same_lines(asked: Asked) -> None:
    asked.program("calls")
    assert asked.lines(requests.program(asked.side, "forward", "float64"))["Tanh"] == line("tanh")


class Frame:
    def __init__(self, filename: str, lineno: int) -> None:
        self.filename, self.lineno, self.name = filename, lineno, "f"


INSTALLED = Frame("/usr/lib/python3/dist-packages/keras/layers.py", 7)
LIBRARY = Frame("/venv/lib/python3.11/site-packages/recommenders/model.py", 9)
USERS, CALLED = Frame("/home/user/train.py", 3), Frame("/home/user/model.py", 5)
MACHINERY = Frame(str(Path(_sources.__file__).with_name("_session.py")), 9)
TWIN = Frame(str(Path(_sources.__file__).with_name("add.py")), 11)


@pytest.mark.parametrize(
    ("frames", "expected"),
    [
        ([USERS, CALLED, INSTALLED], "/home/user/model.py:5"),
        ([USERS, INSTALLED, Frame(ast.__file__, 1), Frame("<string>", 1)], "/home/user/train.py:3"),
        ([USERS, MACHINERY, INSTALLED], ""),
        ([USERS, MACHINERY, CALLED, MACHINERY, INSTALLED], "/home/user/model.py:5"),
        ([MACHINERY, TWIN, INSTALLED], f"{TWIN.filename}:11"),
        ([USERS, LIBRARY, INSTALLED], "/venv/lib/python3.11/site-packages/recommenders/model.py:9"),
        ([], ""),
    ],
    ids=[
        "innermost",
        "not the standard library",
        "not what called jaxport",
        "below jaxport",
        "a twin",
        "a library",
        "none",
    ],
)
def test_the_users_line_is_the_innermost_in_neither_packages_nor_jaxport(frames: list[Frame], expected: str) -> None:
    assert _sources.users_line(frames) == expected


def test_lines_cross_between_processes_and_into_recordings() -> None:
    sent = Program(b"ML", (), (), {"s": np.zeros(2)}, {"Sin": "model.py:3"})
    declared = method_of(RemoteMethods.program)
    assert declared.unpack_result(declared.pack_result(sent)).sources == {"Sin": "model.py:3"}
