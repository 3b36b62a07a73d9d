"""Leaves of experts: what people would write, and the estimates that rank them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from einloom.dtypes import BFLOAT16, FLOAT16
from einloom.ir.gpu.launch import Launch, repeats, statements
from einloom.ir.gpu.simt import run_launch
from einloom.ir.gpu.text import read_launch
from einloom.ir.statement import LoopKind, Statement
from einloom.space import H200, gpu
from einloom.space.model.bound import Bound
from einloom.space.model.figure import Figure
from einloom.space.on_cpu.given import operation_of_equation
from einloom.space.on_gpu.experts import expert_leaf, expert_leaves, spaces_of
from einloom.space.on_gpu.work import expected_seconds
from tests.gpu.leaves import Operands, contractions, named_kernels, space_of
from tests.soak import soak_count
from tests.space.implementations import Meaning

NOTHING = Bound(0.0, {}, lambda: Figure("nothing", 0.0))

COPY = """
launch copy
  thread x 32
  global in float32 a 65536
  shared float32 t 65536
  register float32 r 4
  {0}
"""


def passes(line: str) -> float:
    """How many turns of its memory a line takes for one warp on one processor."""
    assert H200.rates is not None
    launch = read_launch(COPY.format(line.replace("\n", "\n  ")))
    return round(expected_seconds(launch, NOTHING, H200.rates, H200.rates.registers) * H200.rates.clock, 6)


@pytest.mark.parametrize(
    ("line", "turns"),
    [
        ("t[x] = r[0] shared", 1),
        ("t[2 x] = r[0] shared", 2),
        ("t[32 x] = r[0] shared", 32),
        ("t[33 x] = r[0] shared", 1),
        ("t[0] = r[0] shared if x < 1", 1),
        ("r[0] = t[0]", 1),
        ("vector i 4\n  t[4 x + i] = r[i] shared", 4),
        ("vector i 4\n  t[128 x + i] = r[i] shared", 32),
        ("loop j 3\n  t[x] = r[0] shared", 3),
        ("r[0] = a[x] global", 2),
        ("r[0] = a[32 x] global", 64),
    ],
)
def test_turns_of_memory(line: str, turns: int):
    assert passes(line) == turns


def expert(equation: str, *shapes: tuple[int, ...]) -> Launch:
    return expert_leaf(spaces_of(operation_of_equation(equation, shapes, "float32"), H200)[-1]).launch()


def test_operations_of_other_types_have_other_names():
    """Leaves and records are kept under them."""
    operation = operation_of_equation("mk,kn->mn", [(8, 8), (8, 8)], "float32")
    *inputs, output = operation.operands
    names = set[str]()
    for dtype in (FLOAT16, BFLOAT16):
        narrow = tuple(replace(each, dtype=dtype) for each in inputs)
        names.add(spaces_of(replace(operation, operands=(*narrow, output)), H200)[-1].name)
    assert len(names) == 2


def vectors(launch: Launch) -> set[str]:
    """The arrays that are moved by vectors."""
    held = [loop.body[0] for loop in repeats(launch) if loop.kind is LoopKind.VECTOR]
    return {str(each).split("[")[0] for each in held if isinstance(each, Statement)}


def test_all_threads_fetch_the_tiles_of_a_product_and_read_them_by_vectors():
    launch = expert("mk,kn->mn", (1024, 1024), (1024, 1024))
    assert [level.extent for level in launch.block] == [16, 16] and launch.shared_bytes == 2 * 64 * 16 * 4
    assert not any(statement.within for statement, _ in statements(launch))
    assert {"r_load_tmp_in0", "r_load_tmp_in1", "out"} <= vectors(launch)


def test_streams_need_no_shared_memory():
    launch = expert_leaf(gpu("axpy", device=H200, n=1 << 20)).launch()
    assert launch.shared_bytes == 0 and launch.threads >= 128
    assert vectors(launch) == {"r_load_x", "r_load_y", "z"}
    assert expert("abc->cba", (64, 64, 64)).shared_bytes == 0


KERNELS = [made for made in (*named_kernels(), *contractions()) if soak_count(2) == 2 or made.backbone.name != "chain"]


@pytest.mark.soak
@pytest.mark.parametrize("made", KERNELS[:: 1 if soak_count(2) == 2 else 3], ids=lambda made: made.name[:60])
def test_they_are_right(made):
    leaves = list(expert_leaves(space_of(made)))
    meaning = Meaning(made)
    for leaf in leaves[:: max(len(leaves) // 2, 1)]:
        operands = Operands(meaning, leaf.launch())
        memory = operands.fresh()
        run_launch(operands.launch, memory)
        assert operands.wrong(memory) == []
