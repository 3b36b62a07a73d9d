"""The verbs of formulas on Neon: what `recipe` emits beside plain arithmetic. See `FormulaMachine`.

Conditions are vectors of all ones or all zeros; constants are loaded whole from behind the code.
"""

from __future__ import annotations

from typing import Any

from einloom.asm.aarch64.operands import d, q, s, v
from einloom.dtypes import DType
from einloom.errors import InternalError
from einloom.kernels.verbs.machine import Place, Verb

__all__ = ["NeonFormulas"]


class NeonFormulas:
    """The class of vector verbs calls `_set_formulas` when it is made."""

    memory_operand = False
    multiplies_in_place = False
    scales = False
    keeps_nan = True
    nan_table = 0
    conditions = ()

    asm: Any
    km: Any
    dtype: DType
    fnma: Verb
    shift_left: Verb
    shift_right: Verb

    def _set_formulas(self) -> None:
        self.fnma, self.shift_left, self.shift_right = self.asm.fmls, self.asm.shl, self.asm.ushr
        self.bit_and = self._on_bytes(self.asm.and_)
        self.bit_or = self._on_bytes(self.asm.orr)
        self.bit_xor = self._on_bytes(self.asm.eor)

    @staticmethod
    def _on_bytes(instruction: Verb) -> Verb:
        return lambda *registers: instruction(*(v[register.number].b16 for register in registers))

    def multiply_add(self, dst: Any, factor: Any, addend: Any) -> None:
        """Refuse: there is no such instruction."""
        raise InternalError("Neon adds to what it overwrites; it does not multiply it")

    def scale(self, dst: Any, a: Any, power: Any) -> None:
        """Refuse: there is no such instruction."""
        raise InternalError("Neon scales by multiplying with powers of two")

    def fix_nan(self, dst: Any, src: Any, table: Any) -> None:
        raise InternalError("Neon's extremes keep NaN")

    def constant_operand(self, bits: int) -> Place:
        raise InternalError("Neon has no operands in memory")

    def zero(self, dst: Any) -> None:
        raise NotImplementedError

    def load_constant(self, dst: Any, bits: int) -> None:
        """Every lane of dst = the element of these bits."""
        if bits:
            size = self.dtype.size
            self.asm.ldr(q[dst.number], self.asm.data(bits.to_bytes(size, "little") * (16 // size)))
        else:
            self.zero(dst)

    def compare(self, operation: str, dst: Any, a: Any, b: Any) -> None:
        """dst = in each lane all ones if a and b compare so, else zeros."""
        if operation in ("lt", "le"):
            a, b = b, a
        name = {"eq": "eq", "ne": "eq", "gt": "gt", "lt": "gt", "ge": "ge", "le": "ge"}[operation]
        getattr(self.asm, f"fcm{name}")(dst, a, b)
        if operation == "ne":
            whole = v[dst.number].b16
            self.asm.not_(whole, whole)

    def select(self, dst: Any, condition: Any, a: Any, b: Any) -> None:
        """dst = a where the condition holds, else b."""
        if dst is condition:
            self._on_bytes(self.asm.bsl)(dst, a, b)
        elif dst is a:
            self._on_bytes(self.asm.bif)(dst, b, condition)
        else:
            if dst is not b:
                self._on_bytes(self.asm.mov)(dst, b)
            self._on_bytes(self.asm.bit)(dst, a, condition)

    def load_single(self, dst: Any, place: Place, mask: int | None = None) -> None:
        """dst = as many float32 as there are lanes of float64 at a place, widened; 0 where masked."""
        low = (d if mask is None else s)[dst.number]
        self.asm.ldr(low, self.km.near(place, 8 if mask is None else 4))
        self.widen(dst)

    def store_single(self, place: Place, src: Any, mask: int | None = None) -> None:
        """The lanes at a place = src, narrowed to float32; src is clobbered."""
        self.narrow(src)
        low = (d if mask is None else s)[src.number]
        self.asm.str(low, self.km.near(place, 8 if mask is None else 4))

    def widen(self, register: Any) -> None:
        """Lanes of float64 = the first lanes of float32."""
        self.asm.fcvtl(v[register.number].d2, v[register.number].s2)

    def narrow(self, register: Any) -> None:
        """The first lanes of float32 = lanes of float64."""
        self.asm.fcvtn(v[register.number].s2, v[register.number].d2)
