"""The public primitives: results, checks before anything is written, what is offered and what is refused."""

from __future__ import annotations

import itertools
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import einloom as el
from einloom.jit import host


def random(count: int, dtype: str = "float32", seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=count).astype(dtype)


def column_major(flat: Any, rows: int, columns: int, lead: int) -> Any:
    return np.lib.stride_tricks.as_strided(flat, (rows, columns), (flat.itemsize, lead * flat.itemsize))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_brgemm_with_run_time_strides(dtype: str) -> None:
    kernel = el.primitives.brgemm(m=33, n=7, k=20, batch_size=3, dtype=dtype)
    a, b, c = random(3000, dtype), random(800, dtype, 1), random(300, dtype, 2)
    expected = column_major(c, 33, 7, 40).copy()
    for i in range(3):
        expected += column_major(a[i * 900 :], 33, 20, 35) @ column_major(b[i * 200 :], 20, 7, 22)
    kernel(a, b, c, 35, 22, 40, 900, 200)
    np.testing.assert_allclose(column_major(c, 33, 7, 40), expected, rtol=0, atol=7200 * float(np.finfo(dtype).eps))


@pytest.mark.parametrize("batch", ["offsets", "addresses"])
def test_listed_batches(batch: str) -> None:
    kernel = el.primitives.brgemm(m=5, n=6, k=7, batch_size=3, batch=batch, beta=0)
    a, b, c = random(200), random(200, seed=1), np.zeros(30, np.float32)
    offsets_a, offsets_b = np.array([100, 0, 50]), np.array([0, 42, 0])
    if batch == "offsets":
        kernel(a, b, c, 5, 7, 5, offsets_a, offsets_b)
    else:
        kernel(a.ctypes.data + 4 * offsets_a, b.ctypes.data + 4 * offsets_b, c, 5, 7, 5)
    expected = sum(b[q : q + 42].reshape(6, 7) @ a[p : p + 35].reshape(7, 5) for p, q in zip(offsets_a, offsets_b))
    np.testing.assert_allclose(c.reshape(6, 5), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.parametrize("batch", ["offsets", "addresses"])
def test_listed_batches_of_no_matrices(batch: str, dtype: str) -> None:
    nothing = np.zeros(0, np.int64)
    matrices = [np.zeros(35, dtype), np.zeros(42, dtype)] if batch == "offsets" else [nothing, nothing]
    offsets = [nothing, nothing] if batch == "offsets" else []
    for beta in (0, 1):
        c = np.ones(30, dtype)
        kernel = el.primitives.brgemm(m=5, n=6, k=7, batch_size=0, batch=batch, beta=beta, dtype=dtype)
        kernel(*matrices, c, 5, 7, 5, *offsets)
        assert np.array_equal(c, np.full(30, beta, dtype))


@pytest.mark.parametrize("size", [2**31, 2**31 + 5, 2**40 - 1, 2**40])
@pytest.mark.parametrize("isa", ["avx512", "avx2", "neon"])
def test_the_largest_sizes_compile(isa: str, size: int) -> None:
    for layout in ("col", "row"):
        el.primitives.unary("identity", m=size, n=4, b=layout, isa=isa)
        el.primitives.unary("identity", m=4, n=size, b=layout, isa=isa)
    for axis in ("m", "n"):
        el.primitives.reduce("sum", m=4, n=size, axis=axis, isa=isa)
        el.primitives.reduce("sum", m=size, n=4, axis=axis, isa=isa)


def test_mixtures_of_types_compute_or_say_what_to_do() -> None:
    """Whichever three types: integers are right modulo 2**bits, or the refusal names the operand's type and a way."""
    names = ("int8", "uint8", "int16", "int32", "uint32", "int64", "float16", "float32", "float64", "bool")
    computed = set()
    for first, second, output in itertools.product(names, repeat=3):
        try:
            kernel = el.primitives.brgemm(m=5, n=3, k=4, dtype=(first, second, output), beta=0)
        except el.UnsupportedTarget as error:
            assert any(f"as {name}\n  Convert it" in str(error) for name in (first, second, output)), error
            continue
        a, b = np.arange(20).astype(first), np.arange(12).astype(second)
        c = np.zeros(15, output)
        kernel(a, b, c, 5, 4, 5)
        expected = a.astype("i8").reshape(4, 5).T @ b.astype("i8").reshape(3, 4).T
        assert np.array_equal(c.reshape(3, 5).T, expected.astype(output)), (first, second, output)
        computed.add((first, second, output))
    assert computed >= set(itertools.product(("int8", "uint8", "int16", "int32", "bool"), repeat=3))


@pytest.mark.parametrize("dtype", ["int8", "uint32", "int64"])
def test_factors_of_integers_are_whole_and_exact(dtype: str) -> None:
    a, b, c = np.ones(2, dtype), np.array([3], dtype), np.zeros(2, dtype)
    for alpha in (-2, 2.0, 2**62 + 1):
        el.primitives.brgemm(m=2, n=1, k=1, dtype=dtype, alpha=alpha, beta=0)(a, b, c, 2, 1, 2)
        assert c.tolist() == [(3 * int(alpha) % 2**64 * np.ones(1, "u8")).astype("u8").astype(dtype)[0]] * 2
    for alpha in (0.5, np.nan, np.inf):
        with pytest.raises(el.ArgumentError, match="whole number"):
            el.primitives.brgemm(m=2, n=1, k=1, dtype=dtype, alpha=alpha)


def test_a_factor_of_truth_values_is_one() -> None:
    a, b, c = np.array([True, False]), np.array([True]), np.zeros(2, bool)
    for alpha, expected in ((2, [True, False]), (0.5, [True, False]), (-1, [True, False]), (0, [False, False])):
        el.primitives.brgemm(m=2, n=1, k=1, dtype="bool", alpha=alpha, beta=0)(a, b, c, 2, 1, 2)
        assert c.tolist() == expected


@pytest.mark.parametrize("factor", [True, np.True_])
def test_truth_values_are_factors(factor: Any) -> None:
    a, b, c = random(6), random(6, seed=1), random(4, seed=2)
    expected = c.reshape(2, 2).T + a.reshape(3, 2).T @ b.reshape(2, 3).T
    el.primitives.brgemm(m=2, n=2, k=3, alpha=factor, beta=factor)(a, b, c, 2, 3, 2)
    np.testing.assert_allclose(c.reshape(2, 2).T, expected, rtol=0, atol=1e-5)


def test_lists_are_checked() -> None:
    kernel = el.primitives.brgemm(m=5, n=6, k=7, batch_size=3, batch="offsets")
    a, b, c, zeros = random(135), random(42), random(30), np.zeros(3, np.int64)
    with pytest.raises(el.StrideError, match="a: elements"):
        kernel(a, b, c, 5, 7, 5, np.array([0, 101, 0]), zeros)
    with pytest.raises(el.ShapeError, match="3 integers"):
        kernel(a, b, c, 5, 7, 5, np.zeros(2, np.int64), zeros)
    with pytest.raises(el.DTypeError, match="64-bit"):
        kernel(a, b, c, 5, 7, 5, np.zeros(3, np.int32), zeros)
    with pytest.raises(el.OverlapError, match="c shares memory with a"):
        kernel(a, b, a[100:], 5, 7, 5, np.array([0, 70, 0]), zeros)


def test_a_batch_of_one_needs_no_batch_strides() -> None:
    a, b, c = random(16), random(16, seed=1), np.zeros(16, np.float32)
    el.primitives.brgemm(m=4, n=4, k=4, beta=0)(a, b, c, 4, 4, 4)
    np.testing.assert_allclose(c.reshape(4, 4), b.reshape(4, 4) @ a.reshape(4, 4), rtol=1e-5)


@pytest.mark.parametrize("layouts", [("col", "row", "row"), ("row", "col", "row"), ("row", "row", "col")])
def test_layouts(layouts: tuple[str, str, str]) -> None:
    kernel = el.primitives.brgemm(m=9, n=10, k=11, a=layouts[0], b=layouts[1], c=layouts[2], beta=0, alpha=-0.5)
    a, b = random(9 * 11).reshape(9, 11), random(110, seed=1).reshape(11, 10)
    c = np.zeros(90, np.float32)
    flat = [x.ravel("F" if layout == "col" else "C") for x, layout in zip((a, b), layouts)]
    leads = (9 if layouts[0] == "col" else 11, 11 if layouts[1] == "col" else 10, 9 if layouts[2] == "col" else 10)
    kernel(*flat, c, *leads)
    result = c.reshape(10, 9).T if layouts[2] == "col" else c.reshape(9, 10)
    np.testing.assert_allclose(result, -0.5 * (a @ b), rtol=1e-4, atol=1e-5)


def test_unary_and_binary() -> None:
    a, b = random(32 * 48), np.zeros(32 * 48, np.float32)
    el.primitives.unary("identity", m=32, n=48, b="row")(a, b, 32, 48)
    assert np.array_equal(b.reshape(32, 48), a.reshape(48, 32).T)
    el.primitives.unary("relu", m=32, n=48)(a, b, 32, 32)
    assert np.array_equal(b, np.maximum(a, 0))
    el.primitives.binary("sub", m=32, n=48, broadcast="row")(a, b[:48].copy(), b, 32, 1, 32)
    el.primitives.unary("zero", m=32, n=48)(None, b, 0, 32)
    assert not b.any()


@pytest.mark.parametrize("broadcast", ["none", "row", "col", "scalar"])
def test_broadcasts(broadcast: str) -> None:
    a, b, c = random(30), random(30, seed=1), np.zeros(30, np.float32)
    el.primitives.binary("add", m=5, n=6, broadcast=broadcast)(a, b, c, 5, 5 if broadcast == "none" else 1, 5)
    matrix = b.reshape(6, 5)
    expected = {"none": matrix, "row": b[:6, None], "col": b[None, :5], "scalar": b[0]}[broadcast]
    assert np.array_equal(c.reshape(6, 5), a.reshape(6, 5) + expected)


def test_element_wise_in_place() -> None:
    a = random(20)
    expected = np.maximum(a, 0)
    el.primitives.unary("relu", m=4, n=5)(a, a, 4, 4)
    assert np.array_equal(a, expected)


def test_addresses_are_taken_as_they_are() -> None:
    a, b = random(20), np.zeros(20, np.float32)
    el.primitives.unary("identity", m=4, n=5)(a.ctypes.data, b.ctypes.data, 4, 4)
    assert np.array_equal(a, b)


def refused_calls() -> dict[str, tuple[type[Exception], str, Any]]:
    """Arguments that (4, 5, 6) float32 BRGEMM refuses; the last array of each must stay as it is."""
    a, b, c = random(24), random(30), random(20)
    locked = c.copy()
    locked.flags.writeable = False
    bytes_ = np.zeros(100, np.uint8)[1:81].view(np.float32)
    both = random(60)
    return {
        "other type": (el.DTypeError, "a has type float64", (a.astype("f8"), b, c, 4, 6, 4)),
        "no array": (el.DTypeError, "b is a list", (a, [1.0], c, 4, 6, 4)),
        "stride is an array": (el.DTypeError, "ld_c is an array", (a, b, c, 4, 6, a)),
        "stride is a float": (el.DTypeError, "ld_c is a float", (a, b, c, 4, 6, 4.0)),
        "too few": (
            el.ShapeError,
            r"takes 6 to 8 arguments, not 5\n  Pass \(a, b, c, ld_a, ld_b, ld_c\[, br_stride_a, br_stride_b\]\)",
            (a, b, c, 4, 6),
        ),
        "too short A": (el.StrideError, "a: elements 0 to 23", (a[:23], b, c, 4, 6, 4)),
        "too short C": (el.StrideError, "c: elements 0 to 23", (a, b, c, 4, 6, 5)),
        "leading dimension": (el.StrideError, "ld_b is 5", (a, b, c, 4, 5, 4)),
        "negative": (el.StrideError, "ld_c is -4", (a, b, c, 4, 6, -4)),
        "read-only": (el.StrideError, "c is read-only", (a, b, locked, 4, 6, 4)),
        "not aligned": (el.StrideError, "not aligned", (a, b, bytes_, 4, 6, 4)),
        "overlap": (el.OverlapError, "c shares memory with a", (both, b, both[10:], 4, 6, 4)),
    }


@pytest.mark.parametrize("name", refused_calls())
def test_wrong_arguments_raise_and_write_nothing(name: str) -> None:
    error, message, arguments = refused_calls()[name]
    kernel = el.primitives.brgemm(m=4, n=5, k=6)
    before = arguments[2].copy()
    with pytest.raises(error, match=message):
        kernel(*arguments)
    assert np.array_equal(arguments[2], before)


def test_interleaved_operands_do_not_overlap() -> None:
    both = random(100)
    kernel = el.primitives.unary("identity", m=5, n=5)
    kernel(both, both[10:], 20, 20)
    assert np.array_equal(both[10:15], both[:5])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: el.primitives.brgemm(m=1, n=1, k=1, a="diagonal"), "'col', 'row'"),
        (lambda: el.primitives.brgemm(m=1, n=1, k=1, batch="tree"), "'stride', 'offsets', 'addresses'"),
        (lambda: el.primitives.brgemm(m=1, n=1, k=1, b=np.ones(2)), "'col', 'row'"),  # type: ignore[arg-type]
        (lambda: el.primitives.unary("cube", m=1, n=1), "identity"),
        (lambda: el.primitives.unary(5, m=1, n=1), "name of an operator"),  # type: ignore[arg-type]
        (lambda: el.primitives.binary("power", m=1, n=1), "add"),
        (lambda: el.primitives.binary("add", m=1, n=1, broadcast="both"), "scalar"),
    ],
)
def test_words_that_do_not_exist_say_which_do(make: Any, message: str) -> None:
    with pytest.raises(el.ArgumentError, match=message):
        make()


def test_an_isa_that_does_not_exist_is_no_target() -> None:
    with pytest.raises(el.UnsupportedTarget, match="avx512, avx2"):
        el.primitives.brgemm(m=1, n=1, k=1, isa="sse")


def test_sizes_and_types_are_checked() -> None:
    with pytest.raises(el.ShapeError, match="m is -1"):
        el.primitives.brgemm(m=-1, n=1, k=1)
    with pytest.raises(el.DTypeError, match="complex64"):
        el.primitives.brgemm(m=1, n=1, k=1, dtype="complex64")


def test_empty_sizes() -> None:
    c = random(6)
    before = c.copy()
    el.primitives.brgemm(m=2, n=3, k=0)(random(1), random(1), c, 2, 1, 2)
    assert np.array_equal(c, before)
    el.primitives.brgemm(m=2, n=3, k=0, beta=0)(random(1), random(1), c, 2, 1, 2)
    assert not c.any()
    el.primitives.unary("zero", m=0, n=3)(None, c, 0, 1)


def test_a_kernel_shows_itself(tmp_path: Path) -> None:
    kernel = el.primitives.brgemm(m=64, n=6, k=512)
    assert repr(kernel) == f"brgemm float32 64x6x512 {host().vector}, {len(kernel.code)} bytes"
    parts = ("strides in bytes", "tile of", "the first", "loop over k", "add C", "store C")
    sign = ";" if host().isa == "x86_64" else "//"
    places = [kernel.listing().find(f"{sign} {part}") for part in parts]
    assert min(places) > 0 and places == sorted(places), dict(zip(parts, places))
    kernel.write(tmp_path / "brgemm.bin")
    assert (tmp_path / "brgemm.bin").read_bytes() == kernel.code


def test_every_column_of_c_is_asked_for_ahead() -> None:
    listing = el.primitives.brgemm(m=48, n=6, k=337, isa="avx512").listing()
    before_products = listing.split("tile of")[1].split("the first")[0]
    asks = ["prefetch" in line for line in before_products.splitlines()]
    assert sum(now and not before for before, now in itertools.pairwise(asks)) == 6


def test_equal_kernels_are_compiled_once_from_many_threads() -> None:
    kernels: list[Any] = []
    make = lambda: kernels.append(el.primitives.brgemm(m=31, n=3, k=5))  # noqa: E731
    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    make(), make()
    assert kernels[-1]._kernel is kernels[-2]._kernel
    assert len({kernel.code for kernel in kernels}) == 1


def test_large_kernels_stay_small() -> None:
    for m, n, k in ((128, 128, 128), (127, 127, 127), (97, 53, 128), (5, 128, 128), (128, 3, 7)):
        for isa in ("avx512", "avx2"):
            for dtype in ("float32", "float64"):
                kernel = el.primitives.brgemm(m=m, n=n, k=k, dtype=dtype, isa=isa)
                assert len(kernel.code) <= 16384, repr(kernel)


@pytest.mark.parametrize("layout", list(itertools.product(("col", "row"), repeat=3)), ids="-".join)
def test_kernels_of_every_layout_stay_small(layout: tuple[str, str, str]) -> None:
    for m, n, k in ((128, 128, 128), (102, 83, 110), (128, 122, 30)):
        a, b, c = layout
        kernel = el.primitives.brgemm(m=m, n=n, k=k, a=a, b=b, c=c, isa="avx512")
        assert len(kernel.code) <= 16384, repr(kernel)
