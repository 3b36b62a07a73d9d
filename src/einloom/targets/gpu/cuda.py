"""The words of CUDA C++, as NVRTC takes them: no headers. Cache directives are its built-in functions for PTX's."""

from __future__ import annotations

from einloom.targets.gpu.dialect import Dialect, Type

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
"""


def _complex(part: str, suffix: str) -> Type:
    return Type(
        f"{part}2",
        f"{part}2",
        suffix,
        mad=f"mad_{part}({{0}}, {{1}}, {{2}})",
        product=f"mad_{part}({{0}}, {{1}}, {part}2{{}})",
        number=f"{part}2{{{{{{0}}, 0}}}}",
        helpers=_COMPLEX.format(part),
    )


_TYPES = {
    "float32": Type("float", "float", "f", mad="fmaf({0}, {1}, {2})"),
    "float64": Type("double", "double", mad="fma({0}, {1}, {2})"),
    "float16": Type(
        "ushort",
        "float",
        "f",
        mad="fmaf({0}, {1}, {2})",
        read="from_float16({0})",
        written="to_float16({0})",
        helpers=_FLOAT16,
    ),
    "bfloat16": Type(
        "ushort",
        "float",
        "f",
        mad="fmaf({0}, {1}, {2})",
        read="from_bfloat16({0})",
        written="to_bfloat16({0})",
        helpers=_BFLOAT16,
    ),
    "int32": Type("int", "int", whole=True),
    "int64": Type("longlong", "longlong", whole=True, helpers="typedef long long longlong;\n"),
    "complex64": _complex("float", "f"),
    "complex128": _complex("double", ""),
}


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
    block=("blockIdx.x", "blockIdx.y", "blockIdx.z"),
    thread=("threadIdx.x", "threadIdx.y", "threadIdx.z"),
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
)
"""Kernels for NVIDIA's GPUs of compute capability 7.5 and later."""
