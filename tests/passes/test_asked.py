"""The cost model reckons with the very blocks that generated code asks for ahead."""

from __future__ import annotations

from dataclasses import replace

import pytest

from einloom.bench.cases import Case, load_suite
from einloom.dtypes import data_type
from einloom.ir.bind import bind
from einloom.ir.operation import Operation
from einloom.ir.schedule import Schedule
from einloom.machine import AVX2, AVX512, Machine
from einloom.passes.contraction.choose import every_proposal
from einloom.passes.contraction.large_input import vectorise_large_input
from einloom.passes.fuse import fuse
from einloom.passes.identify import identify_primitive
from einloom.passes.model.cost import CostModel
from einloom.passes.model.flow import Flow
from einloom.passes.values import Context
from einloom.plan.paths import contraction_path
from einloom.plan.problem import make_problem
from einloom.plan.steps import plan_problem
from einloom.targets.ahead import asked_ahead

CASES = {case.name: case for case in load_suite("tccg24")}
ROWS = ("dca,bd->abc", "ebad,ce->abcd", "efbad,cf->abcde", "cad,dcb->ab", "dbea,ec->abcd", "ea,ebcd->abcd")


def _operation(case: Case) -> Operation:
    shapes = list(case.shapes[:-1])
    problem = make_problem(case.equation, shapes, [None, None], data_type(case.dtype))
    return fuse(plan_problem(problem, None, contraction_path(problem)).steps[0].operation)


def _asked(case: Case, machine: Machine) -> list[tuple[str | None, str | None, str]]:
    """What the model and what the code asks for, of each proposal."""
    operation = _operation(case)
    model = CostModel(operation, machine)
    found: list[tuple[str | None, str | None, str]] = []
    for proposal in every_proposal(operation, Schedule((), identify_primitive(operation)), Context(machine)):
        position = model.flow(proposal.schedule).asked
        asked = asked_ahead(bind(operation, proposal.schedule), machine)
        reckoned = None if position is None else operation.operands[position].name
        found.append((reckoned, asked and asked.source, str(proposal.schedule)))
    return found


@pytest.mark.parametrize("machine", [AVX512, AVX2], ids=lambda machine: machine.vector)
def test_model_and_code_ask_for_the_same(machine: Machine) -> None:
    """But for blocks at the edge of what is worth it, whose lines the model takes as averages."""
    found = [each for row in ROWS for each in _asked(CASES[row], machine)]
    differing = [each for each in found if each[0] != each[1]]
    assert len(differing) <= len(found) // 20, differing
    assert sum(code is not None for _, code, _ in found) >= len(found) // 10


def test_nothing_is_asked_for_that_kernels_of_pairs_read_in_place() -> None:
    operation = _operation(CASES["dbea,ec->abcd"])
    model, of_pairs = CostModel(operation, AVX512), CostModel(operation, AVX512, asks_in_place=False)
    found = every_proposal(operation, Schedule((), identify_primitive(operation)), Context(AVX512))
    asked = [(model.flow(each.schedule).asked, of_pairs.flow(each.schedule).asked, each.schedule) for each in found]
    packed = [{pack.operand for pack in schedule.packs} for _, _, schedule in asked]
    assert any(first is not None and second is None for first, second, _ in asked)
    assert all(second is None or second in operands for (_, second, _), operands in zip(asked, packed))


@pytest.mark.parametrize("row", ["dca,bd->abc", "bda,dc->abc"])
@pytest.mark.parametrize("machine", [AVX512, AVX2], ids=lambda machine: machine.vector)
def test_a_large_input_is_copied_in_blocks_that_stay_near(machine: Machine, row: str) -> None:
    """All of the sum would make blocks of half a megabyte; L1 sees the ends of one and the beginning of the next."""
    operation, machine = _operation(CASES[row]), replace(machine, l2=2 * 2**20)
    schedule = vectorise_large_input(operation, machine)
    assert schedule is not None
    sizes = Flow(operation, schedule, machine).scratch[0].at[len(schedule.loops) - 1].lines
    assert sizes * 64 <= 2 * machine.l1d
