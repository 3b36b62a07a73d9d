"""Instructions as data: one row a form, one encoder per ISA, labels, listings. Knows no tensors.

>>> from einloom.asm import Assembler
>>> asm = Assembler("x86_64")
>>> asm.mov(asm.rax, asm.rdi)
>>> asm.ret()
>>> asm.bytes().hex()
'4889f8c3'
"""

from __future__ import annotations

from einloom.asm.assembler import Assembler, Label

__all__ = ["Assembler", "Label"]
