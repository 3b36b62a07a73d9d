"""The words of CUDA C++, as NVRTC takes them: no headers. Cache directives are its built-in functions for PTX's."""

from __future__ import annotations

from einloom.ir.gpu.fragments import MMA
from einloom.targets.gpu.dialect import Dialect, Type, types_of

__all__ = ["CUDA"]

_FLOAT16 = """\
typedef unsigned short ushort;
static __device__ float from_float16(ushort bits) {
  float x; asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits)); return x;
}
static __device__ ushort to_float16(float x) {
  ushort bits; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x)); return bits;
}
"""
_BFLOAT16 = """\
typedef unsigned short ushort;
static __device__ float from_bfloat16(ushort bits) { return __uint_as_float((unsigned)bits << 16); }
static __device__ ushort to_bfloat16(float x) {
  const unsigned bits = __float_as_uint(x);
  return x != x ? bits >> 16 | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
"""
_COMPLEX = """\
static __device__ {0}2 mad_{0}({0}2 a, {0}2 b, {0}2 c) {{
  return {{c.x + a.x * b.x - a.y * b.y, c.y + a.x * b.y + a.y * b.x}};
}}
static __device__ {0}2 mul_{0}({0}2 a, {0}2 b) {{ return mad_{0}(a, b, {0}2{{0, 0}}); }}
static __device__ {0}2 add_{0}({0}2 a, {0}2 b) {{ return {{a.x + b.x, a.y + b.y}}; }}
static __device__ {0}2 sub_{0}({0}2 a, {0}2 b) {{ return {{a.x - b.x, a.y - b.y}}; }}
"""


def _complex(part: str, suffix: str) -> Type:
    operators = {name: f"{name}_{part}({{0}}, {{1}})" for name in ("add", "sub", "mul")}
    operators["mad"] = f"mad_{part}({{0}}, {{1}}, {{2}})"
    number, helpers = f"make_{part}2({{0}}, 0)", _COMPLEX.format(part)
    return Type(f"{part}2", f"{part}2", suffix, operators=operators, number=number, helpers=helpers)


_LONG = Type("longlong", "longlong", whole=True, helpers="typedef long long longlong;\n")
_TYPES = types_of(
    {"float": "fmaf({0}, {1}, {2})", "double": "fma({0}, {1}, {2})"},
    {"int32": Type("int", "int", whole=True), "int64": _LONG},
    {"float16": _FLOAT16, "bfloat16": _BFLOAT16},
    _complex,
)


_MMA_HELPERS = """\
static __device__ unsigned pair(unsigned short low, unsigned short high) { return low | (unsigned)high << 16; }
static __device__ unsigned tf32(float x) {
  unsigned bits; asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x)); return bits;
}
"""


def _mma(shape: str, dtype: str, c: list[str], a: list[str], b: list[str]) -> str:
    """Return a product of fragments: PTX's `mma`, whose 16-bit factors come in pairs (PTX ISA, "mma")."""
    kind = MMA[shape].types[dtype]
    if kind == "tf32":
        given = [f"tf32({each})" for each in (*a, *b)]
    else:
        given = [f"pair({low}, {high})" for low, high in zip((*a[::2], *b[::2]), (*a[1::2], *b[1::2]))]
    count = len(given) - len(given) // 3
    sums, first, second = (
        ", ".join(f"%{number}" for number in numbers)
        for numbers in (range(4), range(4, 4 + count), range(4 + count, 4 + len(given)))
    )
    text = f"mma.sync.aligned.{shape}.row.col.f32.{kind}.{kind}.f32 {{{sums}}}, {{{first}}}, {{{second}}}, {{{sums}}};"
    outputs, inputs = ", ".join(f'"+f"({each})' for each in c), ", ".join(f'"r"({each})' for each in given)
    return f'asm volatile("{text}" : {outputs} : {inputs});'


def _kernel(threads: tuple[int, ...]) -> str:
    x, y, z = threads
    return f'extern "C" __global__ __launch_bounds__({x * y * z}) void'


CUDA = Dialect(
    name="CUDA C++",
    kernel=_kernel,
    input="const {0} *__restrict__ {1}",
    output="{0} *__restrict__ {1}",
    argument="const {0} {1}",
    pointer="{0} *",
    shared="__shared__",
    shared_pointer="{0} *",
    aligned="__align__({0})",
    block=("blockIdx.x", "blockIdx.y", "blockIdx.z"),
    thread=("threadIdx.x", "threadIdx.y", "threadIdx.z"),
    long="long long",
    barrier="__syncthreads();",
    load={
        "": "*({0})",
        "none": "__ldcs({0})",
        "l1": "__ldca({0})",
        "l2": "__ldcg({0})",
        "read_only": "__ldg({0})",
    },
    store={"": "*({0}) = {1}", "none": "__stcs({0}, {1})", "l2": "__stcg({0}, {1})"},
    types=_TYPES,
    mma=_mma,
    mma_helpers=_MMA_HELPERS,
)
"""Kernels for NVIDIA's GPUs of compute capability 7.5 and later; products of fragments take 8.0."""
