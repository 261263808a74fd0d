"""Donation verified: what a step was given to overwrite, and what it does overwrite."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from compare.hlo import bindings, donation
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.levels import Subject
from compare.inputs.at_size import prepare
from compare.sides import requests
from compare.sides._side import Unavailable
from compare.sides.client import LiveSide
from compare.sides.methods import method_of
from workloads.core import registry
from workloads.protocol.framework import Donation, Parameter, Result
from workloads.protocol.methods import RemoteMethods

VECTOR = np.ones(4, np.float32)
PARAMETERS = ("weight kernel", "weight bias")


def module(alias: str = "", results: str = "f32[4], f32[4]", donated: str = "f32[4]") -> bytes:
    """Two parameters, two results; the first parameter and the results are of the given types."""
    first, second = results.split(", ")
    head = f", input_output_alias={{ {alias} }}" if alias else ""
    return bindings.hlo_from_text(
        f"""HloModule step{head}
        ENTRY e {{ p = {donated} parameter(0)
          q = f32[4] parameter(1)
          a = {first} constant({{...}})
          b = {second} constant({{...}})
          ROOT t = ({results}) tuple(a, b) }}"""
    )


def verified(hlo: bytes, *donated: int) -> donation.Verified:
    return donation.verify(Subject("jax", hlo, PARAMETERS, ("loss", "weights/kernel")), donated)


class TestVerify:
    def test_a_donation_that_is_aliased_holds(self) -> None:
        found = verified(module("{1}: (0, {}, may-alias)"), 0)
        assert found.holds
        (kept,) = found.in_place
        assert (kept.parameter, kept.result, kept.bytes) == ("weight kernel", "weights/kernel", 16)
        assert (found.bytes_in_place, found.bytes_missed) == (16, 0)

    @pytest.mark.parametrize(
        ("hlo", "reason"),
        [
            pytest.param(module(), "a result is f32[4] too, and XLA wrote it elsewhere", id="not asked for"),
            pytest.param(
                module(results="bf16[4], f32[2]"),
                "no result is f32[4]: one has its shape and another dtype",
                id="dtype",
            ),
            pytest.param(module(results="f32[2], f32[8]"), "no result is f32[4]: none has its shape", id="shape"),
            pytest.param(
                module("{0}: (1, {}, may-alias)", results="f32[4], f32[2]"),
                "every result that is f32[4] overwrites another parameter",
                id="taken",
            ),
        ],
    )
    def test_a_donation_in_vain_is_named_with_its_reason(self, hlo: bytes, reason: str) -> None:
        found = verified(hlo, 0)
        (missed,) = found.missed
        assert not found.holds
        assert str(missed) == f"weight kernel: donated, not aliased: {reason}"
        assert found.bytes_missed == 16

    def test_what_was_not_donated_is_not_missed(self) -> None:
        assert verified(module("{1}: (0, {}, may-alias)"), 0).missed == ()
        assert verified(module(), *()).holds

    def test_every_donated_parameter_counts(self) -> None:
        found = verified(module("{1}: (0, {}, may-alias)"), 0, 1)
        assert found.donated == 2
        assert [each.parameter for each in found.missed] == ["weight bias"]

    def test_positions_stand_for_names_that_nobody_gave(self) -> None:
        found = donation.verify(Subject("jax", module("{1}: (0, {}, may-alias)")), [0, 1])
        assert found.in_place[0].result == "result 1"
        assert found.missed[0].parameter == "parameter 1"

    def test_refuses_a_parameter_that_is_not_there(self) -> None:
        with pytest.raises(ValueError, match=r"expected donated positions below 2, found \[2\]"):
            verified(module(), 2)

    def test_refuses_what_is_no_module(self) -> None:
        with pytest.raises(UnreadableProgram):
            verified(b"junk", 0)


def test_reads_what_jax_compiles() -> None:
    def step(kept: jax.Array, narrowed: jax.Array, given: jax.Array) -> tuple[jax.Array, jax.Array]:
        return kept + given, (narrowed * given).astype(jnp.bfloat16)

    compiled = jax.jit(step, donate_argnums=(0, 1)).lower(VECTOR, VECTOR, VECTOR).compile().runtime_executable()
    assert compiled is not None
    hlo = compiled.hlo_modules()[0].as_serialized_hlo_module_proto()
    found = donation.verify(Subject("jax", hlo, ("kept", "narrowed", "given")), [0, 1])
    assert [each.parameter for each in found.in_place] == ["kept"]
    assert [each.parameter for each in found.missed] == ["narrowed"]


def test_what_crosses_between_processes_arrives_as_it_was_sent() -> None:
    sent = Donation(
        b"module", (Parameter("weight", "kernel", (4,), "float32"),), (Result("loss", (), "float32"),), (0,)
    )
    declared = method_of(RemoteMethods.donation)
    assert declared.unpack_result(declared.pack_result(sent)) == sent


@pytest.fixture(scope="module", params=["tf", "jax"])
def side(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveSide]:
    started = LiveSide(request.param, tmp_path_factory.mktemp(request.param))
    yield started
    started.close()


@pytest.mark.process
def test_either_sides_training_step_updates_its_weights_in_place(side: LiveSide, tmp_path: Path) -> None:
    workload = registry.get("mnist_mlp")
    requests.load(side, prepare(workload, "smoke", None, tmp_path).loading)
    asked = requests.donation(side)
    names = tuple(f"{each.kind} {each.name}" for each in asked.parameters)
    results = tuple(each.name for each in asked.results)
    found = donation.verify(Subject(side.name, asked.optimized, names, results), asked.donated)
    weights = {name for name in names if name.startswith("weight ")}
    assert found.holds
    assert weights
    assert weights <= {each.parameter for each in found.in_place}
    assert not any(each.parameter.startswith("input ") for each in found.in_place)
    for each in found.in_place:
        if each.parameter in weights:
            assert each.result == f"weights/{each.parameter.removeprefix('weight ')}"


@pytest.mark.process
def test_a_workload_that_does_not_train_donates_nothing(side: LiveSide, tmp_path: Path) -> None:
    requests.load(side, prepare(registry.get("add"), "smoke", None, tmp_path).loading)
    with pytest.raises(Unavailable, match="the workload has no step pass"):
        requests.donation(side)
