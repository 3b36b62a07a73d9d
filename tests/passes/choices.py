"""Contractions and machines that tests of several passes share, and what is chosen and proposed there."""

from __future__ import annotations

from dataclasses import replace

from einloom.ir.operation import Operation
from einloom.ir.schedule import Schedule
from einloom.machine import AVX2, AVX512, Machine
from einloom.passes.contraction.choose import costed
from einloom.passes.contraction.proposals import Costed
from einloom.passes.fuse import fuse
from einloom.passes.identify import identify_primitive
from einloom.passes.pipeline import optimize_operation
from einloom.passes.values import Context, Options

from .operations import contraction

LARGE = replace(AVX512, l2=2**21)
ZEN3 = replace(AVX2, features=AVX2.features | {"bmi2"}, l2=2**19)
COLUMNS = contraction("i 1600 m, j 1600 n, k 1600 k", "ki", "kj", "ij")
PRIME_COLUMNS = contraction("i 1009 m, j 1009 n, k 1009 k", "ki", "kj", "ij")
FOUR = contraction("a 52 m, b 56 m, c 56 n, d 56 n, e 56 k, f 56 k", "aefb", "fdce", "abcd")


def chosen_schedule(operation: Operation, machine: Machine, threads: int = 1) -> Schedule:
    return optimize_operation(operation, machine, Options(threads))[1]


def costed_proposals(operation: Operation, machine: Machine = AVX512) -> list[Costed]:
    return costed(operation, Schedule((), identify_primitive(operation)), Context(machine))


def packed_block(schedule: Schedule) -> int:
    """Elements of the packed block that L2 holds: the innermost one, whichever operand's it is."""
    pack = max(schedule.packs, key=lambda pack: pack.loop)
    left = {axis.name: axis.extent for axis in COLUMNS.axes}
    left |= {loop.axis: loop.step for loop in schedule.loops[: pack.loop]}
    return left["ij"[pack.operand]] * left["k"]


SHORT_SUMS, EVEN_SHORT_SUMS = (
    fuse(contraction(f"d 20 m, e 20 m, a 16 m, g 24 k, f {rows} n, b 16 n, c 20 n", "dega", "gfbc", "abcdef"))
    for rows in (20, 32)
)
