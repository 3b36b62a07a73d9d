"""What packs make of bytes on x86: truth values 0 or 1, numbers with the other highest bit, words of bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from einloom.asm.x86.operands import R64, Address, Vector, mem, xmm, ymm
from einloom.dtypes import FLOAT32, INT16, LOWERED, ONES, RAISED, DType, Kind
from einloom.kernels.verbs.abilities import PackVerbs
from einloom.kernels.verbs.narrow_x86 import NarrowX86
from einloom.kernels.verbs.vector import Mask, StrideIndex, Verb
from einloom.kernels.verbs.x86 import X86Machine

__all__ = ["ByteWords", "PacksX86"]


class PacksX86(PackVerbs):
    """See `einloom.kernels.verbs.abilities.PackVerbs`."""

    def __init__(self, km: X86Machine) -> None:
        self.km = km

    def changing(self, verbs: Any, packed: DType) -> Any:
        if packed not in (ONES, RAISED, LOWERED):
            return verbs
        asm, store = self.km.asm, verbs.store
        width = 16 if isinstance(verbs, NarrowX86) else verbs.width
        operand = mem(asm.data((b"\x01" if packed is ONES else b"\x80") * width, width))
        change: Verb = asm.vpminub if packed is ONES else asm.vpxord if width == 64 else asm.vpxor

        def changed(place: Address, src: Vector, *arguments: Any, **named: Any) -> None:
            change(src, src, operand)
            store(place, src, *arguments, **named)

        verbs.store = changed
        return verbs

    def widening(self, pairs: DType) -> PairsOfWords:
        return PairsOfWords(self.km, pairs)


class ByteWords(NarrowX86):
    """Registers of eight words whose elements in memory are bytes; they are read alone."""

    def __init__(self, km: X86Machine, memory: DType) -> None:
        super().__init__(km, INT16)
        self.bytes = NarrowX86(km, memory)
        self._extend: Verb = km.asm.vpmovsxbw if memory.kind is Kind.SIGNED else km.asm.vpmovzxbw

    def load(self, dst: Vector, place: Address, mask: Mask = None) -> None:
        if mask is None or mask.bit_length() == self.lanes:
            self._extend(dst, place)
        else:
            self.bytes.load(dst, place, mask)
            self._extend(dst, dst)

    def load_strided(
        self, dst: Vector, base: R64, offset: int, index: StrideIndex, count: int, temporaries: Sequence[Vector]
    ) -> None:
        self.bytes.load_strided(dst, base, offset, index, count, temporaries)
        self._extend(dst, dst)


class PairsOfWords(NarrowX86):
    """Registers of eight pairs of bytes that are pairs of words in memory; they are written alone, and clobbered."""

    def __init__(self, km: X86Machine, memory: DType) -> None:
        super().__init__(km, INT16)
        self.words: Any = km.vectors(FLOAT32)
        self._extend: Verb = km.asm.vpmovsxbw if memory.kind is Kind.SIGNED else km.asm.vpmovzxbw

    def store(
        self,
        place: Address,
        src: Vector,
        mask: Mask = None,
        nontemporal: bool = False,
        temporary: Vector | None = None,
    ) -> None:
        wide = self.words.registers[src.number]
        spare = None if temporary is None else self.words.registers[temporary.number]
        self._extend(ymm[src.number], xmm[src.number])
        self.words.store(
            place, wide, self.words.mask(self.lanes if mask is None else mask.bit_length()), temporary=spare
        )

    def finish(self) -> None:
        self.words.finish()
