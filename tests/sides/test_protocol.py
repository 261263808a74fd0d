"""The table of methods: hosts have all of it and no more, workers refuse everything else, and the page is current."""

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from compare.inputs.port_host import Ports
from compare.sides import protocol, protocol_page, worker
from compare.sides._host import Host
from compare.sides._side import Reply
from compare.sides.framework_host import Worker
from compare.sides.host_parameters import Released, Run
from compare.sides.parameters import Nothing
from compare.sides.protocol import HOSTS, METHODS, Method, ProtocolError
from compare.sides.xla import Programs

OUTPUTS = {"mode": "jit", "pass_": "forward", "case": "seed0", "dtype": "float32"}


class Framework:
    """Answers what needs no framework, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    def settings(self) -> dict[str, str]:
        return {}

    def environment(self) -> dict[str, str]:
        return {"device": "none"}

    def outputs(self, *parameters: Any, sent: Any = None) -> dict[str, Any]:
        self.asked.append((*parameters, sent))
        return {}


@pytest.fixture
def framework() -> Framework:
    return Framework()


@pytest.fixture
def host(framework: Framework) -> Worker:
    return Worker(cast(Any, framework), import_s=0.0)


def replied(host: Host, monkeypatch: pytest.MonkeyPatch, *requests: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What a worker with this host writes, its first message left out."""
    monkeypatch.setattr(worker, "_hosted", lambda side: host)
    lines = b"".join(json.dumps({"sent": "", "reply": "", **request}).encode() + b"\n" for request in requests)
    said = io.BytesIO()
    worker.serve("jax", io.BytesIO(lines), said)
    return [json.loads(line) for line in said.getvalue().splitlines()][1:]


def test_a_host_that_lacks_a_method_is_refused_when_it_is_created() -> None:
    class Lacking(Host):
        host = "xla"

        def read(self, parameters: Released, arrays: Any) -> Reply:
            return Reply()

        def run(self, parameters: Run, arrays: Any) -> Reply:
            return Reply()

    missing = "compare_held, compile, compile_steps, fingerprint, hold, optimized, read_text, release"
    with pytest.raises(ProtocolError, match=rf"^expected Lacking .* missing: {missing}; extra: none$"):
        Lacking()


def test_a_host_with_a_method_that_is_not_in_the_table_is_refused_when_it_is_created() -> None:
    class Extra(Programs):
        def create(self, parameters: Nothing, arrays: Any) -> Reply:
            return Reply()

    with pytest.raises(ProtocolError, match=r"missing: none; extra: create$"):
        Extra()


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


def test_every_method_is_declared_once_a_host() -> None:
    assert len({(method.host, method.name) for method in METHODS}) == len(METHODS)
    assert {method.host for method in METHODS} == HOSTS.keys()


@pytest.mark.parametrize("method", [method for method in METHODS if method.file], ids=lambda method: method.name)
def test_a_reply_without_its_file_of_bytes_is_unfit(method: Method) -> None:
    assert protocol.unfit(method, {}, {}) == "no arrays"
    assert protocol.unfit(method, {}, {"other": np.zeros(2)}) == f"no array {method.file!r}"
    assert protocol.unfit(method, {}, {method.file: np.zeros(2)}) == f"float64 of 1 axes for {method.file!r}"
    assert protocol.unfit(method, {}, {method.file: np.zeros(2, np.uint8)}) == ""


def test_the_page_is_current() -> None:
    assert protocol_page.PAGE.read_text() == protocol_page.page(), "run `python -m compare.sides.protocol_page`"


def test_the_page_names_every_method_and_parameter(tmp_path: Path) -> None:
    text = protocol_page.page()
    assert all(f"| `{method.name}` | {method.summary} |" in text for method in METHODS)
    assert "`pass_: string`, `case: string`" in text
    assert "`target: integer or string`" in text or "`target: string or integer`" in text
