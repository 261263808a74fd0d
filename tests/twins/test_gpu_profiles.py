"""What a GPU ran is counted from the events of its streams, on both sides, and never from what the host did."""

from __future__ import annotations

import jax
import pytest
from gpu_trace import IN_A_GRAPH, KERNELS, OF_GRAPH, XSPACE

import jaxport._profiling
import tf_reference._profiling
from compare.hlo import kernel_times
from tf_reference import _private
from workloads.protocol.framework import KernelRun

FIRST = KernelRun(KERNELS[0], 0, 0.0, pytest.approx(3e-6))
SECOND = KernelRun(KERNELS[1], 1, pytest.approx(5e-6), pytest.approx(2e-6))


def test_jax_counts_what_the_gpu_ran() -> None:
    assert jaxport._profiling.kernels(jax.profiler.ProfileData.from_text_proto(XSPACE)) == [FIRST, SECOND]


@pytest.mark.parametrize("eager", [True, False])
def test_tensorflow_counts_what_the_gpu_ran_in_every_mode(eager: bool) -> None:
    xplane = jax.profiler.ProfileData.text_proto_to_serialized_xspace(XSPACE)
    assert tf_reference._profiling.kernels(_private.events(xplane), eager) == [FIRST, SECOND]


def test_kernels_of_a_cuda_graph_have_their_own_names_and_none_is_within_another() -> None:
    xplane = jax.profiler.ProfileData.text_proto_to_serialized_xspace(IN_A_GRAPH)
    of_tf = tf_reference._profiling.kernels(_private.events(xplane), eager=False)
    of_jax = jaxport._profiling.kernels(jax.profiler.ProfileData.from_text_proto(IN_A_GRAPH))
    for found in (of_tf, of_jax):
        assert [kernel.name for kernel in found] == OF_GRAPH
        assert kernel_times.profile([found]).seconds == pytest.approx((3e-6, 1e-6))


def test_without_a_gpu_the_host_ran_the_kernels() -> None:
    host = XSPACE[XSPACE.index('planes {\n  name: "/host:CPU"') :]
    events = _private.events(jax.profiler.ProfileData.text_proto_to_serialized_xspace(host))
    of_tf = tf_reference._profiling.kernels(events, eager=True)
    of_jax = jaxport._profiling.kernels(jax.profiler.ProfileData.from_text_proto(host))
    assert [kernel.name for kernel in of_tf] == [KERNELS[0], "AddV2"]
    assert [kernel.name for kernel in of_jax] == [KERNELS[0]]
