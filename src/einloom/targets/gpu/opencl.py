"""The words of OpenCL C 1.2. Cache directives have none there; half floats are converted by its built-in functions."""

from __future__ import annotations

from einloom.targets.gpu.dialect import Dialect, Type, types_of

__all__ = ["OPENCL"]

_FLOAT16 = """\
float from_float16(ushort bits) { return vload_half(0, (const private half *)&bits); }
ushort to_float16(float x) { ushort bits; vstore_half_rte(x, 0, (private half *)&bits); return bits; }
"""
_BFLOAT16 = """\
float from_bfloat16(ushort bits) { return as_float((uint)bits << 16); }
ushort to_bfloat16(float x) {
  const uint bits = as_uint(x);
  return isnan(x) ? bits >> 16 | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
"""
_COMPLEX = """\
{0}2 product_{0}({0}2 a, {0}2 b) {{ return ({0}2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }}
"""


def _complex(part: str, suffix: str) -> Type:
    product = f"product_{part}({{0}}, {{1}})"
    operators = {"add": "{0} + {1}", "sub": "{0} - {1}", "mul": product, "mad": f"{product} + {{2}}"}
    number, helpers = f"({part}2)({{0}}, 0)", _COMPLEX.format(part)
    return Type(f"{part}2", f"{part}2", suffix, operators=operators, number=number, helpers=helpers)


_TYPES = types_of(
    {"float": "fma({0}, {1}, {2})", "double": "fma({0}, {1}, {2})"},
    {"int32": Type("int", "int", whole=True), "int64": Type("long", "long", whole=True)},
    {"float16": _FLOAT16, "bfloat16": _BFLOAT16},
    _complex,
)


def _kernel(threads: tuple[int, ...]) -> str:
    return f"kernel __attribute__((reqd_work_group_size({', '.join(map(str, threads))})))\nvoid"


OPENCL = Dialect(
    name="OpenCL C",
    kernel=_kernel,
    input="global const {0} *restrict {1}",
    output="global {0} *restrict {1}",
    argument="const {0} {1}",
    pointer="global {0} *",
    shared="local",
    shared_pointer="local {0} *",
    aligned="__attribute__((aligned({0})))",
    block=("get_group_id(0)", "get_group_id(1)", "get_group_id(2)"),
    thread=("get_local_id(0)", "get_local_id(1)", "get_local_id(2)"),
    long="long",
    barrier="barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);",
    load=dict.fromkeys(("", "none", "l1", "l2", "read_only"), "*({0})"),
    store=dict.fromkeys(("", "none", "l1", "l2"), "*({0}) = {1}"),
    types=_TYPES,
)
"""Kernels for any device with OpenCL 1.2."""
