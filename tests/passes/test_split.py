"""Kernels limited on request."""

from __future__ import annotations

from dataclasses import replace

import pytest

from einloom.dtypes import FLOAT32, INT32, DType
from einloom.ir.bind import bind
from einloom.ir.nest import Call, Nest, walk
from einloom.ir.text import parse_schedule
from einloom.machine import AVX512
from einloom.passes.pipeline import optimize_operation
from einloom.passes.split import split
from einloom.passes.values import Options

from .operations import PRODUCT, contraction


@pytest.mark.parametrize(
    ("before", "most", "after"),
    [
        ("seq i:64 prim m=j n=i k=k", 40, "seq i:64 seq j:40 seq i:32 seq k:40 prim m=j n=i k=k"),
        ("seq i:8 prim m=j n=i k=k", 1600, "seq i:8 prim m=j n=i k=k"),
        ("seq k:200 seq j:48 seq i:8 prim m=j n=i k=k", 100, "seq k:200 seq j:48 seq i:8 seq k:100 prim m=j n=i k=k"),
    ],
)
def test_kernels_are_limited_by_loops_inside(before: str, most: int, after: str) -> None:
    assert str(split(PRODUCT, parse_schedule(before), most)) == after


def test_axes_that_are_walked_as_one_are_split_as_one() -> None:
    operation = contraction("i 20 m, j 24 m, k 400 k, n 50 n", "kji", "kn", "ijn")
    before = "fuse ij=i*j seq ij:48 prim m=n n=ij k=k pack in0@1 k ij"
    after = "fuse ij=i*j seq ij:48 seq n:40 seq ij:24 seq k:40 prim m=n n=ij k=k pack in0@1 k ij"
    assert str(split(operation, parse_schedule(before), 40)) == after


@pytest.mark.parametrize("most", [4, 16, 64])
def test_narrow_results_are_staged_where_their_sums_are_split(most: int) -> None:
    operation = contraction("m 64 m, k 200 k, n 3 n", "mk", "kn", "mn", "float16")
    bind(*optimize_operation(operation, AVX512, Options(max_kernel_size=most)))


@pytest.mark.parametrize("most", [1, 2, 3, 5, 7, 33])
@pytest.mark.parametrize(("dtype", "summed"), [("int8", INT32), ("int16", INT32), ("bfloat16", FLOAT32)])
def test_split_kernels_take_whole_groups(dtype: str, summed: DType, most: int) -> None:
    machine = replace(AVX512, features=AVX512.features | {"avx512vnni", "avx512bf16"})
    grouped = []
    for layouts in (("mk", "kn", "mn"), ("mk", "nk", "mn"), ("km", "kn", "nm")):
        *inputs, output = (operation := contraction("m 100 m, n 200 n, k 100 k", *layouts, dtype)).operands
        operation = replace(operation, operands=(*inputs, replace(output, dtype=summed)))
        fused, schedule = optimize_operation(operation, machine, Options(max_kernel_size=most))
        products = _products(bind(fused, schedule))
        assert products and all(block.size <= most for call in products for block in call.blocks)
        grouped += [pack.group for pack in schedule.packs]
    assert max(grouped) == (1 if most < operation.inputs[0].dtype.group else operation.inputs[0].dtype.group)


def _products(nest: Nest) -> list[Call]:
    return [node for node in walk(nest.body) if isinstance(node, Call) and node.primitive.is_contraction]


@pytest.mark.parametrize("most", [1, 2, 5, 7, 33])
def test_kernels_of_complex_numbers_are_limited(most: int) -> None:
    for extents in ((3, 4, 5), (64, 33, 100)):
        axes = ", ".join(f"{name} {extent} {name}" for name, extent in zip("mnk", extents))
        for layouts in (("mk", "kn", "nm"), ("mk", "kn", "mn"), ("km", "nk", "mn")):
            operation = contraction(axes, *layouts, "complex64")
            products = _products(bind(*optimize_operation(operation, AVX512, Options(max_kernel_size=most))))
            assert products and all(block.size <= 2 * most for call in products for block in call.blocks)
