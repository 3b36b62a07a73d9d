"""What does not fit into memory is refused before a process starts."""

from __future__ import annotations

import pytest

from einloom.bench.cases import Case
from einloom.bench.memory import check_memory
from einloom.bench.peers.contestants import PEERS
from einloom.dtypes import COMPUTED
from einloom.errors import ArgumentError
from einloom.machine import AVX2

PRODUCT = Case.contraction("ab,bc->ac", {"a": 64, "b": 32, "c": 16})
ONCE = 4 * (64 * 32 + 32 * 16 + 64 * 16)


def test_what_fits_is_let_through() -> None:
    check_memory(PRODUCT, [], AVX2, ONCE)
    check_memory(PRODUCT, [PEERS["numpy"]], AVX2, 2 * ONCE)
    check_memory(Case.contraction("a,a->", {"a": 4}), [], AVX2, 36)
    check_memory(PRODUCT, [PEERS["numpy"], PEERS["torch"]], AVX2)


@pytest.mark.parametrize("dtype", COMPUTED)
def test_elements_of_every_type_have_their_size(dtype: str) -> None:
    size = COMPUTED[dtype].size
    check_memory(PRODUCT.of_type(dtype), [], AVX2, ONCE // 4 * size)
    with pytest.raises(ArgumentError, match=f"of {dtype}: "):
        check_memory(PRODUCT.of_type(dtype), [], AVX2, ONCE // 4 * size - 1)


def test_what_no_process_can_hold_needs_smaller_sizes() -> None:
    with pytest.raises(ArgumentError) as refused:
        check_memory(PRODUCT, [PEERS["numpy"]], AVX2, ONCE - 1)
    assert str(refused.value) == (
        "operands 8 KiB and 2 KiB, result 4 KiB of float32: this machine has 14 KiB free\n  ab,bc->ac\n"
        "  Give smaller sizes."
    )


def test_what_one_process_can_hold_may_have_fewer_contestants() -> None:
    with pytest.raises(
        ArgumentError, match=r"held by 2 processes at once: this machine has 28 KiB free.*\n.*\n.*--peers"
    ):
        check_memory(PRODUCT, [PEERS["numpy"]], AVX2, 2 * ONCE - 1)
