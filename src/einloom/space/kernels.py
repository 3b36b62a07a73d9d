"""The kernels of the paper and their relatives: a backbone each, and what it means in NumPy.

>>> matmul(4, 4, 4).backbone.name
'matmul'
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from einloom.dtypes import FLOAT32, TYPES, data_type
from einloom.errors import ScheduleError, ShapeError
from einloom.space.backbone import Backbone, TiledAxis
from einloom.space.builder import Builder
from einloom.space.tilings import tile_sizes

__all__ = ["KERNELS", "PAPER_TILES", "Kernel", "kernel"]

Array = np.ndarray[Any, Any]
Maxima = Mapping[str, tuple[int, ...]]

PAPER_TILES: dict[str, Maxima] = {
    "axpy": {"n": (1024, 4)},
    "mv": {"m": (128, 4), "n": (32,)},
    "gesummv": {"m": (128, 4), "n": (32,)},
    "matmul": {"m": (32, 4), "n": (32, 4), "k": (32,)},
    "batch_matmul": {"b": (), "m": (32, 4), "n": (32, 4), "k": (32,)},
    "doitgen": {"r": (), "q": (32, 4), "p": (32, 4), "s": (32,)},
}
"""The largest size of each tile, outermost first (paper, section 5.2, for axpy and the m and n of matmul)."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """A backbone and its meaning.

    Attributes:
        backbone: what the space decides about.
        meaning: from the input arrays (one dimension per axis) and the parameters, by name, to the output arrays.
        options: the sizes and options that made it, in the order of its parameters, without those left out.
    """

    backbone: Backbone
    meaning: Callable[[Mapping[str, Any]], dict[str, Array]]
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def name(self) -> str:
        """The kernel with its options, whatever the order in which they were given."""
        options = ", ".join(f"{name}={value!r}" for name, value in self.options)
        return f"{self.backbone.name}({options})"


class _Axes:
    """Adds axes with the kernel's tiles, or the caller's."""

    def __init__(self, builder: Builder, tiles: Maxima, tails: bool | None) -> None:
        self.builder, self.tiles, self.tails = builder, tiles, tails

    def __call__(self, name: str, size: int) -> TiledAxis:
        size = _positive(f"size {name}", size, self.builder)
        return self.builder.axis(name, size, *tile_sizes(size, self._maxima(name), self.tails))

    def _maxima(self, name: str) -> tuple[int, ...]:
        tiles: Any = self.tiles
        try:
            given: tuple[Any, ...] = tuple(dict[str, Any](tiles).get(name, ()))
        except (TypeError, ValueError):
            given = (None,)
        if not all(map(_is_positive, given)):
            raise ScheduleError(
                f"tiles = {self.tiles!r} of {self.builder.name}\n"
                f'  Give the largest size of each level by axis, outermost first, as in {{"{name}": (32, 4)}}.'
            )
        return given


def _is_positive(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _positive(name: str, value: Any, builder: Builder) -> int:
    if not _is_positive(value):
        raise ShapeError(f"{name} = {value!r} of {builder.name}\n  Give a whole number of at least 1.")
    return value


def axpy(n: int, *, tiles: Maxima | None = None, tails: bool | None = None) -> Kernel:
    """z[n] = alpha x[n] + y[n]."""
    b = Builder("axpy")
    i = _Axes(b, tiles or PAPER_TILES["axpy"], tails)("n", n)
    x, y = b.load(b.input("x", i)), b.load(b.input("y", i))
    b.store(b.output("z", i), b.nest("main", i).apply("mad", x, b.parameter("alpha"), y))
    return Kernel(b.backbone(), lambda v: {"z": v["alpha"] * v["x"] + v["y"]})


def mv(m: int, n: int, *, tiles: Maxima | None = None, tails: bool | None = None) -> Kernel:
    """y[m] = sum over n of A[m,n] x[n]."""
    b = Builder("mv")
    axis = _Axes(b, tiles or PAPER_TILES["mv"], tails)
    i, j = axis("m", m), axis("n", n)
    x, a = b.load(b.input("x", j)), b.load(b.input("A", i, j))
    start = b.nest("init", i).apply("move", 0.0)
    b.store(b.output("y", i), b.nest("main", i, j).reduce("mad", a, x, start=start))
    return Kernel(b.backbone(), lambda v: {"y": v["A"] @ v["x"]})


def gesummv(m: int, n: int, *, tiles: Maxima | None = None, tails: bool | None = None) -> Kernel:
    """y[m] = sum over n of (alpha A[m,n] + beta B[m,n]) x[n]."""
    b = Builder("gesummv")
    axis = _Axes(b, tiles or PAPER_TILES["gesummv"], tails)
    i, j = axis("m", m), axis("n", n)
    x, p, q = b.load(b.input("x", j)), b.load(b.input("A", i, j)), b.load(b.input("B", i, j))
    init, main, scale = b.nest("init", i), b.nest("main", i, j), b.nest("scale", i)
    left = main.reduce("mad", p, x, start=init.apply("move", 0.0, name="init_a"), name="mad_a")
    right = main.reduce("mad", q, x, start=init.apply("move", 0.0, name="init_b"), name="mad_b")
    scaled = scale.apply("mul", left, b.parameter("alpha"), name="scale_a")
    b.store(b.output("y", i), scale.apply("mad", right, b.parameter("beta"), scaled, name="scale_b"))
    return Kernel(b.backbone(), lambda v: {"y": (v["alpha"] * v["A"] + v["beta"] * v["B"]) @ v["x"]})


def matmul(
    m: int,
    n: int,
    k: int,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    stride_a: int = 1,
    epilogue: str | None = None,
    tiles: Maxima | None = None,
    tails: bool | None = None,
) -> Kernel:
    """C[m,n] = f(sum over k of A[m,k] B[k,n]), column-major; consecutive elements of A lie `stride_a` apart.

    `epilogue` is None or `"relu"`; a transposed operand is stored with its axes exchanged.
    """
    b = Builder("matmul")
    stride_a = _positive("stride_a", stride_a, b)
    axis = _Axes(b, tiles or PAPER_TILES["matmul"], tails)
    i, j, p = axis("m", m), axis("n", n), axis("k", k)
    a = b.load(b.input("A", i, p, strides=(k * stride_a, stride_a) if transpose_a else (stride_a, m * stride_a)))
    w = b.load(b.input("B", p, j, strides=(n, 1) if transpose_b else (1, k)))
    start = b.nest("init", i, j).apply("move", 0.0)
    total = b.nest("main", i, j, p).reduce("mad", a, w, start=start)
    b.store(b.output("C", i, j), _epilogue(b, epilogue, total, i, j))
    return Kernel(b.backbone(), lambda v: {"C": _activation(epilogue, v["A"] @ v["B"])})


def batch_matmul(
    b: int,
    m: int,
    n: int,
    k: int,
    *,
    shared_b: bool = False,
    tiles: Maxima | None = None,
    tails: bool | None = None,
) -> Kernel:
    """C[b,m,n] = sum over k of A[b,m,k] B[b,k,n]; `shared_b` uses one B[k,n] for the whole batch."""
    builder = Builder("batch_matmul")
    axis = _Axes(builder, tiles or PAPER_TILES["batch_matmul"], tails)
    h, i, j, p = axis("b", b), axis("m", m), axis("n", n), axis("k", k)
    a = builder.load(builder.input("A", h, i, p, strides=(m * k, 1, m)))
    w = builder.input("B", p, j) if shared_b else builder.input("B", h, p, j, strides=(k * n, 1, k))
    start = builder.nest("init", h, i, j).apply("move", 0.0)
    total = builder.nest("main", h, i, j, p).reduce("mad", a, builder.load(w), start=start)
    builder.store(builder.output("C", h, i, j, strides=(m * n, 1, m)), total)
    return Kernel(builder.backbone(), lambda v: {"C": v["A"] @ v["B"]})


def doitgen(r: int, q: int, p: int, s: int, *, tiles: Maxima | None = None, tails: bool | None = None) -> Kernel:
    """O[r,q,p] = sum over s of A[r,q,s] B[s,p] (PolyBench's doitgen, out of place)."""
    b = Builder("doitgen")
    axis = _Axes(b, tiles or PAPER_TILES["doitgen"], tails)
    h, i, j, t = axis("r", r), axis("q", q), axis("p", p), axis("s", s)
    a = b.load(b.input("A", h, i, t, strides=(q * s, s, 1)))
    w = b.load(b.input("B", t, j, strides=(p, 1)))
    start = b.nest("init", h, i, j).apply("move", 0.0)
    total = b.nest("main", h, i, j, t).reduce("mad", a, w, start=start)
    b.store(b.output("O", h, i, j, strides=(q * p, p, 1)), total)
    return Kernel(b.backbone(), lambda v: {"O": v["A"] @ v["B"]})


def _epilogue(b: Builder, name: str | None, total: Any, *axes: TiledAxis) -> Any:
    """Return `total` after the epilogue, which gets a nest of its own."""
    if name is None:
        return total
    if name != "relu":
        raise ScheduleError(f"epilogue {name!r} is not known\n  known: None, 'relu'")
    return b.nest("epilogue", *axes).apply("max", total, 0.0)


def _activation(name: str | None, value: Array) -> Array:
    return value if name is None else np.maximum(value, 0)


KERNELS: dict[str, Callable[..., Kernel]] = {
    each.__name__: each for each in (axpy, mv, gesummv, matmul, batch_matmul, doitgen)
}


def kernel(name: str, /, *, dtype: object = "float32", **options: Any) -> Kernel:
    """Return a kernel by its name, for elements of a type; sums are kept in the type's own accumulation type.

    Raises:
        ScheduleError: there is no such kernel, or an option it needs is missing or unknown.
        ShapeError: a size is no positive number.
        DTypeError: `dtype` names no type.
    """
    known: Any = name
    if not isinstance(known, str) or known not in KERNELS:
        raise ScheduleError(f"there is no kernel called {name!r}\n  known: {', '.join(KERNELS)}")
    try:
        given = inspect.signature(KERNELS[name]).bind(**options).arguments
    except TypeError as error:
        raise ScheduleError(f"kernel {name}: {error}\n  {KERNELS[name].__doc__}") from None
    found = KERNELS[name](**given)
    axes = found.backbone.axis
    for axis in given.get("tiles") or ():
        if axis not in axes:
            raise ScheduleError(f"tiles of {name} for {axis!r}, which is no axis\n  axes: {', '.join(axes)}")
    if given.get("tiles"):
        given["tiles"] = {axis: tuple(given["tiles"][axis]) for axis in axes if axis in given["tiles"]}
    defaults = {each.name: each.default for each in inspect.signature(KERNELS[name]).parameters.values()}
    held = TYPES[dtype] if isinstance(dtype, str) and dtype in TYPES else data_type(dtype)
    told = tuple((key, value) for key, value in given.items() if value != defaults[key])
    if held is not FLOAT32:
        told += (("dtype", held.name),)
    return replace(found, backbone=replace(found.backbone, dtype=held), options=told)
