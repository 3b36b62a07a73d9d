"""The kernels of the paper and their relatives: a backbone each, and what it means in NumPy.

>>> matmul(4, 4, 4).backbone.name
'matmul'
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from einloom.dtypes import FLOAT32, TYPES, data_type
from einloom.errors import DTypeError, ScheduleError, ShapeError
from einloom.frozen import frozen
from einloom.ir.gpu.fragments import MMA
from einloom.space.backbone import Backbone, TiledAxis
from einloom.space.builder import Builder
from einloom.space.tilings import tile_sizes

__all__ = ["KERNELS", "PAPER_TILES", "Grain", "Kernel", "kernel"]

Array = np.ndarray[Any, Any]
Maxima = Mapping[str, tuple[int, ...]]

PAPER_TILES: dict[str, Maxima] = {
    "axpy": {"n": (1024, 4)},
    "mv": {"m": (128, 4), "n": (32,)},
    "gesummv": {"m": (128, 4), "n": (32,)},
    "matmul": {"m": (32, 4), "n": (32, 4), "k": (32,)},
    "batch_matmul": {"b": (), "m": (32, 4), "n": (32, 4), "k": (32,)},
    "doitgen": {"r": (), "q": (32, 4), "p": (32, 4), "s": (32,)},
    "chain": {"m": (32, 4), "n": (32, 4), "k": (32,), "l": (32,)},
}
"""The largest size of each tile, outermost first (paper, section 5.2, for axpy and the m and n of matmul)."""


@frozen
class Grain:
    """What the elements of a kernel for tensor cores are: fragments of matrices, which warps multiply.

    Attributes:
        shape: a key of `einloom.ir.gpu.fragments.MMA`.
        plain: the same kernel over numbers.
        letters: which matrix of a product each array consists of: a, b or c.
        strides: of the rows and columns of its fragments, in elements.
        sizes: of arrays, in elements.
    """

    shape: str
    plain: Kernel
    letters: tuple[tuple[str, str], ...]
    strides: tuple[tuple[str, tuple[int, int]], ...]
    sizes: tuple[tuple[str, int], ...]


@frozen
class Kernel:
    """A backbone and its meaning.

    Attributes:
        backbone: what the space decides about.
        meaning: from the input arrays (one dimension per axis) and the parameters, by name, to the output arrays.
        options: the sizes and options that made it, in the order of its parameters, without those left out.
        grain: of kernels for tensor cores, whose backbone counts fragments; None: it counts numbers.
    """

    backbone: Backbone
    meaning: Callable[[Mapping[str, Any]], dict[str, Array]]
    options: tuple[tuple[str, Any], ...] = ()
    grain: Grain | None = None

    @property
    def plain(self) -> Kernel:
        """The kernel over numbers, which says what arrays hold."""
        return self if self.grain is None else self.grain.plain

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
    mma: str = "",
    tiles: Maxima | None = None,
    tails: bool | None = None,
) -> Kernel:
    """C[m,n] = f(sum over k of A[m,k] B[k,n]), column-major; consecutive elements of A lie `stride_a` apart.

    `epilogue` is None or `"relu"`; a transposed operand is stored with its axes exchanged. With `mma="m16n8k16"` (of
    float16 and bfloat16) or `"m16n8k8"` (of float32, rounded to TF32) tensor cores multiply.
    """
    b = Builder("matmul")
    stride_a = _positive("stride_a", stride_a, b)
    axis, (um, un, uk) = _Axes(b, tiles or PAPER_TILES["matmul"], _tails(tails, mma)), _units(mma, b)
    i, j, p = (axis(name, _whole(name, size, unit, b)) for name, size, unit in zip("mnk", (m, n, k), (um, un, uk)))
    am, ak = (k * stride_a, stride_a) if transpose_a else (stride_a, m * stride_a)
    a = b.load(b.input("A", i, p, strides=(am * um, ak * uk)))
    w = b.load(b.input("B", p, j, strides=(n * uk, un) if transpose_b else (uk, k * un)))
    start = b.nest("init", i, j).apply("move", 0.0)
    total = b.nest("main", i, j, p).reduce("mad", a, w, start=start)
    b.store(b.output("C", i, j, strides=(um, m * un)), _epilogue(b, epilogue, total, i, j))
    made = Kernel(b.backbone(), lambda v: {"C": _activation(epilogue, v["A"] @ v["B"])})
    plain = partial(matmul, m, n, k, transpose_a=transpose_a, transpose_b=transpose_b, stride_a=stride_a)
    return replace(made, grain=_grain(mma, plain(epilogue=epilogue))) if mma else made


MATRICES = {"A": ("a", "m", "k"), "B": ("b", "k", "n"), "C": ("c", "m", "n")}
"""The arrays of a matrix product: which matrix each is, and the axes of its rows and columns."""


def _tails(tails: bool | None, mma: str) -> bool | None:
    """Return whether tiles may leave tails: not those of fragments, which are multiplied whole."""
    if tails and mma:
        raise ScheduleError("tails=True with mma\n  Products of fragments have no tails: leave one of them out.")
    return False if mma else tails


def _units(mma: str, b: Builder) -> tuple[int, int, int]:
    """Return how many elements of m, n and k one element of a kernel stands for."""
    if not mma:
        return 1, 1, 1
    if mma not in MMA:
        raise ScheduleError(f"mma = {mma!r} of {b.name}\n  known: {', '.join(MMA)}")
    return MMA[mma].m, MMA[mma].n, MMA[mma].k


def _whole(name: str, size: Any, unit: int, b: Builder) -> int:
    """Return how many fragments an axis has."""
    if _positive(f"size {name}", size, b) % unit:
        raise ShapeError(f"{name} = {size} of {b.name}\n  Products of fragments take multiples of {unit}.")
    return size // unit


def _grain(shape: str, plain: Kernel) -> Grain:
    backbone = plain.backbone
    strides = {name: dict(zip(backbone.region[name].axes, backbone.region[name].strides)) for name in MATRICES}
    return Grain(
        shape,
        plain,
        tuple((name, letter) for name, (letter, _, _) in MATRICES.items()),
        tuple((name, (strides[name][row], strides[name][column])) for name, (_, row, column) in MATRICES.items()),
        tuple((name, backbone.extent(backbone.region[name])) for name in MATRICES),
    )


def batch_matmul(
    b: int,
    m: int,
    n: int,
    k: int,
    *,
    shared_b: bool = False,
    mma: str = "",
    tiles: Maxima | None = None,
    tails: bool | None = None,
) -> Kernel:
    """C[b,m,n] = sum over k of A[b,m,k] B[b,k,n]; `shared_b` uses one B[k,n] for all; `mma` as of matmul."""
    builder = Builder("batch_matmul")
    axis, (um, un, uk) = _Axes(builder, tiles or PAPER_TILES["batch_matmul"], _tails(tails, mma)), _units(mma, builder)
    h, sizes = axis("b", b), zip("mnk", (m, n, k), (um, un, uk))
    i, j, p = (axis(name, _whole(name, size, unit, builder)) for name, size, unit in sizes)
    a = builder.load(builder.input("A", h, i, p, strides=(m * k, um, m * uk)))
    shared, own = (uk, k * un), (k * n, uk, k * un)
    w = builder.input("B", p, j, strides=shared) if shared_b else builder.input("B", h, p, j, strides=own)
    start = builder.nest("init", h, i, j).apply("move", 0.0)
    total = builder.nest("main", h, i, j, p).reduce("mad", a, builder.load(w), start=start)
    builder.store(builder.output("C", h, i, j, strides=(m * n, um, m * un)), total)
    made = Kernel(builder.backbone(), lambda v: {"C": v["A"] @ v["B"]})
    return made if not mma else replace(made, grain=_grain(mma, batch_matmul(b, m, n, k, shared_b=shared_b)))


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


def chain(
    m: int,
    n: int,
    k: int,
    l: int,  # noqa: E741 (no 1: the axis that both products have)
    *,
    epilogue: str | None = None,
    tiles: Maxima | None = None,
    tails: bool | None = None,
) -> Kernel:
    """D[m,n] = sum over l of f(sum over k of A[m,k] B[k,l]) C[l,n], column-major, in one kernel.

    The product of A and B exists in tiles alone, in registers or in shared memory; blocks that share rows of D compute
    their tiles of it anew. `epilogue` is None or `"relu"`.
    """
    b = Builder("chain")
    axis = _Axes(b, tiles or PAPER_TILES["chain"], tails)
    i, j, p, q = (axis(name, size) for name, size in zip("mnkl", (m, n, k, l)))
    left, right, last = b.load(b.input("A", i, p)), b.load(b.input("B", p, q)), b.load(b.input("C", q, j))
    start = b.nest("init_first", i, q).apply("move", 0.0)
    between = b.nest("first", i, q, p).reduce("mad", left, right, start=start)
    between = _epilogue(b, epilogue, between, i, q)
    start = b.nest("init", i, j).apply("move", 0.0)
    b.store(b.output("D", i, j), b.nest("main", i, j, q).reduce("mad", between, last, start=start))
    return Kernel(b.backbone(), lambda v: {"D": _activation(epilogue, v["A"] @ v["B"]) @ v["C"]})


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
    each.__name__: each for each in (axpy, mv, gesummv, matmul, batch_matmul, doitgen, chain)
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
        about = (inspect.getdoc(KERNELS[name]) or "").partition("\n")[0]
        raise ScheduleError(f"kernel {name}: {error}\n  {about}") from None
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
    grain = found.grain
    if grain is not None:
        if held.name not in MMA[grain.shape].types:
            raise DTypeError(f"{grain.shape} multiplies {', '.join(MMA[grain.shape].types)}, not {held.name}")
        grain = replace(grain, plain=replace(grain.plain, backbone=replace(grain.plain.backbone, dtype=held)))
    return replace(found, backbone=replace(found.backbone, dtype=held), options=told, grain=grain)
