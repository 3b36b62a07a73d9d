"""Texts of kernels: readable, the same every time, and what NVRTC compiles for several generations of GPUs."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import einloom as el
from einloom.dtypes import TYPES
from einloom.errors import DeviceError, UnsupportedTarget
from einloom.ir.gpu.launch import Launch
from einloom.ir.gpu.text import read_launch, write_launch
from einloom.jit.gpu.cuda import compile_cuda
from einloom.once import OnceTable
from einloom.space import H200, gpu
from einloom.space.candidate import Candidate
from einloom.space.kernels import Kernel
from einloom.space.on_gpu.experts import expert_leaf
from einloom.targets.gpu.comment import comment_of
from einloom.targets.gpu.dialects import DIALECTS
from einloom.targets.gpu.printer import print_launch
from einloom.targets.gpu.sizes import size_values, sizes_of
from tests.gpu.leaves import TYPES_OF_GPUS, contractions, named_kernels, space_of
from tests.gpu.test_simt import REVERSE, VECTORS
from tests.soak import soak_count

CUDA_REVERSE = """\
// b = a, backwards
extern "C" __global__ __launch_bounds__(4) void reverse(const float *__restrict__ a, float *__restrict__ b) {
  float r[1];
  __shared__ float t[4];
  const int i_0 = blockIdx.x;  // i.0
  const int i_1 = threadIdx.x;  // i.1, j.1
  r[0] = __ldcs(a + 4 * i_0 + i_1);
  t[i_1] = r[0];
  __syncthreads();
  for (int j_0 = 0; j_0 < 4; j_0++) {
    if (j_0 + i_1 < 4) r[0] = t[j_0];
  }
  __stcg(b + 4 * i_0 + i_1, r[0]);
}
"""
OPENCL_VECTORS = """\
kernel __attribute__((reqd_work_group_size(2, 1, 1)))
void vectors(global const float *restrict a, global float *restrict b) {
  float r[4];
  const int i = get_local_id(0);  // i
  { const float4 v = *((global float4 *)(a + 4 * i)); r[0] = v.x; r[1] = v.y; r[2] = v.z; r[3] = v.w; }
  { float4 v; v.x = r[0]; v.y = r[1]; v.z = r[2]; v.w = r[3]; *((global float4 *)(b + 4 * i)) = v; }
}
"""


def test_texts_are_what_one_would_write():
    assert print_launch(read_launch(REVERSE), DIALECTS["cuda"], "b = a, backwards") == CUDA_REVERSE
    assert print_launch(read_launch(VECTORS), DIALECTS["opencl"]) == OPENCL_VECTORS


SHARED_VECTORS = """
launch f
  thread n 4
  global in float32 a 4
  global out float32 b 4
  register float32 r 1
  shared float32 two 2
  shared float32 four 4
  vector i 2
    two[i] = a[i] shared if n < 1
  vector j 4
    four[j] = a[j] shared if n < 1
  barrier
  r[0] = add(four[n], two[0])
  b[n] = r[0] global
"""


def test_shared_arrays_are_aligned_for_their_vectors_without_gaps():
    launch = read_launch(SHARED_VECTORS)
    cuda, opencl = (print_launch(launch, DIALECTS[language]) for language in ("cuda", "opencl"))
    assert "  __shared__ __align__(16) float four[4];\n  __shared__ __align__(8) float two[2];\n" in cuda
    assert "  local __attribute__((aligned(16))) float four[4];\n" in opencl
    skip_without_nvrtc()
    assert compile_cuda(cuda, "sm_75").kernels["f"].shared_bytes == launch.shared_bytes == 24


def test_a_type_without_words_is_refused():
    with pytest.raises(UnsupportedTarget, match="OpenCL C has no uint8 here"):
        print_launch(read_launch(REVERSE.replace("float32", "uint8")), DIALECTS["opencl"])


def test_long_arrays_have_long_indices():
    """From half of what 32 bits count on: an index that a limit refuses may be larger than any of the array."""
    launch = read_launch(REVERSE.replace("a 8", f"a {2**31 - 1}"))
    assert "const long long i_0 = blockIdx.x;" in print_launch(launch, DIALECTS["cuda"])
    assert "const long i_0 = get_group_id(0);" in print_launch(launch, DIALECTS["opencl"])  # It has no long long.


def leaves_of_two_sizes(name: str, seed: int, first: dict[str, Any], second: dict[str, Any]) -> list[Candidate]:
    """The same decisions about a kernel of two sizes."""
    leaf = gpu(name, device=H200, **first).random_leaf(seed)
    other = gpu(name, device=H200, **second)
    return [
        leaf,
        other.root.apply({k: v for k, v in leaf.assignment.items() if other.problem.state().tables.names.find(k)}),
    ]


TILES = {"m": (4, 2), "n": (4,), "k": (4,)}
TWO_SIZES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "axpy": ({"n": 96, "tiles": {"n": (8,)}}, {"n": 160, "tiles": {"n": (8,)}}),
    "matmul": ({"m": 16, "n": 8, "k": 8, "tiles": TILES}, {"m": 32, "n": 16, "k": 24, "tiles": TILES}),
}


@pytest.mark.parametrize("name", TWO_SIZES)
def test_kernels_that_take_sizes_have_one_text_for_all(name: str):
    for seed in range(4):
        launches = [leaf.launch() for leaf in leaves_of_two_sizes(name, seed, *TWO_SIZES[name])]
        for dialect in DIALECTS.values():
            first, second = (print_launch(launch, dialect, sizes=True) for launch in launches)
            assert first == second and launches[0] != launches[1]
        assert [len(size_values(launch)) for launch in launches] == [len(sizes_of(launches[0]))] * 2


BACKWARDS = """
launch f
  thread n 4
  global in float32 a 8 from 7
  global out float32 b 6
  register float32 r 1
  loop i 2
    r[0] = a[-4 i + -1 n] global if 4 i + n < 6
    b[4 i + n] = r[0] global if 4 i + n < 6
"""


def test_what_follows_from_extents_is_an_argument():
    launch = read_launch(BACKWARDS)
    text = print_launch(launch, DIALECTS["opencl"], sizes=True)
    steps = "const int step_a_i, const int step_a_n, const int end_i, const int step_b_i"
    assert f"global float *restrict b, const long begin_a, const int trips_i, {steps}) {{\n  a += begin_a;\n" in text
    assert "if (4 * i + n < end_i) r[0] = *(a + step_a_i * i + step_a_n * n);" in text
    assert "for (int i = 0; i == 0 || i < trips_i; i++)" in text
    assert [int(each) for each in size_values(launch)] == [7, 2, -4, -1, 6, 4]


ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100")
REGISTERS = 64 * 1024
"""32-bit registers of a processor of each of them."""


def skip_without_nvrtc() -> None:
    try:
        compile_cuda('extern "C" __global__ void f() {}', "sm_75")
    except DeviceError as error:
        pytest.skip(str(error))


@pytest.mark.soak
def test_nvrtc_compiles_every_type():
    skip_without_nvrtc()
    for position, dtype in list(enumerate(TYPES_OF_GPUS))[: soak_count(len(TYPES_OF_GPUS), 0.4)]:
        made = list(named_kernels(dtype))[2]  # It has sums and products.
        launch = space_of(made).random_leaf(5).launch()
        text = print_launch(launch, DIALECTS["cuda"])
        assert print_launch(space_of(made).random_leaf(5).launch(), DIALECTS["cuda"]) == text
        found = compile_cuda(text, ARCHITECTURES[position % 4])
        assert found.kernels[launch.name].shared_bytes == launch.shared_bytes


TOGETHER = 40
"""Leaves that are compiled as one text: most of the time a compiler takes is its own beginning."""


@pytest.mark.soak
@pytest.mark.parametrize("made", [*named_kernels(), *contractions()], ids=lambda made: made.name[:60])
def test_nvrtc_compiles_random_leaves(made: Kernel):
    """Every leaf on every architecture; shared memory is what the space counts, and a processor holds a block.

    No thread takes fewer registers than the bound's occupancy counts on: more blocks would be resident than it says.
    """
    skip_without_nvrtc()
    space, count = space_of(made), soak_count(1000, 0.001)
    for first in range(0, count, TOGETHER):
        leaves = {f"leaf_{seed}": space.random_leaf(seed) for seed in range(first, min(first + TOGETHER, count))}
        launches = {name: replace(leaf.launch(), name=name) for name, leaf in leaves.items()}
        text = "\n".join(print_launch(each, DIALECTS["cuda"], sizes=first == 0) for each in launches.values())
        least = {name: space.model.registers(leaf.inner.state()) for name, leaf in leaves.items()}
        for architecture in ARCHITECTURES:
            found = compile_cuda(text, architecture).kernels
            assert {name: each.shared_bytes for name, each in found.items()} == {
                name: each.shared_bytes for name, each in launches.items()
            }
            assert all(each.registers * launches[name].threads <= REGISTERS for name, each in found.items())
            assert all(each.registers >= least[name] for name, each in found.items())


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_default_leaves_spill_nothing(architecture: str):
    """A block fits a processor's registers, and no thread keeps values in memory for want of them."""
    skip_without_nvrtc()
    launch = EXPERTS.get("matmul", lambda: expert_leaf(gpu("matmul", device=H200, m=64, n=64, k=64)).launch())
    found = compile_cuda(print_launch(launch, DIALECTS["cuda"]), architecture).kernels[launch.name]
    assert (found.spilled_bytes, found.shared_bytes) == (0, launch.shared_bytes)
    assert 0 < found.registers * launch.threads <= REGISTERS


EXPERTS: OnceTable[Launch] = OnceTable()


def test_missing_packages_and_devices_are_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pyopencl", None)
    monkeypatch.setitem(sys.modules, "cuda.core", None)
    monkeypatch.setenv("EINLOOM_GPU", "none such")  # Another key than any device that is open already.
    told = {"opencl": r"pip install 'einloom\[opencl\]'", "cuda": r"einloom\[cuda\]", "gpu": "there is no GPU"}
    for target, message in told.items():
        with pytest.raises(DeviceError, match=message):
            el.compile("ij,jk->ik", (2, 2), (2, 2), target=target)


def test_what_gpus_do_not_take_is_refused():
    refused: tuple[dict[str, Any], ...] = (
        {"schedule": "prim m=j n=i k=k"},
        {"memory_limit": 64},
        {"constants": {0: np.ones((2, 2))}},
    )
    for option in refused:
        with pytest.raises(el.UnsupportedTarget, match=f"{next(iter(option))}= is for processors"):
            el.compile("ij,jk->ik", (2, 2), (2, 2), dtype="float64", target="opencl", **option)


def test_targets_of_einsum_are_names_or_machines():
    for target in (b"opencl", 5, None, ("opencl",)):
        with pytest.raises(el.UnsupportedTarget, match="\n  Targets: 'cpu'"):
            el.einsum("i->", [1.0], target=target)


@pytest.mark.parametrize("language", list(DIALECTS))
def test_every_operator_of_every_type_has_words(language: str):
    text = "launch f\n  global in {0} a 2\n  global out {0} b 2\n  register {1} r 1\n  r[0] = a[0] global\n"
    for dtype, held in DIALECTS[language].types.items():
        for operator, form in held.operators.items():
            given = ", ".join(["r[0]", "r[0]", "r[0]"][: 1 + form.count("{2}") + 1])
            launch = read_launch(
                text.format(dtype, TYPES[dtype].accumulate) + f"  r[0] = {operator}({given})\n  b[0] = r[0] global"
            )
            assert "r[0]" in print_launch(launch, DIALECTS[language])


def test_complex_numbers_have_no_order():
    text = "launch f\n  global in complex64 a 1\n  register complex64 r 1\n  r[0] = a[0] global\n  r[0] = max(r[0], 0)"
    with pytest.raises(UnsupportedTarget, match="has no max of float2 here"):
        print_launch(read_launch(text), DIALECTS["cuda"])


def test_the_page_shows_what_is_printed():
    leaf = expert_leaf(gpu("mv", m=64, n=64, device="h200"))
    page = Path(__file__, "../../../docs/explanation/from-a-candidate-to-cuda.md").resolve().read_text("utf-8")
    assert f"```\n{write_launch(leaf.launch())}\n```" in page
    assert f"```cuda\n{print_launch(leaf.launch(), DIALECTS['cuda'], comment_of(leaf))}```" in page
