"""einsum of arrays of Dask, lazily: a task for every chunk of a result, in which what is summed adds up in place.

Two chunked operands at a time are contracted along the path, so that nothing is computed twice. Chunks along a label
that do not match are rechunked with the least traffic (`plan.chunks`). Long sums are split into groups, which a fixed
binary tree adds: bits depend on the chunks alone. A task computes on one thread unless `threads=` says otherwise, since
Dask runs as many as there are.
"""

# pyright: standard
# Dask's types are unknown where it is not installed.

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

import dask.array as da  # pyright: ignore[reportMissingImports]
import numpy as np
from dask.base import tokenize  # pyright: ignore[reportMissingImports]
from dask.highlevelgraph import HighLevelGraph  # pyright: ignore[reportMissingImports]

from einloom.errors import ArgumentError, DTypeError, ShapeError
from einloom.frameworks.call import Call, Computation, evaluate, path_of
from einloom.frozen import frozen
from einloom.plan.chunks import aligned, chunk_steps, products_of_task
from einloom.plan.paths import contraction_path
from einloom.plan.problem import make_problem
from einloom.plan.slices import first_half

__all__ = ["compute", "held", "memory"]

WIDER = {"float16": "float32", "bfloat16": "float32"}
"""Types that sums over chunks and results of steps are kept in."""


def compute(computation: Computation, operands: Sequence[Any], out: Any = None) -> Any:
    """Return the einsum of arrays of which one is Dask's, as a lazy array of Dask.

    Raises:
        ArgumentError: `out`, chunks of unknown size, or options that say what becomes of sums.
    """
    if out is not None:
        raise ArgumentError("out= takes no results of Dask's arrays, which are lazy\n  Leave it out.")
    arrays: list[Any] = [each if isinstance(each, da.Array) else _chunk_of(np.asarray(each)) for each in operands]
    if any(math.isnan(n) for array in arrays for n in array.shape):
        raise ArgumentError("an array of Dask has chunks of unknown size\n  Call its compute_chunk_sizes() first.")
    call = computation.carried([array.shape for array in arrays], lambda: [array.dtype.name for array in arrays])
    if isinstance(call, str):
        raise ArgumentError(
            f"einsum of Dask's arrays takes optimize=, conj= and threads=, not {call}; its chunks are its slices\n"
            "  Apply what else is wanted to the arrays or to the result."
        )
    return _contracted(call, arrays)


def memory(operand: Any, name: str) -> Any:
    """Refuse an array of Dask, which has no memory; others stay as they are.

    Raises:
        DTypeError: it is one.
    """
    if isinstance(operand, da.Array):
        raise DTypeError(f"{name} is a lazy array of Dask, without memory\n  Pass its shape, and dtype=.")
    return operand


held = memory


def _chunk_of(array: np.ndarray) -> Any:
    chunks: Any = array.shape or -1
    return da.from_array(array, chunks=chunks)


def _contracted(call: Call, arrays: Sequence[Any]) -> Any:
    """Return the result of the steps of a path, each an array of its own.

    The type is that which all operands promote to; what steps hand on is wider where that is narrow.
    """
    dtype = np.result_type(*(array.dtype for array in arrays))
    problem = make_problem(call.equation, [array.shape for array in arrays], [None] * len(arrays), "float64")
    waiting = [(array, position in call.conj) for position, array in enumerate(arrays)]
    for each in chunk_steps(problem, contraction_path(problem, path_of(call.optimize))):
        chosen = [waiting[position] for position in each.entry]
        waiting = [pair for position, pair in enumerate(waiting) if position not in each.entry]
        text = f"{','.join(each.terms)}->{each.result}"
        conj = tuple(place for place, (_, conjugated) in enumerate(chosen) if conjugated)
        step = Call(text, conj, schedule=call.schedule, threads=call.threads or 1)
        own = np.dtype(WIDER.get(dtype.name, dtype)) if waiting else dtype
        waiting.append((_step(step, call.equation, [array for array, _ in chosen], own), False))
    return waiting[0][0]


@frozen
class _Step:
    """What tasks of a step compute.

    Attributes:
        call: the einsum of a product of chunks.
        types: of the operands.
        dtype: of the result.
    """

    call: Call
    types: tuple[np.dtype, ...]
    dtype: np.dtype

    def checked(self, chunks: Sequence[Any]) -> list[np.ndarray]:
        """Return chunks whose product has the type or its wider one: alone they may promote to less than all operands.

        Raises:
            DTypeError: they have not the types that Dask's arrays say.
        """
        arrays = [np.asarray(chunk) for chunk in chunks]
        for position, (array, dtype) in enumerate(zip(arrays, self.types)):
            if array.dtype != dtype:
                raise DTypeError(
                    f"operand {position} of {self.call.equation}: a chunk is {array.dtype}, its array says {dtype}\n"
                    "  Pass the dtype= that the blocks have to map_blocks, or convert them with astype()."
                )
        fits = np.result_type(*self.types) in (self.dtype, WIDER.get(self.dtype.name, self.dtype))
        return arrays if fits else [array.astype(self.dtype) for array in arrays]


def _step(call: Call, whole: str, arrays: Sequence[Any], dtype: np.dtype) -> Any:
    """Return the array of one step, of a type.

    Its tasks are named by the whole equation, as the dashboard shows them: hyphens would end a name.
    """
    inputs, _, output = call.equation.partition("->")
    terms = inputs.split(",")
    step = _Step(call, tuple(array.dtype for array in arrays), dtype)
    shared = aligned(terms, [array.chunks for array in arrays], [array.dtype.itemsize for array in arrays])
    arrays = [a.rechunk(shared.of_operand(term, a.chunks)) for term, a in zip(terms, arrays)]
    name = f"einsum {whole.replace('->', '→')}-{tokenize(call, dtype, [array.name for array in arrays])}"
    chunks = [shared.of_label[x] for x in output]
    summed = [x for x in dict.fromkeys(inputs) if x != "," and x not in output]
    count = products_of_task([array.chunks for array in arrays], [array.dtype.itemsize for array in arrays])
    graph: dict[Any, Any] = {}
    for place in product(*(range(len(each)) for each in chunks)):
        kept = dict(zip(output, place))
        products = []
        for sums in product(*(range(len(shared.of_label[x])) for x in summed)):
            index = kept | dict(zip(summed, sums))
            products.append([(a.name, *_index(term, a, index)) for term, a in zip(terms, arrays)])
        groups = [products[i : i + count] for i in range(0, len(products), count)]
        shape = tuple(lengths[i] for lengths, i in zip(chunks, place))
        graph |= _tasks(step, name, place, groups, shape)
    layers: Any = HighLevelGraph.from_collections(name, graph, dependencies=arrays)
    make: Any = da.Array
    return make(layers, name, chunks=tuple(chunks), dtype=dtype)


def _index(term: str, array: Any, index: dict[str, int]) -> tuple[int, ...]:
    """Return which chunk of an operand a product reads; the only one along axes that are broadcast."""
    return tuple(index[x] if len(chunks) > 1 else 0 for x, chunks in zip(term, array.chunks))


def _tasks(
    step: _Step, name: str, place: tuple[int, ...], groups: Sequence[Any], shape: tuple[int, ...]
) -> dict[Any, Any]:
    """Return the tasks of one chunk of the result: one for every group of products, and those that add them up."""
    if len(groups) == 1:
        return {(name, *place): (_sum_of, step, groups[0], [*shape], True)}
    tasks: dict[Any, Any] = {}

    def node(start: int, count: int) -> Any:
        key = (f"part {name}", *place, start, count)
        if count == 1:
            tasks[key] = (_sum_of, step, groups[start], [*shape], False)
        else:
            half = first_half(count)
            tasks[key] = (np.add, node(start, half), node(start + half, count - half))
        return key

    tasks[(name, *place)] = (_narrowed, node(0, len(groups)), step.dtype)
    return tasks


def _sum_of(step: _Step, products: Sequence[Sequence[Any]], shape: Sequence[int], is_whole: bool) -> np.ndarray:
    """Add up products in place: the task of Dask.

    Raises:
        ShapeError: chunks have other shapes than Dask's arrays say.
    """
    wide = WIDER.get(step.dtype.name) if len(products) > 1 or not is_whole else None
    first, *others = [step.checked(each) for each in products]
    result = np.asarray(evaluate(step.call, first)) if wide is None else np.zeros(shape, wide)
    if result.shape != (*shape,):
        raise ShapeError(
            f"{step.call.equation}: a chunk of the result is {result.shape}, and by Dask's arrays {(*shape,)}\n"
            "  Pass the chunks= that the blocks have to map_blocks."
        )
    for each in others if wide is None else [first, *others]:
        evaluate(step.call, each, result)
    return _narrowed(result, step.dtype) if is_whole else result


def _narrowed(result: np.ndarray, dtype: np.dtype) -> np.ndarray:
    return np.asarray(result, dtype)
