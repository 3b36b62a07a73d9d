"""Sums of truth values, which end once all are true: what the last product alone makes true is not lost."""

from __future__ import annotations

import numpy as np
import pytest

import einloom
from einloom.ir.bind import bind
from einloom.ir.text import parse_schedule
from einloom.machine import AVX2, AVX512, NEON, Machine
from einloom.targets.cpu import lower_nest

from ..passes.operations import contraction

SHAPES = {
    "mk,kn->mn": ((70, 700), (700, 45)),
    "km,kn->nm": ((900, 96), (900, 33)),
    "mk,k->m": ((37, 999), (999,)),
    "km,k->m": ((999, 200), (999,)),
    "bmk,bkn->mn": ((3, 33, 333), (3, 333, 40)),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("equation", SHAPES)
def test_one_sum_that_the_last_product_decides(equation: str, threads: int) -> None:
    inputs, _ = equation.split("->")
    first, second = (np.zeros(shape, bool) for shape in SHAPES[equation])
    words = inputs.split(",")
    for array, word in ((first, words[0]), (second, words[1])):
        array[tuple(0 if name in "kb" else slice(None) for name in word)] = True  # The first product makes all true …
    late = tuple(-1 if name in "kbm" else slice(None) for name in words[0])
    first[tuple(0 if name in "kb" else -1 if name == "m" else slice(None) for name in words[0])] = (
        False  # … but those …
    )
    run = einloom.compile(equation, first.shape, second.shape, dtype="bool", threads=threads)
    never = run(first, second)
    assert np.array_equal(never, np.einsum(equation, first.astype(int), second.astype(int)) > 0)
    assert not never.all() and never.any()
    first[late] = True
    second[tuple(-1 if name in "kb" else slice(None) for name in words[1])] = True  # … which the last one does.
    assert run(first, second).all()


@pytest.mark.parametrize("share", [0.02, 0.5, 1.0])
def test_any_share_of_true_elements(share: float) -> None:
    rng = np.random.default_rng(0)
    for equation, shapes in SHAPES.items():
        arrays = [rng.random(shape) < share for shape in shapes]
        expected = np.einsum(equation, *(each.astype(int) for each in arrays)) > 0
        assert np.array_equal(einloom.einsum(equation, *arrays), expected)


@pytest.mark.parametrize(("machine", "ends"), [(AVX512, True), (AVX2, True), (NEON, False)])
def test_kernels_look_whether_a_sum_is_decided(machine: Machine, ends: bool) -> None:
    assert machine.vectors.ends_sums_of_truth == ends
    for axes, words, schedule in (
        ("m 64 m, k 999 k", ("mk", "k", "m"), "seq m:8 prim m=m k=k"),
        ("m 64 m, k 999 k, n 16 n", ("km", "kn", "nm"), "seq n:8 prim m=m n=n k=k"),
    ):
        nest = bind(contraction(axes, *words, dtype="bool"), parse_schedule(schedule))
        assert ("decided" in lower_nest(nest, machine).assembler.listing()) == ends
