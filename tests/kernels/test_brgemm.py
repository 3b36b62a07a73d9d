"""BRGEMM kernels on operands between unmapped pages: every residue of every tile, layouts, strides of every kind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import pytest

from einloom.kernels import Brgemm
from einloom.kernels.specs import BatchBy
from tests.covering import covering
from tests.kernels.guarded import run_guarded
from tests.kernels.products import ProductCase, check_product, machine

DTYPES = ("float32", "float64")
LAYOUTS = [(a, b, c) for a, b, c in product(("col", "row"), repeat=3)]
DEPTHS = (*range(18), 24, 31, 33, 64, 70)
"""Sizes of k: none, every remainder of every unrolling, several trips."""

ONWARD = (None, 0, 192, -4096, 1 << 40)
"""Where the next call reads: of the last places some lie beyond a page that cannot be read."""

BETAS = ((1, None), (0, None), (1, 1), (1, 0))
"""Beta of the spec, and its value at the call where it is an argument."""


def product_spec(
    dtype: str, m: int, n: int, k: int, batch: int, layouts: tuple[str, str, str], gap: int, beta: int, alpha: float = 1
) -> Brgemm:
    """Return a spec of matrices in these layouts, each with `gap` unused elements between columns (or rows)."""
    a, b, c = layouts
    lead_a, lead_b, lead_c = (
        (m if a == "col" else k) + gap,
        (k if b == "col" else n) + gap,
        (m if c == "col" else n) + gap,
    )
    batch_a, batch_b = lead_a * (k if a == "col" else m) + 3, lead_b * (n if b == "col" else k) + 1
    return Brgemm(
        dtype,  # type: ignore[arg-type]
        m,
        n,
        k,
        batch,
        a=(1, 0, lead_a, batch_a) if a == "col" else (lead_a, 0, 1, batch_a),
        b=(0, lead_b, 1, batch_b) if b == "col" else (0, 1, lead_b, batch_b),
        c=(1, lead_c) if c == "col" else (lead_c, 1),
        far=(m + n + k) % 2 == 0,
        onward=ONWARD[(m + n + k) % len(ONWARD)],
        alpha=alpha,
        beta=beta,
    )


def leading_dimensions(layouts: tuple[str, str, str], batch: int) -> frozenset[str]:
    """Return the strides that are arguments in the public interface."""
    a, b, c = layouts
    names = {"a2" if a == "col" else "a0", "b1" if b == "col" else "b2", "c1" if c == "col" else "c0"}
    return frozenset(names | ({"a3", "b3"} if batch > 1 else set()))


def covering_cases(vector: str, dtype: str) -> Iterator[ProductCase]:
    """Yield sizes that cover every residue of m, n and k of every tile, in every layout, with every beta and batch."""
    lanes = machine(vector).vector_bits // 8 // (4 if dtype == "float32" else 8)
    for row in covering(
        m=range(1, 3 * lanes + 2),
        n=range(1, 34),
        k=DEPTHS,
        layouts=LAYOUTS,
        beta=BETAS,
        batch=(1, 3),
        gap=(0, 1, 2),
        alpha=(1, 2),
        opened=(False, True),
        at_end=(False, True),
    ):
        beta, flag = row["beta"]
        sizes = row["m"], row["n"], row["k"], row["batch"]
        spec = product_spec(dtype, *sizes, row["layouts"], row["gap"], beta, row["alpha"])
        opened = leading_dimensions(row["layouts"], row["batch"]) if row["opened"] else frozenset[str]()
        yield ProductCase(spec, opened, flag, vector, row["at_end"])


def odd_cases(vector: str, dtype: str) -> Iterator[ProductCase]:
    """Yield products that are no plain matrix products: what one generator has to take all the same."""
    for m, n, k, batch in (
        (19, 5, 7, 1),
        (33, 9, 4, 2),
        (1, 21, 9, 1),
        (7, 1, 40, 3),
        (1, 1, 50, 2),
        (8, 3, 1, 5),
        (64, 93, 1, 1),
    ):
        area = m * n * k * batch
        shapes = {
            "element-wise": ((1, m, m * n, m * n * k), (1, m, m * n, m * n * k), (1, m)),
            "element-wise rows": ((n, 1, m * n, m * n * k), (1, m, m * n, m * n * k), (n, 1)),
            "batch innermost": ((batch * k, 0, batch, 1), (0, batch * k, batch, 1), (1, m + 1)),
            "all strided": ((3, 0, 3 * m, 3 * m * k), (0, 2, 2 * n, 2 * n * k), (2, 2 * m)),
            "all strided rows": ((3, 0, 3 * m, 3 * m * k), (0, 2, 2 * n, 2 * n * k), (2 * n, 2)),
            "both along m": ((1, 0, m, m * k), (1, 0, m, m * k), (1, m)),
            "scaled columns": ((1, 0, m, m * k), (1, m, m * n, m * n * k), (1, m)),
            "broadcast only": ((0, 0, 1, k), (0, 0, 1, k), (1, m)),
            "both along m, one backwards": ((1, 0, m, m * k), (1, 0, -m - 1, -m * k - k), (1, m)),
            "both along n": ((0, 1, n, n * k), (0, 1, n, n * k), (1, m)),
            "negative": ((-1, 0, -m, -m * k), (0, -k, -1, -k * n), (-1, -m)),
            "backwards": ((1, 0, -m, m * k), (0, k, -1, -k * n), (1, -m - 2)),
            "same matrix": ((1, 0, m, 0), (0, k, 1, 0), (1, m)),
            "sum": ((1, m, m * n, m * n * k), None, (1, m)),
            "sum of columns": ((1, 0, m, m * k), None, (1, m)),
            "sum of strided rows": ((2, 2 * m, 2 * m * n, 2 * area), None, (n, 1)),
        }
        for index, (a, b, c) in enumerate(shapes.values()):
            beta, flag = BETAS[(index + m) % 4]
            spec = Brgemm(dtype, m, n, k, batch, a=a, b=b, c=c, beta=beta, far=index % 3 == 0)  # type: ignore[arg-type]
            yield ProductCase(spec, frozenset(), flag, vector, True)
            yield ProductCase(spec, opened_strides(spec), flag, vector, False)


def opened_strides(spec: Brgemm) -> frozenset[str]:
    """Return all strides along axes of more than one index but 0 and 1, which decide about the code."""
    sizes = (spec.m, spec.n, spec.k, spec.batch)
    return frozenset(
        f"{name}{axis}"
        for name in "abc"
        for axis, (size, stride) in enumerate(zip(sizes, getattr(spec, name) or ()))
        if size > 1 and stride not in (0, 1)
    )


def listed_cases(vector: str, dtype: str) -> Iterator[ProductCase]:
    """Yield batches whose matrices are found by offsets or addresses."""
    sizes = ((17, 5, 9, 3), (64, 30, 8, 1), (1, 1, 20, 2), (33, 29, 40, 4), (3, 2, 1, 5), (40, 1, 7, 2), (9, 9, 0, 2))
    for index, ((m, n, k, batch), layouts) in enumerate(product(sizes, LAYOUTS)):
        beta, flag = BETAS[index % 4]
        spec = product_spec(dtype, m, n, k, batch, layouts, index % 3, beta)
        spec = replace(spec, batch_by=(BatchBy.OFFSETS, BatchBy.ADDRESSES)[index // 3 % 2])
        opened = leading_dimensions(layouts, 1) if index % 2 else frozenset[str]()
        yield ProductCase(spec, opened, flag, vector, bool(index // 2 % 2))


def dot_cases(vector: str, dtype: str) -> Iterator[ProductCase]:
    """Yield sums along memory: dot products, matrix-vector products from both sides, sums of rows."""
    for index, (m, n, k) in enumerate(product((1, 2, 3, 5, 8, 15, 16, 17, 33), (1, 2), (4, 7, 8, 16, 19, 33, 64, 70))):
        beta, flag = BETAS[index % 4]
        wide = (k + index % 3, 0, 1, 0)
        tall = (0, k + 1, 1, 0)
        c = ((1, m + 1), (2, 2 * m + 1), (n + 1, 1), (-1, -m))[index // 4 % 4]
        alpha = (1, 1, 2)[index % 3]
        spec = Brgemm(dtype, m, n, k, 1, a=wide, b=tall, c=c, beta=beta, alpha=alpha)  # type: ignore[arg-type]
        yield ProductCase(spec, frozenset(), flag, vector, bool(index % 2))
        yield ProductCase(spec, opened_strides(spec), flag, vector, True)
        exchanged = Brgemm(
            dtype,  # type: ignore[arg-type]
            n,
            m,
            k,
            1,
            a=(k + 1, 0, 1, 0),
            b=(0, k + 2, 1, 0),
            c=c[::-1],
            beta=beta,
        )
        yield ProductCase(exchanged, frozenset(), flag, vector, True)
        sums = Brgemm(dtype, m, 1, k, 1, a=(k + 2, 0, 1, 0), b=None, c=c, beta=beta)  # type: ignore[arg-type]
        yield ProductCase(sums, frozenset(), flag, vector, False)


def interleaved_cases(vector: str, dtype: str) -> Iterator[ProductCase]:
    """Yield sums whose elements take turns in memory, as the parts of complex numbers do, in rows and in columns."""
    for index, (sums, rows, k) in enumerate(product((2, 4), (1, 2, 3, 4, 7, 8, 9, 17), (1, 2, 3, 7, 8, 9, 24, 33, 70))):
        beta, flag = BETAS[index % 4]
        a, c = sums * k + index % 3, (sums, sums + 3, -sums)[index // 4 % 3]
        plain = Brgemm(dtype, sums, rows, k, 1, a=(1, a, sums, 0), b=None, c=(1, c), beta=beta)  # type: ignore[arg-type]
        spec = replace(plain, alpha=(1, 2)[index % 2])
        yield ProductCase(spec, frozenset(), flag, vector, bool(index % 2))
        yield ProductCase(spec, frozenset({"a1", "c1"}), flag, vector, True)
        exchanged = replace(spec, m=rows, n=sums, a=(a, 1, sums, 0), c=(c, 1))
        yield ProductCase(exchanged, frozenset(), flag, vector, not index % 2)


def far_cases(vector: str) -> Iterator[ProductCase]:
    """Yield products whose columns lie further apart than a displacement reaches."""
    far = 1 << 29  # times 4 bytes: 2 GiB
    for opened in (frozenset[str](), frozenset({"a2", "c1"})):
        spec = Brgemm("float32", 5, 3, 2, 1, a=(1, 0, far, 0), b=(0, far, 1, 0), c=(1, far))  # type: ignore[arg-type]
        yield ProductCase(spec, opened, None, vector, True)
        spec = Brgemm("float32", 2, 3, 2, 1, a=(far, 0, 1, 0), b=(0, far, 1, 0), c=(far, 1))  # type: ignore[arg-type]
        yield ProductCase(spec, frozenset(), None, vector, True)
        spec = Brgemm("float32", 2, 2, 2, 1, a=(far, 0, 1, 0), b=(0, 2, 1, 0), c=(far, -far - 7))  # type: ignore[arg-type]
        yield ProductCase(spec, frozenset(), None, vector, True)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_edge(vector: str, dtype: str) -> None:
    complaint = run_guarded(list(covering_cases(vector, dtype)), check_product)
    assert complaint is None, complaint


@pytest.mark.parametrize("dtype", DTYPES)
def test_any_strides(vector: str, dtype: str) -> None:
    complaint = run_guarded(list(odd_cases(vector, dtype)), check_product)
    assert complaint is None, complaint


@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_along_memory(vector: str, dtype: str) -> None:
    complaint = run_guarded(list(dot_cases(vector, dtype)), check_product)
    assert complaint is None, complaint


@pytest.mark.parametrize("dtype", DTYPES)
def test_lists_of_matrices(vector: str, dtype: str) -> None:
    complaint = run_guarded(list(listed_cases(vector, dtype)), check_product)
    assert complaint is None, complaint


def test_far_strides(vector: str) -> None:
    complaint = run_guarded(list(far_cases(vector)), check_product)
    assert complaint is None, complaint


def test_more_masks_than_registers(vector: str) -> None:
    """Three rows in groups of four and eight, tiles of two widths, rows of A in scratch: seven masks on AVX-512."""
    specs = [
        Brgemm(dtype, m, n, 8, a=(16, 0, 1, 0), b=(0, 16, 1, 0), c=(1, m), beta=1)  # type: ignore[arg-type]
        for dtype in DTYPES
        for m in (1, 2, 3, 5)
        for n in (9, 10, 11, 13)
    ]
    cases = [ProductCase(spec, frozenset(), None, vector, at_end) for spec in specs for at_end in (False, True)]
    assert run_guarded(cases, check_product) is None


@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_whose_elements_take_turns(vector: str, dtype: str) -> None:
    complaint = run_guarded(list(interleaved_cases(vector, dtype)), check_product)
    assert complaint is None, complaint


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("b", ["row", "col"])
def test_rests_of_which_columns_or_products_share_registers(vector: str, dtype: str, b: str) -> None:
    """Every rest of m that fills half a vector or less, alone or behind vectors, columns joined in C or apart."""
    lanes = 16 if dtype == "float32" else 8
    choices = {"n": (1, 2, 7, 8, 13, 23), "k": (0, 1, 3, 8, 17, 70), "batch": (1, 3), "gap": (0, 5), "beta": (0, 1)}
    specs = [
        product_spec(dtype, vectors * lanes + rows, layouts=("col", b, "col"), **chosen)
        for rows in range(1, lanes // 2 + 1)
        for vectors in (0, 1, 3)
        for chosen in covering(most_pairs=24, **choices)
    ]
    cases = [ProductCase(spec, frozenset(), None, vector, at_end) for spec in specs for at_end in (False, True)]
    assert run_guarded(cases, check_product) is None
