"""Requests are methods of typed classes: what travels, what workers refuse, and that the page is current."""

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from compare.inputs.port_host import Ports
from compare.sides import protocol_page, worker
from compare.sides._host import Host
from compare.sides._side import Reply, Side, SideError
from compare.sides.framework_host import Worker
from compare.sides.methods import Method, ProtocolError, method_of, request
from workloads.core.spec import Arrays
from workloads.protocol.framework import (
    NO_OPTIONS,
    Compiled,
    Donation,
    Optimized,
    Parameter,
    Program,
    Result,
    Unsupported,
)
from workloads.protocol.methods import Framework as FrameworkProtocol
from workloads.protocol.methods import RemoteMethods

HOSTS = protocol_page.hosts()
METHODS = [method for host in HOSTS for method in host.methods().values()]
OUTPUTS = {"mode": "jit", "pass_": "forward", "case": "seed0", "dtype": "float32"}


class Framework:
    """Answers what needs no framework, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    def settings(self) -> dict[str, str]:
        return {}

    def environment(self) -> dict[str, str]:
        return {"device": "none"}

    def outputs(self, *parameters: Any) -> dict[str, Any]:
        self.asked.append(parameters)
        return {}


@pytest.fixture
def framework() -> Framework:
    return Framework()


@pytest.fixture
def host(framework: Framework) -> Worker:
    return Worker(cast(Any, framework), import_s=0.0)


def replied(host: Host, monkeypatch: pytest.MonkeyPatch, *requests: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What a worker with this host writes, its first message left out."""
    monkeypatch.setattr(worker, "_create_host", lambda side: host)
    lines = b"".join(json.dumps({"sent": "", "reply": "", **request}).encode() + b"\n" for request in requests)
    said = io.BytesIO()
    worker.serve("jax", io.BytesIO(lines), said)
    return [json.loads(line) for line in said.getvalue().splitlines()][1:]


@pytest.mark.parametrize("name", ["__class__", "__init__", "create", "reply", "host", "_answer", "read", ""])
def test_a_worker_refuses_every_other_name_in_one_line_and_lives(
    host: Worker, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    refused, then = replied(
        host, monkeypatch, {"method": name, "parameters": {}}, {"method": "environment", "parameters": {}}
    )
    assert (refused["ok"], refused["kind"]) == (False, "error")
    assert refused["reason"] == f"expected a method of host 'framework', found {name!r}: see docs/protocol.md"
    assert then["ok"]
    assert then["value"]["device"] == "none"


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({**OUTPUTS, "mode": 7}, "Expected `str`, got `int` - at `$.mode`"),
        ({key: value for key, value in OUTPUTS.items() if key != "case"}, "Object missing required field `case`"),
        ({**OUTPUTS, "side": "tf"}, "Object contains unknown field `side`"),
    ],
)
def test_parameters_that_are_not_as_declared_never_reach_the_framework(
    host: Worker, framework: Framework, monkeypatch: pytest.MonkeyPatch, parameters: dict[str, Any], reason: str
) -> None:
    refused, _ = replied(
        host,
        monkeypatch,
        {"method": "outputs", "parameters": parameters},
        {"method": "outputs", "parameters": OUTPUTS},
    )
    assert refused["reason"] == f"expected the parameters of outputs as declared, found: {reason}"
    assert framework.asked == [("jit", "forward", "seed0", "float32", None)]


def test_a_request_about_a_port_file_is_checked_before_a_child_is_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.fork", lambda: pytest.fail("forked"))
    with pytest.raises(ProtocolError, match=r"Expected `int`, got `str` - at `\$.batch`"):
        Ports().reply("prepare_batch", {"reference": "port.py", "folder": ".", "batch": "many"}, {})


def test_every_host_is_on_the_page_once() -> None:
    names = [host.host for host in HOSTS]
    assert sorted(names) == sorted(
        {"framework", "strategies", "xla", "ports", "devices", "models", "modules", "cluster"}
    )


def in_files(name: str) -> list[Any]:
    """The methods whose replies have a file of bytes, as test parameters."""
    return [pytest.param(method, id=f"{name}-{method.name}") for method in METHODS if method.file_names]


@pytest.mark.parametrize("method", in_files("file"))
def test_a_reply_without_its_file_of_bytes_is_unfit(method: Method) -> None:
    (name,) = method.file_names
    assert method.unfit({}, {}) == "no arrays"
    assert method.unfit({}, {"other": np.zeros(2)}) == f"no array {name!r}"
    assert method.unfit({}, {name: np.zeros(2)}) == f"float64 of 1 axes for {name!r}"
    assert method.unfit({}, {name: np.zeros(2, np.uint8)}) == ""


PROGRAM = Program(
    b"artifact",
    (Parameter("input", "x", (2,), "float32"), Parameter("state", "slot", (), "int64", "w", "momentum")),
    (Result("output", (2,), "float32"),),
    {"slot": np.int64(3)[None]},
    {"add": "model.py:3"},
)


@pytest.mark.parametrize(
    ("method", "result", "value", "arrays"),
    [
        (RemoteMethods.outputs, {"output": np.ones(2)}, None, ["output"]),
        (RemoteMethods.serialized, b"exported", None, ["exported"]),
        (RemoteMethods.optimized, Optimized(b"module", 3), {"temp_bytes": 3, "executable_bytes": None}, ["module"]),
        (RemoteMethods.compile, Compiled(1, 0.5), {"handle": 1, "compile_s": 0.5}, []),
        (
            RemoteMethods.donation,
            Donation(b"optimized", PROGRAM.parameters[:1], PROGRAM.results, (0,)),
            {
                "parameters": [
                    {"kind": "input", "name": "x", "shape": [2], "dtype": "float32", "owner": "", "part": ""}
                ],
                "results": [{"name": "output", "shape": [2], "dtype": "float32"}],
                "donated": [0],
            },
            ["optimized"],
        ),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_result_travels_as_its_type_says(method: Any, result: Any, value: Any, arrays: list[str]) -> None:
    declared = method_of(method)
    reply = declared.pack_result(result)
    assert json.loads(json.dumps(reply.value)) == value
    assert sorted(reply.arrays) == arrays
    again = declared.unpack_result(Reply(json.loads(json.dumps(reply.value)), reply.arrays))
    assert str(again) == str(result)


def test_fields_of_a_positional_record_stand_among_the_parameters() -> None:
    declared = method_of(RemoteMethods.compile)
    parameters, arrays = declared.pack(PROGRAM, {"xla_flag": True})
    assert set(parameters) == {"parameters", "results", "sources", "options"}
    assert arrays is not None
    assert sorted(arrays) == ["artifact", "states/slot"]
    assert declared.unpack(json.loads(json.dumps(parameters)), arrays).args == (PROGRAM, {"xla_flag": True})


def test_a_parameter_that_has_its_default_value_does_not_travel() -> None:
    assert "options" not in method_of(RemoteMethods.compile).pack(PROGRAM, NO_OPTIONS)[0]
    assert method_of(RemoteMethods.program).pack("step", "float32", "cpu")[0] == {"pass_": "step", "dtype": "float32"}
    assert method_of(RemoteMethods.program).pack("step", "float32", platform="gpu")[0]["platform"] == "gpu"


class Answering(Side):
    """A side that gives one reply, whatever it is asked."""

    name = "jax"

    def __init__(self, reply: Reply) -> None:
        self._reply = reply

    def call(self, method: str, parameters: Mapping[str, Any], arrays: Arrays | None = None) -> Reply:
        return self._reply

    def close(self) -> None:
        """Nothing runs."""


def test_a_reply_that_is_not_as_declared_is_an_error_of_the_side() -> None:
    with pytest.raises(SideError, match=r"^jax: digest: expected a reply as declared, found: Expected `str`, got"):
        request(RemoteMethods.digest)(Answering(Reply(3)), "jit")


def test_a_method_that_a_framework_does_not_have_is_refused_in_its_words() -> None:
    class Half(FrameworkProtocol):
        side = "half"

        def _refusal(self, method: str) -> str:
            return "half a framework trains nothing" if method == "donation" else super()._refusal(method)

    host = Worker(cast(Any, Half()), import_s=0.0)
    with pytest.raises(Unsupported, match=r"^half a framework trains nothing$"):
        host.reply("donation", {}, {})
    with pytest.raises(Unsupported, match=r"^half has no `stages`$"):
        host.reply("stages", {}, {})


def test_the_page_is_current() -> None:
    assert protocol_page.PAGE.read_text() == protocol_page.page(), "run `python -m compare.sides.protocol_page`"


def test_the_page_names_every_method_and_parameter(tmp_path: Path) -> None:
    text = protocol_page.page()
    assert all(f"| `{method.name}` | {method.summary} |" in text for method in METHODS)
    assert "`pass_: string`, `case: string`" in text
    assert "`target: integer or string`" in text or "`target: string or integer`" in text
