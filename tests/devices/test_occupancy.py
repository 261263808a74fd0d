"""Theoretical occupancy: NVIDIA's calculator gives these figures for these kernels."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compare.devices import naming
from compare.devices.device import Multiprocessor
from compare.devices.occupancy import occupancy


def of(name: str) -> Multiprocessor:
    found = naming.device(name).multiprocessor
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("gpu", "threads", "registers", "shared", "share", "limited_by"),
    [
        ("A100", 256, 32, 0, 1.0, "threads"),
        ("A100", 256, 64, 0, 0.5, "registers"),
        ("A100", 1024, 40, 0, 0.5, "registers"),
        ("A100", 32, 16, 0, 0.5, "blocks"),
        # 164 KiB over 48 + 1 reserved: three blocks of four warps.
        ("A100", 128, 32, 48 * 1024, 3 * 4 / 64, "shared memory"),
        ("V100", 128, 32, 48 * 1024, 2 * 4 / 64, "shared memory"),
        ("H100", 128, 32, 227 * 1024, 4 / 64, "shared memory"),
        ("T4", 1024, 32, 0, 1.0, "threads"),
        ("T4", 32, 16, 0, 0.5, "blocks"),
        # A thread's 255 registers: eight warps.
        ("H100", 256, 255, 0, 8 / 64, "registers"),
        # A block of half a warp holds a whole one.
        ("H100", 1, 8, 0, 0.5, "blocks"),
    ],
)
def test_the_scarcest_resource_decides(gpu, threads, registers, shared, share, limited_by):
    found = occupancy(of(gpu), threads, registers, shared)
    assert (found.share, found.limited_by) == (pytest.approx(share), limited_by)


def test_a_block_that_does_not_fit_has_no_occupancy():
    assert occupancy(of("V100"), 128, 32, 97 * 1024).share == 0


GPUS = st.sampled_from(["H100", "A100", "V100", "T4"])


@given(GPUS, st.integers(1, 1024), st.integers(1, 255), st.integers(0, 96 * 1024))
def test_it_is_a_share_and_more_of_anything_never_raises_it(gpu, threads, registers, shared):
    found = occupancy(of(gpu), threads, registers, shared)
    assert 0 <= found.share <= 1
    assert occupancy(of(gpu), threads, min(registers + 8, 255), shared).share <= found.share
    assert occupancy(of(gpu), threads, registers, shared + 1024).share <= found.share
