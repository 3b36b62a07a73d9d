"""`Machine`: a frozen description of a target. It is data, so an x86-64 laptop can compile for AArch64.

`einloom.jit.host()` fills one in for the processor it runs on; the constants here describe typical ones.

>>> AVX2.vector_bits, AVX2.registers
(256, 16)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from einloom.errors import UnsupportedTarget

__all__ = ["AVX2", "AVX512", "MACHINES", "NEON", "Machine"]

_AVX2_FEATURES = frozenset({"avx", "avx2", "fma"})
_AVX512_FEATURES = _AVX2_FEATURES | {"avx512f", "avx512vl", "avx512bw", "avx512dq"}


@dataclass(frozen=True, slots=True)
class Machine:
    """One kind of processor, as the passes and the code generators see it.

    Attributes:
        isa: the instruction set that the assembler emits, `"x86_64"` or `"aarch64"`.
        vector: the vector instruction set that kernels use, `"avx512"`, `"avx2"`, `"neon"`, or `"none"`.
        features: names of the ISA features (as in the rows of `asm`) that code may use.
        l1d, l2, l3: data cache sizes in bytes that one core sees.
        cores: processors that this process may run on.
        name: what people call it.
    """

    isa: str
    vector: str
    features: frozenset[str]
    l1d: int = 32 * 1024
    l2: int = 1024 * 1024
    l3: int = 16 * 1024 * 1024
    cores: int = 1
    name: str = "generic"

    @property
    def vector_bits(self) -> int:
        """Width of a vector register in bits."""
        return {"avx512": 512, "avx2": 256, "neon": 128}[self.vector]

    @property
    def registers(self) -> int:
        """How many vector registers there are."""
        return 16 if self.vector == "avx2" else 32

    def with_vector(self, vector: str | None) -> Machine:
        """Return this machine restricted to the vector ISA `vector`, or another ISA's typical machine.

        Raises:
            UnsupportedTarget: there is no such vector ISA.
        """
        if vector is None or vector == self.vector:
            return self
        if vector not in MACHINES:
            raise UnsupportedTarget(f"unknown vector ISA {vector!r}\n  known: {', '.join(MACHINES)}")
        other = MACHINES[vector]
        if other.isa != self.isa:
            return other
        return replace(self, vector=vector, features=other.features)


AVX512 = Machine("x86_64", "avx512", _AVX512_FEATURES, l1d=48 * 1024, name="x86-64 with AVX-512")
AVX2 = Machine("x86_64", "avx2", _AVX2_FEATURES, name="x86-64 with AVX2 and FMA")
NEON = Machine("aarch64", "neon", frozenset({"neon"}), l1d=64 * 1024, name="AArch64 with Neon")
MACHINES = {machine.vector: machine for machine in (AVX512, AVX2, NEON)}
