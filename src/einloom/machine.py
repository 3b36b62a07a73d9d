"""`Machine`: a frozen description of a target. It is data, so an x86-64 laptop can compile for AArch64.

`einloom.jit.host()` fills one in for the processor it runs on; the constants here describe typical ones.

>>> AVX2.vector_bits, AVX2.registers
(256, 16)
>>> AVX512.with_vector("avx2").vector_bits
256
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

from einloom.errors import ArgumentError, UnsupportedTarget
from einloom.frozen import frozen

__all__ = ["AVX2", "AVX512", "MACHINES", "NEON", "TILES", "VECTORS", "Machine", "Rates", "VectorISA", "vector_of"]


@frozen
class VectorISA:
    """A vector instruction set, and what kernels make of it.

    Attributes:
        name: what `Machine.vector` says.
        isa: the instruction set that it extends; None: any.
        features: those that kernels take for granted.
        beyond: beginnings of the names of features that go beyond it.
        bits: width of a register.
        registers: how many there are.
        embedded_broadcast: whether arithmetic takes one element from memory for all lanes.
        fmas_per_cycle: vector FMAs that a core begins in a cycle.
        widest_tile: vectors of the widest microkernel's columns.
        shares_registers: whether the last few rows of several products or columns may share one.
        masks_any: whether loads and stores may leave out any lanes and are as fast then.
        scalable: whether processors differ in the width. Kernels are generated for one of them; contractions of floats
            that lie in order take these vectors, everything else the ISA's fixed ones.
        ends_sums_of_truth: whether kernels look now and then if all sums of truth values are true, and end there.
    """

    name: str
    isa: str | None
    features: frozenset[str]
    beyond: tuple[str, ...]
    bits: int
    registers: int
    embedded_broadcast: bool = False
    fmas_per_cycle: float = 2
    widest_tile: int = 3
    shares_registers: bool = False
    masks_any: bool = False
    scalable: bool = False
    ends_sums_of_truth: bool = False

    def __hash__(self) -> int:
        return hash(self.name)  # The key of many tables.

    @property
    def family(self) -> str:
        """Its name, without the width of scalable vectors: what tables of kernels and rates go by."""
        return "sve" if self.scalable else self.name


TILES = "amx"
"""The feature that code may use the matrix tiles of AMX, which the processor has: the system must have granted them."""

_X86 = ("avx", "fma", "f16c", "amx", "vaes", "vpclmulqdq")
_AARCH64 = ("neon", "sve", "sme", "bf16", "i8mm", "dotprod", "fp16")
_AVX2 = frozenset({"avx", "avx2", "fma", "f16c"})
_AVX512 = _AVX2 | {"avx512f", "avx512vl", "avx512bw", "avx512dq"}


def _sve(bits: int) -> VectorISA:
    name = f"sve{bits}"
    return VectorISA(name, "aarch64", frozenset({"neon", "sve", name}), (), bits, 32, widest_tile=4, scalable=True)


_ISAS = (  # The first one that a machine has is taken: the widest, and Neon before scalable vectors of its width.
    VectorISA(
        "avx512",
        "x86_64",
        _AVX512,
        (),
        512,
        32,
        embedded_broadcast=True,
        shares_registers=True,
        masks_any=True,
        ends_sums_of_truth=True,
    ),
    VectorISA(
        "avx2", "x86_64", _AVX2, ("avx512", "avx10", "amx"), 256, 16, shares_registers=True, ends_sums_of_truth=True
    ),
    *(_sve(bits) for bits in (2048, 1024, 512, 256)),
    VectorISA("neon", "aarch64", frozenset({"neon"}), ("sve", "sme"), 128, 32, widest_tile=4),
    _sve(128),
    VectorISA("none", None, frozenset(), _X86 + _AARCH64, 0, 0),
)
_BY_NAME = {each.name: each for each in _ISAS}
VECTORS = tuple(_BY_NAME)


FASTEST = 1e18
"""Flop or bytes a second that no core comes near: costs of slower ones are numbers, however large the work is."""


@frozen
class Rates:
    """What one core of a kind of processor was measured to do, in flop and bytes a second.

    Attributes:
        float32, float64: multiply-adds in vector registers.
        l2, l3, memory: reads from these levels.
        stream: writes past the caches.

    Raises:
        ArgumentError: a rate is none that a processor could have.
    """

    float32: float
    float64: float
    l2: float
    l3: float
    memory: float
    stream: float

    def __post_init__(self) -> None:
        for field in fields(self):
            rate: Any = getattr(self, field.name)
            if not (isinstance(rate, int | float) and 1 <= rate <= FASTEST):
                what = f"the rate {field.name} of a machine is {rate!r:.40}"
                raise ArgumentError(f"{what}\n  Give flop or bytes a second, from 1 to {FASTEST:g}, such as 100e9.")


def _is_size(given: object) -> bool:
    return type(given) is int and given >= 0


_ATTRIBUTES: tuple[tuple[str, Callable[[object], bool], str], ...] = (
    *((level, _is_size, "a whole number of bytes, 0 for no such level") for level in ("l1d", "l2", "l3")),
    ("cores", lambda given: type(given) is int and given > 0, "a whole number from 1 on"),
    ("features", lambda given: isinstance(given, frozenset), "a frozenset of their names"),
    ("name", lambda given: isinstance(given, str), "a text"),
    ("rates", lambda given: isinstance(given, Rates | None), "Rates, or None"),
)
"""What attributes of machines have to be: their names, whether a value is that, and what to give."""


@frozen
class Machine:
    """One kind of processor, as the passes and the code generators see it.

    Attributes:
        isa: the instruction set that the assembler emits, `"x86_64"` or `"aarch64"`; elsewhere what the platform says.
        vector: the vector instruction set that kernels use, `"avx512"`, `"avx2"`, `"neon"`, `"sve256"` (or
            another width), or `"none"`.
        features: names of the ISA features (as in the rows of `asm`) that code may use.
        l1d, l2, l3: data cache sizes in bytes that one core sees; 0: there is no such level.
        cores: processors that this process may run on.
        name: what people call it.
        rates: what was recorded of it; None: nobody measured.

    Raises:
        ArgumentError: a size or the number of cores is no such number, or another attribute of a wrong kind.
        UnsupportedTarget: there is no such vector ISA.
    """

    isa: str
    vector: str
    features: frozenset[str]
    l1d: int = 32 * 1024
    l2: int = 1024 * 1024
    l3: int = 16 * 1024 * 1024
    cores: int = 1
    name: str = "generic"
    rates: Rates | None = None

    def __hash__(self) -> int:
        return hash((self.vector, self.features))  # The key of many tables.

    def __post_init__(self) -> None:
        _check_vector(self.vector)
        for name, fits, wanted in _ATTRIBUTES:
            given: object = getattr(self, name)
            if not fits(given):
                raise ArgumentError(f"{name} of a machine is {given!r:.40}\n  Give {wanted}.")

    @property
    def last_level(self) -> int:
        """Bytes of the largest cache."""
        return max(self.l2, self.l3)

    @property
    def vectors(self) -> VectorISA:
        """What there is to know of the vector instruction set."""
        return _BY_NAME[self.vector]

    @property
    def has_vectors(self) -> bool:
        """Whether there is a vector instruction set that kernels are written for."""
        return self.vectors.bits > 0

    @property
    def vector_bits(self) -> int:
        """Width of a vector register in bits; 0 where there are none."""
        return self.vectors.bits

    @property
    def registers(self) -> int:
        """How many vector registers there are."""
        return self.vectors.registers

    @property
    def streaming_bits(self) -> int:
        """Width of vectors in SME's streaming mode, a feature such as `sme512`; 0 where there is none."""
        widths = (name.removeprefix("sme") for name in self.features if name.startswith("sme"))
        return max((int(width) for width in widths if width.isdigit()), default=0) if "sme" in self.features else 0

    def with_vector(self, vector: str | None) -> Machine:
        """Return this machine with the vector ISA `vector`, or another ISA's typical machine; None changes nothing.

        A narrower vector ISA takes the features away that go beyond it; a wider one adds the features that it needs,
        so that code for it can be compiled here and run elsewhere. Recorded rates are of one vector ISA: they go.

        Raises:
            UnsupportedTarget: there is no such vector ISA.
        """
        if vector is None or vector == self.vector:
            return self
        _check_vector(vector)
        other = _BY_NAME[vector]
        if other.isa not in (None, self.isa):
            return (MACHINES | _SVE)[vector]
        kept = frozenset(name for name in self.features if not name.startswith(other.beyond))
        return replace(self, vector=vector, features=kept | other.features, rates=None)


def _check_vector(vector: object) -> None:
    if vector not in VECTORS:  # Whatever it is: a tuple compares, and hashes nothing.
        raise UnsupportedTarget(f"unknown vector ISA {vector!r}\n  known: {', '.join(VECTORS)}")


def vector_of(isa: str, features: frozenset[str]) -> str:
    """Return the vector instruction set of `isa` that is taken where these features are there, else `"none"`."""
    return next(each.name for each in _ISAS if each.isa in (isa, None) and each.features <= features)


def _typical(vector: str, l1d: int, name: str) -> Machine:
    each = _BY_NAME[vector]
    return Machine(each.isa or "", vector, each.features, l1d=l1d, name=name)


AVX512 = _typical("avx512", 48 * 1024, "x86-64 with AVX-512")
AVX2 = _typical("avx2", 32 * 1024, "x86-64 with AVX2 and FMA")
NEON = _typical("neon", 64 * 1024, "AArch64 with Neon")
MACHINES = {machine.vector: machine for machine in (AVX512, AVX2, NEON)}
_SVE = {
    each.name: _typical(each.name, 64 * 1024, f"AArch64 with SVE of {each.bits} bits")
    for each in _ISAS
    if each.scalable
}
