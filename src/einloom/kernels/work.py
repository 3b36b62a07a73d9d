"""`Work`: how many instructions of each kind a kernel executes at least, whatever its flags and operands are.

Loops of generated code have known numbers of trips. What a branch may skip is not counted.

>>> from einloom.kernels.specs import Brgemm
>>> from einloom.machine import AVX512
>>> spec = Brgemm("float32", 32, 6, 100, a=(1, 0, 32, 0), b=(0, 100, 1, 0), c=(1, 32), beta=0)
>>> work_of(spec, AVX512).products
1200
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from einloom.asm import Assembler, Label
from einloom.asm.assembler import Directive
from einloom.kernels.emit import emit_kernel
from einloom.kernels.select import machine_for
from einloom.kernels.specs import Spec
from einloom.machine import Machine

__all__ = ["Work", "is_branch", "kinds_of", "work_of"]


class Work(NamedTuple):
    """Instructions by kind; one may be of several kinds.

    Attributes:
        instructions: all, but for branches, which processors may join with what they depend on.
        products: multiplications of vectors, with or without an addition.
        loads, stores: that read or write memory, gathers and scatters left out.
        shuffles: of registers of 512 bits.
        gathers: of elements that lie apart; full_gathers: those that fill all lanes.
    """

    instructions: int = 0
    products: int = 0
    loads: int = 0
    stores: int = 0
    shuffles: int = 0
    gathers: int = 0
    full_gathers: int = 0

    def plus(self, other: Work, times: int = 1) -> Work:
        """Return this work and another one, so many times."""
        return Work(*[mine + times * theirs for mine, theirs in zip(self, other)])


@lru_cache(maxsize=4096)
def work_of(spec: Spec, machine: Machine) -> Work:
    """Return the work of one call of a spec's kernel.

    Raises:
        UnsupportedTarget: the machine has no kernels, or none of the spec.
    """
    assembler = Assembler.plain(machine.isa)
    emit_kernel(machine_for(assembler, machine), spec)
    kinds = kinds_of(assembler.isa)
    found, full = Counter[tuple[int, ...]](), 0
    for (form, operands, _), times in zip(assembler.records, _times(assembler)):
        if times and not isinstance(form, Directive):
            full = 1 if form.mnemonic == "kxnorw" else 0 if form.mnemonic.startswith("kmov") else full
            *kind, gathers = kinds(form.mnemonic, operands)
            found[(*kind, gathers, gathers * full)] += times
    return Work(*(sum(kind[place] * times for kind, times in found.items()) for place in range(len(Work._fields))))


def _times(assembler: Assembler) -> list[int]:
    """How often each record runs at least: in loops their trips, behind a branch that goes over it never."""
    times = [1] * len(assembler.records)
    for start, end, count in assembler.repeats:
        times[start:end] = [each * count for each in times[start:end]]
    for start, end in _skipped(assembler):
        times[start:end] = [0] * (end - start)
    return times


def _skipped(assembler: Assembler) -> Iterator[tuple[int, int]]:
    """Yield what lies between branches and the places further on that they go to."""
    records = assembler.records
    places = {operand: place for place, (form, operand, _) in enumerate(records) if form is Directive.LABEL}
    for place, (form, operands, _) in enumerate(records):
        if not isinstance(form, Directive) and is_branch(form.mnemonic):
            yield from ((place + 1, places[each]) for each in operands if isinstance(each, Label) and each in places)


def is_branch(mnemonic: str) -> bool:
    """Whether an instruction may go elsewhere and does not come back."""
    return mnemonic.startswith(("j", "b_", "cb", "tb")) or mnemonic == "b"


def kinds_of(isa: str) -> Callable[[str, tuple[Any, ...]], tuple[int, ...]]:
    """Return what says of which kinds an instruction is: 1 or 0 for each, in the order of `Work`."""
    kinds = _kinds_x86 if isa == "x86_64" else _kinds_aarch64
    return lambda mnemonic, operands: kinds(mnemonic, tuple(map(type, operands)))


_MOVES = ("mov", "vmov", "vextract", "vcompress", "vcvtps2ph", "vpmov", "push")
_ADDS = ("add", "dec")
"""They read what they write."""

_NO_LOADS = ("lea", "prefetch", "vgather", "vpgather", "vscatter", "vpscatter", "call")
_SHUFFLES = ("vshuf", "vunpck", "vpunpck", "vperm", "vinsert", "valign")


@lru_cache(maxsize=4096)
def _kinds_x86(mnemonic: str, operands: tuple[type, ...]) -> tuple[int, ...]:
    from einloom.asm.x86.operands import Address
    from einloom.asm.x86.registers import Zmm

    first = bool(operands) and issubclass(operands[0], Address)
    memory = first or any(issubclass(each, Address) for each in operands)
    adds = first and mnemonic in _ADDS
    stores = adds or (first and mnemonic.startswith(_MOVES))
    wide = bool(operands) and issubclass(operands[0], Zmm)
    return (
        int(not is_branch(mnemonic)),
        int(mnemonic.startswith(("vfm", "vfnm", "vmul"))),
        int(memory and (adds or not stores) and not mnemonic.startswith(_NO_LOADS)),
        int(stores),
        int(wide and not memory and mnemonic.startswith(_SHUFFLES)),
        int(mnemonic.startswith(("vgather", "vpgather"))),
    )


@lru_cache(maxsize=4096)
def _kinds_aarch64(mnemonic: str, operands: tuple[type, ...]) -> tuple[int, ...]:
    stores = mnemonic in ("str", "stp", "stur")
    return int(not is_branch(mnemonic)), int(mnemonic in ("fmla", "fmls", "fmul")), 0, int(stores), 0, 0
