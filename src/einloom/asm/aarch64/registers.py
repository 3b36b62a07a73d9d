"""How rows write registers, lanes and register lists, and where their numbers go.

`Xd` `Wn` `Rm` `Fd` `Yt` `Dd` `Ed` `Ld` `Gn`   a register; `Xn|SP` also the stack pointer, but not the zero register
`Rn,m`                              one operand in two fields
`Vd.T` `Vd.Ta` `Vd.4s`              a vector register in an arrangement
`Vn.E[imm5]` `Vm.s[HL]` `Vm.4b[HL]` `Vd.d[1]`   one lane, or group; the brackets name the fields of its index
`{Vt.T*4}` `{Vt.E[QSz]*4}`          a list of vector registers with consecutive numbers, or one lane of each
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from einloom.asm.aarch64 import operands as o
from einloom.asm.aarch64.row import Form, element
from einloom.errors import EncodingError

__all__ = ["Kind", "LaneSpec", "ListSpec", "Put", "RegisterSpec", "VectorSpec", "register_spec"]

# What the encoder tells operands apart by: a class, or for a list the class of its first element and its length.
Kind: TypeAlias = Any
# put(word, operand): returns the word with the operand's bits set. Raises EncodingError with the reason.
Put: TypeAlias = Callable[[int, Any], int]

_WIDER = {"b": "h", "h": "s", "s": "d"}
_GENERAL = {"x": (o.X, o.ZeroX), "w": (o.W, o.ZeroW)}
_STACK = {"x": (o.X, o.StackX), "w": (o.W, o.StackW)}


def _register_class(letter: str, binding: Mapping[str, str]) -> str:
    """Return the lower-case letter of the register file and size that a row's letter stands for."""
    if letter in "RFY":
        return binding[letter]
    if letter in "ELG":
        size = element(binding)
        return {"E": size, "L": _WIDER.get(size, ""), "G": "x" if size == "d" else "w"}[letter]
    return letter.lower()


class RegisterSpec(NamedTuple):
    """A general register or a scalar."""

    letter: str
    fields: tuple[str, ...]
    stack: bool

    def classes(self, binding: Mapping[str, str]) -> tuple[type, ...]:
        """Return the classes of registers that go here."""
        name = _register_class(self.letter, binding)
        if name in _GENERAL:
            return _STACK[name] if self.stack else _GENERAL[name]
        return (o.SCALARS[name],)

    def accepts(self, kind: Kind, binding: Mapping[str, str]) -> bool:
        """Whether an operand of this kind goes here."""
        return kind in self.classes(binding)

    def put(self, form: Form, kind: Kind) -> Put:
        """Return what sets the number's field or fields."""
        return _put_number(form, self.fields)


class VectorSpec(NamedTuple):
    """A vector register in an arrangement."""

    fields: tuple[str, ...]
    arrangement: str

    def arranged(self, binding: Mapping[str, str]) -> str:
        """Return the arrangement, such as "4s"."""
        return _arrangement(self.arrangement, binding)

    def accepts(self, kind: Kind, binding: Mapping[str, str]) -> bool:
        """Whether an operand of this kind goes here."""
        return kind is o.ARRANGED[self.arranged(binding)]

    def put(self, form: Form, kind: Kind) -> Put:
        """Return what sets the number's field or fields."""
        return _put_number(form, self.fields)


class LaneSpec(NamedTuple):
    """One lane of a vector register."""

    field: str
    size: str
    brackets: str

    def lane(self, binding: Mapping[str, str]) -> str:
        """Return the letter of the lane's size."""
        return element(binding) if self.size == "E" else self.size

    def accepts(self, kind: Kind, binding: Mapping[str, str]) -> bool:
        """Whether an operand of this kind goes here."""
        return kind is o.LANES[self.lane(binding)]

    def put(self, form: Form, kind: Kind) -> Put:
        """Return what sets the fields of number and index."""
        index = index_bits(form, self.brackets, kind.element)
        shift, width = form.fields[self.field]
        numbers = 1 << width

        def put(word: int, operand: Any) -> int:
            number, bits = operand.number, index[operand.index]
            if number >= numbers:
                raise EncodingError(f"{operand}: only lanes of v0 to v{numbers - 1} go here")
            if bits < 0:
                raise EncodingError(f"{operand}: only lane {self.brackets} goes here")
            return word | number << shift | bits

        return put


class ListSpec(NamedTuple):
    """Vector registers with consecutive numbers (v31 is followed by v0), whole or one lane of each."""

    field: str
    arrangement: str
    brackets: str
    length: int

    def accepts(self, kind: Kind, binding: Mapping[str, str]) -> bool:
        """Whether an operand of this kind goes here."""
        if self.brackets:
            return kind == (o.LANES[element(binding)], self.length)
        return kind == (o.ARRANGED[_arrangement(self.arrangement, binding)], self.length)

    def put(self, form: Form, kind: Kind) -> Put:
        """Return what sets the field of the first number, and of the index."""
        shift = form.place(self.field)
        index = index_bits(form, self.brackets, kind[0].element) if self.brackets else None

        def put(word: int, operand: Any) -> int:
            first = operand[0]
            for i, register in enumerate(operand):
                if register.number != (first.number + i) & 31 or type(register) is not type(first):
                    raise EncodingError(f"{operand}: the registers of a list are alike and consecutive")
                if index and register.index != first.index:
                    raise EncodingError(f"{operand}: the lanes of a list have one index")
            return word | first.number << shift | (index[first.index] if index else 0)

        return put


def _arrangement(text: str, binding: Mapping[str, str]) -> str:
    if text == "T":
        return binding["T"]
    if text == "Ta":
        size = _WIDER[binding["T"][-1]]
        return f"{16 // o.ELEMENT_BYTES[size]}{size}"
    if text == "Tp":
        return f"{int(binding['T'][:-1]) // 2}{_WIDER[binding['T'][-1]]}"
    return text


def _put_number(form: Form, fields: tuple[str, ...]) -> Put:
    """Return what writes a register's number into one field, or the same number into several."""
    places = [form.place(field) for field in fields]
    factor = sum(1 << place for place in places)
    if len(places) == 1:
        shift = places[0]
        return lambda word, operand: word | operand.number << shift
    return lambda word, operand: word | operand.number * factor


def index_bits(form: Form, fields: str, size: str) -> tuple[int, ...]:
    """Return the bits of each lane index in the fields imm5, imm4, HLM, QSz, …; a digit is the only index allowed."""
    log, count = o.ELEMENT_BYTES[size].bit_length() - 1, 16 // o.ELEMENT_BYTES[size]
    if fields.isdigit():
        return tuple(0 if index == int(fields) else -1 for index in range(count))
    if fields in ("imm5", "imm4"):
        shift = form.place(fields) + log + (fields == "imm5")
        return tuple(index << shift for index in range(count))
    # The manual's names, most significant bit first; z has two bits, of which a lane of 2^log bytes uses 2 - log.
    constant = 1 << form.place("z") if fields == "QSz" and size == "d" else 0
    places = [form.place(name) for name in fields]
    if fields == "QSz":
        places = [*places[:2], places[2] + 1, places[2]][: 4 - log]
    places.reverse()
    return tuple(constant | sum((index >> i & 1) << place for i, place in enumerate(places)) for index in range(count))


_REGISTER = re.compile(r"([RXWFYBHSDQELG])([a-z](?:,[a-z])*)(\|SP)?")
_VECTOR = re.compile(r"V([a-z](?:,[a-z])*)\.(T[ap]?|\d+[bhsdq])")
_LANE = re.compile(r"V([a-z])\.([Ebhsd]|4b|2h)\[(\w+)\]")
_LIST = re.compile(r"\{V([a-z])\.(T|E|\d+[bhsd])(?:\[(\w+)\])?\*(\d)\}")


def register_spec(token: str) -> RegisterSpec | VectorSpec | LaneSpec | ListSpec | None:
    """Return what a row's token says, or None if it speaks of something else than registers."""
    if match := _REGISTER.fullmatch(token):
        return RegisterSpec(match[1], tuple(match[2].split(",")), bool(match[3]))
    if match := _VECTOR.fullmatch(token):
        return VectorSpec(tuple(match[1].split(",")), match[2])
    if match := _LANE.fullmatch(token):
        return LaneSpec(match[1], match[2], match[3])
    if match := _LIST.fullmatch(token):
        return ListSpec(match[1], match[2], match[3] or "", int(match[4]))
    return None
