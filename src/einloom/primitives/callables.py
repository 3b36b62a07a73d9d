"""`PrimitiveKernel`: a compiled primitive, the checks of what it is given, and the call.

Arrays are checked before anything is written; addresses are taken as they are.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from einloom.asm import Assembler
from einloom.errors import DTypeError, ShapeError
from einloom.jit.host import host
from einloom.jit.kernel import Kernel
from einloom.kernels.emit import emit_kernel
from einloom.kernels.select import machine_for
from einloom.kernels.specs import Brgemm, Reduce, Spec, Stream, Unary, signature
from einloom.machine import Machine
from einloom.once import OnceTable
from einloom.primitives.access import accesses_of, check_access, check_overlaps

__all__ = ["KERNELS", "PrimitiveKernel"]

CACHED_KERNELS = 512


class PrimitiveKernel:
    """A primitive, compiled for one ISA; call it with arrays or addresses.

    Attributes:
        spec: what it computes.
        isa: the vector ISA, `"avx512"`, `"avx2"` or `"neon"`.
        code: the machine code.
    """

    def __init__(self, spec: Spec, names: Sequence[str], isa: str | None) -> None:
        machine = host().with_vector(isa)
        self.spec = spec
        self.isa = machine.vector
        self._names = tuple(names)
        self._kernel: Kernel = KERNELS.get((spec, machine), lambda: _compiled(spec, machine))
        self._order = [self._names.index(name) for name in signature(spec)]
        self._optional = sum(name.startswith("br_stride") for name in names)
        self._accesses = accesses_of(spec)

    def __call__(self, *arguments: Any) -> None:
        """Run the kernel.

        Args:
            arguments: pointers (arrays or addresses), then leading dimensions and batch strides in elements.

        Raises:
            ShapeError: too few or too many arguments.
            DTypeError: an array of another type, or a stride that is no integer.
            StrideError: a leading dimension shorter than a row or column, an element outside an array's buffer, an
                array that is not aligned, or an output that is read-only.
            OverlapError: the output shares bytes with an input.
            UnsupportedTarget: the code is for another machine than this one.
        """
        values = self._bound(arguments)
        placed = [check_access(access, values) for access in self._accesses]
        check_overlaps(self._accesses, placed, in_place=not isinstance(self.spec, Brgemm | Reduce))
        numbers = list(values.values())
        for place in placed:
            numbers[self._names.index(place.name)] = place.address
        self._kernel.call(*(numbers[i] for i in self._order))  # arrays of offsets go as their addresses

    def _bound(self, arguments: tuple[Any, ...]) -> dict[str, Any]:
        """Return the arguments by name, optional strides 0, everything but arrays as Python integers."""
        least = len(self._names) - self._optional * (self._batch == 1)
        if not least <= len(arguments) <= len(self._names):
            counts = dict.fromkeys((str(least), str(len(self._names))))
            optional = "".join(f", {name}" for name in self._names[least:])
            usage = ", ".join(self._names[:least]) + (f"[{optional}]" if optional else "")
            raise ShapeError(f"{self!r} takes {' to '.join(counts)} arguments, not {len(arguments)}\n  Pass ({usage}).")
        padded = (*arguments, *(0,) * (len(self._names) - len(arguments)))
        return {name: _integer(name, value) for name, value in zip(self._names, padded)}

    @property
    def _batch(self) -> int:
        return self.spec.batch if isinstance(self.spec, Brgemm) else 1

    @property
    def code(self) -> bytes:
        """The machine code, data behind it included."""
        return self._kernel.code

    def listing(self) -> str:
        """Return offset, code and text of every instruction, with the parts of the microkernel named."""
        return self._kernel.listing()

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the code to a file that `objdump -b binary` reads."""
        self._kernel.write(path)

    def __repr__(self) -> str:
        return f"{_title(self.spec)} {self.isa}, {len(self.code)} bytes"


def _integer(name: str, value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value
    if value is None:
        return 0
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    raise DTypeError(f"{name} is a {type(value).__name__}\n  Pass an array or an address, and integers as strides.")


def _title(spec: Spec) -> str:
    if isinstance(spec, Brgemm):
        batch = f" batch {spec.batch}" if spec.batch != 1 else ""
        return f"brgemm {spec.dtype} {spec.m}x{spec.n}x{spec.k}{batch}"
    types = f"{spec.dtype} to {spec.output}" if isinstance(spec, Unary) and spec.output else str(spec.dtype)
    if isinstance(spec, Stream):
        return f"stream {types} {spec.m}x{spec.n}"
    along = f" along {spec.axis}" if isinstance(spec, Reduce) else ""
    return f"{spec.op} {types} {spec.m}x{spec.n}{along}"


def _compiled(spec: Spec, machine: Machine) -> Kernel:
    asm = Assembler(machine.isa)
    emit_kernel(machine_for(asm, machine), spec)
    return Kernel(asm, name=_title(spec))


KERNELS: OnceTable[Kernel] = OnceTable(CACHED_KERNELS)
"""The kernels of all primitives of this process."""
