"""Schedules for machines of every kind, and the refusal of what is no machine."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from einloom.errors import ArgumentError, UnsupportedTarget
from einloom.ir.bind import bind
from einloom.ir.operation import Operation
from einloom.ir.text import parse_operation
from einloom.machine import AVX512, Machine
from einloom.passes.model.cost import CostModel
from einloom.passes.model.tiles import SCRATCH_LIMIT
from einloom.passes.pipeline import explain_passes, optimize_operation

from .operations import contraction

OPERATIONS = {
    "product": contraction("m 300 m, n 500 n, k 400 k", "mk", "kn", "mn"),
    "rows": contraction("a 12 m, b 12 m, c 14 n, d 13 m, e 13 k", "dbea", "ec", "abcd"),
    "matrix times vector": contraction("i 4000 m, j 300 k", "ij", "j", "i"),
    "sums in rows": contraction("i 400 k, j 40000 m", "ij", "i", "j"),
    "permutation": parse_operation(
        """
        identity first=none last=none
        axis a 300 c
        axis b 400 c
        in0 float32 a=400 b=1
        out float32 a=1 b=300
        """
    ),
}
CACHES = [0, 1, 7, 64, 1000, 2**62, 2**80]


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
@pytest.mark.parametrize("level", ["l1d", "l2", "l3", "all"])
def test_caches_of_any_size_have_schedules(operation: Operation, level: str) -> None:
    for size in CACHES:
        sizes = dict.fromkeys(("l1d", "l2", "l3") if level == "all" else (level,), size)
        machine = replace(AVX512, **sizes)
        fused, schedule = optimize_operation(operation, machine)
        assert bind(fused, schedule).scratch_bytes <= SCRATCH_LIMIT
        assert 0 < CostModel(fused, machine).cost(schedule).seconds < math.inf
        assert "nan" not in explain_passes(operation, machine)


def test_a_machine_without_a_third_level_keeps_what_its_second_holds() -> None:
    operation = OPERATIONS["product"]
    machines = [replace(AVX512, l2=2**22, l3=size) for size in (0, 2**22)]
    assert len({optimize_operation(operation, machine) for machine in machines}) == 1


@pytest.mark.parametrize(
    ("name", "value", "advice"),
    [
        ("l1d", -1, "bytes, 0 for no such level"),
        ("l2", "1M", "bytes, 0 for no such level"),
        ("l3", math.nan, "bytes, 0 for no such level"),
        ("cores", 0, "a whole number from 1 on"),
        ("features", ["avx2"], "a frozenset"),
        ("name", None, "a text"),
        ("rates", {}, "Rates, or None"),
    ],
)
def test_what_is_no_machine_is_refused(name: str, value: Any, advice: str) -> None:
    with pytest.raises(ArgumentError, match=f"{name} of a machine is .*\n  Give .*{advice}"):
        replace(AVX512, **{name: value})


@pytest.mark.parametrize("vector", ["bogus", "", None, 3])
def test_an_unknown_vector_isa_is_refused(vector: Any) -> None:
    with pytest.raises(UnsupportedTarget, match="unknown vector ISA"):
        Machine("x86_64", vector, frozenset())
