"""Rates are those recorded, else those of the microarchitecture that a machine describes, else typical ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from einloom.machine import AVX2, AVX512, MACHINES, NEON, Machine, Rates
from einloom.passes.model.cost import CostModel
from einloom.passes.model.microarchitectures import KNOWN, microarchitecture_of
from einloom.passes.model.rates import TYPICAL, rates_of

from .operations import contraction

CLIENT = {"bmi2", "adx"}
ZEN3 = replace(AVX2, features=AVX2.features | CLIENT | {"vaes"}, l1d=32 * 1024, l2=512 * 1024, name="AMD EPYC")
SAPPHIRE = replace(AVX512, features=AVX512.features | CLIENT | {"gfni", "avx512fp16"}, l1d=48 * 1024, l2=2048 * 1024)

DESCRIBED = [
    (ZEN3, "Zen 2, Zen 3"),
    (replace(SAPPHIRE, l1d=32 * 1024, l2=1024 * 1024), "Zen 4"),
    (replace(SAPPHIRE, l2=1024 * 1024), "Zen 5"),
    (
        replace(AVX512, features=AVX512.features | CLIENT | {"avx512cd"}, l1d=32 * 1024, l2=1024 * 1024),
        "Skylake-X, Cascade Lake",
    ),
    (replace(SAPPHIRE, l2=1280 * 1024), "Ice Lake server"),
    (SAPPHIRE, "Golden Cove: Sapphire, Emerald, Granite Rapids"),
    (replace(NEON, name="AArch64 implementer 0x41 part 0xd0c"), "Neoverse N1: Graviton 2, Altra"),
    (replace(NEON, name="AArch64 implementer 0x41 part 0xd40"), "Neoverse V1: Graviton 3"),
    (replace(NEON, name="AArch64 implementer 0x41 part 0xd49"), "Neoverse N2"),
    (replace(NEON, name="AArch64 implementer 0x41 part 0xd4f"), "Neoverse V2: Graviton 4, Grace"),
    (replace(NEON, name="AArch64 implementer 0x61 part 0x023"), "Apple M"),
]


@pytest.mark.parametrize(("machine", "name"), DESCRIBED, ids=[name for _, name in DESCRIBED])
def test_what_a_machine_says_names_its_core(machine: Machine, name: str) -> None:
    known = microarchitecture_of(machine)
    assert known is not None
    assert known.name == name
    assert rates_of(machine) == known.rates(machine.vector_bits)


def test_every_row_is_described() -> None:
    assert [name for _, name in DESCRIBED] == [each.name for each in KNOWN]


def test_zen_3_and_sapphire_rapids_take_different_rows() -> None:
    assert rates_of(ZEN3) != rates_of(SAPPHIRE)
    assert rates_of(ZEN3).float32 == pytest.approx(2.45e9 * 32)


@pytest.mark.parametrize(
    "machine",
    [
        *MACHINES.values(),
        replace(ZEN3, l2=256 * 1024),
        replace(SAPPHIRE, l2=4096 * 1024),
        replace(AVX512, l2=2048 * 1024),
        replace(NEON, name="AArch64 implementer 0x48 part 0xd01"),
    ],
)
def test_unknown_machines_take_the_typical_rates(machine: Machine) -> None:
    assert rates_of(machine) is TYPICAL[machine.vector]


def test_recorded_rates_come_first() -> None:
    recorded = Rates(1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    assert rates_of(replace(ZEN3, rates=recorded)) is recorded


def test_narrower_vectors_halve_the_arithmetic_of_wide_pipes_only() -> None:
    """Golden Cove's pipes are 512 bits wide; those of Zen 4 256, so that its AVX2 computes as much as its AVX-512."""
    zen4 = DESCRIBED[1][0]
    assert rates_of(SAPPHIRE.with_vector("avx2")).float32 == rates_of(SAPPHIRE).float32 / 2
    assert rates_of(zen4.with_vector("avx2")).float32 == rates_of(zen4).float32


def test_the_cost_model_reckons_with_them() -> None:
    operation = contraction("m 64 m, n 64 n, k 64 k", "km", "kn", "mn")
    assert CostModel(operation, ZEN3).rates == rates_of(ZEN3)
