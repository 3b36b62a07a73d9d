"""`machine_for`: which classes emit for a machine. The one place that knows all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from einloom.asm import Assembler
from einloom.dtypes import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, INT16, INT32, DType, Kind
from einloom.errors import UnsupportedTarget
from einloom.kernels.verbs.converted import ConvertedCopies, RoundedIntegers, no_conversion
from einloom.kernels.verbs.vector import CopyVerbs, FormulaVerbs, KernelMachine
from einloom.machine import TILES, Machine

__all__ = ["AnyMachine", "machine_for"]

Vectors: TypeAlias = FormulaVerbs[Any, Any, Any]
Copies: TypeAlias = CopyVerbs[Any, Any, Any]
AnyMachine: TypeAlias = KernelMachine[Any, Any, Any]
"""A machine of whichever ISA: its registers and places are its own business."""


def machine_for(asm: Assembler, machine: Machine) -> AnyMachine:
    """Return the abstract machine that emits into `asm` what `machine` can run.

    Raises:
        UnsupportedTarget: no kernels exist for the machine's vector ISA.
    """
    make = {"avx512": _avx512, "avx2": _avx2, "neon": _neon, "sve": _neon}.get(machine.vectors.family)
    if make is None or asm.isa != machine.isa or machine.vectors.isa != machine.isa:
        raise UnsupportedTarget(
            f"no kernels for vector ISA {machine.vector!r} on {machine.isa}, assembled for {asm.isa}\n"
            "  There are avx512 and avx2 on x86_64, neon and sve on aarch64. target='interpreter' runs anywhere."
        )
    return make(asm, machine)


# Imported with the first use: nobody needs the verbs of all ISAs, and few those of all types.


def _avx512(asm: Assembler, machine: Machine) -> AnyMachine:
    from einloom.kernels.verbs.avx512 import Avx512Vectors
    from einloom.kernels.verbs.x86 import X86Machine

    vectors, converted = _by_kind(Avx512Vectors, _avx512_integers), _conversion(_widened_avx512, _halves)
    return _packing_bytes(
        X86Machine(asm, machine, vectors, _narrow_x86, converted, _dot_products_x86, _tiles(asm, machine))
    )


def _avx2(asm: Assembler, machine: Machine) -> AnyMachine:
    from einloom.kernels.verbs.avx2 import Avx2Vectors
    from einloom.kernels.verbs.x86 import X86Machine

    vectors, converted = _by_kind(Avx2Vectors, _avx2_integers), _conversion(_widened_avx2, _halves)
    return _packing_bytes(X86Machine(asm, machine, vectors, _narrow_x86, converted, _dot_products_x86))


def _packing_bytes(km: Any) -> Any:
    from einloom.kernels.verbs.packed_x86 import PacksX86

    km.packs = PacksX86(km)
    return km


def _neon(asm: Assembler, machine: Machine) -> AnyMachine:
    from einloom.kernels.verbs.aarch64 import AArch64Machine
    from einloom.kernels.verbs.halves_neon import NeonHalves
    from einloom.kernels.verbs.narrow_neon import NarrowNeon
    from einloom.kernels.verbs.neon import NeonVectors
    from einloom.kernels.verbs.neon_integers import NeonIntegers
    from einloom.kernels.verbs.widened_neon import WidenedNeon

    vectors, converted = _by_kind(NeonVectors, NeonIntegers), _conversion(WidenedNeon, NeonHalves)
    scalable = _scalable if machine.vectors.scalable else None
    km = AArch64Machine(asm, machine, vectors, NarrowNeon, converted, _dot_products_neon, scalable)
    if machine.streaming_bits:
        km.outer = _outer(km)
    return km


def _outer(km: Any) -> Any:
    from einloom.kernels.verbs.sme import Sme

    return Sme(km)


def _scalable(km: Any, dtype: DType, groups: tuple[DType, DType] | None) -> Any:
    from einloom.kernels.verbs.sve import SveVectors
    from einloom.kernels.verbs.sve_sums import SveGroups, SveIntegers

    if groups is not None:
        return SveGroups(km, dtype, groups)
    return (SveVectors if dtype.kind is Kind.FLOAT else SveIntegers)(km, dtype)


def _scalable_halves(memory: DType, vec: Any) -> Copies:
    from einloom.kernels.verbs.sve_halves import SveHalves

    return SveHalves(memory, vec)


def _by_kind(floats: Callable[..., Vectors], integers: Callable[..., Vectors]) -> Callable[..., Vectors]:
    """Return what makes the verbs of a type of 4 or 8 bytes."""

    def vectors(km: AnyMachine, dtype: DType) -> Vectors:
        return (floats if dtype.kind is Kind.FLOAT else integers)(km, dtype)

    return vectors


def _conversion(widened: Callable[..., Copies], halves: Callable[..., Copies]) -> Callable[..., Copies]:
    """Return what makes the verbs that bring memory of one type into registers of another."""

    def converted(km: AnyMachine, memory: DType, vec: Vectors) -> Copies:
        if vec.scalable:
            return _scalable_halves(memory, vec)
        if (memory, vec.dtype) == (FLOAT32, FLOAT64):
            return ConvertedCopies(km, vec)
        if (memory, vec.dtype) == (INT32, FLOAT32):
            return RoundedIntegers(memory, vec, _rounding(km))
        if memory.size == 1 and vec.dtype == INT16:
            return _byte_words(km, memory)
        if memory.kind is not Kind.FLOAT and memory.size < vec.dtype.size == 4:
            wide = widened(km, memory, vec)
            return RoundedIntegers(memory, wide, _rounding(km)) if vec.dtype == FLOAT32 else wide
        if memory in (BFLOAT16, FLOAT16) and vec.dtype == FLOAT32:
            return halves(km, memory, vec)
        raise no_conversion(memory, vec.dtype)

    return converted


def _rounding(km: Any) -> Callable[[Any], object]:
    """Return what makes float32 of int32 in a register."""
    if km.machine.isa == "x86_64":
        return lambda register: km.asm.vcvtdq2ps(register, register)
    return lambda register: km.asm.scvtf(register.s4, register.s4)


def _byte_words(km: Any, memory: DType) -> Copies:
    from einloom.kernels.verbs.packed_x86 import ByteWords

    return ByteWords(km, memory)


def _avx512_integers(km: Any, dtype: DType) -> Vectors:
    from einloom.kernels.verbs.avx512_integers import Avx512Integers

    return Avx512Integers(km, dtype)


def _avx2_integers(km: Any, dtype: DType) -> Vectors:
    from einloom.kernels.verbs.avx2_integers import Avx2Integers

    return Avx2Integers(km, dtype)


def _narrow_x86(km: Any, dtype: DType) -> Any:
    from einloom.kernels.verbs.narrow_x86 import NarrowX86

    return NarrowX86(km, dtype)


def _widened_avx512(km: Any, memory: DType, vec: Any) -> Copies:
    from einloom.kernels.verbs.widened_x86 import WidenedAvx512

    return WidenedAvx512(km, memory, vec)


def _widened_avx2(km: Any, memory: DType, vec: Any) -> Copies:
    from einloom.kernels.verbs.widened_x86 import WidenedAvx2

    return WidenedAvx2(km, memory, vec)


def _halves(km: AnyMachine, memory: DType, single: Vectors) -> Copies:
    from einloom.kernels.verbs.halves_x86 import Avx2Halves, Avx512Halves

    return (Avx512Halves if km.machine.vector == "avx512" else Avx2Halves)(km, memory, single)


def _dot_products_x86(km: Any, dtype: DType, groups: tuple[DType, DType]) -> Any:
    from einloom.kernels.verbs.dot_products_x86 import dot_products

    return dot_products(km, dtype, groups) or _no_dot_products(km, dtype, groups)


def _dot_products_neon(km: Any, dtype: DType, groups: tuple[DType, DType]) -> Any:
    from einloom.kernels.verbs.dot_products_neon import dot_products

    return dot_products(km, dtype, groups) or _no_dot_products(km, dtype, groups)


def _no_dot_products(km: AnyMachine, dtype: DType, groups: tuple[DType, DType]) -> Any:
    first, second = groups
    raise UnsupportedTarget(f"{km.machine.name} has no sums of products of {first} and {second} in {dtype}")


def _tiles(asm: Assembler, machine: Machine) -> Any:
    if TILES not in machine.features:
        return None
    from einloom.kernels.verbs.tiles_x86 import Amx

    return Amx(asm, machine)
