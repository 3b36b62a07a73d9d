"""einsum of arrays of Dask: lazy, chunk by chunk, equal to NumPy; sources in files, and neighbours in Dask's code."""

# pyright: reportPrivateImportUsage=false, reportArgumentType=false, reportAttributeAccessIssue=false
# Dask's functions take chunks that they do not name, and export what they do not name.

from __future__ import annotations

import random
from itertools import product
from pathlib import Path

import dask
import dask.array as da
import numpy as np
import pytest

import einloom as el
from tests.einsum.networks import random_network
from tests.plan.test_chunks import cut
from tests.soak import soak_count


@pytest.mark.soak
def test_random_expressions_in_random_chunks() -> None:
    rng = random.Random(5)
    for seed in range(soak_count(300, 0.15)):
        equation, shapes = random_network(rng, most=4)
        dtype = rng.choice(["float64", "float32", "complex64", "int16"])
        arrays = [np.random.default_rng(seed).integers(-3, 4, shape).astype(dtype) for shape in shapes]
        given = [
            da.from_array(a, chunks=tuple(cut(n, rng) for n in a.shape)) if rng.random() < 0.8 else a for a in arrays
        ]
        expected = np.einsum(equation, *arrays, optimize=True)
        if not any(isinstance(each, da.Array) for each in given):
            continue
        lazy = el.einsum(equation, *given)
        assert isinstance(lazy, da.Array) and lazy.dtype == expected.dtype and lazy.shape == expected.shape
        with dask.config.set(scheduler="synchronous"):
            assert np.array_equal(lazy.compute(), expected), (
                equation,
                [a.chunks for a in given if hasattr(a, "chunks")],
            )


def test_sums_over_chunks_add_up_in_place_and_in_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = np.random.default_rng(1).standard_normal((2, 24, 24))
    x, y = da.from_array(a, chunks=(12, 4)), da.from_array(b, chunks=(4, 12))
    lazy = el.einsum("ij,jk->ik", x, y)
    tasks = list(lazy.__dask_graph__().layers[lazy.name])
    plan = el.cluster.plan("ij,jk->ik", [x.shape, y.shape], chunks=[x.chunks, y.chunks])
    assert len(tasks) == 4 == plan.slices  # one a chunk of the result
    assert np.allclose(lazy.compute(), a @ b)
    monkeypatch.setattr("einloom.plan.chunks.GROUP_BYTES", 2 * 8 * 2 * 12 * 4)
    grouped = el.einsum("ij,jk->ik", x, y)
    assert len(dict(grouped.__dask_graph__().layers[grouped.name])) == 4 * (3 + 2 + 1)
    assert np.allclose(grouped.compute(), a @ b)


def test_narrow_sums_are_rounded_once() -> None:
    a, b = np.random.default_rng(1).standard_normal((2, 64, 64)).astype(np.float16)
    x, y = da.from_array(a, chunks=(64, 4)), da.from_array(b, chunks=(4, 64))
    exact = a.astype(float) @ b.astype(float)
    result = el.einsum("ij,jk->ik", x, y).compute()
    assert result.dtype == np.float16 and np.all(np.abs(result - exact) <= 2**-10 * np.abs(exact) + 1e-4)


def test_steps_compute_in_the_type_of_all_operands() -> None:
    """Sums of two narrow operands alone would wrap around; what is narrow at the end is rounded once."""
    numbers, types = np.random.default_rng(1), ("bool", "int8", "uint8", "int16", "uint16", "float16", "float32")
    for own in (*product(types, repeat=2), *product(types, repeat=3)):
        arrays = [numbers.integers(0, 10, (6, 6)).astype(dtype) for dtype in own]
        equation = "ij,jk,kl->il" if len(own) == 3 else "ij,jk->ik"
        lazy = el.einsum(equation, *[da.from_array(a, chunks=(6, 3)) for a in arrays])
        expected = np.einsum(equation, *[a.astype(int) for a in arrays]).astype(np.result_type(*arrays))
        result = lazy.compute(scheduler="synchronous")
        assert lazy.dtype == result.dtype == expected.dtype and np.array_equal(result, expected), own


@pytest.mark.parametrize("dtype", ["complex64", "float32", "float16", "int64", "object", "U3"])
def test_chunks_of_another_type_than_their_array_says(dtype: str) -> None:
    x = da.ones((8, 8), chunks=4)
    for said, had in (("float64", dtype), (dtype, "float64")):
        y = da.map_blocks(lambda block, had=had: block.astype(had), x, dtype=said)
        for equation, operands in (("ij,jk->ik", (x, y)), ("ij->i", (y,))):
            with pytest.raises(el.DTypeError, match=r"a chunk is .*\n.*map_blocks"):
                el.einsum(equation, *operands).compute()


def test_chunks_of_another_shape_than_their_array_says() -> None:
    x = da.ones((8, 8), chunks=4)
    y = da.map_blocks(lambda block: block[:2], x, dtype="float64")
    with pytest.raises(el.ShapeError, match=r"\(2, 4\), and by Dask's arrays \(4, 4\)"):
        el.einsum("ij,jk->ik", y, x).compute()


def test_zarr_is_a_source(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    arrays = np.random.default_rng(1).standard_normal((2, 60, 60))
    for name, array, chunks in zip("ab", arrays, ((20, 30), (15, 60))):
        stored = zarr.open_array(str(tmp_path / name), mode="w", shape=array.shape, chunks=chunks, dtype="f8")
        stored[...] = array
    x, y = (da.from_zarr(str(tmp_path / name)) for name in "ab")
    lazy = (el.einsum("ij,jk->ik", x + 1, y).T * 2).sum(axis=0)  # among Dask's own operations
    assert np.allclose(lazy.compute(), (((arrays[0] + 1) @ arrays[1]).T * 2).sum(axis=0))


def test_el_cluster_einsum_is_lazy_too() -> None:
    x = da.ones((8, 8), chunks=4)
    result = el.cluster.einsum("ij,jk,kl->il", x, x, np.ones((8, 8)))
    assert isinstance(result, da.Array) and result.compute()[0, 0] == 64
    with pytest.raises(el.ArgumentError, match="neither comm= nor checkpoint="):
        el.cluster.einsum("ij,jk->ik", x, x, checkpoint="folder")


def test_what_arrays_of_dask_do_not_take() -> None:
    x = da.ones((8, 8), chunks=4)
    for options, words in (({"out": np.ones((8, 8))}, "lazy"), ({"alpha": 2}, "optimize=, conj= and threads=")):
        with pytest.raises(el.ArgumentError, match=words):
            el.einsum("ij,jk->ik", x, x, **options)
    with pytest.raises(el.ArgumentError, match="compute_chunk_sizes"):
        el.einsum("ij->i", x[x[:, 0] > 0])
    with pytest.raises(el.DTypeError, match="Pass its shape"):
        el.compile("ij->i", x)


def test_conjugation_follows_the_path() -> None:
    x = da.from_array(np.random.default_rng(1).standard_normal((6, 6)) * (1 + 2j), chunks=3)
    result = el.einsum("ij,jk,kl->il", x, x, x, conj=(1,)).compute()
    y = x.compute()
    assert np.allclose(result, y @ y.conj() @ y)
