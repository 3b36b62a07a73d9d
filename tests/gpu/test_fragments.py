"""Tensor cores: PTX's tables, leaves of spaces of fragments in the interpreter of launches, their texts in NVRTC."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import einloom as el
from einloom.errors import DeviceError, ScheduleError
from einloom.ir.gpu.fragments import MMA, WARP
from einloom.ir.gpu.launch import Launch, Mma, Repeat
from einloom.ir.gpu.simt import LaunchFault, run_launch
from einloom.ir.gpu.text import read_launch, write_launch
from einloom.jit.gpu.cuda import compile_cuda
from einloom.search.on_gpu.work import KernelWork
from einloom.space.candidate import Space
from einloom.space.on_gpu import fragments
from einloom.targets.gpu.cuda import CUDA
from einloom.targets.gpu.opencl import OPENCL
from einloom.targets.gpu.printer import print_launch
from tests.soak import soak_count

SPACES = {
    "float16": ("matmul", {"m": 64, "n": 32, "k": 64, "mma": "m16n8k16"}),
    "bfloat16": ("batch_matmul", {"b": 2, "m": 32, "n": 16, "k": 32, "mma": "m16n8k16"}),
    "float32": ("matmul", {"m": 32, "n": 32, "k": 32, "mma": "m16n8k8", "transpose_a": True, "epilogue": "relu"}),
}


HALF_A_WARP = """\
launch f
  thread t 16
  fragment float16 a 8
  fragment float16 b 4
  register float32 c 4
  mma m16n8k16 c[0] += a[0] b[0]
"""


def space_of(dtype: str) -> Space:
    name, options = SPACES[dtype]
    return el.space.gpu(name, device="h200", dtype=dtype, **options)


def result(launch: Launch, work: KernelWork) -> np.ndarray:
    memory = {name: array.copy() for name, array in work.given.items()}
    run_launch(launch, memory)
    return memory["C"]


def test_tables_are_the_manuals():
    """PTX ISA, section "Warp-level matrix fragment", in its own words: groupID, threadID_in_group, a0 to a7."""
    half, single = MMA["m16n8k16"], MMA["m16n8k8"]
    for lane in range(WARP):
        group, thread = lane >> 2, lane % 4
        for i in range(8):
            row = group if i < 2 or 4 <= i < 6 else group + 8
            assert half.a.elements[lane][i] == (row, thread * 2 + (i & 1) + (8 if i >= 4 else 0))
        for i in range(4):
            assert half.b.elements[lane][i] == (thread * 2 + (i & 1) + (8 if i >= 2 else 0), group)
            assert half.c.elements[lane][i] == (group if i < 2 else group + 8, thread * 2 + (i & 1))
            row, column = group if i in (0, 2) else group + 8, thread if i < 2 else thread + 4
            assert single.a.elements[lane][i] == (row, column)
        assert single.b.elements[lane] == ((thread, group), (thread + 4, group))
    for shape in MMA.values():
        for each in shape.fragments.values():
            places = [place for held in each.elements for place in held]
            assert sorted(places) == [(r, c) for r in range(each.rows) for c in range(each.columns)]


@pytest.mark.soak
@pytest.mark.parametrize("dtype", SPACES)
def test_random_leaves_are_right(dtype: str):
    space = space_of(dtype)
    work = KernelWork(space.kernel)
    for seed in range(soak_count(1000, 0.002)):
        launch = space.random_leaf(seed).launch()
        assert read_launch(write_launch(launch)) == launch
        np.testing.assert_array_equal(result(launch, work), work.meant["C"])


def test_another_order_of_registers_is_seen(monkeypatch: pytest.MonkeyPatch):
    """Lanes that load by another table than the one that warps multiply by compute something else."""
    space = space_of("float16")
    work = KernelWork(space.kernel)
    decided = space.random_leaf(1).assignment
    for letter in "abc":
        shape = MMA["m16n8k16"]
        wrong = replace(shape.fragments[letter], digits=shape.fragments[letter].digits[::-1])
        monkeypatch.setitem(fragments.MMA, "m16n8k16", replace(shape, **{letter: wrong}))
        mutant = space.launch(decided)
        monkeypatch.setitem(fragments.MMA, "m16n8k16", shape)
        assert not np.array_equal(result(mutant, work), work.meant["C"])
    assert np.array_equal(result(space.launch(decided), work), work.meant["C"])


def test_factors_of_float32_are_rounded():
    space = space_of("float32")
    work = KernelWork(space.kernel)
    work.given["A"][:] = 1 + 2.0**-12  # More than ten bits behind the point.
    work.given["B"][:] = 1
    assert (result(space.random_leaf(0).launch(), work) == 32).all()


def test_faults_are_reported():
    launch = space_of("float16").random_leaf(0).launch()
    with pytest.raises(ScheduleError, match="is done by warps of 32 threads, and a block has 16"):
        read_launch(HALF_A_WARP)
    with pytest.raises(ScheduleError, match="m9n9k9 is no product of tensor cores"):
        read_launch(write_launch(launch).replace("mma m16n8k16", "mma m9n9k9"))
    with pytest.raises(ScheduleError, match="multiplies bfloat16 by float16"):
        read_launch(HALF_A_WARP.replace("float16 a", "bfloat16 a"))
    with pytest.raises(LaunchFault, match="is read before it is written"):
        run_launch(replace(launch, body=tuple(_products(launch.body))), {n: a.copy() for n, a in _given().items()})
    with pytest.raises(el.UnsupportedTarget, match="OpenCL C has no products of fragments"):
        print_launch(launch, OPENCL)
    with pytest.raises(el.ShapeError, match="n = 12 of matmul\n  Products of fragments take multiples of 8"):
        el.space.gpu("matmul", m=16, n=12, k=16, dtype="float16", mma="m16n8k16")
    with pytest.raises(el.DTypeError, match="m16n8k16 multiplies float16, bfloat16, not float32"):
        el.space.gpu("matmul", m=16, n=8, k=16, mma="m16n8k16")


def _given() -> dict[str, np.ndarray]:
    return KernelWork(space_of("float16").kernel).given


def _products(nodes: tuple) -> list:
    """The products alone, with the loops around them."""
    kept = [replace(n, body=tuple(_products(n.body))) if isinstance(n, Repeat) else n for n in nodes]
    return [n for n in kept if isinstance(n, Mma) or (isinstance(n, Repeat) and n.body)]


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90", "sm_100"])
def test_nvrtc_compiles_products(architecture: str):
    try:
        compile_cuda('extern "C" __global__ void f() {}', architecture)
    except DeviceError as error:
        pytest.skip(str(error))
    for dtype in SPACES:
        compile_cuda(print_launch(space_of(dtype).random_leaf(2).launch(), CUDA), architecture)
