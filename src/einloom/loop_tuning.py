"""`tune_loops`: measure loop strings for a blocked matrix product, within a budget, and keep a record of all.

The product is the sample's: A[Mb][Kb][bk][bm], B[Nb][Kb][bn][bk], C[Nb][Mb][bn][bm], the loops a = K, b = M, c = N over
blocks, with block sizes for repeated letters by the rule of `einloom.loops.blockings`.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import numpy as np

from einloom.dtypes import FLOAT32
from einloom.errors import ArgumentError, EinloomError
from einloom.frozen import frozen
from einloom.ir.operation import Axis, DimType, Operand, Operation, Primitive, Touch
from einloom.ir.schedule import Prims, Schedule
from einloom.jit.host import host
from einloom.loops import tpp
from einloom.loops.blockings import blocked_specs
from einloom.loops.generate import LoopStrings
from einloom.loops.trace.recorder import when
from einloom.passes.model.cost import cost_of
from einloom.threaded_loop import ThreadedLoop

__all__ = ["BlockedProduct", "Strategy", "StringTrial", "tune_loops"]

Strategy = Literal["exhaustive", "random", "best-first"]

RANKED = 2000
"""Strings that best-first search looks at before it measures: all, or so many at random."""

REPEATS = 5


@frozen
class BlockedProduct:
    """The sizes m, n, k of a product, those of its blocks, and into how many parts the sum is cut."""

    m: int
    n: int
    k: int
    bm: int = 32
    bn: int = 32
    bk: int = 32
    parts: int = 1

    def __post_init__(self) -> None:
        whole = all(block > 0 and size > 0 and size % block == 0 for size, block in self._pairs)
        if not whole or self.parts < 1 or self.k // self.bk % self.parts:
            raise ArgumentError(f"{self}: blocks and parts do not divide the sizes\n  Take divisors.")

    @property
    def _pairs(self) -> tuple[tuple[int, int], ...]:
        return (self.m, self.bm), (self.n, self.bn), (self.k, self.bk)

    @property
    def bounds(self) -> dict[str, tuple[int, int]]:
        """Bound and step of the loops a, b, c."""
        depth = self.k // self.bk
        return {"a": (depth, depth // self.parts), "b": (self.m // self.bm, 1), "c": (self.n // self.bn, 1)}

    def predicted(self, string: str, threads: int) -> float:
        """Return the seconds that the passes' cost model predicts."""
        specs = blocked_specs(string, self.bounds)
        sizes = {letter: (*spec.block_sizes, spec.step) for letter, spec in zip("abc", specs)}
        schedule = Schedule.from_loop_string(
            self._operation(), string, sizes, Prims("m", "n", "k", "a"), threads=threads
        )
        return cost_of(self._operation(), schedule, host(), threads).seconds

    def _operation(self) -> Operation:
        """The product; its axes a, b, c are the blocks, k, m, n what is in them."""
        depth, rows, columns = (bound for bound, _ in self.bounds.values())
        bm, bn, bk = self.bm, self.bn, self.bk
        extents = {"a": depth, "b": rows, "c": columns, "k": bk, "m": bm, "n": bn}
        roles = dict(zip("abckmn", (DimType.K, DimType.M, DimType.N) * 2))
        first = {"a": bk * bm, "b": depth * bk * bm, "k": bm, "m": 1}
        second = {"a": bn * bk, "c": depth * bn * bk, "k": 1, "n": bk}
        out = {"b": bn * bm, "c": rows * bn * bm, "m": 1, "n": bm}
        axes = tuple(Axis(name, extent, roles[name]) for name, extent in extents.items())
        operands = tuple(
            Operand(name, FLOAT32, tuple(strides.get(axis, 0) for axis in extents))
            for name, strides in (("in0", first), ("in1", second), ("out", out))
        )
        return Operation(axes, operands, Primitive.BRGEMM, Touch(Primitive.ZERO))


@frozen
class StringTrial:
    """A measured string: the least seconds of some runs, None if it could not run, and what was predicted."""

    string: str
    threads: int
    seconds: float | None
    predicted: float | None
    status: str = "ok"


def tune_loops(
    product: BlockedProduct,
    specification: str = "a_0_K,b_1_M,c_1_N",
    *,
    strategy: Strategy = "best-first",
    evaluations: int = 50,
    seconds: float = 60.0,
    threads: int | None = None,
    seed: int = 0,
    record: Path | None = None,
    progress: Callable[[int, StringTrial], None] = lambda number, best: None,
) -> list[StringTrial]:
    """Measure strings of a specification, and return the trials, the fastest first.

    Args:
        product: what is computed.
        specification: which strings there are; see `einloom.loops.generate`.
        strategy: all in their order, at random, or by the time that the passes' cost model predicts.
        evaluations, seconds: the budget; it ends with whichever is spent first.
        threads: of each loop; None: the settings'.
        seed: of what is random.
        record: a file of JSON lines; what it holds of this product is not measured again, what is new is appended.
        progress: called with the number of trials and the best one after each.

    Raises:
        ArgumentError, ScheduleError: no such strategy or specification.
    """
    strings = LoopStrings(specification)
    if set(strings[0].lower()) != set("abc"):
        raise ArgumentError(
            f"{specification!r:.80}: the product's loops are a = K, b = M, c = N\n  Specify those three."
        )
    measured = _Measured(product, threads)
    known = _recorded(record, product, measured.threads)
    trials: list[StringTrial] = []
    begin = time.monotonic()
    for string in _order(strategy, strings, product, measured.threads, seed):
        if len(trials) >= evaluations or time.monotonic() - begin > seconds:
            break
        trial = known.get(string)
        if trial is None:
            trial = measured.trial(string)
            if record is not None:
                with record.open("a") as file:
                    file.write(json.dumps({"product": asdict(product), "machine": host().name} | asdict(trial)) + "\n")
        trials.append(trial)
        progress(len(trials), min(trials, key=_rank))
    return sorted(trials, key=_rank)


def _rank(trial: StringTrial) -> float:
    return float("inf") if trial.seconds is None else trial.seconds


def _order(strategy: str, strings: LoopStrings, product: BlockedProduct, threads: int, seed: int) -> Iterator[str]:
    if strategy == "exhaustive":
        yield from strings
        return
    if strategy not in ("random", "best-first"):
        raise ArgumentError(f"strategy {strategy!r}\n  Take exhaustive, random or best-first.")
    rng = random.Random(seed)
    if strategy == "random":
        yield from (strings[place] for place in _places(rng, strings.total, 10**6))
        return
    places = _places(rng, strings.total, RANKED)
    yield from sorted((strings[place] for place in places), key=lambda string: product.predicted(string, threads))


def _places(rng: random.Random, total: int, most: int) -> Iterable[int]:
    """Draw different numbers below a total: all of them, or about so many."""
    if total <= sys.maxsize:
        return rng.sample(range(total), min(total, most))
    return dict.fromkeys(rng.randrange(total) for _ in range(most))


def _recorded(record: Path | None, product: BlockedProduct, threads: int) -> dict[str, StringTrial]:
    found: dict[str, StringTrial] = {}
    for line in record.read_text().splitlines() if record is not None and record.exists() else ():
        entry = _entry(line)
        if entry.pop("product", None) == asdict(product) and entry.pop("machine", None) == host().name:
            trial = StringTrial(**entry)
            if trial.threads == threads:
                found[trial.string] = trial
    return found


def _entry(line: str) -> dict[str, Any]:
    """What a line of a record says: nothing, if a tuner was stopped while it wrote the line, or it is another's."""
    try:
        return dict(json.loads(line))
    except (ValueError, TypeError):
        return {}


class _Measured:
    """Operands of a product, and how long strings take on them."""

    def __init__(self, product: BlockedProduct, threads: int | None) -> None:
        self.product = product
        self._asked = threads
        self.threads = ThreadedLoop(blocked_specs("abC", product.bounds), "abC", threads).nest.threads
        rng = np.random.default_rng(0)
        (depth, self._step), (rows, _), (columns, _) = product.bounds.values()
        self._a = rng.standard_normal((rows, depth, product.bk, product.bm), np.float32)
        self._b = rng.standard_normal((columns, depth, product.bn, product.bk), np.float32)
        self._c = np.empty((columns, rows, product.bn, product.bm), np.float32)
        self._expected = np.einsum("makl,cank->cmnl", self._a, self._b, optimize=True)

    def trial(self, string: str) -> StringTrial:
        """Return how long a string takes."""
        predicted = self.product.predicted(string, self.threads)
        step = self._step

        def body(a: Any, b: Any, c: Any, A: Any, B: Any, C: Any) -> None:
            with when(a == 0):
                tpp.zero(C[c, b])
            tpp.brgemm(A[b, a], B[c, a], C[c, b], batch=step)

        try:
            traced = ThreadedLoop(blocked_specs(string, self.product.bounds), string, self._asked).body(body)
            least = min(self._run(traced) for _ in range(REPEATS))
        except EinloomError as error:
            return StringTrial(string, self.threads, None, predicted, str(error).partition("\n")[0])
        if not np.allclose(self._c, self._expected, atol=1e-5 * self.product.k):
            return StringTrial(string, self.threads, None, predicted, "wrong result")
        return StringTrial(string, self.threads, least, predicted)

    def _run(self, traced: Any) -> float:
        begin = time.perf_counter()
        traced(A=self._a, B=self._b, C=self._c)
        return time.perf_counter() - begin
