"""`Case`: one piece of work to measure; `load_suite` reads the case files. It measures nothing.

>>> Case.contraction("ab,bc->ac", {"a": 2, "b": 3, "c": 4}).shapes
((2, 3), (3, 4), (2, 4))
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from enum import StrEnum
from pathlib import Path
from string import ascii_letters
from typing import Any

from einloom.api import compile
from einloom.errors import ScheduleError
from einloom.frozen import frozen
from einloom.ir.configuration import TensorOperationConfig
from einloom.once import cached_property

__all__ = ["SUITES", "Case", "Ceiling", "Kind", "Unit", "case_folder", "load_suite"]


class Kind(StrEnum):
    """How einloom runs a case."""

    EXPRESSION = "expression"
    KERNEL = "kernel"
    TENSOR_OPERATION = "tensor_operation"


class Unit(StrEnum):
    """What a rate is given in, by 1e9."""

    FLOPS = "GFLOP/s"
    BYTES = "GB/s"


class Ceiling(StrEnum):
    """What the machine can do at best: multiply-adds on registers, copying, reading."""

    PEAK = "peak"
    COPY = "copy"
    READ = "read"


PEAKS = ("float32", "float64", "complex64", "complex128")
"""Types whose arithmetic is multiply-adds of floats, which the machine's peak is measured with."""

READ_SHARE = 0.9
"""From this share of the traffic on, what a case does to memory is reading."""


@frozen(slots=False)
class Case:
    """One piece of work: an einsum over C-contiguous arrays, and how einloom runs it if not as an expression.

    Attributes:
        name: what the report calls it.
        equation: explicit, without spaces and ellipses.
        sizes: extent of each label.
        dtype: type of all arrays.
        kind: an expression; one generated kernel, repeated inside one call, that adds to its output; or the tensor
            operation of `config`.
        config: JSON of a `TensorOperationConfig` whose tensors are dense and have the equation's shapes.
        memory_bound: whether bytes are what counts, although there are several operands.
        path: which operands are contracted together, as `opt_einsum` writes it; None: whoever computes chooses.
    """

    name: str
    equation: str
    sizes: Mapping[str, int]
    dtype: str = "float32"
    kind: Kind = Kind.EXPRESSION
    config: str | None = None
    memory_bound: bool = False
    path: tuple[tuple[int, ...], ...] | None = None

    @classmethod
    def contraction(cls, equation: str, sizes: Mapping[str, int], name: str = "", dtype: str = "float32") -> Case:
        """Return the case of an expression, named by its equation unless told otherwise."""
        return cls(name or equation, equation, dict(sizes), dtype)

    def of_type(self, dtype: str) -> Case:
        """Return the same work on arrays of another type.

        Raises:
            ScheduleError: the case is about a type.
        """
        if self.kind is not Kind.EXPRESSION or self.memory_bound:
            raise ScheduleError(f"{self.name} is a case of {self.dtype}\n  Choose a suite of plain expressions.")
        return replace(self, dtype=dtype)

    @property
    def terms(self) -> tuple[str, ...]:
        """The labels of every operand, then those of the output."""
        left, _, right = self.equation.partition("->")
        return (*left.split(","), right)

    @property
    def lettered(self) -> str:
        """The equation with labels that NumPy and PyTorch know: their einsums take a to z and A to Z.

        >>> Case.contraction("αβ,βγ->αγ", {"α": 2, "β": 3, "γ": 4}).lettered
        'ab,bc->ac'
        """
        if self.equation.isascii():
            return self.equation
        return self.equation.translate({ord(label): letter for label, letter in zip(self.sizes, ascii_letters)})

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shape of every operand, then that of the output."""
        return tuple(tuple(self.sizes[label] for label in term) for term in self.terms)

    @property
    def summed(self) -> int:
        """How many products are added up in one element of the output."""
        return math.prod(size for label, size in self.sizes.items() if label not in self.terms[-1])

    @cached_property
    def flops(self) -> int:
        """Arithmetic of the work; 0 for a permutation."""
        return self._described.flops

    @cached_property
    def bytes(self) -> int:
        """Least traffic in bytes: every tensor read or written once."""
        return self._described.bytes

    @property
    def is_permutation(self) -> bool:
        """Whether elements are only moved."""
        return len(self.terms) == 2 and sorted(self.terms[0]) == sorted(self.sizes) == sorted(self.terms[1])

    @property
    def unit(self) -> Unit:
        """What a rate of the case is given in: bytes for one operand and where memory is the bound, else flop."""
        return Unit.BYTES if self.memory_bound or len(self.terms) == 2 else Unit.FLOPS

    @property
    def ceiling(self) -> Ceiling:
        """What the machine can do at best for such a case."""
        return Ceiling.PEAK if self.unit is Unit.FLOPS else self._traffic

    @property
    def ceilings(self) -> tuple[Ceiling, ...]:
        """All that keeps the case from being faster: `ceiling`, and for an expression's arithmetic its traffic too.

        None for arithmetic whose peak nobody measures: machines multiply integers and short floats in several ways.
        """
        if self.ceiling is Ceiling.PEAK and self.dtype not in PEAKS:
            return ()
        both = self.ceiling is Ceiling.PEAK and self.kind is Kind.EXPRESSION
        return (Ceiling.PEAK, self._traffic) if both else (self.ceiling,)

    @property
    def _traffic(self) -> Ceiling:
        *inputs, output = (math.prod(shape) for shape in self.shapes)
        return Ceiling.READ if sum(inputs) >= READ_SHARE * (sum(inputs) + output) else Ceiling.COPY

    @property
    def amount(self) -> int:
        """What is done, in bytes or flop as `unit` says."""
        return self.amount_under(self.ceiling)

    def amount_under(self, ceiling: Ceiling) -> int:
        """Return what of the work that ceiling limits: flop or bytes."""
        return self.flops if ceiling is Ceiling.PEAK else self.bytes

    @cached_property
    def _described(self) -> Any:
        shapes = self.shapes[:-1]
        return compile(self.equation, *shapes, dtype=self.dtype, optimize=self.optimize, target="interpreter")

    @property
    def optimize(self) -> Any:
        """The path, or `"auto"`, as `einsum` takes it."""
        return "auto" if self.path is None else list(self.path)

    @property
    def configuration(self) -> TensorOperationConfig | None:
        """The configuration of a tensor operation."""
        return None if self.config is None else TensorOperationConfig.from_json(self.config)

    @property
    def accumulates(self) -> bool:
        """Whether the output is read and added to."""
        if self.configuration is not None:
            return self.configuration.prim_first_touch == "none"
        return self.kind is Kind.KERNEL

    @property
    def last_touch(self) -> str:
        """What happens to each element of the output at the end: `"none"` or `"relu"`."""
        return "none" if self.configuration is None else str(self.configuration.prim_last_touch)

    def to_json(self) -> dict[str, Any]:
        """Return the case as a JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> Case:
        """Return the case that `to_json` wrote."""
        fields: dict[str, Any] = {**entry, "kind": Kind(entry["kind"])}
        if entry["path"] is not None:
            fields["path"] = tuple(tuple(group) for group in entry["path"])
        return cls(**fields)


def case_folder() -> Path:
    """Return the folder of the case files: beside this module in a wheel, `benchmarks/cases` in a checkout."""
    here = Path(__file__).resolve()
    packed, checkout = here.parent / "cases", here.parents[3] / "benchmarks" / "cases"
    return packed if packed.is_dir() else checkout


def load_suite(suite: str, substring: str = "") -> list[Case]:
    """Return the cases of a suite whose names or equations contain `substring`.

    Raises:
        ScheduleError: there is no such suite, or no such case in it.
    """
    if suite not in SUITES:
        raise ScheduleError(f"no suite {suite!r}\n  Suites: {', '.join(SUITES)}.")
    entries = json.loads((case_folder() / f"{suite}.json").read_text())["cases"]
    cases = [case for entry in entries for case in SUITES[suite](entry)]
    chosen = [case for case in cases if substring in case.name or substring in case.equation]
    if not chosen:
        names = "\n  ".join(case.name for case in cases)
        raise ScheduleError(f"no case of {suite} contains {substring!r}\n  {names}")
    return chosen


def _kernel(entry: list[int]) -> Iterator[Case]:
    """A column-major product of m x k and k x n is a row-major product with the operands' axes reversed."""
    m, n, k = entry
    yield Case(f"{m}x{n}x{k}", "km,nk->nm", {"m": m, "n": n, "k": k}, kind=Kind.KERNEL)


def _three_layouts(entry: list[int]) -> Iterator[Case]:
    m, n, k = entry
    for layout, equation in (("A B", "mk,kn->mn"), ("AᵀB", "km,kn->mn"), ("A Bᵀ", "mk,nk->mn")):
        yield Case.contraction(equation, {"m": m, "n": n, "k": k}, f"{m}x{n}x{k} {layout}")


def _equation(entry: dict[str, Any]) -> Iterator[Case]:
    yield Case.contraction(entry["equation"], entry["sizes"])


def _named(entry: dict[str, Any]) -> Iterator[Case]:
    yield Case.contraction(entry["equation"], entry["sizes"], entry["name"])


def _batch(entry: list[int]) -> Iterator[Case]:
    """Square products of one size, as many as stay in the second level cache, as one expression."""
    batch, size = entry
    sizes = {"b": batch, "m": size, "k": size, "n": size}
    yield Case.contraction("bmk,bkn->bmn", sizes, f"{size}x{size}x{size} x {batch}")


def _memory_bound(entry: dict[str, Any]) -> Iterator[Case]:
    equation, sizes, dtype = entry["equation"], entry["sizes"], entry["dtype"]
    yield Case(f"{equation} {dtype}", equation, sizes, dtype, memory_bound=True)


def _permutation(entry: dict[str, Any]) -> Iterator[Case]:
    equation, sizes = entry["equation"], entry["sizes"]
    shape = "x".join(str(sizes[label]) for label in equation.partition("->")[0])
    yield Case.contraction(equation, sizes, f"{equation} {shape}")


def _tree(entry: dict[str, Any]) -> Iterator[Case]:
    path = tuple(tuple(group) for group in entry["path"])
    yield Case(entry["name"], entry["equation"], entry["sizes"], path=path)


def _configuration(entry: dict[str, Any]) -> Iterator[Case]:
    """The tensors of a configuration are dense: their axes are its dimensions by falling stride."""
    config = {key: value for key, value in entry.items() if key != "name"}
    labels = "abcdefghijklmnop"[: len(entry["dim_sizes"])]
    terms: list[str] = []
    for operand in ("in0", "in1", "out"):
        strides = dict(zip(labels, entry[f"strides_{operand}"]))
        terms.append("".join(sorted((x for x in labels if strides[x]), key=lambda x: -strides[x])))
    equation, sizes = f"{terms[0]},{terms[1]}->{terms[2]}", dict(zip(labels, entry["dim_sizes"]))
    yield Case(entry["name"], equation, sizes, entry["dtype"], Kind.TENSOR_OPERATION, json.dumps(config))


SUITES = {
    "tensor_operations": _configuration,
    "gemm_kernels": _kernel,
    "gemm_large": _three_layouts,
    "tccg24": _equation,
    "permutations": _permutation,
    "small_batches": _batch,
    "memory_bound": _memory_bound,
    "trees": _tree,
    "reported": _named,
    "users": _named,
    "small": _named,
    "random": _equation,
}
"""Suite to the function that reads an entry of its file."""
