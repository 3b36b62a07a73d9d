"""The cost model reckons with the very blocks that generated code lets leave while it computes the next ones."""

from __future__ import annotations

import pytest

from einloom.ir.bind import bind
from einloom.ir.nest import Nest
from einloom.ir.operation import Operation
from einloom.ir.schedule import Schedule
from einloom.ir.text import parse_schedule
from einloom.machine import AVX2, AVX512, NEON, Machine
from einloom.passes.contraction.choose import every_proposal
from einloom.passes.fuse import fuse
from einloom.passes.identify import identify_primitive
from einloom.passes.model import cost
from einloom.passes.model.copied import runs_apart
from einloom.passes.model.cost import CostModel
from einloom.passes.model.leaving import CHARGED, is_worth_leaving, leaves
from einloom.passes.values import Context
from einloom.targets.leaving import LeavingBlock, leaving_block

from .operations import contraction

BOTH = (AVX2, AVX512)

CASES = (
    ("a 16 m, b 16 n, c 20 n, d 20 n, e 20 m, f 20 m, g 24 k", "efga", "gdbc", "abcdef", BOTH),
    ("a 100 m, b 16 n, c 48 m, d 84 n, g 32 k", "gca", "bgd", "abcd", BOTH),
    ("a 84 m, b 84 n, c 312 m, g 100 k", "agc", "gb", "abc", BOTH),
    ("a 128 m, b 200 m, c 5 n, g 24 k", "agb", "gc", "abc", ()),
    ("d 24 m, b 100 n, c 84 n, a 16 n, e 20 k", "ed", "ceba", "bdca", BOTH),
    ("e 84 m, b 48 m, d 100 n, a 5 k, c 100 k", "cabe", "dac", "dbe", BOTH[1:]),
    ("c 84 m, b 100 n, e 20 n, a 48 n, d 1200 k", "dc", "ebad", "acbe", ()),
    ("m 300 m, n 300 n, k 300 k", "mk", "kn", "mn", ()),
)
"""Axes, operands, and the machines on which blocks of some proposals leave."""

STAGED = parse_schedule("seq a:1 seq b:4 prim m=c n=b k=g pack out@2 b c")


def _wide(dtype: str) -> Operation:
    return contraction("a 84 n, b 84 n, c 312 m, g 100 k", "gc", "agb", "abc", dtype)


def _is_charged(nest: Nest, block: LeavingBlock | None, machine: Machine) -> bool:
    """Of blocks of several runs the model charges small ones so."""
    if block is None or not block.leaves.apart:
        return block is not None
    size = next(buffer.size * buffer.dtype.size for buffer in nest.buffers if buffer.name == block.scratch)
    return CHARGED * size <= machine.l2


@pytest.mark.parametrize("machine", [AVX2, AVX512, NEON], ids=["avx2", "avx512", "neon"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: ",".join(case[1:3]))
def test_the_model_and_the_code_take_the_same_blocks(
    case: tuple[str, str, str, str, tuple[Machine, ...]], machine: Machine
) -> None:
    *described, where = case
    operation = fuse(contraction(*described))
    model, schedule = CostModel(operation, machine), Schedule((), identify_primitive(operation))
    schedules = [each.schedule for each in every_proposal(operation, schedule, Context(machine))]
    leaving = [leaves(model.flow(each)) for each in schedules]
    nests = [bind(operation, each) for each in schedules]
    assert leaving == [_is_charged(nest, leaving_block(nest, machine), machine) for nest in nests]
    assert any(leaving) == (machine in where)


@pytest.mark.parametrize("machine", [AVX2, AVX512], ids=["avx2", "avx512"])
def test_blocks_of_several_runs_show_more_than_those_of_one(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    operation = contraction("d 24 m, b 100 n, c 84 n, a 16 n, e 20 k", "ed", "ceba", "bdca")
    every = every_proposal(operation, Schedule((), identify_primitive(operation)), Context(machine))
    model = CostModel(operation, machine)
    flows = [flow for flow in (model.flow(each.schedule) for each in every) if leaves(flow) and runs_apart(flow)]
    assert flows
    costs = [model.cost_of_flow(flow).seconds for flow in flows]
    monkeypatch.setattr(cost, "runs_apart", lambda flow: 0)
    for shown, flow in zip(costs, flows):
        alone = model.cost_of_flow(flow).seconds
        assert shown > alone if machine is AVX512 else shown >= alone  # On AVX2 those of one may show as much.


@pytest.mark.parametrize("machine", [AVX2, AVX512], ids=["avx2", "avx512"])
def test_blocks_that_leave_while_others_are_computed_cost_less(machine: Machine) -> None:
    operation = _wide("float32")
    at_once, later = (CostModel(operation, machine, may_leave=each).cost(STAGED) for each in (False, True))
    assert later.seconds < at_once.seconds
    assert later.arithmetic == at_once.arithmetic


def test_those_of_complex_numbers_cost_what_they_did() -> None:
    operation = _wide("complex64")
    assert CostModel(operation, AVX512).cost(STAGED) == CostModel(operation, AVX512, may_leave=False).cost(STAGED)


@pytest.mark.parametrize(("machine", "longest"), [(AVX2, 48), (AVX512, 1024)], ids=["avx2", "avx512"])
def test_several_runs_leave_later_behind_short_sums_alone(machine: Machine, longest: int) -> None:
    def leave(products: int, apart: int) -> bool:
        return is_worth_leaving(6400, 640, 20000, 2**27, machine, apart, products)

    assert (leave(longest, 1024), leave(longest + 1, 1024), leave(longest + 1, 0)) == (True, False, True)
