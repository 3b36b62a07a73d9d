"""einsum on OpenCL: random equations, types, strides and touches against NumPy, guard bytes around every output."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import einloom as el
from einloom.errors import DeviceError
from einloom.expression.on_gpu import steps
from einloom.ir.gpu.simt import LaunchFault, run_launch
from einloom.ir.gpu.text import read_launch, write_launch
from einloom.jit.gpu.devices import open_gpu
from einloom.jit.store import Store
from einloom.search.on_gpu.work import KernelWork, arguments_of
from einloom.search.on_gpu.worker import Bench
from einloom.space.on_cpu.given import operation_of_equation
from einloom.space.on_gpu.operations import kernel_of
from tests.gpu.leaves import EQUATIONS, Operands, contractions, named_kernels, space_of
from tests.gpu.test_texts import TWO_SIZES, leaves_of_two_sizes
from tests.space.implementations import Meaning

try:
    DEVICE = open_gpu("opencl")
except DeviceError as error:
    pytest.skip(f"no OpenCL device: {error}", allow_module_level=True)

from einloom.jit.gpu.opencl import OpenclDevice, OpenclKernel
from einloom.targets.gpu.emulated import fitted_launch
from einloom.targets.gpu.opencl import OPENCL
from einloom.targets.gpu.printer import print_launch
from einloom.targets.gpu.sizes import size_values

COUNT = 500 if os.environ.get("EINLOOM_SOAK") else 25
LEAVES = 200 if os.environ.get("EINLOOM_SOAK") else 2
GUARD = 64
TOGETHER = 20
"""Leaves that are compiled as one text."""


@pytest.mark.parametrize("made", [*named_kernels(), *contractions()], ids=lambda made: made.name[:60])
def test_random_leaves_run_and_write_nothing_else(made):
    space, meaning = space_of(made), Meaning(made)
    for first in range(0, LEAVES, TOGETHER):
        seeds = range(first, min(first + TOGETHER, LEAVES))
        launches = [replace(space.random_leaf(seed).launch(), name=f"leaf_{seed}") for seed in seeds]
        for launch, kernel in zip(launches, _built(launches)):
            operands = Operands(meaning, launch)
            after, strayed = _run_behind_guards(launch, operands, kernel)
            assert strayed == [] and operands.wrong(after) == [], print_launch(launch, OPENCL)


@pytest.mark.parametrize("name", TWO_SIZES)
def test_one_kernel_takes_arrays_of_two_sizes(name: str):
    for seed in range(2):
        leaves = leaves_of_two_sizes(name, seed, *TWO_SIZES[name])
        launches = [fitted_launch(leaf.launch(), DEVICE.limits) for leaf in leaves]
        built = DEVICE.build(print_launch(launches[0], OPENCL, sizes=True), launches[0].name)
        for leaf, launch in zip(leaves, launches):
            work = KernelWork(leaf.space.kernel)
            arrays: dict[str, Any] = {each.name: DEVICE.upload(work.given[each.name]) for each in work.backbone.regions}
            grid, block = (tuple(level.extent for level in levels) for levels in (launch.grid, launch.block))
            built.start(grid, block, [*arguments_of(launch, arrays, work), *size_values(launch)])
            ((output, expected),) = work.meant.items()
            found = np.empty_like(expected)
            DEVICE.download(arrays[output], found)
            np.testing.assert_array_equal(found, expected)


def test_a_loop_with_barriers_that_takes_its_trips_has_no_branch_around_it():
    """PoCL 3.1 ended the process in its compiler: the loop might run no iteration, as far as that knew."""
    made = list(contractions())[6]
    bench = Bench(DEVICE, KernelWork(made), sizes=True)
    assert bench.prepare(write_launch(space_of(made).random_leaf(2).launch())) == {"status": "ok"}


DIVERGENT_ENDS = """
launch divergent_ends
  block c.0 1
  block a.1 2
  block a.0 2
  thread a.2 2
  thread b.2 8
  global in float32 in0 65
  global in float32 in1 39
  global out float32 out 15
  register float32 r_in0 1
  register float32 r_in1 1
  register float32 r_mad 1
  register float32 r_tmp_in0 8
  register float32 r_tmp_in1 8
  shared float32 tmp_in0 16
  shared float32 tmp_in1 8
  loop c.1 3
    r_mad[0] = 0 if 4 a.0 + 2 a.1 + a.2 < 5
    loop b.0 2
      loop b.3 8
        r_in1[0] = in1[3 c.0 + c.1 + 24 b.0 + 3 b.3] global if 8 b.0 + b.3 < 13
        tmp_in1[b.3] = r_in1[0] shared if 8 b.0 + b.3 < 13 and a.2 < 1 and b.2 < 1
      barrier
      unroll b.4 8
        r_tmp_in1[b.4] = tmp_in1[b.4] shared if 8 b.0 + b.4 < 13
      loop a.3 2
        r_in0[0] = in0[52 a.0 + 26 a.1 + 13 a.3 + 8 b.0 + b.2] global if 4 a.0 + 2 a.1 + a.3 < 5 and 8 b.0 + b.2 < 13
        tmp_in0[a.3 + 2 b.2] = r_in0[0] shared if 4 a.0 + 2 a.1 + a.3 < 5 and 8 b.0 + b.2 < 13 and a.2 < 1
      barrier
      unroll b.1 8
        r_tmp_in0[b.1] = tmp_in0[a.2 + 2 b.1] shared if 4 a.0 + 2 a.1 + a.2 < 5 and 8 b.0 + b.1 < 13
        r_mad[0] = mad(r_tmp_in0[b.1], r_tmp_in1[b.1], r_mad[0]) if 4 a.0 + 2 a.1 + a.2 < 5 and 8 b.0 + b.1 < 13
    out[15 c.0 + 5 c.1 + 4 a.0 + 2 a.1 + a.2] = r_mad[0] global if 4 a.0 + 2 a.1 + a.2 < 5 and b.2 < 1
"""


def test_threads_that_skip_the_end_of_an_iteration_go_on_with_the_others():
    """PoCL 3.1 stored no element of the last block: see `einloom.targets.gpu.emulated`."""
    made = kernel_of(operation_of_equation("ab,bc->ca", [(5, 13), (13, 3)], "float32"))
    launch = read_launch(DIVERGENT_ENDS)
    operands = Operands(Meaning(made), launch)
    (built,) = _built([launch])
    after, strayed = _run_behind_guards(launch, operands, built)
    assert strayed == [] and operands.wrong(after) == []


def test_one_element_too_far_is_seen():
    """A kernel whose last store lies one element behind the output: the interpreter and the guard both see it."""
    for made in list(named_kernels())[:4]:
        launch = space_of(made).random_leaf(1).launch()
        meaning = Meaning(made)
        (name,) = meaning.expected
        moved = tuple(replace(a, origin=a.origin + 1) if a.name == name else a for a in launch.arrays)
        mutant = replace(launch, arrays=moved)
        operands = Operands(meaning, mutant)
        with pytest.raises(LaunchFault, match=f"of {name} lies outside"):
            run_launch(mutant, operands.fresh())
        broken, right = _built([replace(mutant, name="mutant"), launch])
        assert _run_behind_guards(mutant, operands, broken)[1] == [name]
        assert _run_behind_guards(launch, operands, right)[1] == []


def _built(launches):
    """Kernels of launches on arrays with a guard on either side: one text, since compilers take long to begin."""
    assert isinstance(DEVICE, OpenclDevice)
    fitted = (fitted_launch(_behind_guards(launch), DEVICE.limits) for launch in launches)
    text = "\n".join(print_launch(launch, OPENCL) for launch in fitted)
    program = DEVICE.cl.Program(DEVICE.context, text).build(cache_dir=False)
    return [OpenclKernel(DEVICE, program, DEVICE.cl.Kernel(program, launch.name)) for launch in launches]


def _run_behind_guards(launch, operands, kernel):
    """Run a kernel on arrays with a guard on either side; return what they hold, and whose guards were written."""
    given = operands.fresh()
    guarded = {
        name: np.concatenate([np.full(GUARD, 99, a.dtype), a, np.full(GUARD, 99, a.dtype)]) for name, a in given.items()
    }
    arguments, buffers = [], {}
    for array in launch.arguments:
        if array.space == "argument":
            arguments.append(given[array.name][0])
        else:
            buffers[array.name] = DEVICE.upload(guarded[array.name])
            arguments.append(buffers[array.name])
    kernel.start(tuple(e.extent for e in launch.grid), tuple(e.extent for e in launch.block), arguments)
    after, strayed = {}, []
    for name, buffer in buffers.items():
        DEVICE.download(buffer, guarded[name])
        if not ((guarded[name][:GUARD] == 99).all() and (guarded[name][-GUARD:] == 99).all()):
            strayed.append(name)
        after[name] = guarded[name][GUARD:-GUARD]
    return after, strayed


def _behind_guards(launch):
    """The launch on arrays that begin a guard later."""
    arrays = [
        replace(a, size=a.size + 2 * GUARD, origin=a.origin + GUARD) if a.space == "global" else a
        for a in launch.arrays
    ]
    return replace(launch, arrays=tuple(arrays))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "int64", "complex64", "complex128"])
def test_equations_in_every_type(dtype: str):
    random = np.random.default_rng(1)
    for equation, shapes in list(EQUATIONS.items())[:4]:
        unit = 1 + 1j if "complex" in dtype else 1
        operands = [(random.integers(-3, 4, shape) * unit).astype(dtype) for shape in shapes]
        result = el.einsum(equation, *operands, target="opencl")
        wide = [each.astype(complex if "complex" in dtype else float) for each in operands]
        assert result.dtype == dtype
        np.testing.assert_array_equal(result, np.einsum(equation, *wide).astype(dtype))


def test_kernels_of_two_16_bit_types_are_kept_apart_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Both are products with sums in float32: the second took the first one's leaf, and read other bits."""
    monkeypatch.setattr(steps, "code_store", lambda: Store(tmp_path))
    steps.forget_steps()
    el.clear_cache()
    for dtype in ("float16", "bfloat16"):
        kind = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
        a, b, out = np.ones((5, 11), kind), np.ones((11, 9), kind), np.full((5, 9), 3, kind)
        el.einsum("ab,bc->ac", a, b, out=out, alpha=2, beta=1, target="opencl")
        np.testing.assert_array_equal(out.astype(float), np.full((5, 9), 25.0))


class Guards:
    """Gives the device's buffers out as parts of larger ones, and sees what was written beside them."""

    def __init__(self, device: OpenclDevice) -> None:
        self.device, self.bytes = device, device.device.mem_base_addr_align // 8
        self.given: list[tuple[Any, int]] = []

    def allocate(self, size: int) -> Any:
        """Return a buffer between two guards."""
        content = np.full(size + 2 * self.bytes, 99, np.uint8)
        flags = self.device.cl.mem_flags.READ_WRITE | self.device.cl.mem_flags.COPY_HOST_PTR
        whole = self.device.cl.Buffer(self.device.context, flags, hostbuf=content)
        self.given.append((whole, size))
        return whole.get_sub_region(self.bytes, size)

    def written(self) -> int:
        """Return how many buffers were written beside, and forget all."""
        given, self.given = self.given, []
        return sum(not self._is_whole(*each) for each in given)

    def _is_whole(self, whole: Any, size: int) -> bool:
        content = np.empty(size + 2 * self.bytes, np.uint8)
        self.device.download(whole, content)
        return bool((content[: self.bytes] == 99).all() and (content[self.bytes + size :] == 99).all())


@pytest.fixture
def guards(monkeypatch: pytest.MonkeyPatch) -> Guards:
    assert isinstance(DEVICE, OpenclDevice)
    found = Guards(DEVICE)
    monkeypatch.setattr(DEVICE, "pool", found)
    return found


@pytest.mark.parametrize("place", [-1, 3])
def test_guards_see_an_element_beside_a_buffer(place: int, guards: Guards):
    stray = DEVICE.build("kernel void stray(global float *x, int place) { x[place] = 1; }", "stray")
    for where, seen in ((1, 0), (place, 1)):
        stray.start((), (), [DEVICE.upload(np.zeros(3, "f4")), np.int32(where)])
        assert guards.written() == seen


RANDOM_TYPES = ["float32", "float32", "float64", "float16", "bfloat16", "int32", "int64", "complex64", "complex128"]


def test_random_expressions(guards: Guards):
    """Types, strides, extents of 0, 1 and odd ones, and axes of extent 1 that are broadcast; sums are exact.

    Around every buffer of the device, those between two steps included, lie guards.
    """
    random = np.random.default_rng(7)
    for _ in range(COUNT):
        labels = "abcdef"
        sizes = {label: _extent(random) for label in labels}
        count = int(random.integers(1, 4))
        terms = ["".join(random.permutation(list(labels))[: random.integers(0, 4)]) for _ in range(count)]
        known = sorted(set("".join(terms)))
        out = "".join(random.permutation(known)[: random.integers(0, len(known) + 1)]) if known else ""
        equation = ",".join(terms) + "->" + out
        dtype = _numpy_type(str(random.choice(RANDOM_TYPES)))
        shapes = [[1 if random.random() < 0.1 else sizes[label] for label in term] for term in terms]
        operands = [_strided(random, shape, dtype) for shape in shapes]
        result = el.einsum(equation, *operands, target="opencl")
        expected = np.einsum(equation, *[each.astype(complex if dtype.kind == "c" else float) for each in operands])
        assert result.dtype == dtype and guards.written() == 0
        np.testing.assert_array_equal(result, expected.astype(dtype), err_msg=f"{equation} {dtype} {shapes}")


def _numpy_type(name: str) -> np.dtype:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def _extent(random: np.random.Generator) -> int:
    kind = random.random()
    return 0 if kind < 0.02 else int(2 * random.integers(8, 24) + 1 if kind > 0.95 else random.integers(1, 8))


def _strided(random: np.random.Generator, shape: list[int], dtype: np.dtype) -> np.ndarray:
    """Small whole numbers, as a view of every second element, backwards along some axes."""
    base = random.integers(-3, 4, [2 * extent for extent in shape]).astype(dtype)
    return base[tuple(slice(None, None, 2) if random.random() < 0.5 else slice(None, None, -2) for _ in shape)]


def test_what_einsum_has_beyond_numpy():
    a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    out = np.ones((2, 4))
    el.einsum("ij,jk->ik", a, b, out=out, alpha=2, beta=3, target="opencl")
    np.testing.assert_array_equal(out, 2 * (a @ b) + 3)
    bias = np.arange(4.0) - 30
    result = el.einsum("ij,jk->ik", a, b, bias, epilogue=(("add", "k"), "relu"), target="opencl")
    np.testing.assert_array_equal(result, np.maximum(a @ b + bias, 0))
    assert el.einsum("ij,jk->ik", np.ones((2, 0)), np.ones((0, 3)), target="opencl").tolist() == [[0] * 3] * 2
    assert el.einsum("ij,jk->ik", np.ones((0, 2)), np.ones((2, 3)), target="opencl").shape == (0, 3)


@pytest.mark.parametrize("beta", [1, 0.5, 0.5j, 2 - 1j])
@pytest.mark.parametrize("alpha", [1, 2 - 1j])
def test_complex_factors_of_what_out_holds(alpha: complex, beta: complex) -> None:
    random = np.random.default_rng(5)
    a, b, out = (
        (random.standard_normal(shape) + 1j * random.standard_normal(shape)).astype(np.complex64)
        for shape in ((9, 7), (7, 5), (9, 5))
    )
    expected = beta * out.astype(complex) + alpha * (a.conj().astype(complex) @ b)
    el.einsum("ij,jk->ik", a, b, out=out, conj=(0,), alpha=alpha, beta=beta, target="opencl")
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-4)


def test_a_limit_for_none_is_no_limit():
    a = np.ones((3, 3), np.float32)
    found = el.einsum("ij,jk,kl->il", a, a, a, target="opencl", memory_limit=-1)
    np.testing.assert_array_equal(found, a @ a @ a)


def test_misuse_says_what_to_do():
    with pytest.raises(el.DTypeError, match="GPUs compute in float32"):
        el.einsum("ij->i", np.ones((2, 2), "datetime64[s]"), target="opencl")
    with pytest.raises(el.DTypeError, match="GPUs compute in float32"):
        el.compile("ij,jk->ik", (2, 2), (2, 2), dtype="uint8", target="opencl")
    with pytest.raises(el.ShapeError):
        el.compile("ij,jk->ik", (2, 2), (2, 2), target="opencl")(np.ones((2, 2)), np.ones((3, 2)))
    f = el.compile("ij,jk->ik", (4, 4), (4, 4), dtype="float32", target="opencl")
    assert "kernel" in f.show() and f.show("launch").startswith("launch") and "at least" in f.show("bound")
    times = f.seconds(np.ones((4, 4), "f4"), np.ones((4, 4), "f4"))
    assert len(times) == 1 and times[0] > 0
    with pytest.raises(el.ArgumentError, match="There are text, launch, nest, bound"):
        f.show("asm")
    with pytest.raises(DeviceError, match="could not compile"):
        DEVICE.build("kernel void f( {", "f")
    with pytest.raises(DeviceError, match="could not allocate"):
        DEVICE.allocate(1 << 60)


@pytest.mark.parametrize("conj", [(), (0,), (1,), (0, 1)])
def test_conjugated_operands(conj: tuple[int, ...]):
    random = np.random.default_rng(3)
    a, b = (random.integers(-3, 4, (4, 4)) + 1j * random.integers(-3, 4, (4, 4)) for _ in range(2))
    result = el.einsum("ij,jk->ik", a, b, conj=conj, alpha=1 + 2j, target="opencl")
    given = [each.conj() if position in conj else each for position, each in enumerate((a, b))]
    np.testing.assert_array_equal(result, (1 + 2j) * (given[0] @ given[1]))


def test_threads_share_an_expression():
    b = np.arange(64, dtype=np.float32).reshape(8, 8)
    f = el.compile("ij,jk->ik", (8, 8), (8, 8), dtype="float32", target="opencl")

    def wrong(number: int) -> int:
        a = np.full((8, 8), number, np.float32)
        return sum(not np.array_equal(f(a, b), a @ b) for _ in range(20))

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(wrong, range(8))) == 0


def test_a_forked_child_is_told():
    """The threads of the driver are not in a child: it would wait for what nobody does."""
    a = np.ones((4, 4), np.float32)
    el.einsum("ij,jk->ik", a, a, target="opencl")
    child = os.fork()
    if child == 0:
        try:
            el.einsum("ij,jk->ik", a, a, target="opencl")
        except DeviceError as error:
            os._exit(0 if "before this process was forked" in str(error) else 2)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    np.testing.assert_array_equal(el.einsum("ij,jk->ik", a, a, target="opencl"), a @ a)
