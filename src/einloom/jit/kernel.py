"""`Kernel`: finished code that can be called, listed and written to a file. It generates nothing.

Making one is pure: code for any ISA can be held, listed and written on any machine. The first `address`, `function` or
`call` maps it into executable pages, and that needs the right host.

>>> from einloom.asm import Assembler
>>> asm = Assembler("x86_64")
>>> asm.lea(asm.rax, asm.mem(asm.rdi, 5))
>>> asm.ret()
>>> kernel = Kernel(asm)
>>> kernel.call(7, restype=int)
12
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from einloom.errors import ArgumentError, DTypeError, EncodingError, UnsupportedTarget
from einloom.jit.arrays import array_address
from einloom.jit.host import host, tiles_granted
from einloom.jit.pages import ExecutablePages

__all__ = ["Function", "Kernel", "Place"]

Function: TypeAlias = Any  # a ctypes function; its class is made at run time
if TYPE_CHECKING:  # Code that comes as bytes runs without an assembler having been loaded.
    from einloom.asm import Assembler, Label

Place: TypeAlias = "Label | int"  # a label of the kernel's assembler, or an offset in bytes

# An integer argument goes as a pointer: ctypes converts that twice as fast as c_int64, with the same 64 bits.
_ARGUMENT = {int: ctypes.c_void_p, float: ctypes.c_double, np.float32: ctypes.c_float}
_NUMBERS: Any = tuple(_ARGUMENT)
_ISAS = ("x86_64", "aarch64")
_RESULT = {None: None, int: ctypes.c_int64, float: ctypes.c_double, np.float32: ctypes.c_float}


class Kernel:
    """Machine code and the way to call it.

    Args:
        source: an assembler (its code is taken as it is now) or the bytes themselves.
        isa: `"x86_64"` or `"aarch64"`; the assembler's own, for bytes the host's unless said.
        features: ISA features that the code needs, as in `Machine.features`; the assembler's own unless said.
        name: what `repr` calls it.
        labels: names of places in bytes, in bytes from their beginning, for profilers; an assembler has its own.

    Attributes:
        code: the bytes.
        isa, features, name: as above.
    """

    __slots__ = ("__weakref__", "_assembler", "_labels", "_made", "code", "features", "isa", "name")

    def __init__(
        self,
        source: Assembler | bytes | bytearray | memoryview,
        isa: str | None = None,
        features: Iterable[str] | None = None,
        *,
        name: str = "kernel",
        labels: Iterable[tuple[str, int]] = (),
    ) -> None:
        self._assembler = assembler = _assembler_of(source)
        self._labels = labels
        self.code = _code_of(source if assembler is None else assembler.bytes())
        self.isa = _isa_of(assembler, isa)
        own_features = assembler.features if assembler is not None and features is None else features or ()
        self.features = _feature_names(own_features)
        self.name = name
        # The pages under "pages", and functions under their signature: made on first use, by whichever thread is first.
        self._made: dict[Any, Any] = {}

    @property
    def address(self) -> int:
        """Address of the first byte of the code. Keep the kernel alive while it is in use.

        Raises:
            UnsupportedTarget: the host has another ISA, or lacks features that the code needs.
            DeviceError: the system refuses executable memory.
        """
        return self._pages.address

    def address_of(self, place: Place) -> int:
        """Return the address of a label of the assembler, or of an offset in bytes into the code.

        Raises:
            EncodingError: there is no such place.
            UnsupportedTarget, DeviceError: as `address`.
        """
        offset = place if isinstance(place, int) else self._position(place)
        if not isinstance(offset, int) or not 0 <= offset < len(self.code):
            raise EncodingError(f"{place!r} is no place in the {len(self.code)} bytes of code of {self!r}")
        return self.address + offset

    def function(self, restype: Any, *argtypes: Any, at: Place = 0, release_gil: bool = True) -> Function:
        """Return a ctypes function for the code at `at`; it keeps the code mapped as long as it lives.

        Args:
            restype: None, `int`, `float` or a ctypes type.
            argtypes: `int` (integers and addresses), `float`, or ctypes types.
            at: where the function begins.
            release_gil: let other Python threads run meanwhile, which costs about 40 ns a call and is right for work of
                a microsecond and more. With False the interpreter stands still until the code returns.

        Raises:
            DTypeError: a type is none of these.
            EncodingError, UnsupportedTarget, DeviceError: as `address_of`.
        """
        pages = self._pages
        results: Any = _RESULT.get(restype, restype)
        arguments = [_ARGUMENT.get(kind, kind) for kind in argtypes]
        prototype = ctypes.CFUNCTYPE if release_gil else ctypes.PYFUNCTYPE
        try:
            signature = prototype(results, *arguments)
        except TypeError as error:
            raise DTypeError(f"no signature of machine code: {error}\n  Pass int, float or ctypes types.") from None
        function: Any = signature(self.address_of(at))
        function.pages = pages  # and not the kernel, which remembers functions: that would be a cycle
        return function

    def call(self, *arguments: Any, restype: Any = None, at: Place = 0, release_gil: bool = True) -> Any:
        """Call the code with the C calling convention and return its result as `restype`: None, `int` or `float`.

        Integers and addresses go in integer registers, a Python `float` as a double and `numpy.float32` as a float in
        vector registers, an array as the address of its first element; ctypes objects as they are.

        Raises:
            DTypeError: an argument is of another type, or an integer has more than 64 bits.
            UnsupportedTarget, DeviceError: as `address`.
        """
        values = [_value(argument, number) for number, argument in enumerate(arguments)]
        kinds = tuple(map(_kind, values))
        key = (restype, kinds, at, release_gil)
        function = self._made.get(key)
        if function is None:
            function = self._made[key] = self.function(restype, *kinds, at=at, release_gil=release_gil)
        return function(*values)

    def listing(self) -> str:
        """Return offset, code and text of every instruction; for a kernel made from bytes, offset and code only."""
        if self._assembler is not None:
            return self._assembler.listing()
        rows = range(0, len(self.code), 16)
        return "\n".join(f"{start:6x}    {self.code[start : start + 16].hex(' ', -4)}" for start in rows)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the bytes to a file that `objdump` reads.

        `objdump -D -b binary -m aarch64 FILE` or `objdump -D -b binary -m i386:x86-64 -M intel FILE`.
        """
        with open(path, "wb") as file:
            file.write(self.code)

    def __repr__(self) -> str:
        needs = "".join(f" {name}" for name in sorted(self.features))
        return f"Kernel({self.name}, {self.isa}{needs}, {len(self.code)} bytes)"

    def _position(self, place: object) -> int | None:
        from einloom.asm import Label

        if isinstance(place, Label) and place.owner is not self._assembler:
            raise EncodingError(f"label {place.name} belongs to another assembler than {self!r}")
        return place.position if isinstance(place, Label) else None

    @property
    def _pages(self) -> ExecutablePages:
        pages = self._made.get("pages")
        if pages is None:
            self._check_host()
            # Of two threads that come at once one wins; the other's pages are freed.
            pages = self._made.setdefault("pages", self._mapped())
        return pages

    def _mapped(self) -> ExecutablePages:
        pages, size = ExecutablePages(self.code), len(self.code)
        if os.environ.get("EINLOOM_DEBUG"):
            from einloom.jit.debug import announce_code, code_symbols  # Late: it brings a writer of ELF files.

            labels = self._labels if self._assembler is None else self._assembler.labels
            announce_code(pages, self.isa, pages.address, size, code_symbols(labels, self.name, size))
        return pages

    def _check_host(self) -> None:
        machine = host()
        if machine.isa != self.isa:
            raise UnsupportedTarget(f"{self!r} cannot run on this {machine.isa} host\n  {_ELSEWHERE}")
        missing = sorted(self.features - machine.features)
        if missing:
            raise UnsupportedTarget(
                f"{self!r} needs {', '.join(missing)}, which this host lacks ({machine.name})\n  {_ELSEWHERE}"
            )
        # Each process asks for itself, also one that was sent a program which another has chosen tiles for.
        if "amxtile" in self.features and not tiles_granted():
            raise UnsupportedTarget(f"{self!r} needs matrix tiles, which Linux does not grant\n  {_ELSEWHERE}")


def _assembler_of(source: object) -> Assembler | None:
    if isinstance(source, bytes):
        return None
    from einloom.asm import Assembler

    return source if isinstance(source, Assembler) else None


def _code_of(source: object) -> bytes:
    """Return the bytes of an object that holds bytes."""
    try:
        code = memoryview(source).tobytes()  # type: ignore[arg-type]
    except TypeError:
        raise ArgumentError(
            f"the source of a kernel is a {type(source).__name__}\n  Pass an assembler, or the bytes of its code."
        ) from None
    if not code:
        raise ArgumentError("a kernel without code\n  Pass at least one instruction that returns.")
    return code


def _isa_of(assembler: Assembler | None, isa: str | None) -> str:
    if assembler is not None:
        if isa not in (None, assembler.isa):
            raise UnsupportedTarget(f"the assembler emits {assembler.isa}, not {isa!r:.80}\n  Leave isa= out.")
        return assembler.isa
    if isa not in (None, *_ISAS):
        raise UnsupportedTarget(f"isa={isa!r:.80} does not exist\n  There are: {', '.join(_ISAS)}.")
    return isa or host().isa


def _feature_names(features: object) -> frozenset[str]:
    if isinstance(features, Iterable) and not isinstance(features, str):
        names = list(features)
        if all(isinstance(name, str) for name in names):
            return frozenset(names)
    raise ArgumentError(f"features is {features!r:.80}\n  Pass names of ISA features, as in a row of the assembler.")


_ELSEWHERE = "Its code, listing() and write() work here; call it on a host that has what it needs."


def _value(argument: Any, number: int) -> Any:
    """Return what ctypes is to pass for an argument of `call`."""
    if isinstance(argument, np.ndarray):
        return array_address(argument)
    if isinstance(argument, np.integer):
        argument = int(argument)
    if isinstance(argument, int) and not -(2**63) <= argument < 2**64:
        raise DTypeError(f"argument {number} is {argument}, which has more than 64 bits")
    if isinstance(argument, _NUMBERS) or hasattr(type(argument), "from_param"):
        return argument
    raise DTypeError(
        f"argument {number} has type {type(argument).__name__}\n"
        "  Pass an int (or address), a float, a numpy.float32, a NumPy array or a ctypes object."
    )


def _kind(value: Any) -> Any:
    """Return the key of `_ARGUMENT` or the ctypes type for a value that `_value` let through."""
    return next((kind for kind in _NUMBERS if isinstance(value, kind)), type(value))
