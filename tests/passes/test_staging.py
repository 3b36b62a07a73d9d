"""Blocks and tiles of the output that are staged in scratch, and when."""

from __future__ import annotations

from dataclasses import replace

import pytest

from einloom.dtypes import FLOAT32
from einloom.ir.schedule import OUTPUT, Schedule
from einloom.machine import AVX2, AVX512, Machine, Rates
from einloom.passes.contraction.blocking import Blocking
from einloom.passes.contraction.choose import costed
from einloom.passes.contraction.plan import Plan, Staging
from einloom.passes.identify import identify_primitive
from einloom.passes.model.tiles import block_targets
from einloom.passes.values import Context

from .choices import (
    chosen_schedule,
    costed_proposals,
)
from .operations import contraction


def test_products_that_the_innermost_axis_counts_are_computed_one_by_one() -> None:
    operation = contraction("b 40 c, h 3 c, m 32 m, n 32 n, k 16 k", "hmbk", "hbnk", "hmnb")
    found = [each.proposal for each in costed_proposals(operation) if each.proposal.family == "one by one"]
    rows, columns = "pack out@1 b m n pack in1@2 k n", "pack out@1 b n m pack in0@2 k m"
    assert {str(each.schedule) for each in found} == {
        f"seq h:1 seq b:1 prim m=n n=m k=k {rows} pack in0@2 m k",
        f"seq h:1 seq b:1 prim m=n n=m k=k {rows}",
        f"seq h:1 seq b:1 prim m=m n=n k=k {columns} pack in1@2 n k",
        f"seq h:1 seq b:1 prim m=m n=n k=k {columns}",
    }


def test_rests_of_vectors_are_filled_in_scratch_where_the_output_has_no_longer_runs() -> None:
    operation = contraction("a 52 m, b 56 n, c 56 m, d 56 n, e 56 k, f 56 k", "aecf", "fbed", "abcd")
    (first, *_) = [each.proposal for each in costed_proposals(operation) if each.proposal.family == "staged rows"]
    assert str(first.schedule).startswith("fuse bd=b*d ") and "prim m=bd n=c" in str(first.schedule)
    assert any(pack.operand == OUTPUT for pack in first.schedule.packs)  # abcd has c between b and d
    whole = contraction("a 52 m, b 56 n, c 56 m, d 64 n, e 56 k, f 56 k", "aecf", "fbed", "abcd")
    assert all(each.proposal.family != "staged rows" for each in costed_proposals(whole))


@pytest.mark.parametrize("machine", [AVX2, AVX512], ids=["avx2", "avx512"])
@pytest.mark.parametrize("extent", [20, 18])
def test_tiles_as_wide_as_long_rows_are_staged_with_as_many_columns_as_hide_the_latency(
    machine: Machine, extent: int
) -> None:
    """L1 holds two of them beside the rows that are read, or else not even these; of 18 columns two are left."""
    operation = contraction(f"a 256 n, c 20 m, d {extent} n, e 400 m, g 24 k", "egc", "gda", "acde")
    best = costed(operation, Schedule((), identify_primitive(operation)), Context(machine))[0].proposal
    assert best.family == "staged tiles"
    columns, whole = best.schedule.loops[-1], block_targets(machine, FLOAT32, 400).tile_n
    assert columns.axis == "d" and columns.step == 4 <= whole
    assert machine.l1d < 4 * (24 * 400 + 2 * whole * 400) or whole == 4
    far = contraction("a 256 n, c 20 m, d 24 n, e 300 m, g 40 k", "egc", "gda", "acde")  # L1 has no room for the rows.
    tiles = Blocking(far, identify_primitive(far), machine).schedule(Plan("staged tiles", staging=Staging.TILES))
    assert f" seq d:{block_targets(machine, FLOAT32, 300).tile_n} prim" in str(tiles)
    assert str(best.schedule).endswith(" pack out@5 d e")
    longer = contraction("a 16 n, c 20 m, d 20 n, e 4000 m, g 24 k", "egc", "gda", "acde")
    found = costed(longer, Schedule((), identify_primitive(longer)), Context(machine))
    assert all(each.proposal.family != "staged tiles" for each in found)  # L1 does not hold such a tile.


def test_short_runs_of_one_product_are_written_from_scratch() -> None:
    operation = contraction("g 40 c, b 64 k, d 4 m, e 5 c, a 3 m, f 3 m, c 7 n", "dgbeaf", "gbec", "gdfcea")
    best = str(costed_proposals(operation)[0].proposal.schedule)
    assert best == "fuse af=a*f seq g:1 seq e:1 seq d:1 prim m=af n=c k=b pack out@2 d c af"


@pytest.mark.parametrize("machine", [AVX2, AVX512])
def test_large_outer_products_leave_scratch_in_pieces_of_rows(machine: Machine) -> None:
    products = contraction("m 4000 m, n 4000 n", "m", "n", "mn")
    assert str(chosen_schedule(products, machine)).endswith("prim m=n n=m pack out@2 n")
    best = costed(products, Schedule((), identify_primitive(products)), Context(machine))[0].proposal
    assert best.family == "pieces in order"
    sums = contraction("k 4 k, m 4000 m, n 4000 n", "km", "kn", "mn")
    assert not any(pack.operand == OUTPUT for pack in chosen_schedule(sums, machine).packs)


def test_slow_streams_keep_the_output_out_of_scratch() -> None:
    operation = contraction("e 400 m, g 24 k, a 16 m, f 20 n, c 320 n", "ega", "gfc", "acef")
    rates = Rates(float32=200e9, float64=100e9, l2=180e9, l3=50e9, memory=30e9, stream=30e9)
    fast, slow = (replace(AVX512, rates=replace(rates, stream=stream)) for stream in (30e9, 1e9))
    assert any(pack.operand == OUTPUT for pack in chosen_schedule(operation, fast).packs)
    assert not any(pack.operand == OUTPUT for pack in chosen_schedule(operation, slow).packs)


def test_tiles_that_leave_fill_whole_lines() -> None:
    """Twelve rows of 36 floats are 27 lines; of eleven, as many as there is room for, the ends would be parts."""
    operation = contraction("a 128 m, b 36 n, c 32 n, d 72 m, e 12 k", "ade", "ceb", "acdb")
    found = [each.proposal for each in costed_proposals(operation) if each.proposal.family == "staged tiles"]
    assert found and all(" d:12 " in str(each.schedule) for each in found)
