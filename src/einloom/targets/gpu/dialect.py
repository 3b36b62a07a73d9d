"""`Dialect`: the words in which OpenCL C and CUDA C++ differ, and `Type`, how they hold the elements of one data type.

Neither text includes a header: what the languages have no operator for (16-bit floats, complex products) is written out
as functions in front of the kernel that needs them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field

from einloom.frozen import frozen

__all__ = ["Dialect", "Type", "types_of"]


SCALAR = {
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": "{0} * {1}",
    "div": "{0} / {1}",
    "mad": "{0} * {1} + {2}",
    # NaN in the first operand stays, as in NumPy.
    "min": "({1} < {0} ? {1} : {0})",
    "max": "({0} < {1} ? {1} : {0})",
}
"""The operators of numbers of one part."""


@frozen
class Type:
    """How a data type is held.

    Attributes:
        stored: the type of elements in memory.
        held: the type of registers.
        suffix: what follows a number, written with a point unless the type is `whole`.
        whole: whether numbers are integers.
        operators: formats of the operators that there are, by name, as in `SCALAR`.
        number: a constant of this type from its text, as a format.
        read, written: from what is stored to what is held, and back, as formats.
        helpers: functions that these call.
    """

    stored: str
    held: str
    suffix: str = ""
    whole: bool = False
    operators: Mapping[str, str] = field(default_factory=lambda: SCALAR)
    number: str = "{0}"
    read: str = "{0}"
    written: str = "{0}"
    helpers: str = ""

    def constant(self, value: float) -> str:
        """Return a number of this type."""
        text = str(int(value)) if self.whole else f"{value!r}{self.suffix}"
        return self.number.format(text)


@frozen
class Dialect:
    """The words of a language.

    Attributes:
        name: `OpenCL C` or `CUDA C++`.
        kernel: what stands in front of a kernel's name, from its threads by dimension.
        input, output, argument: a parameter of type 0 called 1.
        pointer: a pointer to type 0 in global memory, for vectors.
        shared, shared_pointer: what stands in front of a shared array's type; a pointer to type 0 into one.
        aligned: what lets an array begin at a multiple of so many bytes.
        block, thread: indices of the block and the thread, innermost dimension first.
        long: an integer of 64 bits.
        barrier: waits for all threads of the block.
        load, store: how memory is accessed by cache directive: pointer, and value for stores.
        types: by data type.
        mma: the text of a product of fragments, from its shape's name, the type of its factors, and the elements of
            the sum and the factors; None: the language has none.
        mma_helpers: functions that this calls.
    """

    name: str
    kernel: Callable[[tuple[int, ...]], str]
    input: str
    output: str
    argument: str
    pointer: str
    shared: str
    shared_pointer: str
    aligned: str
    block: tuple[str, str, str]
    thread: tuple[str, str, str]
    long: str
    barrier: str
    load: Mapping[str, str]
    store: Mapping[str, str]
    types: Mapping[str, Type]
    mma: Callable[[str, str, list[str], list[str], list[str]], str] | None = None
    mma_helpers: str = ""


def types_of(
    fused: Mapping[str, str], integers: Mapping[str, Type], halves: Mapping[str, str], pairs: Callable[[str, str], Type]
) -> dict[str, Type]:
    """Return the types of a language.

    Args:
        fused: the format of a fused multiply-add of `float` and of `double`.
        integers: the integer types.
        halves: functions that convert 16-bit floats, called `from_` and `to_` and the type's name, by that name.
        pairs: the complex type of a part with a suffix.
    """
    single, double = ({**SCALAR, "mad": fused[part]} for part in ("float", "double"))
    found = {
        "float32": Type("float", "float", "f", operators=single),
        "float64": Type("double", "double", operators=double),
    }
    for name, helpers in halves.items():
        read, written = f"from_{name}({{0}})", f"to_{name}({{0}})"
        found[name] = Type("ushort", "float", "f", operators=single, read=read, written=written, helpers=helpers)
    return found | dict(integers) | {"complex64": pairs("float", "f"), "complex128": pairs("double", "")}
