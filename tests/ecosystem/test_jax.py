"""JAX: arrays come in and go out; `jit`, `grad` and `vmap` trace einsums."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import einloom as el

jax: Any = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402

RNG = np.random.default_rng(17)


@pytest.fixture(autouse=True)
def doubles() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


def random(*shape: int, dtype: str = "float64") -> Any:
    parts = RNG.standard_normal((2, *shape))
    return jnp.asarray(parts[0] + 1j * parts[1] if "complex" in dtype else parts[0], dtype)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "complex64", "bool"])
def test_results_are_arrays_of_jax(dtype: str) -> None:
    a = jnp.ones((2, 2), dtype)
    f = el.compile("ab,bc->ac", a, a)
    for result in (el.einsum("ab,bc->ac", a, a), f(a, a), jax.jit(f)(a, a), el.einsum("ab,bc->ac", a, np.asarray(a))):
        assert isinstance(result, jax.Array) and result.dtype == a.dtype
        assert np.array_equal(result, jnp.full((2, 2), 2).astype(dtype))
    assert type(el.einsum("ab,bc->ac", np.asarray(a), a)) is np.ndarray  # The first operand decides.
    scalar = el.einsum("ab,ab->", a, a)
    assert isinstance(scalar, jax.Array) and scalar.shape == ()


def test_tracers_meet_constants_of_numpy() -> None:
    a, b = random(2, 3), np.ones((3, 4))
    found = jax.jit(lambda x: el.einsum("ab,bc->ac", np.ones((5, 2)), x) @ el.matmul(b, b.T))(a)
    assert np.allclose(found, np.ones((5, 2)) @ a @ b @ b.T)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ab,bc->ac", [(2, 3), (3, 4)]),
        ("ab,bc,cd->da", [(2, 3), (3, 4), (4, 2)]),
        ("aab->b", [(3, 3, 2)]),
        ("...a,aab,b->...", [(2, 3), (3, 3, 1), (4,)]),
        ("ab,ab->", [(2, 3), (2, 3)]),
    ],
)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_gradients_are_those_of_jax(equation: str, shapes: list[tuple[int, ...]], dtype: str) -> None:
    operands = [random(*shape, dtype=dtype) for shape in shapes]
    which = tuple(range(len(operands)))

    def loss(einsum: Any) -> Any:
        return lambda *given: jnp.sum(jnp.abs(einsum(equation, *given)) ** 2)

    for found, wanted in zip(*(jax.grad(loss(f), which)(*operands) for f in (el.einsum, jnp.einsum))):
        assert np.allclose(found, wanted, rtol=1e-10, atol=1e-10)
    second = [
        jax.grad(lambda *g, f=f: jnp.sum(jnp.abs(jax.grad(loss(f))(*g)) ** 2))(*operands)
        for f in (el.einsum, jnp.einsum)
    ]
    assert np.allclose(*second, rtol=1e-10, atol=1e-10)


def test_gradients_of_conjugates_and_mixtures() -> None:
    a, b = random(2, 3), random(3, 4, dtype="complex128")

    def losses(conj: tuple[int, ...]) -> tuple[Any, Any]:
        turned = [jnp.conj if i in conj else lambda x: x for i in range(2)]
        ours = lambda x, y: jnp.abs(el.einsum("ab,bc->ac", x, y, conj=conj)).sum()  # noqa: E731
        theirs = lambda x, y: jnp.abs(turned[0](x) @ turned[1](y)).sum()  # noqa: E731
        return ours, theirs

    for conj in ((), (0,), (0, 1)):
        for operands in ((a, b), (a.astype(b.dtype) * (1 + 2j), b)):
            ours, theirs = (jax.grad(f, (0, 1))(*operands) for f in losses(conj))
            assert all(np.allclose(x, y) and x.dtype == y.dtype for x, y in zip(ours, theirs))


def test_vmap_is_one_more_label() -> None:
    a, b = random(5, 2, 3), random(3, 4, 5)
    f = lambda x, y: el.einsum("ab,bc->ac", x, y)  # noqa: E731
    assert np.allclose(jax.vmap(f, (0, 2))(a, b), jnp.einsum("zab,bcz->zac", a, b))
    nested = jax.jit(jax.vmap(jax.vmap(f, (0, None)), (None, 2)))(a, b)
    assert np.allclose(nested, jnp.einsum("yab,bcz->zyac", a, b))
    per_sample = jax.vmap(jax.grad(lambda x, y: (f(x, y) ** 2).sum()), (0, None))(a, b[..., 0])
    assert np.allclose(per_sample, 2 * (a @ b[..., 0]) @ b[..., 0].T)


def test_what_is_refused() -> None:
    a = random(3, 3)
    with pytest.raises(el.ArgumentError, match="never change"):
        el.einsum("ab->ba", a, out=np.empty((3, 3)))
    with pytest.raises(el.ArgumentError, match="no gradients and no compilation of an einsum with epilogue=\n"):
        jax.jit(lambda x: el.einsum("ab,bc->ac", x, x, epilogue=["relu"]))(a)
    same = jax.jit(lambda x: el.einsum("ab,bc->ac", x, x, dtype=x.dtype, order="C", casting="same_kind"))(a)
    assert np.allclose(same, a @ a)
    with pytest.raises(el.ShapeError, match="two extents"):
        jax.jit(lambda x: el.einsum("ab,bc->ac", x, x[:2]))(a)
    with pytest.raises(el.DTypeError, match="tracer"):
        jax.jit(lambda x: el.compile("ab,bc->ac", x, x)(x, x))(a)


def test_deleted_arrays_and_types_without_a_common_one_are_refused() -> None:
    gone, there = jnp.ones((3, 3)), jnp.ones((3, 3))
    gone.delete()
    for call in (
        lambda: el.einsum("ab,bc->ac", there, gone),
        lambda: el.compile("ab,bc->ac", there, gone),
        lambda: el.compile("ab,bc->ac", (3, 3), (3, 3), dtype="float32")(there, gone),
        lambda: el.compile("ab,bc->ac", (3, 3), (3, 3), dtype="float32", constants={1: gone}),
    ):
        with pytest.raises(el.DTypeError, match="deleted or donated"):
            call()
    with pytest.raises(el.DTypeError, match="no common type"):
        el.einsum("ab,bc->ac", there, there.astype(jnp.int4))


def test_an_array_that_never_changes_is_no_out() -> None:
    """Its capsule is of a version that does not say so."""
    a = np.ones((3, 3), np.float32)
    out: Any = jnp.zeros((3, 3), np.float32)
    for call in (partial(el.einsum, "ab,bc->ac", a, a), partial(el.compile("ab,bc->ac", a, a), a, a)):
        with pytest.raises(el.StrideError, match="read-only"):
            call(out=out)
    assert not np.asarray(out).any()


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_forward_gradients_and_transposes(dtype: str) -> None:
    a, b, tangent = random(2, 3, dtype=dtype), random(3, 4, dtype=dtype), random(2, 3, dtype=dtype)
    f, g = partial(el.einsum, "ab,bc->ac"), partial(jnp.einsum, "ab,bc->ac")
    assert np.allclose(jax.jvp(f, (a, b), (tangent, b))[1], jax.jvp(g, (a, b), (tangent, b))[1])
    assert np.allclose(jax.linearize(lambda x: f(x, b), a)[1](tangent), g(tangent, b))
    found, expected = (jax.jacfwd(lambda x, h=h: h(x, b), holomorphic=dtype != "float64")(a) for h in (f, g))
    assert np.allclose(found, expected)
    (turned,) = jax.linear_transpose(lambda x: f(x, b), a)(f(a, b))
    assert np.allclose(turned, jax.linear_transpose(lambda x: g(x, b), a)(g(a, b))[0])
    turned_around = partial(el.einsum, "ab,ab->", conj=(0,))
    assert np.allclose(jax.jvp(turned_around, (a, a), (tangent, a))[1], jnp.vdot(tangent, a) + jnp.vdot(a, a))


def test_hessians() -> None:
    a, b = random(3), random(3, 3)
    for hessian in (jax.hessian, lambda f: jax.jacfwd(jax.jacfwd(f)), lambda f: jax.jit(jax.jacrev(jax.jacrev(f)))):
        assert np.allclose(hessian(lambda x: el.einsum("a,ab,b->", x, b, x))(a), b + b.T)


def test_keys_of_random_numbers_are_refused() -> None:
    keys = jax.random.split(jax.random.key(0), 3)
    with pytest.raises(el.DTypeError, match="key_data"):
        el.einsum("a->", keys)
    with pytest.raises(el.DTypeError, match="key_data"):
        jax.jit(lambda x: el.einsum("a->", x))(keys)
