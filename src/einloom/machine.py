"""`Machine`: a frozen description of a target. It is data, so an x86-64 laptop can compile for AArch64.

`einloom.jit.host()` fills one in for the processor it runs on; the constants here describe typical ones.

>>> AVX2.vector_bits, AVX2.registers
(256, 16)
>>> AVX512.with_vector("avx2").vector_bits
256
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from einloom.errors import UnsupportedTarget

__all__ = ["AVX2", "AVX512", "MACHINES", "NEON", "VECTORS", "Machine", "Rates", "vector_of"]

# Vector instruction sets: (name, ISA, features that kernels take for granted, width in bits, registers), widest first.
_NEEDS = {
    "avx512": ("x86_64", frozenset({"avx", "avx2", "fma", "avx512f", "avx512vl", "avx512bw", "avx512dq"}), 512, 32),
    "avx2": ("x86_64", frozenset({"avx", "avx2", "fma"}), 256, 16),
    "neon": ("aarch64", frozenset({"neon"}), 128, 32),
    "none": (None, frozenset(), 0, 0),
}
VECTORS = tuple(_NEEDS)

# Beginnings of the names of features that go beyond a vector instruction set; "none" keeps no vector feature at all.
_BEYOND = {
    "avx512": (),
    "avx2": ("avx512", "avx10", "amx"),
    "neon": (),
    "none": (
        "avx",
        "fma",
        "f16c",
        "amx",
        "vaes",
        "vpclmulqdq",
        "neon",
        "sve",
        "sme",
        "bf16",
        "i8mm",
        "dotprod",
        "fp16",
    ),
}


@dataclass(frozen=True, slots=True)
class Rates:
    """What one core of a kind of processor was measured to do, in flop and bytes a second.

    Attributes:
        float32, float64: multiply-adds in vector registers.
        memory: reads from memory.
        stream: writes past the caches.
    """

    float32: float
    float64: float
    memory: float
    stream: float


@dataclass(frozen=True, slots=True)
class Machine:
    """One kind of processor, as the passes and the code generators see it.

    Attributes:
        isa: the instruction set that the assembler emits, `"x86_64"` or `"aarch64"`; elsewhere what the platform says.
        vector: the vector instruction set that kernels use, `"avx512"`, `"avx2"`, `"neon"`, or `"none"`.
        features: names of the ISA features (as in the rows of `asm`) that code may use.
        l1d, l2, l3: data cache sizes in bytes that one core sees.
        cores: processors that this process may run on.
        name: what people call it.
        rates: what was recorded of it; None: nobody measured.
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

    @property
    def vector_bits(self) -> int:
        """Width of a vector register in bits; 0 where there are none."""
        return _NEEDS[self.vector][2]

    @property
    def registers(self) -> int:
        """How many vector registers there are."""
        return _NEEDS[self.vector][3]

    def with_vector(self, vector: str | None) -> Machine:
        """Return this machine with the vector ISA `vector`, or another ISA's typical machine; None changes nothing.

        A narrower vector ISA takes the features away that go beyond it; a wider one adds the features that it needs,
        so that code for it can be compiled here and run elsewhere.

        Raises:
            UnsupportedTarget: there is no such vector ISA.
        """
        if vector is None or vector == self.vector:
            return self
        if vector not in _NEEDS:
            raise UnsupportedTarget(f"unknown vector ISA {vector!r}\n  known: {', '.join(VECTORS)}")
        isa, needs, _, _ = _NEEDS[vector]
        if isa not in (None, self.isa):
            return MACHINES[vector]
        kept = frozenset(name for name in self.features if not name.startswith(_BEYOND[vector]))
        return replace(self, vector=vector, features=kept | needs)


def vector_of(isa: str, features: frozenset[str]) -> str:
    """Return the widest vector instruction set of `isa` whose features are all there, else `"none"`."""
    return next(name for name, (owner, needs, _, _) in _NEEDS.items() if owner in (isa, None) and needs <= features)


def _typical(vector: str, l1d: int, name: str) -> Machine:
    isa, needs, _, _ = _NEEDS[vector]
    return Machine(isa or "", vector, needs, l1d=l1d, name=name)


AVX512 = _typical("avx512", 48 * 1024, "x86-64 with AVX-512")
AVX2 = _typical("avx2", 32 * 1024, "x86-64 with AVX2 and FMA")
NEON = _typical("neon", 64 * 1024, "AArch64 with Neon")
MACHINES = {machine.vector: machine for machine in (AVX512, AVX2, NEON)}
