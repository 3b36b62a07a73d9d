"""`PrimitiveKernel`: a compiled primitive, the checks of what it is given, and the call.

Arrays are checked before anything is written; addresses are taken as they are.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from einloom.arrays.chain import Chain
from einloom.arrays.check import check_disjoint
from einloom.arrays.entry import Apart, ArrayArgument, Call, Data, Entry, IntegerArgument, NoneArgument
from einloom.arrays.library import Array, Imported, incoming, is_array
from einloom.arrays.region import Region
from einloom.arrays.signature import array_argument, integer_argument, none_argument, signature_of
from einloom.asm import Assembler
from einloom.errors import DTypeError, ShapeError
from einloom.jit.arrays import array_address
from einloom.jit.entrycode import Number
from einloom.jit.host import host
from einloom.jit.kernel import Kernel
from einloom.jit.native import Native
from einloom.kernels.emit import emit_kernel
from einloom.kernels.select import machine_for
from einloom.kernels.specs import (
    Brgemm,
    Interleave,
    LeaveBehind,
    PairCopy,
    PairProduct,
    Reduce,
    Spec,
    Stream,
    Unary,
    signature,
)
from einloom.machine import Machine
from einloom.once import OnceTable
from einloom.primitives.parameters import parameters_of, regions_of

__all__ = ["KERNELS", "PrimitiveKernel"]

CACHED_KERNELS = 512


class PrimitiveKernel(Native):
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
        self._parameters = parameters_of(spec)
        self._chain = Chain(self, PrimitiveKernel.__call__)

    def __reduce__(self) -> tuple[Any, ...]:
        return PrimitiveKernel, (self.spec, self._names, self.isa)

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
        regions = [region for parameter in self._parameters for region in regions_of(parameter, values)]
        check_disjoint(regions, self._may_coincide)
        if len(regions) == len(self._parameters):
            signature = tuple(_signature(argument) for argument in arguments)
            self._chain.meet(self, signature, lambda: self._describe(arguments, regions))
        numbers = [_number(value) for value in values.values()]
        self._kernel.call(*(numbers[i] for i in self._order))

    def _may_coincide(self, written: Region, other: Region) -> bool:
        """Element-wise operations read an element before they write it."""
        return not isinstance(self.spec, Brgemm | Reduce)

    def _bound(self, arguments: tuple[Any, ...]) -> dict[str, Imported | int | None]:
        """Return the arguments by name, optional strides 0, numbers as Python integers."""
        least = len(self._names) - self._optional * (self._batch == 1)
        if not least <= len(arguments) <= len(self._names):
            counts = dict.fromkeys((str(least), str(len(self._names))))
            optional = "".join(f", {name}" for name in self._names[least:])
            usage = ", ".join(self._names[:least]) + (f"[{optional}]" if optional else "")
            raise ShapeError(f"{self!r} takes {' to '.join(counts)} arguments, not {len(arguments)}\n  Pass ({usage}).")
        padded = (*arguments, *(0,) * (len(self._names) - len(arguments)))
        return {name: _argument(name, value) for name, value in zip(self._names, padded)}

    def _describe(self, arguments: Sequence[Any], regions: Sequence[Region]) -> tuple[Entry, object] | None:
        """Return the entry for calls with arguments like these, and what it refers to; None if there can be none."""
        reached = {region.name: region for region in regions}
        checks = [_check_of(argument, reached.get(name)) for name, argument in zip(self._names, arguments)]
        known = [check for check in checks if check is not None]
        if len(known) < len(checks):
            return None
        by_name = {name: self._value(place, arguments) for place, name in enumerate(self._names)}
        places = {name: place for place, name in enumerate(self._names)}
        output = regions[-1]
        entry = Entry(
            arguments=tuple(known),
            calls=(Call(self._kernel.address, tuple(by_name[name] for name in signature(self.spec))),),
            result=Number(id(None)),
            apart=tuple(self._apart(output, other, places) for other in regions[:-1]),
        )
        return entry, (self._kernel, _types_of(arguments))

    def _value(self, place: int, arguments: Sequence[Any]) -> Data | Number:
        """Return where an entry finds what goes to the kernel for the argument of this place; left out ones are 0."""
        argument = arguments[place] if place < len(arguments) else 0
        return Data(place) if isinstance(argument, np.ndarray) else Number(argument or 0)

    def _apart(self, output: Region, other: Region, places: dict[str, int]) -> Apart:
        same = self._may_coincide(output, other) and replace(other, address=output.address).elements == output.elements
        return Apart(places[output.name], places[other.name], same)

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


def _argument(name: str, value: Any) -> Imported | int | None:
    if is_array(value):
        return incoming(value, name)
    if value is None:
        return None
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    raise DTypeError(f"{name} is a {type(value).__name__}\n  Pass an array or an address, and integers as strides.")


def _number(value: Imported | int | None) -> int:
    """Return what the kernel gets for an argument: arrays, those of offsets too, go as their addresses."""
    return array_address(value.array) if isinstance(value, Imported) else value or 0


def _signature(argument: Any) -> Any:
    return signature_of(argument) if type(argument) is np.ndarray else (type(argument), argument)


def _types_of(arguments: Sequence[Any]) -> list[object]:
    arrays: list[Array] = [thing for thing in arguments if isinstance(thing, np.ndarray)]
    return [array.dtype for array in arrays]


def _check_of(argument: Any, region: Region | None) -> ArrayArgument | IntegerArgument | NoneArgument | None:
    """Return what an entry checks of an argument; None for one that it cannot check, such as an address."""
    if argument is None and region is None:
        return none_argument()
    if type(argument) is int and region is None:
        return integer_argument(argument)
    if type(argument) is np.ndarray and region is not None and argument.size and not region.is_empty:
        return array_argument(argument, region, region.size)
    return None


def _title(spec: Spec) -> str:
    if isinstance(spec, Brgemm):
        batch = f" batch {spec.batch}" if spec.batch != 1 else ""
        return f"brgemm {spec.dtype} {spec.m}x{spec.n}x{spec.k}{batch}"
    types = f"{spec.dtype} to {spec.output}" if isinstance(spec, Unary) and spec.output else str(spec.dtype)
    if isinstance(spec, Stream | LeaveBehind):
        return f"stream {types} {spec.m}x{spec.n}"
    if isinstance(spec, Interleave):
        return f"interleave {types} {spec.m}x{spec.n}"
    if isinstance(spec, PairProduct | PairCopy):
        return f"pairs {types} {spec.m}x{spec.n}"
    along = f" along {spec.axis}" if isinstance(spec, Reduce) else ""
    return f"{spec.op} {types} {spec.m}x{spec.n}{along}"


def _compiled(spec: Spec, machine: Machine) -> Kernel:
    asm = Assembler(machine.isa)
    emit_kernel(machine_for(asm, machine), spec)
    return Kernel(asm, name=_title(spec))


KERNELS: OnceTable[Kernel] = OnceTable(CACHED_KERNELS)
"""The kernels of all primitives of this process."""
