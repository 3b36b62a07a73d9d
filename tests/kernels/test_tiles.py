"""How C is cut into tiles: all of it, once, by tiles that fit; and kernels with every residue of the cut are right."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from einloom.dtypes import data_type
from einloom.jit.host import host
from einloom.kernels.contraction.bands import Tiling, tiling_of
from einloom.kernels.contraction.product import Product
from einloom.kernels.contraction.tiles import Demand, plain_demand
from einloom.kernels.specs import Brgemm
from einloom.machine import AVX2, AVX512, NEON, Machine
from einloom.passes.model import kernel
from tests.kernels.guarded import run_guarded
from tests.kernels.products import ProductCase, check_product

MACHINES = (AVX512, AVX2, NEON)
LATENCY = 8
"""Accumulators that two multiply-adds a cycle of four cycles each need."""


def demands(machine: Machine, count: int) -> list[Demand]:
    choose = random.Random(count)
    return [random_demand(machine, choose) for _ in range(count)]


def random_demand(machine: Machine, choose: random.Random) -> Demand:
    m, n, steps = (choose.randint(1, 200) for _ in range(3))
    return plain_demand(machine.vectors, choose.choice((4, 8)), m, n, steps)


def cycles(tiling: Tiling, demand: Demand) -> float:
    return tiling.step * demand.steps + tiling.end


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.vector)
def test_bands_cover_everything_once(machine: Machine) -> None:
    for demand in demands(machine, 200):
        bands = tiling_of(demand).bands
        assert sum(band.vectors * band.count for band in bands) == demand.vectors
        assert [band.is_last for band in bands] == [False] * (len(bands) - 1) + [demand.tail > 0]
        for band in bands:
            assert sum(tile.columns * count for tile, count in band.blocks) == demand.columns
            assert all(demand.costs.fits(tile) for tile, _ in band.blocks)


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.vector)
def test_a_single_vector_that_is_left_has_accumulators_enough(machine: Machine) -> None:
    for columns in range(LATENCY, 60):
        lanes = machine.vector_bits // 32
        for band in tiling_of(plain_demand(machine.vectors, 4, 4 * lanes + 1, columns, 64)).bands:
            for tile, _ in band.blocks:
                assert tile.accumulators * tile.sets >= LATENCY, (columns, band)


def test_a_rest_shares_the_tiles_of_whole_vectors_where_that_takes_no_longer() -> None:
    for columns in range(8, 15):
        grouped = plain_demand(AVX512.vectors, 4, 24, columns, 448)._replace(group=2)
        assert [band.vectors for band in tiling_of(grouped).bands] == [2], columns
    assert [band.vectors for band in tiling_of(plain_demand(AVX2.vectors, 4, 13, 11, 56)).bands] == [2]


@pytest.mark.parametrize(
    "machine, rows, columns, group",
    [(AVX512, 20, 20, 4), (AVX512, 56, 12, 2), (AVX2, 20, 20, 2), (AVX2, 12, 24, 2), (AVX2, 28, 12, 2)],
    ids=lambda each: each.vector if isinstance(each, Machine) else None,
)
@pytest.mark.parametrize("neighbours, share", [("n", 0.92), ("k", 0.93)])
def test_a_rest_shares_registers_where_elements_of_b_are_neighbours(
    machine: Machine, rows: int, columns: int, group: int, neighbours: str, share: float
) -> None:
    """Four columns of 20 rows take 5 vectors of AVX-512 then instead of 8, 10 of AVX2 instead of 12."""
    b = (0, 1, columns, 0) if neighbours == "n" else (0, 240, 1, 0)
    product = Product.of(Brgemm("float32", rows, columns, 240, a=(1, 0, rows, 0), b=b, c=(1, rows)))
    demand = Demand.of(product, machine, in_order=True)
    masked = demand._replace(group=1)
    tiles = [tile for tile, _ in tiling_of(demand).bands[-1].blocks]
    assert demand.group == group
    assert all(tile.group == group and tile.across == (neighbours == "n") for tile in tiles)
    assert cycles(tiling_of(demand), demand) < share * cycles(tiling_of(masked), masked)


def test_a_rest_that_fills_more_than_half_a_vector_shares_none() -> None:
    for machine, rows in ((AVX512, 25), (AVX2, 21), (NEON, 18)):
        product = Product.of(Brgemm("float32", rows, 12, 240, a=(1, 0, rows, 0), b=(0, 1, 12, 0), c=(1, rows)))
        assert Demand.of(product, machine, in_order=True).group == 1


def test_rows_that_share_registers_are_no_reason_to_transpose_the_other_operand() -> None:
    """20 rows are 1.25 vectors of AVX-512 then: 100 columns, which fill 6.25 of 7, would have to be transposed."""
    spec = Brgemm("float32", 20, 100, 64, 16, a=(1, 0, 20, 1280), b=(0, 64, 1, 6400), c=(1, 20))
    product = Product.of(spec)
    assert (product.m, product.n, product.wants_packing) == (20, 100, False)
    assert Product.of(replace(spec, m=12, a=(1, 0, 12, 768), c=(1, 12))).m == 100


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.vector)
def test_a_part_of_a_product_takes_no_longer_than_all(machine: Machine) -> None:
    choose = random.Random(3)
    for _ in range(100):
        m, n, k = (choose.randint(2, 100) for _ in range(3))
        less = (choose.randint(1, m), choose.randint(1, n), choose.randint(1, k))
        whole, part = (plain_demand(machine.vectors, 4, *size) for size in ((m, n, k), less))
        # One per cent for smaller code, a masked end of AVX2 for what is left of vectors.
        assert cycles(tiling_of(part), part) <= 1.1 * cycles(tiling_of(whole), whole) + 2 * n, ((m, n, k), less)


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.vector)
def test_passes_reckon_with_the_cycles_of_kernels(machine: Machine) -> None:
    for m, n, k in ((48, 24, 64), (100, 33, 16), (13, 57, 4), (7, 1, 2), (80, 24, 23), (52, 25, 120)):
        spec = Brgemm("float32", m, n, k, a=(1, 0, 128, 0), b=(0, k, 1, 0), c=(1, m))
        tiling = tiling_of(Demand.of(Product.of(spec), machine, in_order=True)._replace(group=1))
        assert kernel.tilings_of(machine.vectors, 4)(m, n, k).cycles == tiling.step * k + tiling.end


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_kernels_of_every_residue(vector: str, dtype: str) -> None:
    lanes = host().with_vector(vector).vector_bits // 8 // data_type(dtype).size
    cases = [
        ProductCase(
            Brgemm(dtype, m, n, k, a=(1, 0, m, 0), b=(0, k, 1, 0), c=(1, m)),  # type: ignore[arg-type]
            frozenset(),
            None,
            vector,
            at_end,
        )
        for m in range(3 * lanes + 1, 4 * lanes + 1)
        for n, k, at_end in ((25, 3, True), (29, 30, False), (34, 1, True))
    ]
    assert run_guarded(cases, check_product) is None
