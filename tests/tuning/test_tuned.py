"""Compiler options that a port declares: a mode more, judged and timed like the others, beside what users run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from interpreters import JAX_AS_TF, interpreter
from pages import decoded
from rich.console import Console
from runs import record_of

from compare.inputs.at_size import Prepared, prepare_both
from compare.inputs.request import Extras, Plan
from compare.report import overviews, results_page
from compare.report.console import print_overview
from compare.report.html import render
from compare.report.markdown import escape
from compare.sides import requests
from compare.sides._side import BadTarget, Unavailable
from compare.sides.client import LiveSide
from compare.sides.pool import Source
from compare.tuning.candidate_options import SPACE, Option
from jaxport import Model
from jaxport._digest import digest
from workloads import ArraySpec, Workload
from workloads.core.target import TargetError

YNN = "xla_cpu_experimental_ynn_fusion_type"
PORT = """
import jax.numpy as jnp

from jaxport import Model

def forward(parameters, x):
    return {{"mean": jnp.mean(x**2 * 3 + 1)}}

def plain(dimensions, dtype):
    return Model(forward)

def tuned(dimensions, dtype):
    return Model(forward, compiler_options={options!r})
"""


def port(folder: Path, options: Any) -> Workload:
    """One function, whose JAX half declares these options."""
    (folder / "twins.py").write_text(PORT.format(options=options))
    inputs = {"x": ArraySpec((64, 64))}
    return Workload(name="declared", tf="twins.py:plain", jax="twins.py:tuned", inputs=inputs, folder=folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tuned")


@pytest.fixture(scope="module")
def side(folder: Path) -> Iterator[LiveSide]:
    side = LiveSide("jax", folder)
    yield side
    side.close()


def loaded(side: LiveSide, folder: Path, options: Any) -> tuple[requests.Loaded, Prepared]:
    # A worker keeps a file that it has run: each port has a folder of its own.
    own = folder / f"port{len(list(folder.glob('port*')))}"
    own.mkdir()
    prepared, _ = prepare_both(port(own, options), None, None, own)
    return requests.load_twin(side, prepared.loading), prepared


# What a twin may declare.


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({YNN: ""}, f"by platform (cpu, gpu, tpu), such as {{'cpu': {{'{YNN}': ''}}}}, found '{YNN}': ''"),
        ({"cuda": {}}, "found 'cuda': {}"),
        ({"cpu": [YNN]}, f"found 'cpu': ['{YNN}']"),
        ({"cpu": {YNN: ["REDUCE"]}}, f"expected compiler option '{YNN}' as a bool, number or string, found ['REDUCE']"),
    ],
)
def test_options_are_plain_values_by_platform(options: Any, says: str) -> None:
    with pytest.raises(TargetError) as caught:
        Model(lambda parameters, x: x, compiler_options=options)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"xla_cpu_fsion": True}, "found No such compile option: 'xla_cpu_fsion': correct or remove it"),
        ({YNN: "ALL"}, f"found While setting option {YNN}, 'ALL' is not a valid enum value: correct or remove it"),
        ({"xla_cpu_prefer_vector_width": "wide"}, "'wide' is not a valid int32 value"),
    ],
)
def test_what_xla_does_not_take_is_one_line(
    side: LiveSide, folder: Path, options: Mapping[str, Any], says: str
) -> None:
    with pytest.raises(BadTarget) as caught:
        loaded(side, folder, {"cpu": options})
    assert says in caught.value.reason
    assert "Model.compiler_options['cpu']" in caught.value.reason


@pytest.mark.parametrize("options", [{}, {"cpu": {}}, {"gpu": {"xla_gpu_no_such_option": 1}}])
def test_nothing_for_this_platform_is_no_mode_and_breaks_nothing(side: LiveSide, folder: Path, options: Any) -> None:
    found, _ = loaded(side, folder, options)
    assert set(found.modes["forward"]) == {"eager", "jit"}
    assert found.compiler_options == {}


def test_the_mode_runs_what_the_options_make_and_jit_what_users_run(side: LiveSide, folder: Path) -> None:
    found, prepared = loaded(side, folder, {"cpu": {YNN: ""}})
    assert found == requests.Loaded(
        {"forward": ["eager", "jit", "tuned"], "gradients": ["eager", "jit", "tuned"]}, {YNN: ""}
    )
    case = prepared.loading.cases[0]
    jit, tuned = (requests.outputs(side, mode, "forward", case, "float32") for mode in ("jit", "tuned"))
    np.testing.assert_allclose(tuned["mean"], jit["mean"], rtol=1e-5)
    names = {mode: {kernel.name for kernel in requests.profile(side, mode)[0]} for mode in ("jit", "tuned")}
    assert any("ynn" in name for name in names["jit"])
    assert not any("ynn" in name for name in names["tuned"])


# A whole run, with JAX in TensorFlow's place.


@pytest.fixture(scope="module")
def judged(folder: Path) -> dict[str, Any]:
    own = folder / "judged"
    own.mkdir()
    (own / "twins.py").write_text(PORT.format(options={"cpu": {YNN: ""}}))
    (own / "port.py").write_text(
        "from workloads import ArraySpec, Workload\n"
        'port = Workload(name="declared", tf="twins.py:plain", jax="twins.py:tuned", '
        'inputs={"x": ArraySpec((64, 64))})\n'
    )
    quick = Source(python=interpreter(own, JAX_AS_TF))
    asked = {"plans": (Plan(1, 1, budget_s=0.1),), "extras": Extras(limits=False, dispatch=0)}
    return record_of(str(own / "port.py"), sources={"tf": quick, "jax": Source()}, **asked)


def test_every_gate_judges_the_mode(judged: dict[str, Any]) -> None:
    gates = judged["workloads"]["declared"]["parity"]["gates"]
    for name in ("structure", "rounding", "gradients"):
        assert "jax/tuned" in {each["found_from"] for each in gates[name]["comparisons"]}


def test_it_is_timed_beside_the_untuned_port_and_against_it(judged: dict[str, Any]) -> None:
    part = judged["workloads"]["declared"]
    assert part["compiler_options"] == {YNN: ""}
    assert {"jax/jit", "jax/tuned"} <= set(part["timing"]["modes"])
    assert {"jax/jit vs tf/jit", "jax/tuned vs tf/jit", "jax/tuned vs jax/jit"} <= set(part["timing"]["ratios"])


def test_page_and_console_show_it_beside_the_untuned_ratio(
    judged: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    (row,) = overviews.overview(decoded(judged))
    assert row.ratio is not None and row.tuned is not None
    assert (row.ratio.name.partition(" vs ")[0], row.tuned.name.partition(" vs ")[0]) == ("jax/jit", "jax/tuned")
    page = render(decoded(judged))
    assert f"<dt>compiler options of jax/tuned</dt><dd>{YNN}=</dd>" in page
    assert "with compiler options:" in page
    print_overview(decoded(judged), Console())
    assert "; tuned: " in capsys.readouterr().out


def test_the_page_of_results_names_the_options_and_both_ratios(judged: dict[str, Any]) -> None:
    page = results_page.page(decoded(judged))
    assert f"Compiler options of jax/tuned: {escape(YNN)}=." in page
    assert "| jax/tuned vs tf/" in page and "| jax/tuned vs jax/jit |" in page
    assert "; with its compiler options jax/tuned vs tf/" in page


# Modes that are offered, as a search does.


def test_a_mode_that_is_offered_runs_until_something_else_is_loaded(side: LiveSide, folder: Path) -> None:
    _, prepared = loaded(side, folder, {})
    requests.offer(side, "candidate", {YNN: ""})
    names = {kernel.name for kernel in requests.profile(side, "candidate")[0]}
    assert not any("ynn" in name for name in names)
    requests.offer(side, "candidate", {})
    names = {kernel.name for kernel in requests.profile(side, "candidate")[0]}
    assert any("ynn" in name for name in names)
    assert "candidate" not in requests.load_twin(side, prepared.loading).modes["forward"]


def test_an_offer_that_xla_does_not_take_is_one_line(side: LiveSide, folder: Path) -> None:
    loaded(side, folder, {})
    with pytest.raises(Unavailable, match="No such compile option: 'xla_cpu_fsion'"):
        requests.offer(side, "candidate", {"xla_cpu_fsion": True})


@pytest.mark.parametrize(
    ("options", "same"),
    [
        ({}, True),
        ({YNN: "LIBRARY_FUSION_TYPE_REDUCE"}, True),
        ({YNN: ""}, False),
        # The optimized module stays the same: the vectors of its machine code do not.
        ({YNN: "", "xla_cpu_prefer_vector_width": 128}, False),
    ],
)
def test_a_digest_tells_apart_what_runs_and_nothing_else(
    side: LiveSide, folder: Path, options: Mapping[str, Any], same: bool
) -> None:
    loaded(side, folder, {})
    digests: list[str] = []
    for mode, offered in (("plain", {}), ("again", {}), ("other", options)):
        requests.offer(side, mode, offered)
        digests.append(requests.digest(side, mode))
    assert digests[0] == digests[1] != ""
    assert (digests[2] == digests[0]) == same


def test_options_that_act_below_the_optimized_module_are_seen(side: LiveSide, folder: Path) -> None:
    loaded(side, folder, {})
    digests: set[str] = set()
    for width in (128, 512):
        requests.offer(side, "candidate", {YNN: "", "xla_cpu_prefer_vector_width": width})
        digests.add(requests.digest(side, "candidate"))
    assert len(digests) == 2


@pytest.mark.parametrize("option", SPACE["cpu"], ids=lambda option: option.name)
def test_this_jaxlib_takes_every_option_that_is_tried(side: LiveSide, folder: Path, option: Option) -> None:
    loaded(side, folder, {})
    for value in option.values:
        requests.offer(side, "candidate", {option.name: value})


def test_what_is_no_executable_of_the_cpu_has_no_digest() -> None:
    class Foreign:
        def serialize(self) -> bytes:
            return b"\x02\x08\x03something else"

    assert digest(Foreign()) == ""
