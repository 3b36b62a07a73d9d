"""ELF images that debuggers read: names for code that lies elsewhere in memory, and a library of two exported names.

They are bytes; nothing is written to a file or mapped here. Source: System V Application Binary Interface (gABI 4.1),
chapters "Object Files" and "Program Loading and Dynamic Linking", with the supplements for AMD64 and AArch64.

>>> symbol_object("x86_64", 0x7F0000000000, 16, [Symbol("entry", 0, 16)])[:4]
b'\\x7fELF'
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from enum import IntEnum, IntFlag
from itertools import accumulate

from einloom.frozen import frozen

__all__ = ["Symbol", "export_library", "symbol_object"]

MACHINES = {"x86_64": 62, "aarch64": 183}

HEADER_SIZE = 64
PROGRAM_HEADER_SIZE = 56
SYMBOL_SIZE = 24
PAGE = 0x10000
"""A multiple of every page size of both ISAs: the writable segment begins there."""


class _Image(IntEnum):
    """Values of `e_type`."""

    RELOCATABLE = 1
    SHARED = 3


class _Kind(IntEnum):
    """Values of `sh_type`."""

    PROGBITS = 1
    SYMTAB = 2
    STRTAB = 3
    HASH = 5
    DYNAMIC = 6
    NOBITS = 8
    DYNSYM = 11


class _Flags(IntFlag):
    """Values of `sh_flags`."""

    NONE = 0
    WRITE = 1
    ALLOC = 2
    EXECUTE = 4


class _Segment(IntEnum):
    """Values of `p_type`."""

    LOAD = 1
    DYNAMIC = 2
    GNU_STACK = 0x6474E551


class _Tag(IntEnum):
    """Values of `d_tag`."""

    END = 0
    HASH = 4
    STRTAB = 5
    SYMTAB = 6
    STRSZ = 10
    SYMENT = 11


class _Symbol(IntEnum):
    """Values of `st_info` of global symbols."""

    OBJECT = 0x11
    FUNCTION = 0x12


@frozen
class Symbol:
    """A name for bytes of code: `size` bytes from `offset` on."""

    name: str
    offset: int
    size: int


class _Writer:
    """The content of an image so far, and the headers of its sections; section 0 is none."""

    def __init__(self, isa: str, image: _Image, segments: int = 0) -> None:
        self._isa, self._image, self._segments = isa, image, segments
        self._content = bytearray(HEADER_SIZE + segments * PROGRAM_HEADER_SIZE)
        self._names: list[str] = [""]
        self._headers: list[tuple[int, ...]] = [(0,) * 9]

    @property
    def position(self) -> int:
        return len(self._content)

    def align(self, boundary: int) -> None:
        self._content += bytes(-self.position % boundary)

    def section(
        self, name: str, kind: _Kind, flags: _Flags, content: bytes, link: int = 0, info: int = 0, entry: int = 0
    ) -> int:
        """Append a section whose address, where it is loaded, is its place in the file; return that place."""
        self.align(8)
        place = self.position
        self._names.append(name)
        address = place if flags & _Flags.ALLOC else 0
        self._headers.append((kind, flags, address, place, len(content), link, info, 8, entry))
        self._content += content
        return place

    def code_elsewhere(self, address: int, size: int) -> None:
        """Append a section of code that is in memory and not in the image."""
        self._names.append(".text")
        flags = _Flags.ALLOC | _Flags.EXECUTE
        self._headers.append((_Kind.NOBITS, flags, address, self.position, size, 0, 0, 16, 0))

    def finish(self, segments: Sequence[bytes] = ()) -> bytes:
        """Append names and headers of the sections, fill in what stands in front of them, return the image."""
        self._names.append(".shstrtab")
        strings, places = _string_table(self._names)
        self._headers.append((_Kind.STRTAB, _Flags.NONE, 0, self.position, len(strings), 0, 0, 1, 0))
        self._content += strings
        self.align(8)
        table = self.position
        for place, fields in zip(places, self._headers):
            self._content += struct.pack("<IIQQQQIIQQ", place, *fields)
        self._content[: HEADER_SIZE + self._segments * PROGRAM_HEADER_SIZE] = self._header(table) + b"".join(segments)
        return bytes(self._content)

    def _header(self, table: int) -> bytes:
        ident = b"\x7fELF" + bytes((2, 1, 1)) + bytes(9)  # 64 bits, little endian, version 1
        programs = HEADER_SIZE if self._segments else 0
        sizes = HEADER_SIZE, PROGRAM_HEADER_SIZE, self._segments, 64, len(self._headers), len(self._headers) - 1
        return ident + struct.pack("<HHIQQQIHHHHHH", self._image, MACHINES[self._isa], 1, 0, programs, table, 0, *sizes)


def symbol_object(isa: str, address: int, size: int, symbols: Sequence[Symbol]) -> bytes:
    """Return an image that names parts of the `size` bytes of code at `address`; it holds no code itself."""
    writer = _Writer(isa, _Image.RELOCATABLE)
    strings, places = _string_table(["", *(symbol.name for symbol in symbols)])
    table = _symbol_table([(place, _Symbol.FUNCTION, 1, s.offset, s.size) for place, s in zip(places[1:], symbols)])
    writer.code_elsewhere(address, size)
    writer.section(".symtab", _Kind.SYMTAB, _Flags.NONE, table, link=3, info=1, entry=SYMBOL_SIZE)
    writer.section(".strtab", _Kind.STRTAB, _Flags.NONE, strings)
    return writer.finish()


def export_library(isa: str, function: tuple[str, bytes], variable: tuple[str, bytes]) -> bytes:
    """Return a shared library with a function (its name and code) and a variable (its name and first value)."""
    writer, code = _Writer(isa, _Image.SHARED, segments=4), _Flags.ALLOC | _Flags.EXECUTE
    strings, places = _string_table(["", function[0], variable[0]])
    text = writer.section(".text", _Kind.PROGBITS, code, function[1])
    symbols = _symbol_table(
        [
            (places[1], _Symbol.FUNCTION, 1, text, len(function[1])),
            (places[2], _Symbol.OBJECT, 5, PAGE, len(variable[1])),
        ]
    )
    # One bucket, whose chain goes from the last symbol to the first; 0, which is no symbol, ends it.
    hashes = struct.pack("<6I", 1, 3, 2, 0, 0, 1)
    names_at = writer.section(".dynstr", _Kind.STRTAB, _Flags.ALLOC, strings)
    symbols_at = writer.section(".dynsym", _Kind.DYNSYM, _Flags.ALLOC, symbols, link=2, info=1, entry=SYMBOL_SIZE)
    hash_at = writer.section(".hash", _Kind.HASH, _Flags.ALLOC, hashes, link=3, entry=4)
    read_only = writer.position
    writer.align(PAGE)
    assert writer.position == PAGE  # where the variable was said to be
    data, written = _Flags.ALLOC | _Flags.WRITE, [variable[1], _dynamic(names_at, len(strings), symbols_at, hash_at)]
    writer.section(".data", _Kind.PROGBITS, data, written[0])
    dynamic_at = writer.section(".dynamic", _Kind.DYNAMIC, data, written[1], link=2, entry=16)
    return writer.finish(
        [
            _segment(_Segment.LOAD, "r-x", 0, read_only),
            _segment(_Segment.LOAD, "rw-", PAGE, writer.position - PAGE),
            _segment(_Segment.DYNAMIC, "rw-", dynamic_at, len(written[1])),
            _segment(_Segment.GNU_STACK, "rw-", 0, 0),  # Without it the loader makes every stack executable.
        ]
    )


def _dynamic(names: int, names_size: int, symbols: int, hashes: int) -> bytes:
    entries = {
        _Tag.HASH: hashes,
        _Tag.STRTAB: names,
        _Tag.SYMTAB: symbols,
        _Tag.STRSZ: names_size,
        _Tag.SYMENT: SYMBOL_SIZE,
        _Tag.END: 0,
    }
    return b"".join(struct.pack("<QQ", *entry) for entry in entries.items())


def _segment(kind: _Segment, rights: str, place: int, size: int) -> bytes:
    flags = sum(bit for bit, letter in zip((4, 2, 1), rights) if letter != "-")
    return struct.pack("<IIQQQQQQ", kind, flags, place, place, place, size, size, PAGE)


def _string_table(strings: Sequence[str]) -> tuple[bytes, list[int]]:
    """Return strings one behind the other, each with a zero byte, and where each begins."""
    encoded = [string.encode() + b"\0" for string in strings]
    return b"".join(encoded), list(accumulate((len(each) for each in encoded[:-1]), initial=0))


def _symbol_table(symbols: Sequence[tuple[int, _Symbol, int, int, int]]) -> bytes:
    """Return a table of (place of the name, kind, section, value, size); its first entry is no symbol."""
    rows = (struct.pack("<IBBHQQ", name, kind, 0, section, value, size) for name, kind, section, value, size in symbols)
    return bytes(SYMBOL_SIZE) + b"".join(rows)
