"""einsum of JAX arrays on the CPU: of their memory, and while JAX traces, a primitive with gradients of its own.

Under `jax.jit`, `jax.grad` and `jax.vmap` operands are tracers without memory. Then einsum is a primitive of JAX, which
is linear in every operand, and a `pure_callback` when it runs: its transposes are einsums of the same kind, a tangent
takes the place of its operand, and a batch is one more label.
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
from jax.core import ShapedArray, Tracer  # pyright: ignore[reportMissingImports]
from jax.extend.core import Primitive  # pyright: ignore[reportMissingImports]
from jax.interpreters import ad, batching, mlir  # pyright: ignore[reportMissingImports]

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
        _check_numbers(operand, f"operand {position}")
    try:
        dtype = jnp.result_type(*operands)
    except ValueError as error:
        reason = str(error).partition(".")[0]
        raise DTypeError(f"JAX knows no common type: {reason}\n  Convert the operands with astype().") from None
    arrays = [jnp.asarray(operand, dtype) for operand in operands]
    if any(isinstance(operand, Tracer) for operand in arrays):
        call = carried(computation, [array.shape for array in arrays], lambda: [array.dtype.name for array in arrays])
        return _einsum(call, tuple(arrays))
    result = computation.on_arrays([np.asarray(array) for array in arrays])
    return jnp.asarray(result) if isinstance(operands[0], jax.Array) else result


def memory(operand: Any, name: str) -> Any:
    """Return an operand's memory, which may not be written; others than JAX's as they are.

    Raises:
        DTypeError: a tracer, or a deleted array, which have none.
    """
    _check_numbers(operand, name)
    if isinstance(operand, Tracer):
        raise DTypeError(f"{name} is a tracer of JAX, without memory\n  Pass its shape, and dtype=.")
    return np.asarray(operand) if isinstance(operand, jax.Array) else operand


held = memory


def _check_numbers(operand: Any, name: str) -> None:
    if isinstance(operand, jax.Array) and not isinstance(operand, Tracer) and operand.is_deleted():
        raise DTypeError(f"{name} is an array of JAX that was deleted or donated\n  Pass one that holds numbers.")
    if isinstance(operand, jax.Array) and jnp.issubdtype(operand.dtype, jax.dtypes.prng_key):
        raise DTypeError(f"{name} holds keys of JAX's random numbers, no numbers\n  Pass jax.random.key_data(…) of it.")


# ---- the primitive -----------------------------------------------------------------------------------------------


_primitive: Any = Primitive("einloom_einsum")


def _einsum(call: Call, operands: Sequence[Any]) -> Any:
    """Compute on arrays of one type, traced or not."""
    return _primitive.bind(*operands, call=call)


@_primitive.def_abstract_eval
def _result_like(*operands: Any, call: Call) -> Any:
    shapes = [operand.shape for operand in operands]
    shape = make_problem(call.equation, shapes, [None] * len(shapes), "float32").output_shape
    return ShapedArray(shape, operands[0].dtype)


@_primitive.def_impl
def _callback(*operands: Any, call: Call) -> Any:
    like = _result_like(*operands, call=call)
    return jax.pure_callback(partial(_evaluate, call), jax.ShapeDtypeStruct(like.shape, like.dtype), *operands)


def _evaluate(call: Call, *operands: Any) -> np.ndarray:
    """Compute when JAX runs what it has traced."""
    return np.asarray(evaluate(call, [np.asarray(operand) for operand in operands]))


def _tangent(primals: Sequence[Any], tangents: Sequence[Any], *, call: Call) -> tuple[Any, Any]:
    """Return the result and its tangent: one einsum for every operand that has one."""
    result = _einsum(call, primals)
    terms = [
        _einsum(call, [*primals[:i], ad.instantiate_zeros(tangent), *primals[i + 1 :]])
        for i, tangent in enumerate(tangents)
        if type(tangent) is not ad.Zero
    ]
    return result, sum(terms[1:], terms[0])


def _transpose(grad: Any, *operands: Any, call: Call) -> list[Any]:
    """Return the gradient of the operand that is wanted; the others are known."""
    if type(grad) is ad.Zero:
        return [None] * len(operands)
    plain = [operand.aval if ad.is_undefined_primal(operand) else operand for operand in operands]
    return [
        _gradient(call, plain, grad, position) if ad.is_undefined_primal(operand) else None
        for position, operand in enumerate(operands)
    ]


def _many(operands: Sequence[Any], axes: Sequence[int | None], *, call: Call) -> tuple[Any, int]:
    ranks = [operand.ndim - (axis is not None) for operand, axis in zip(operands, axes)]
    text = batched(call.equation, ranks, axes)
    return _einsum(Call(text, call.conj, call.optimize, threads=call.threads), operands), 0


ad.primitive_jvps[_primitive] = _tangent
ad.primitive_transposes[_primitive] = _transpose
batching.primitive_batchers[_primitive] = _many
mlir.register_lowering(_primitive, mlir.lower_fun(_callback, multiple_results=False))


def _gradient(call: Call, operands: Sequence[Any], grad: Any, position: int) -> Any:
    """Return the gradient of an operand, of which only the shape is asked."""
    wanted = gradient_of(call.equation, tuple(tuple(operand.shape) for operand in operands), position, call.conj)
    factors = [grad, *(operands[i] for i in wanted.others)]
    factors += [jnp.ones(extent, grad.dtype) for extent in wanted.ones]
    factors += [jnp.eye(extent, dtype=grad.dtype) for extent in wanted.identities]
    # JAX's gradients of complex numbers are the conjugates of those that `gradient_of` is about.
    others = range(1, len(wanted.others) + 1)
    conj = (*(i for i in wanted.conj if i == 0), *(i for i in others if i not in wanted.conj))
    turned = conj if jnp.iscomplexobj(grad) else ()
    return _einsum(Call(wanted.equation, turned, threads=call.threads), tuple(factors)).reshape(wanted.shape)
