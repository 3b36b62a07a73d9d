"""`machine_for`: which classes emit for a machine. The one place that knows all of them."""

from __future__ import annotations

from typing import Any, TypeAlias

from einloom.asm import Assembler
from einloom.dtypes import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, DType
from einloom.errors import UnsupportedTarget
from einloom.kernels.verbs.converted import ConvertedCopies, no_conversion
from einloom.kernels.verbs.vector import CopyVerbs, KernelMachine
from einloom.machine import TILES, Machine

__all__ = ["AnyMachine", "machine_for"]

AnyMachine: TypeAlias = KernelMachine[Any, Any, Any]
"""A machine of whichever ISA: its registers and places are its own business."""


def machine_for(asm: Assembler, machine: Machine) -> AnyMachine:
    """Return the abstract machine that emits into `asm` what `machine` can run.

    Raises:
        UnsupportedTarget: no kernels exist for the machine's vector ISA.
    """
    make = {"avx512": _avx512, "avx2": _avx2, "neon": _neon}.get(machine.vector)
    if make is None or asm.isa != machine.isa or machine.vectors.isa != machine.isa:
        raise UnsupportedTarget(
            f"no kernels for vector ISA {machine.vector!r} on {machine.isa}, assembled for {asm.isa}\n"
            "  There are avx512 and avx2 on x86_64, neon on aarch64. target='interpreter' runs anywhere."
        )
    return make(asm, machine)


# Imported with the first use: nobody needs the verbs of all ISAs.


def _avx512(asm: Assembler, machine: Machine) -> AnyMachine:
    from einloom.kernels.verbs.avx512 import Avx512Vectors
    from einloom.kernels.verbs.narrow_x86 import NarrowX86
    from einloom.kernels.verbs.x86 import X86Machine

    return X86Machine(asm, machine, Avx512Vectors, NarrowX86, _converted_x86, _dot_products_x86, _tiles(asm, machine))


def _avx2(asm: Assembler, machine: Machine) -> AnyMachine:
    from einloom.kernels.verbs.avx2 import Avx2Vectors
    from einloom.kernels.verbs.narrow_x86 import NarrowX86
    from einloom.kernels.verbs.x86 import X86Machine

    return X86Machine(asm, machine, Avx2Vectors, NarrowX86, _converted_x86, _dot_products_x86)


def _neon(asm: Assembler, machine: Machine) -> AnyMachine:
    from einloom.kernels.verbs.aarch64 import AArch64Machine
    from einloom.kernels.verbs.narrow_neon import NarrowNeon
    from einloom.kernels.verbs.neon import NeonVectors

    return AArch64Machine(asm, machine, NeonVectors, NarrowNeon, _converted, _no_dot_products)


def _converted(km: AnyMachine, memory: DType, registers: DType) -> CopyVerbs[Any, Any, Any]:
    """Return the verbs that bring memory of one type into registers of another."""
    if (memory, registers) == (FLOAT32, FLOAT64):
        return ConvertedCopies(km)
    raise no_conversion(memory, registers)


def _converted_x86(km: AnyMachine, memory: DType, registers: DType) -> CopyVerbs[Any, Any, Any]:
    if registers == FLOAT32 and memory in (BFLOAT16, FLOAT16):
        from einloom.kernels.verbs.halves_x86 import Avx2Halves, Avx512Halves

        return (Avx512Halves if km.machine.vector == "avx512" else Avx2Halves)(km, memory)
    return _converted(km, memory, registers)


def _dot_products_x86(km: Any, dtype: DType, groups: tuple[DType, DType]) -> Any:
    from einloom.kernels.verbs.dot_products_x86 import dot_products

    return dot_products(km, dtype, groups) or _no_dot_products(km, dtype, groups)


def _no_dot_products(km: AnyMachine, dtype: DType, groups: tuple[DType, DType]) -> Any:
    first, second = groups
    raise UnsupportedTarget(f"{km.machine.name} has no sums of products of {first} and {second} in {dtype}")


def _tiles(asm: Assembler, machine: Machine) -> Any:
    if TILES not in machine.features:
        return None
    from einloom.kernels.verbs.tiles_x86 import Amx

    return Amx(asm, machine)
