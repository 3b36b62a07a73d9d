"""Rows of x86-64 instructions and their forms: operands, encoding, feature. The notation: `einloom.asm.x86.notation`.

>>> row = Row("vpmovsxbw  xy  xx/mh  | VEX.66.0F38.WIG 20 /r RM  | avx/avx2")
>>> [form.notation for form in row.forms()]
['vpmovsxbw xmm, xmm/m64', 'vpmovsxbw ymm, xmm/m128']
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from einloom.asm.x86.addresses import Address
from einloom.asm.x86.notation import ANYWHERE, Shape, Slot, letters_of, places_of, shape_of

BYTES = {f"{value:02X}": value for value in range(256)}
MANDATORY = (0x66, 0xF0, 0xF2, 0xF3)


class Encoding(NamedTuple):
    """The second column of a row."""

    space: str  # "" (legacy), "VEX" or "EVEX"
    prefix: str  # "", "66", "F3", "F2"; "F0" is lock
    map: str  # "0F", "0F38", "0F3A"; "" in legacy rows, whose opcode has these bytes
    wide: str  # "W0", "W1", "WIG"; "W" or "" for "from the letter q"
    length: int  # L as the row states it, or -1
    opcode: bytes
    extension: int  # /0 to /7; 0 where there is none
    default64: bool
    roles: str


class Form(NamedTuple):
    """One form of an instruction: one vector length or register width of a row."""

    mnemonic: str
    shape: Shape
    encoding: Encoding
    features: tuple[str, ...]

    # Forms are told apart by what they are, not by what they hold: code names the same few over and over.
    __eq__, __ne__, __hash__ = object.__eq__, object.__ne__, object.__hash__

    @property
    def notation(self) -> str:
        """The form as errors list it: `vaddps xmm, xmm, xmm/m128`."""
        operands = ", ".join(slot.notation for slot in self.shape.slots)
        return f"{self.mnemonic} {operands}{self.shape.rounding}".rstrip()

    def accepts(self, kinds: tuple[str, ...]) -> bool:
        """Whether operands of these kinds belong to this form; the values of immediates are looked at later."""
        slots = self.shape.slots
        if len(kinds) == len(slots) + 1:
            if kinds[-1] != self.shape.rounding or any(kind[0] in "mv" for kind in kinds):
                return False
        elif len(kinds) != len(slots):
            return False
        return all(kind in slot.kinds for kind, slot in zip(kinds, slots))

    def text(self, operands: tuple[Any, ...]) -> str:
        """Return the instruction in Intel's notation."""
        slots = self.shape.slots
        parts = [_operand_text(slot, operand) for slot, operand in zip(slots, operands)]
        if len(operands) > len(slots):  # rounding stands behind the last vector
            vector = slots[-1].role != "I" and not slots[-1].kinds & {"d", "q"}
            parts.insert(len(parts) - (not vector), str(operands[-1]))
        return f"{self.mnemonic.replace('lock_', 'lock ')} {', '.join(parts)}".rstrip()


class Row:
    """A row's line, and the forms that were asked for."""

    __slots__ = ("encoding", "features", "made", "mnemonic", "tokens")

    def __init__(self, line: str) -> None:
        left, self.encoding, self.features = line.split("|")
        self.mnemonic, *tokens = left.split()
        self.tokens = tuple(tokens)
        self.made: dict[int, Form] = {}

    def forms(self) -> list[Form]:
        """Return the forms of all places."""
        return [self.form(place) for place in self._places(ANYWHERE)]

    def candidates(self, kinds: tuple[str, ...]) -> range | list[int]:
        """Return the places whose forms may take operands of these kinds; `Form.accepts` knows."""
        if not 0 <= len(kinds) - len(self.tokens) <= 1:
            return []
        places = ANYWHERE
        for token, kind in zip(self.tokens, kinds):
            places &= places_of(token, kind)
            if not places:
                return []
        return self._places(places)

    def _places(self, places: int) -> range | list[int]:
        """Return the numbers of places that are given as bits."""
        if places == ANYWHERE:
            return range(max([len(letters_of(token)) for token in self.tokens], default=0) or 1)
        return [place for place in range(places.bit_length()) if places >> place & 1]

    def form(self, place: int) -> Form:
        """Return the form of a place."""
        form = self.made.get(place)
        if form is None:
            encoding = parse_encoding(self.encoding)
            shape = shape_of(self.tokens, encoding.roles, place)
            columns = self.features.split("/")
            features = tuple(columns[min(place, len(columns) - 1)].replace("-", "").split())
            if encoding.space == "EVEX" and shape.short:
                features += ("avx512vl",)
            form = self.made[place] = Form(self.mnemonic, shape, encoding, features)
        return form


@cache
def parse_encoding(text: str) -> Encoding:
    """Return the second column of a row, parsed."""
    space = prefix = map_ = wide = roles = ""
    length, extension, default64 = -1, 0, False
    opcode: list[int] = []
    first, *tokens = text.split()
    if "." in first:
        space, *parts = first.split(".")
        for part in parts:
            if part[0] == "W":
                wide = part
            elif part[0] == "L":
                length = int(part[1])
            elif part[:2] == "0F":
                map_ = part
            else:
                prefix = part
    else:
        tokens.insert(0, first)
    for token in tokens:
        if token == "D64":
            default64 = True
        elif token[:2] in BYTES:
            opcode.append(BYTES[token[:2]])
        elif token[0] == "/":
            extension = int(token[1]) if token[1].isdigit() else 0
        elif token.isupper():
            roles = token
    if not space and len(opcode) > 1 and opcode[0] in MANDATORY:
        prefix = f"{opcode.pop(0):02X}"
    return Encoding(space, prefix, map_, wide, length, bytes(opcode), extension, default64, roles)


def _operand_text(slot: Slot, operand: Any) -> str:
    if not isinstance(operand, Address):
        return getattr(operand, "name", None) or str(operand)
    if "b" in operand.kind:
        return f"{operand.text(slot.element)}{{1to{slot.memory // slot.element}}}"
    text = operand.text(slot.memory)
    return f"{text} {{{operand.mask}}}" if operand.mask else text
