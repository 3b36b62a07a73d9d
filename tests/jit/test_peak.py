"""The loop that measures the peak is nothing but multiply-adds, as many as it says, and runs on this machine."""

from __future__ import annotations

import pytest

from einloom.errors import UnsupportedTarget
from einloom.jit.host import host
from einloom.jit.peak import multiply_add_loop, peak_flops


@pytest.mark.parametrize(
    ("vector", "bits"), [("avx2", 256), ("avx512", 512), ("neon", 128), ("sve128", 128), ("sve512", 512)]
)
@pytest.mark.parametrize(("dtype", "size"), [("float32", 32), ("float64", 64)])
def test_a_trip_has_so_many_multiply_adds(vector: str, bits: int, dtype: str, size: int) -> None:
    asm, flops = multiply_add_loop(vector, dtype)
    listing = asm.listing()
    count = listing.count("fmla") + listing.count("vfmadd231p")
    assert count >= 12  # two units of four cycles latency need eight, and some more to be sure
    assert flops == 2 * count * bits // size


def test_no_vector_isa_has_no_peak() -> None:
    with pytest.raises(UnsupportedTarget, match="'none'"):
        multiply_add_loop("none", "float32")


@pytest.mark.parametrize("threads", [1, 2])
def test_it_measures_something(threads: int) -> None:
    if host().vector == "none":
        with pytest.raises(UnsupportedTarget):
            peak_flops("float32", threads, 0.0)
    else:
        assert peak_flops("float32", threads, 0.0) > 0
