"""The verbs of formulas on AVX-512 and AVX2: what `recipe` emits beside plain arithmetic. See `FormulaMachine`.

Conditions are mask registers on AVX-512 (those that edges take last), whole vectors on AVX2.
"""

from __future__ import annotations

from typing import Any

from einloom.asm.x86.operands import k, mem, xmm, ymm
from einloom.dtypes import DType
from einloom.errors import InternalError
from einloom.kernels.verbs.machine import Place, Verb

__all__ = ["Avx2Formulas", "Avx512Formulas"]

# Predicates of comparisons: all but "ne" are false where an operand is NaN, and none of them signals.
PREDICATES = {"eq": 0, "lt": 17, "le": 18, "ne": 4, "ge": 29, "gt": 30}

QUIET_NAN_OF_NAN = 0x22
"""Table of `vfixupimm`: of quiet and of signalling NaN take the quiet one, keep all else (Intel SDM volume 2C)."""


class _X86Formulas:
    """What both vector ISAs share; the classes of vector verbs call `_set_formulas` when they are made."""

    memory_operand = True
    multiplies_in_place = True
    keeps_nan = False

    asm: Any
    dtype: DType
    fnma: Verb
    multiply_add: Verb
    bit_and: Verb
    bit_or: Verb
    bit_xor: Verb
    shift_left: Verb
    shift_right: Verb

    def _set_formulas(self) -> None:
        suffix, integer = {4: ("ps", "d"), 8: ("pd", "q")}[self.dtype.size]
        names = {
            "fnma": "vfnmadd231",
            "multiply_add": "vfmadd213",
            "bit_and": "vand",
            "bit_or": "vor",
            "bit_xor": "vxor",
        }
        for verb, mnemonic in names.items():
            setattr(self, verb, getattr(self.asm, mnemonic + suffix))
        self.shift_left = getattr(self.asm, f"vpsll{integer}")
        self.shift_right = getattr(self.asm, f"vpsrl{integer}")
        self._compare = getattr(self.asm, f"vcmp{suffix}")

    def compare(self, operation: str, dst: Any, a: Any, b: Any) -> None:
        """dst = in each lane whether a and b compare so."""
        self._compare(dst, a, b, PREDICATES[operation])

    def fix_nan(self, dst: Any, src: Any, table: Any) -> None:
        raise InternalError("AVX2 keeps NaN by other operations")

    def zero(self, dst: Any) -> None:
        raise NotImplementedError

    def _constant(self, bits: int, count: int) -> Place:
        size = self.dtype.size
        return mem(self.asm.data(bits.to_bytes(size, "little") * count, size * count))


class Avx512Formulas(_X86Formulas):
    """Constants are broadcast from one element in memory."""

    conditions = (k[6], k[5], k[4])
    scales = True
    nan_table = QUIET_NAN_OF_NAN
    scale: Verb

    def _set_formulas(self) -> None:
        super()._set_formulas()
        single = self.dtype.size == 4
        self.scale = self.asm.vscalefps if single else self.asm.vscalefpd
        self._blend = self.asm.vblendmps if single else self.asm.vblendmpd
        self._fix_up = self.asm.vfixupimmps if single else self.asm.vfixupimmpd
        self._spread = self.asm.vbroadcastss if single else self.asm.vbroadcastsd

    def constant_operand(self, bits: int) -> Place:
        """Return a constant as a last operand."""
        return self._constant(bits, 1).bcst

    def load_constant(self, dst: Any, bits: int) -> None:
        """Every lane of dst = the element of these bits."""
        if bits:
            self._spread(dst, self._constant(bits, 1))
        else:
            self.zero(dst)

    def select(self, dst: Any, condition: Any, a: Any, b: Any) -> None:
        """dst = a where the condition holds, else b."""
        self._blend(dst | condition, b, a)

    def fix_nan(self, dst: Any, src: Any, table: Any) -> None:
        """Lanes of dst = src where src is NaN."""
        self._fix_up(dst, src, table, 0)

    def load_single(self, dst: Any, place: Place, mask: Any = None) -> None:
        """dst = as many float32 as there are lanes of float64 at a place, widened; 0 where masked."""
        self.asm.vcvtps2pd(dst if mask is None else dst | mask.z, place)

    def store_single(self, place: Place, src: Any, mask: Any = None) -> None:
        """The lanes at a place = src, narrowed to float32; src is clobbered."""
        narrow = ymm[src.number]
        self.asm.vcvtpd2ps(narrow, src)
        self.asm.vmovups(place if mask is None else place | mask, narrow)

    def widen(self, register: Any) -> None:
        """Lanes of float64 = the first lanes of float32."""
        self.asm.vcvtps2pd(register, ymm[register.number])

    def narrow(self, register: Any) -> None:
        """The first lanes of float32 = lanes of float64."""
        self.asm.vcvtpd2ps(ymm[register.number], register)


class Avx2Formulas(_X86Formulas):
    """Constants lie in memory once a lane."""

    conditions = ()
    scales = False
    nan_table = 0
    registers: tuple[Any, ...]

    def _set_formulas(self) -> None:
        super()._set_formulas()
        single = self.dtype.size == 4
        self._blend = self.asm.vblendvps if single else self.asm.vblendvpd
        self._move = self.asm.vmovups if single else self.asm.vmovupd

    def constant_operand(self, bits: int) -> Place:
        """Return a constant as a last operand."""
        return self._constant(bits, 32 // self.dtype.size)

    def load_constant(self, dst: Any, bits: int) -> None:
        """Every lane of dst = the element of these bits."""
        if bits:
            self._move(dst, self.constant_operand(bits))
        else:
            self.zero(dst)

    def select(self, dst: Any, condition: Any, a: Any, b: Any) -> None:
        """dst = a where the condition holds, else b."""
        self._blend(dst, b, a, condition)

    def load_single(self, dst: Any, place: Place, mask: int | None = None) -> None:
        """dst = as many float32 as there are lanes of float64 at a place, widened; 0 where masked."""
        low = xmm[dst.number]
        if mask is None:
            self.asm.vcvtps2pd(dst, place)
            return
        {1: self.asm.vmovss, 2: self.asm.vmovsd, 3: self.asm.vmovsd}[mask](low, place)
        if mask == 3:
            self.asm.vinsertps(low, low, mem(place.base, place.disp + 8, place.index, place.scale), 0x20)
        self.asm.vcvtps2pd(dst, low)

    def store_single(self, place: Place, src: Any, mask: int | None = None) -> None:
        """The lanes at a place = src, narrowed to float32; src is clobbered."""
        low = xmm[src.number]
        self.asm.vcvtpd2ps(low, src)
        {None: self.asm.vmovups, 1: self.asm.vmovss, 2: self.asm.vmovsd, 3: self.asm.vmovsd}[mask](place, low)
        if mask == 3:
            self.asm.vextractps(mem(place.base, place.disp + 8, place.index, place.scale), low, 2)

    def widen(self, register: Any) -> None:
        """Lanes of float64 = the first lanes of float32."""
        self.asm.vcvtps2pd(register, xmm[register.number])

    def narrow(self, register: Any) -> None:
        """The first lanes of float32 = lanes of float64."""
        self.asm.vcvtpd2ps(xmm[register.number], register)
