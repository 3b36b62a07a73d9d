"""einsum of JAX arrays on the CPU: of their memory, and while JAX traces, a callback with gradients of its own.

Under `jax.jit`, `jax.grad` and `jax.vmap` operands are tracers without memory. Then einsum is a `pure_callback` that a
`custom_vjp` wraps: gradients are einsums of the same kind, and a batch is one more label.
"""

# pyright: standard
# JAX's types are unknown where it is not installed.

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax  # pyright: ignore[reportMissingImports]
import jax.numpy as jnp  # pyright: ignore[reportMissingImports]
import numpy as np
from jax.core import Tracer  # pyright: ignore[reportMissingImports]

from einloom.errors import ArgumentError, DTypeError
from einloom.frameworks.call import Call, Computation, carried, evaluate
from einloom.plan.derived import batched, gradient_of
from einloom.plan.problem import make_problem

__all__ = ["compute", "held", "memory"]


def compute(computation: Computation, operands: Sequence[Any], out: Any = None) -> Any:
    """Return the einsum of arrays of which one is JAX's, as a JAX array; as NumPy's if the first one is NumPy's.

    Raises:
        ArgumentError: `out`, for arrays of JAX never change; or what has no gradient, while JAX traces.
        DTypeError: a deleted array, or types that JAX does not promote to one.
    """
    if out is not None:
        raise ArgumentError("out= takes no results of JAX's arrays, which never change\n  Leave it out.")
    for position, operand in enumerate(operands):
        _check_present(operand, f"operand {position}")
    try:
        dtype = jnp.result_type(*operands)
    except ValueError as error:
        reason = str(error).partition(".")[0]
        raise DTypeError(f"JAX knows no common type: {reason}\n  Convert the operands with astype().") from None
    arrays = [jnp.asarray(operand, dtype) for operand in operands]
    if any(isinstance(operand, Tracer) for operand in arrays):
        return _einsum(carried(computation, [array.shape for array in arrays]), tuple(arrays))
    result = computation.on_arrays([np.asarray(array) for array in arrays])
    return jnp.asarray(result) if isinstance(operands[0], jax.Array) else result


def memory(operand: Any, name: str) -> Any:
    """Return an operand's memory, which may not be written; others than JAX's as they are.

    Raises:
        DTypeError: a tracer, or a deleted array, which have none.
    """
    _check_present(operand, name)
    if isinstance(operand, Tracer):
        raise DTypeError(f"{name} is a tracer of JAX, without memory\n  Pass its shape, and dtype=.")
    return np.asarray(operand) if isinstance(operand, jax.Array) else operand


held = memory


def _check_present(operand: Any, name: str) -> None:
    if isinstance(operand, jax.Array) and not isinstance(operand, Tracer) and operand.is_deleted():
        raise DTypeError(f"{name} is an array of JAX that was deleted or donated\n  Pass one that holds numbers.")


def _callback(call: Call, operands: tuple[Any, ...]) -> Any:
    """Compute on arrays of one type."""
    shapes = [operand.shape for operand in operands]
    shape = make_problem(call.equation, shapes, [None] * len(shapes), "float32").output_shape
    result = jax.ShapeDtypeStruct(shape, operands[0].dtype)
    ranks = tuple(map(len, shapes))
    return jax.pure_callback(partial(_evaluate, call, ranks), result, *operands, vmap_method="expand_dims")


def _evaluate(call: Call, ranks: tuple[int, ...], *operands: Any) -> np.ndarray:
    """Compute when JAX runs what it has traced; each `vmap` has put an axis in front of every operand."""
    arrays, text = [np.asarray(operand) for operand in operands], call.equation
    for batches in range(arrays[0].ndim - ranks[0]):
        text = batched(text, [rank + batches for rank in ranks], [0] * len(ranks))
    return np.asarray(evaluate(Call(text, call.conj, call.optimize, threads=call.threads), arrays))


def _forward(call: Call, operands: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    return _einsum(call, operands), operands


def _backward(call: Call, operands: tuple[Any, ...], grad: Any) -> tuple[tuple[Any, ...]]:
    return (tuple(_gradient(call, operands, grad, position) for position in range(len(operands))),)


def _gradient(call: Call, operands: tuple[Any, ...], grad: Any, position: int) -> Any:
    """Return the gradient of an operand; None stands for none, of integers."""
    if not jnp.issubdtype(grad.dtype, jnp.inexact):
        return None
    wanted = gradient_of(call.equation, tuple(tuple(operand.shape) for operand in operands), position, call.conj)
    factors = [grad, *(operands[i] for i in wanted.others)]
    factors += [jnp.ones(extent, grad.dtype) for extent in wanted.ones]
    factors += [jnp.eye(extent, dtype=grad.dtype) for extent in wanted.identities]
    # JAX's gradients of complex numbers are the conjugates of those that `gradient_of` is about.
    others = range(1, len(wanted.others) + 1)
    conj = (*(i for i in wanted.conj if i == 0), *(i for i in others if i not in wanted.conj))
    turned = conj if jnp.iscomplexobj(grad) else ()
    return _einsum(Call(wanted.equation, turned, threads=call.threads), tuple(factors)).reshape(wanted.shape)


_einsum: Any = jax.custom_vjp(_callback, nondiff_argnums=(0,))
_einsum.defvjp(_forward, _backward)
