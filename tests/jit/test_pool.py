"""The pool as code, for both ISAs. That it works is tested where it runs, by `test_threads` and `test_together`."""

from __future__ import annotations

import pytest

from einloom.errors import UnsupportedTarget
from einloom.jit.pool.code import pool_of
from einloom.jit.pool.layout import DOOR, Addresses
from einloom.jit.poolcode import pool_code

ADDRESSES = Addresses(*(0x1122_3344_5566_7700 + number for number in range(5)))


@pytest.mark.parametrize("isa", ["x86_64", "aarch64"])
def test_it_needs_no_feature_and_is_small(isa: str) -> None:
    asm = pool_of(isa, ADDRESSES)
    assert not asm.features and len(asm.bytes()) < 4096


@pytest.mark.parametrize("isa", ["x86_64", "aarch64"])
def test_doors_lie_where_they_are_said_to(isa: str) -> None:
    labels = dict(pool_of(isa, ADDRESSES).labels)
    assert DOOR < labels["launch"] < labels["launch_together"]
    jumps = [line for line in pool_of(isa, ADDRESSES).listing().splitlines() if line.endswith(("launch", "together"))]
    assert [int(line.split()[0], 16) for line in jumps[:2]] == [0, DOOR]


def test_other_isas_are_refused() -> None:
    with pytest.raises(UnsupportedTarget, match="not for riscv64"):
        pool_of("riscv64", ADDRESSES)


STORE_THEN_READ = {"x86_64": ["xchg"], "aarch64": ["stlr", "dmb"]}
EXCLUSIVE = {"x86_64": ["lock"], "aarch64": ["ldaxr", "add", "stlxr", "cbnz", "dmb", "mov"]}


@pytest.mark.parametrize("isa", ["x86_64", "aarch64"])
def test_what_is_between_accesses(isa: str) -> None:
    """The instructions that keep the order; that they do cannot be tested on x86-64, nor under emulation."""
    code = pool_code(isa)
    code.publish(code.kept[0], 0, code.work[0])
    code.fetch_add(code.work[0], code.kept[0], 0)
    lines = [line for line in code.asm.listing().splitlines() if not line.endswith(":")]
    words = [line.split()[2] for line in lines]
    found = [word for word in words if word != "add"]
    assert found == [word for word in STORE_THEN_READ[isa] + EXCLUSIVE[isa] if word != "add"]
