"""AArch64 operands: registers, lanes, addresses, shifts. Which instruction takes which is the rows' business.

Registers are interned, one object each, and each kind of register is a class of its own, because the encoder finds
the form of an instruction by the classes of its operands.

>>> v[28].s[0], mem(x[0], 16).pre, mem(x[0], x[1], lsl=3)
(v28.s[0], [x0, #16]!, [x0, x1, lsl #3])
"""

from __future__ import annotations

from operator import index
from typing import Any, ClassVar

from einloom.asm.register_file import RegisterFile
from einloom.errors import EncodingError

__all__ = ["b", "d", "h", "mem", "q", "s", "sp", "v", "w", "wsp", "wzr", "x", "xzr"]

ELEMENT_BYTES = {"b": 1, "h": 2, "s": 4, "d": 8, "q": 16, "4b": 4, "2h": 4}


class Register:
    """One register in one view; `number` is what the instruction's field holds."""

    __slots__ = ("name", "number")

    def __init__(self, name: str, number: int) -> None:
        self.name = name
        self.number = number

    def __repr__(self) -> str:
        return self.name


class X(Register):
    """A 64-bit general register, x0 to x30."""

    __slots__ = ()


class W(Register):
    """The lower 32 bits of a general register, w0 to w30."""

    __slots__ = ()


class ZeroX(Register):
    """xzr: number 31 where a row writes Xn."""

    __slots__ = ()


class ZeroW(Register):
    """wzr: number 31 where a row writes Wn."""

    __slots__ = ()


class StackX(Register):
    """sp: number 31 where a row writes Xn|SP."""

    __slots__ = ()


class StackW(Register):
    """wsp: number 31 where a row writes Wn|SP."""

    __slots__ = ()


class Scalar(Register):
    """The lowest element of a vector register as a scalar: b0, h0, s0, d0, q0."""

    __slots__ = ()


class Arranged(Register):
    """A vector register seen as elements: v0.4s. One subclass for each arrangement."""

    __slots__ = ()
    arrangement: ClassVar[str]


class Lane(Register):
    """One element of a vector register: v0.s[1], or a group of 4 bytes: v0.4b[1]. One subclass for each size."""

    __slots__ = ("index",)
    element: ClassVar[str]

    def __init__(self, name: str, number: int, index: int) -> None:
        super().__init__(name, number)
        self.index = index


SCALARS = {size: type(size.upper(), (Scalar,), {"__slots__": ()}) for size in "bhsdq"}
ARRANGED = {
    name: type(f"V{name}", (Arranged,), {"__slots__": (), "arrangement": name})
    for name in ("8b", "16b", "4h", "8h", "2s", "4s", "1d", "2d")
}
LANES = {size: type(f"V{size}Lane", (Lane,), {"__slots__": (), "element": size}) for size in (*"bhsd", "4b", "2h")}


class Lanes:
    """The elements of one vector register: `v[0].s[1]`."""

    __slots__ = ("_lanes",)

    def __init__(self, vector: str, number: int, element: str) -> None:
        kind, count = LANES[element], 16 // ELEMENT_BYTES[element]
        self._lanes = tuple(kind(f"{vector}.{element}[{i}]", number, i) for i in range(count))

    def __getitem__(self, number: int) -> Lane:
        if 0 <= number < len(self._lanes):
            return self._lanes[number]
        name = self._lanes[0].name[:-3]
        raise EncodingError(f"{name}[{number}]: the lanes are 0 to {len(self._lanes) - 1}")

    def __len__(self) -> int:
        return len(self._lanes)


class Vector:
    """A vector register: `v[0].s4` and its like are views of it, `v[0].s[1]` an element. Made on first use."""

    __slots__ = (
        "b",
        "b4",
        "b8",
        "b16",
        "d",
        "d1",
        "d2",
        "h",
        "h2",
        "h4",
        "h8",
        "name",
        "number",
        "q1",
        "s",
        "s2",
        "s4",
    )

    b8: Arranged
    b16: Arranged
    h4: Arranged
    h8: Arranged
    s2: Arranged
    s4: Arranged
    d1: Arranged
    d2: Arranged
    b: Lanes
    h: Lanes
    s: Lanes
    d: Lanes
    b4: Lanes
    h2: Lanes

    def __init__(self, number: int) -> None:
        self.name = f"v{number}"
        self.number = number

    def __repr__(self) -> str:
        return self.name

    def __getattr__(self, view: str) -> Any:
        arrangement = view[1:] + view[:1]
        if arrangement in ARRANGED:
            made = ARRANGED[arrangement](f"{self.name}.{arrangement}", self.number)
        elif arrangement in LANES:
            made = Lanes(self.name, self.number, arrangement)
        else:
            views = ", ".join(name[-1] + name[:-1] for name in ARRANGED)
            raise AttributeError(
                f"{self.name}.{view}: there are the arrangements {views}, the elements b h s d and b4 h2"
            )
        setattr(self, view, made)
        return made


x = RegisterFile(X(f"x{i}", i) for i in range(31))
w = RegisterFile(W(f"w{i}", i) for i in range(31))
xzr, wzr = ZeroX("xzr", 31), ZeroW("wzr", 31)
sp, wsp = StackX("sp", 31), StackW("wsp", 31)
v = RegisterFile(Vector(i) for i in range(32))
b, h, s, d, q = (RegisterFile(SCALARS[size](f"{size}{i}", i) for i in range(32)) for size in "bhsdq")


class Modifier:
    """A shift or extension of the last operand, written as a keyword: `asm.add(x0, x1, x2, lsl=3)`."""

    __slots__ = ("amount",)
    name: ClassVar[str]
    code: ClassVar[int]  # the value of the manual's field `shift` (lsl to ror) or `option` (uxtb to sxtx)

    def __init__(self, amount: int) -> None:
        self.amount = amount

    def __repr__(self) -> str:
        extension = self.name[1:3] == "xt"  # written without an amount of 0
        return self.name if extension and not self.amount else f"{self.name} #{self.amount}"

    @classmethod
    def of(cls, name: str, amount: int) -> Modifier:
        """Return the one modifier of this name and amount, so that the encoder can remember instructions by it."""
        found = _modifiers.get((name, amount))
        if found is None:
            if name not in MODIFIERS:
                raise EncodingError(f"{name}= is no shift or extension; there are {', '.join(MODIFIERS)}")
            found = MODIFIERS[name](amount)
            if len(_modifiers) < 1 << 12:
                _modifiers[name, amount] = found
        return found


_modifiers: dict[tuple[str, int], Modifier] = {}
_CODES = {
    **{name: code for code, name in enumerate(("lsl", "lsr", "asr", "ror"))},
    **{name: code for code, name in enumerate(("uxtb", "uxth", "uxtw", "uxtx", "sxtb", "sxth", "sxtw", "sxtx"))},
    "msl": 0,
}
MODIFIERS = {
    name: type(name.title(), (Modifier,), {"__slots__": (), "name": name, "code": code})
    for name, code in _CODES.items()
}


class Address:
    """A place in memory, relative to a base register (x0 to x30 or sp)."""

    __slots__ = ("base", "offset")

    def __init__(self, base: Register, offset: Any) -> None:
        self.base = base
        self.offset = offset


_addresses: dict[tuple[Any, ...], Any] = {}


def _interned(kind: type[Address], *parts: Any) -> Any:
    """Return the one address of these parts (up to a bound), so that the encoder can remember instructions by it."""
    key = (kind, *parts)
    found = _addresses.get(key)
    if found is None:
        found = kind(*parts)
        if len(_addresses) < 1 << 16:
            _addresses[key] = found
    return found


class Offset(Address):
    """[base, #offset], in bytes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"[{self.base}, #{self.offset}]" if self.offset else f"[{self.base}]"

    @property
    def pre(self) -> Pre:
        """[base, #offset]!: the base register becomes base + offset, then the access is there."""
        return _interned(Pre, self.base, self.offset)

    def post(self, step: int | X) -> Post | PostRegister:
        """[base], #step: the access is at base, then the base register becomes base + step (bytes, or a register)."""
        if self.offset:
            raise EncodingError(f"{self!r}.post({step}): a post-indexed address has no offset; write mem({self.base})")
        if type(step) is X:
            return _interned(PostRegister, self.base, step)
        return _interned(Post, self.base, _bytes(step))


class Pre(Address):
    """[base, #offset]!"""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"[{self.base}, #{self.offset}]!"


class Post(Address):
    """[base], #offset"""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"[{self.base}], #{self.offset}"


class PostRegister(Address):
    """[base], register"""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"[{self.base}], {self.offset}"


class Indexed(Address):
    """[base, index, extension #amount]"""

    __slots__ = ("amount", "extension")

    def __init__(self, base: Register, index: Register, extension: str, amount: int) -> None:
        super().__init__(base, index)
        self.extension = extension
        self.amount = amount

    def __repr__(self) -> str:
        extension = "" if (self.extension, self.amount) == ("lsl", 0) else f", {self.extension}"
        return f"[{self.base}, {self.offset}{extension}{f' #{self.amount}' if self.amount else ''}]"


def _bytes(offset: Any) -> int:
    try:
        return index(offset)
    except TypeError:
        raise EncodingError(f"{offset!r} is no offset: an integer of bytes, or a register") from None


_BASES = frozenset((X, StackX))


def mem(base: Register, offset: Any = 0, **extension: int) -> Any:
    """Return the address `base + offset`, in bytes; a register as offset may be extended by `lsl= uxtw= sxtw= sxtx=`.

    Raises EncodingError for a base that is no 64-bit register or sp, and for a 32-bit index without its extension.
    """
    if not extension:
        found = _addresses.get((Offset, base, offset))
        if found is not None:
            return found
    if type(base) not in _BASES:
        raise EncodingError(f"mem({base!r}): the base is one of x0 to x30 or sp")
    if isinstance(offset, Register):
        return _interned(Indexed, base, offset, *_extension(offset, extension))
    if extension:
        raise EncodingError(f"mem({base!r}, {offset!r}): {', '.join(extension)} belongs to an index register")
    return _interned(Offset, base, _bytes(offset))


def _extension(register: Register, extension: dict[str, int]) -> tuple[str, int]:
    """Return the name and amount of an index register's extension."""
    allowed = ("lsl", "sxtx") if isinstance(register, X | ZeroX) else ("uxtw", "sxtw")
    if not isinstance(register, X | ZeroX | W | ZeroW):
        raise EncodingError(f"{register!r} cannot index: it takes an X register, or a W register with uxtw= or sxtw=")
    if len(extension) > 1 or not set(extension) <= set(allowed) or (allowed[0] == "uxtw" and not extension):
        raise EncodingError(f"index {register!r} is extended by one of {', '.join(f'{name}=' for name in allowed)}")
    return next(iter(extension.items()), ("lsl", 0))
