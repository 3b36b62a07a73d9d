"""etops (LIBXSMM's kernels behind a contraction engine in C++) as a contestant, with the best of several block sizes.

It computes in float32 only. It keeps packed blocks of an operand from one call to the next, so it packs once and
einloom packs at every call: the comparison is in its favour. Its optimiser sometimes returns what its set-up refuses.
"""

# pyright: standard
# etops has no types.

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import etops  # pyright: ignore[reportMissingImports]

from einloom.bench.cases import Case, Kind
from einloom.bench.data import Array, aligned_copy
from einloom.bench.peers.contestants import Prepared, kernel_repeats
from einloom.errors import UnsupportedTarget

__all__ = ["prepare"]

TARGETS = ((16, 12, 64), (64, 24, 256), (32, 32, 128))
"""Block sizes of M, N and K to try: its default, and two that are often better."""


def prepare(case: Case, operands: list[Array], output: Array, threads: int, target: str) -> Prepared:
    """Return etops' way to do a case. Threads are OpenMP's and come from the environment."""
    if case.dtype != "float32":
        raise UnsupportedTarget(f"etops computes wrongly in {case.dtype}")
    if case.kind is Kind.KERNEL:
        return _kernel(case, operands, output)
    if case.kind is Kind.TENSOR_OPERATION:
        return _prepared([("", _given(case, threads))], operands, output)
    if case.is_permutation:
        return _prepared(_permutations(case, threads), [operands[0], None], output)
    if len(operands) != 2 or any(len(set(term)) < len(term) for term in case.terms):
        raise UnsupportedTarget("etops has no such operation")
    *inputs, out = case.terms
    if out and out[-1] not in inputs[0]:
        inputs, operands = inputs[::-1], operands[::-1]
    return _prepared(_contractions(case, [*inputs, out], threads), operands, output)


def _prepared(candidates: Any, operands: Sequence[Any], output: Array) -> Prepared:
    """Set every candidate up, run it, keep the fastest."""
    best: tuple[float, float, str, Any] | None = None
    refusals = []
    start = output.copy()
    for name, config in candidates:
        begin = time.perf_counter()
        try:
            operation = etops.TensorOperation(etops.optimize(*config) if isinstance(config, tuple) else config)
        except RuntimeError as error:
            refusals.append(str(error))
            continue
        ready = time.perf_counter() - begin
        seconds = min(_seconds(operation, operands, output) for _ in range(2))
        if best is None or seconds < best[0]:
            best = seconds, ready, name, operation
    if best is None:
        raise UnsupportedTarget(refusals[0] if refusals else "etops has no such operation")
    _, compile_seconds, note, operation = best

    def once() -> Array:
        output[...] = start
        operation.execute(operands[0], operands[1], output)
        return output

    return Prepared(once, _call(operation, operands, output), 1, compile_seconds, note)


def _call(operation: Any, operands: Sequence[Any], output: Array) -> Callable[[], object]:
    first, second = operands
    return lambda: operation.execute(first, second, output)


def _seconds(operation: Any, operands: Sequence[Any], output: Array) -> float:
    begin = time.perf_counter()
    operation.execute(operands[0], operands[1], output)
    return time.perf_counter() - begin


def _given(case: Case, threads: int) -> Any:
    """The configuration as it is, its outer loop shared where there are threads for it."""
    config = case.configuration
    assert config is not None  # the caller asked for a tensor operation
    kinds = list(config.exec_types)
    if threads > 1 and kinds[0] == "seq":
        kinds[0] = "shared"
    strides = (config.strides_in0, config.strides_in1, config.strides_out)
    return etops.TensorOperationConfig(
        backend="tpp",
        data_type=etops.float32,
        prim_first=getattr(etops.prim, config.prim_first_touch),
        prim_main=getattr(etops.prim, config.prim_main),
        prim_last=getattr(etops.prim, str(config.prim_last_touch)),
        dim_types=tuple(getattr(etops.dim, role) for role in config.dim_types),
        exec_types=tuple(getattr(etops.exec, kind) for kind in kinds),
        dim_sizes=tuple(config.dim_sizes),
        strides=(tuple(tuple(each or ()) for each in strides),),
    )


def _kernel(case: Case, operands: list[Array], output: Array) -> Prepared:
    """A loop of its own around the kernel whose strides are all 0."""
    (m, n, k), repeats = (case.sizes[x] for x in "mnk"), kernel_repeats(case.flops)
    prim, seq, dim = etops.exec.prim, etops.exec.seq, etops.dim

    def operation(times: int) -> Any:
        return etops.TensorOperation(
            etops.TensorOperationConfig(
                backend="tpp",
                data_type=etops.float32,
                prim_first=etops.prim.none,
                prim_main=etops.prim.gemm,
                prim_last=etops.prim.none,
                dim_types=(dim.k, dim.m, dim.n, dim.k),
                exec_types=(seq, prim, prim, prim),
                dim_sizes=(times, m, n, k),
                strides=(((0, 1, 0, m), (0, 0, k, 1), (0, 1, m, 0)),),
            )
        )

    single, repeated = operation(1), operation(repeats)

    def once() -> Array:
        single.execute(*operands, output)
        return output

    return Prepared(once, _call(repeated, operands, aligned_copy(output)), repeats)


def _strides(term: str, array_shape: Sequence[int], order: Sequence[str]) -> tuple[int, ...]:
    steps, step = {}, 1
    for label, size in zip(reversed(term), reversed(array_shape)):
        steps[label], step = step, step * size
    return tuple(steps.get(label, 0) for label in order)


def _contractions(case: Case, terms: Sequence[str], threads: int) -> Iterator[tuple[str, Any]]:
    order = list(dict.fromkeys(terms[2] + terms[0] + terms[1]))
    roles = {(1, 1, 1): "c", (1, 0, 1): "m", (0, 1, 1): "n", (1, 1, 0): "k"}
    kinds = [roles.get(tuple(int(label in term) for term in terms)) for label in order]  # type: ignore[arg-type]
    if None in kinds:
        raise UnsupportedTarget("etops has no sum over an axis of one operand")
    strides = tuple(_strides(term, [case.sizes[x] for x in term], order) for term in terms)
    config = etops.TensorOperationConfig(
        backend="tpp",
        data_type=etops.float32,
        prim_first=etops.prim.zero,
        prim_main=etops.prim.gemm,
        prim_last=etops.prim.none,
        dim_types=tuple(getattr(etops.dim, str(kind)) for kind in kinds),
        exec_types=(etops.exec.seq,) * len(order),
        dim_sizes=tuple(case.sizes[label] for label in order),
        strides=(strides,),
    )
    for m, n, k in TARGETS:
        options = etops.backend.tpp.get_default_optimization_config()
        options |= {"target_m": m, "target_n": n, "target_k": k, "num_threads": threads}
        yield f"blocks {m}x{n}x{k}", (config, options)


def _permutations(case: Case, threads: int) -> Iterator[tuple[str, Any]]:
    """In the order of either tensor's axes; with several threads also with the outer loop shared by hand."""
    options = etops.backend.tpp.get_default_optimization_config() | {"num_threads": threads}
    for order in dict.fromkeys(case.terms):
        config = etops.optimize(_copy(case, order), options)
        yield f"loops {order}", config
        if threads > 1 and config.exec_types[0] == etops.exec.seq:
            shared = (etops.exec.shared, *config.exec_types[1:])
            yield f"loops {order}, outer shared", replace(config, exec_types=shared)


def _copy(case: Case, order: str) -> Any:
    strides = tuple(_strides(term, shape, order) for term, shape in zip(case.terms, case.shapes))
    return etops.TensorOperationConfig(
        backend="tpp",
        data_type=etops.float32,
        prim_first=etops.prim.none,
        prim_main=etops.prim.copy,
        prim_last=etops.prim.none,
        dim_types=(etops.dim.c,) * len(order),
        exec_types=(etops.exec.seq,) * len(order),
        dim_sizes=tuple(case.sizes[label] for label in order),
        strides=(strides,),
    )
