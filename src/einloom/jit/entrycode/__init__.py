"""The verbs that entries are written in: loads, comparisons that branch, slots of the frame, calls; for both ISAs.

An entry has the C signature `object *entry(object *called, object **arguments, size_t count, object *names)`. Until it
`enter`s it may branch to where it hands over to another function with these four as they came. Its registers are the
four and temporary ones, which no call preserves.

>>> code = entry_code("x86_64")
>>> code.unless_word(code.arguments, 8, 5, code.asm.label("top"))
>>> print(code.asm.listing())
top:
     0    48837e0805                        cmp qword ptr [rsi + 8], 5
     5    75f9                              jne top
"""

from __future__ import annotations

from einloom.errors import UnsupportedTarget
from einloom.jit.entrycode.aarch64 import AArch64EntryCode
from einloom.jit.entrycode.verbs import EntryCode, Number, Register, Slot, SlotAddress, Value
from einloom.jit.entrycode.x86_64 import X86EntryCode

__all__ = ["EntryCode", "Number", "Register", "Slot", "SlotAddress", "Value", "entry_code"]


def entry_code(isa: str) -> EntryCode:
    """Return the verbs of an ISA with an assembler of its own.

    Raises:
        UnsupportedTarget: there are none.
    """
    from einloom.asm import Assembler  # Late: who only describes entries needs none.

    kinds: dict[str, type[EntryCode]] = {"x86_64": X86EntryCode, "aarch64": AArch64EntryCode}
    if isa not in kinds:
        raise UnsupportedTarget(f"there are entries from Python for {', '.join(kinds)}, not for {isa}")
    return kinds[isa](Assembler(isa))
