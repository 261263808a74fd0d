"""The limits of the machine, or of its GPU, by both XLAs and by NumPy, and where each workload lies under them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from compare.bench import host_limits, roofline
from compare.bench.roofline import COPY, READ, TRIAD, Work
from compare.hlo import probes
from compare.record.base import require
from compare.record.cost_parts import Bandwidth, Limits, Roofline, Throughput
from compare.record.vocabulary import PASS_WORDS
from compare.record.workload_part import Workload
from compare.sides import requests
from compare.sides._side import Side, SideError
from workloads.core.device import CPU, ON_CPU, TF32, Device
from workloads.protocol.framework import UNROLLED, Program, default_pass

TIMES_THE_CACHE = 4
"""A working set so much larger than the last cache lies in memory."""

UNKNOWN_CACHE_BYTES = 1 << 26
MOST_BYTES = 1 << 30
LEAST_BYTES = 1 << 20
"""The smallest working set of a probe: below it, XLA's dispatch is measured instead of memory."""

PRODUCT_SIDE = 1024
GPU_PRODUCT_SIDE = 8192
"""An H100 takes 1.4 ms for this one in bfloat16: long against a launch."""

HOST_DTYPES = {"f32": "float32", "f64": "float64"}
"""The dtypes of NumPy's BLAS."""

HOST = "numpy"
CALLS, ROUNDS = 3, 3

TRAFFIC: Mapping[str, Callable[[int], Program]] = {READ: probes.read, COPY: probes.copy, TRIAD: probes.triad}


@dataclass(frozen=True)
class Probed:
    """A probe.

    Attributes:
      sides: live, started with so many threads, a workload loaded. Their memory is not to be measured afterwards: what
        a probe reads is kept until they are loaded again.
      threads: of the host.
      device: that both sides compute on.
    """

    sides: Mapping[str, Side]
    threads: int
    device: Device = ON_CPU

    @property
    def on_host(self) -> bool:
        """Whether NumPy computes on the same device."""
        return self.device.kind == CPU


def measure_machine(subject: Probed) -> Limits:
    """The limits of the device. A side that fails at a probe is left out of it.

    Raises:
      SideError: a side was lost.
    """
    cache = host_limits.last_level_cache_bytes() or UNKNOWN_CACHE_BYTES
    size = min(TIMES_THE_CACHE * cache, MOST_BYTES) if subject.on_host else MOST_BYTES
    bandwidths = {kind: measure_working_set(subject, kind, size) for kind in TRAFFIC}
    products = {dtype: _products(subject, dtype) for dtype in _dtypes(subject.device)}
    gemm = {dtype: Throughput(*roofline.best(rates)) for dtype, rates in products.items() if rates}
    return Limits(subject.threads, bandwidths[READ], bandwidths[COPY], bandwidths[TRIAD], gemm)


def measure_working_set(subject: Probed, kind: str, size_bytes: int) -> Bandwidth | None:
    """The bandwidth of one kind of traffic over a working set: what fits into a cache moves faster.

    None if it could not be moved: on a GPU, a side without XLA there.

    Raises:
      SideError: a side was lost.
    """
    size = min(max(size_bytes, LEAST_BYTES), MOST_BYTES)
    probe = TRAFFIC[kind](size)
    byte_count = sum(traffic(probe))
    rates = _rates(subject, probe, byte_count)
    if subject.on_host:
        rates[HOST] = host_limits.bandwidth(kind, size, subject.threads)
    return Bandwidth(*roofline.best(rates), working_set_bytes=byte_count) if rates else None


def traffic(program: Program) -> tuple[int, int]:
    """(read, written) bytes of a call that reads every parameter and writes every result once."""
    read, write = (
        sum(math.prod(value.shape) * _bits(value.dtype) for value in values) // 8
        for values in (program.parameters, program.results)
    )
    return read, write


def why_cost_is_unfit(part: Workload) -> str:
    """Why the declared cost says nothing of what was timed; empty where it does, or none is declared."""
    declared_of = default_pass(part.passes)
    if part.cost is None or part.main_pass in (declared_of, UNROLLED):
        return ""
    return f"the declared cost is that of the {PASS_WORDS[declared_of]}, and not of the {PASS_WORDS[part.main_pass]}"


def work_of(part: Workload, program: Program) -> Work | None:
    """The work of a call; None if neither the workload nor XLA states its operations.

    The bytes written are those of the program's results. Those read are the rest of the declared cost, or
    without one the program's parameters. Operations are the declared ones, or those that XLA counts.

    Args:
      part: of the record: its `cost`, `dtype` and `compiled`.
    """
    read, write = traffic(program)
    dtype = part.dtype.replace("bfloat", "bf").replace("float", "f")
    if part.cost is not None:
        total = require(part.cost.bytes)
        return Work(require(part.cost.flops), max(0, total - write), min(write, total), dtype)
    counts = [cell.flops for cell in part.compiled.values() if cell.flops is not None]
    return Work(min(counts), read, write, dtype) if counts else None


def of_workload(
    subject: Probed, work: Work, medians: Mapping[str, float], limits: Limits, dispatch_s: float | None
) -> Roofline | None:
    """`roofline` of a workload's record: measures the bandwidth at its working set where a cache may hold it.

    None where no bandwidth was measured.

    Args:
      medians: seconds of a call by mode.
      dispatch_s: the least that a call of any mode costs.

    Raises:
      SideError: a side was lost.
    """
    bandwidth = roofline.bandwidth_of(limits, work.kind)
    if bandwidth is not None and work.bytes < require(bandwidth.working_set_bytes):
        bandwidth = measure_working_set(subject, work.kind, round(work.bytes))
    return roofline.place(work, medians, limits, bandwidth, dispatch_s) if bandwidth is not None else None


def _dtypes(device: Device) -> tuple[str, ...]:
    """The dtypes of matrix products: where a GPU may round float32 to TensorFloat-32, both are measured."""
    return (*probes.DTYPES, *((probes.TF32,) if device.precision == TF32 else ()))


def _products(subject: Probed, dtype: str) -> dict[str, float]:
    side = PRODUCT_SIDE if subject.on_host else GPU_PRODUCT_SIDE
    rates = _rates(subject, probes.product(side, dtype), 2 * side**3)
    if subject.on_host and dtype in HOST_DTYPES:
        rates[HOST] = host_limits.product(HOST_DTYPES[dtype], side, subject.threads)
    return rates


def _rates(subject: Probed, probe: Program, amount: float) -> dict[str, float]:
    """Amounts a second by "SIDE xla"."""
    take_times = _call_times if subject.on_host else _kernel_times
    rates: dict[str, float] = {}
    for name, side in subject.sides.items():
        try:
            handle = requests.compile_program(side, probe).handle
            requests.prepare(side, handle)
            rounds = take_times(side, handle)
        except SideError as error:
            if error.lost:
                raise
            continue
        rates[f"{name} xla"] = roofline.rate(amount, rounds)
    return rates


def _call_times(side: Side, handle: int) -> list[list[float]]:
    return [requests.time_round(side, handle, CALLS) for _ in range(ROUNDS)]


def _kernel_times(side: Side, handle: int) -> list[list[float]]:
    """The time of the kernels alone: an H200 reads 1 GiB in 0.24 ms, and a call takes 0.2 ms more."""
    return [[sum(run.seconds or 0.0 for run in call) for call in requests.profile(side, handle)]]


def _bits(dtype: str) -> int:
    """Bits that an element takes in memory: a bool takes a byte."""
    width = re.search(r"\d+", dtype)
    return int(width[0]) if width else 8
