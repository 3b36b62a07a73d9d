"""Rates of devices that a driver has opened: no bound exceeds what the data sheet of a device allows."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from einloom.dtypes import FLOAT32
from einloom.jit.gpu.cuda import CudaDevice
from einloom.jit.gpu.driver import GpuLimits
from einloom.space import H100_RATES, H200_RATES, GpuRates, gpu
from einloom.space.rates import ANY, CAPABILITIES
from einloom.targets.gpu.device import device_of
from tests.gpu.test_cuda_errors import LIMITS, StandIn

MIB = 2**20
DETAILS = 1.01
"""Data sheets round to three digits, and loads start beside a product's operations: no kernel reaches the very peak."""


class Sheet(NamedTuple):
    """What a device's data sheet and its driver say; of B200 the sheet of GB200, whose clock is higher.

    Attributes:
        clock, highest: what the driver gives, and what `nvidia-smi -q -d CLOCK` gives as the most, in MHz.
        memory: GB/s; l2: MiB; float32, float16: TFLOP/s, without sparsity, the second on tensor cores.
    """

    architecture: str
    processors: int
    clock: float
    highest: float
    memory: float
    l2: int
    float32: float
    float16: float

    def limits(self, known: bool = True) -> GpuLimits:
        """Return what a driver says that knows everything, or only what all do."""
        limits = GpuLimits(
            "a device", 1024, (1024, 1024, 64), 48 * 1024, 2**34, True, self.architecture, self.processors
        )
        if not known:
            return limits
        return replace(limits, clock=1e6 * self.clock, memory_bandwidth=1e9 * self.memory, l2_bytes=self.l2 * MIB)


SHEETS = {
    "V100": Sheet("sm_70", 80, 1530, 1530, 900, 6, 15.7, 0),
    "A100": Sheet("sm_80", 108, 1410, 1410, 1555, 40, 19.5, 312),
    "RTX 3090": Sheet("sm_86", 82, 1695, 2100, 936, 6, 35.6, 142),
    "RTX 4090": Sheet("sm_89", 128, 2520, 3105, 1008, 72, 82.6, 330.3),
    "RTX 5090": Sheet("sm_120", 170, 2407, 3090, 1792, 96, 104.8, 419),
    "H100": Sheet("sm_90", 132, 1980, 1980, 3350, 50, 67, 989.4),
    "H200": Sheet("sm_90", 132, 1980, 1980, 4800, 60, 67, 989.4),
    "B200": Sheet("sm_100", 148, 1965, 2062, 8000, 126, 80, 2250),
}


def rates_of(limits: GpuLimits) -> GpuRates:
    rates = device_of(limits, [FLOAT32]).rates
    assert rates is not None
    return rates


@pytest.mark.parametrize("known", [True, False], ids=["told", "not told"])
@pytest.mark.parametrize("name", SHEETS)
def test_no_bound_exceeds_what_the_data_sheet_allows(name: str, known: bool):
    sheet = SHEETS[name]
    device = device_of(sheet.limits(known), [FLOAT32])
    product = gpu("matmul", m=4096, n=4096, k=4096, device=device).root.bound()
    assert 0 < product.seconds <= DETAILS * 2 * 4096**3 / (1e12 * sheet.float32)
    sums = gpu("axpy", n=2**26, device=device).root.bound()
    assert 0 < sums.seconds <= 3 * 2**28 / (1e9 * sheet.memory)


@pytest.mark.parametrize("known", [True, False], ids=["told", "not told"])
@pytest.mark.parametrize("name", SHEETS)
def test_no_rate_is_below_the_data_sheet(name: str, known: bool):
    sheet, rates = SHEETS[name], rates_of(SHEETS[name].limits(known))
    assert rates.clock >= 1e6 * sheet.highest
    products = 2 * 16 * 8 * 16 * rates.fragments * rates.processors * rates.clock
    assert DETAILS * products >= 1e12 * sheet.float16


@pytest.mark.parametrize("name", ["A100", "H100", "H200"])
def test_bounds_are_sharp_where_the_driver_tells_limits(name: str):
    """Hardly below the time at the data sheet's peak, and at its bandwidth of all that L2 does not hold."""
    sheet = SHEETS[name]
    device = device_of(sheet.limits(), [FLOAT32])
    product = gpu("matmul", m=4096, n=4096, k=4096, device=device).root.bound()
    assert product.seconds >= 2 * 4096**3 / (1e12 * sheet.float32) / DETAILS
    sums = gpu("axpy", n=2**26, device=device).root.bound()
    assert sums.seconds == pytest.approx((3 * 2**28 - sheet.l2 * MIB) / (1e9 * sheet.memory))


def test_named_devices_have_the_rates_of_opened_ones():
    assert rates_of(SHEETS["H100"].limits()) == H100_RATES
    assert rates_of(SHEETS["H200"].limits()) == H200_RATES


def test_nothing_known_is_better_than_what_any_device_has():
    for name, one in CAPABILITIES.items():
        for field in GpuRates.__annotations__:
            best, some = getattr(ANY, field), getattr(one, field)
            assert best <= some if field.endswith("latency") else best >= some, (name, field)


@pytest.mark.parametrize("architecture", ["", "sm_61", "sm_999"])
def test_a_device_of_no_known_architecture_is_the_best_of_all(architecture: str):
    rates = rates_of(SHEETS["H200"]._replace(architecture=architecture).limits(known=False))
    assert (rates.clock, rates.arithmetic_lanes, rates.processors) == (ANY.clock, ANY.arithmetic_lanes, 132)


@pytest.mark.parametrize(("integrated", "bandwidth"), [(False, 3.352e12), (True, 0)])
def test_cuda_tells_clock_bandwidth_and_cache(integrated: bool, bandwidth: float, monkeypatch: pytest.MonkeyPatch):
    device = StandIn()
    device.properties = SimpleNamespace(**{**vars(LIMITS), "integrated": integrated})
    monkeypatch.setattr("einloom.jit.gpu.cuda._imported", lambda name: device)
    limits = CudaDevice(device, device).limits
    assert (limits.clock, limits.l2_bytes) == (1.98e9, 50 * MIB)
    assert limits.memory_bandwidth == pytest.approx(bandwidth, rel=1e-3)
