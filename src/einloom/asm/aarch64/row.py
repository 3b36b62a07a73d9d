"""The notation of the rows, and a row bound to one variant: a form.

    fmla  Vd.T Vn.T Vm.s[HL]  | 0 Q 0 01111 10 L m:5 0001 H 0 n:5 d:5  | T=s

Mnemonic, operands, then the 32 bits as the manual draws them, most significant first: constants, fields of one bit
(`Q`), fields of several (`m:5`). The third column says over what the row varies, which operands must differ (`n!=t`),
and which extension it needs (`+lse`). Source of the bits: Arm Architecture Reference Manual for A-profile, chapter C.

Variables: `R` W or X registers; `F` S or D scalars; `Y` any register that a load takes; `T` an arrangement, from which
follow `Ta` (elements twice as long), `Tp` (half as many of them), `E` (a scalar or lane of one element), `L` (a scalar
twice as long), `G` (the general register for one element). `T=bhs` means 8b 16b 4h 8h 2s 4s; the letter d adds 2d,
the digit 1 adds 1d; `T=4h,2s` names arrangements one by one.

Not here: what each operand does to the bits (`registers`, `immediates`, `addresses`, `names`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import NamedTuple

from einloom.asm.aarch64.operands import ELEMENT_BYTES

__all__ = ["Form", "Row", "parse_row"]

_ARRANGEMENTS = {"b": ("8b", "16b"), "h": ("4h", "8h"), "s": ("2s", "4s"), "d": ("2d",), "1": ("1d",)}
_DEFAULTS = {"R": ("w", "x"), "F": ("s", "d"), "Y": tuple("wxbhsdq")}
_TRANSFERS = {  # size, V, q: loads and stores of one register; pair: of two; literal: loads relative to the code
    "w": {"size": 2, "V": 0, "q": 0, "pair": 0, "literal": 0},
    "x": {"size": 3, "V": 0, "q": 0, "pair": 2, "literal": 1},
    "b": {"size": 0, "V": 1, "q": 0},
    "h": {"size": 1, "V": 1, "q": 0},
    "s": {"size": 2, "V": 1, "q": 0, "pair": 0, "literal": 0},
    "d": {"size": 3, "V": 1, "q": 0, "pair": 1, "literal": 1},
    "q": {"size": 0, "V": 1, "q": 1, "pair": 2, "literal": 2},
}


class Row(NamedTuple):
    """One line of the tables, taken apart but not yet compiled."""

    mnemonic: str
    operands: tuple[str, ...]
    bits: str
    variables: tuple[tuple[str, tuple[str, ...]], ...]
    distinct: tuple[tuple[str, str], ...]
    features: tuple[str, ...]

    def bindings(self) -> Iterator[dict[str, str]]:
        """Yield every choice of the row's variables, such as {"T": "4s"}."""
        names = [name for name, _ in self.variables]
        for values in product(*(values for _, values in self.variables)):
            yield dict(zip(names, values))

    def __str__(self) -> str:
        text = f"{self.mnemonic} {', '.join(self.operands)}"
        choices = "; ".join(f"{name} is {' '.join(values)}" for name, values in self.variables)
        return f"{text:<44} {choices}".rstrip()


class Form(NamedTuple):
    """A row with its variables bound: the constant bits, and where each field of the operands lies."""

    mnemonic: str
    features: tuple[str, ...]
    row: Row
    binding: Mapping[str, str]
    base: int
    fields: Mapping[str, tuple[int, int]]  # name: (lowest bit, width)

    # Forms are told apart by what they are, not by what they hold: code names the same few over and over.
    __eq__, __ne__, __hash__ = object.__eq__, object.__ne__, object.__hash__

    @classmethod
    def of(cls, row: Row, binding: Mapping[str, str], vector: bool = False) -> Form:
        """Compile a row's bits for one choice of its variables; `vector` adds the feature "neon"."""
        constants = _constants(binding)
        base, fields, position = 0, {}, 32
        for token in row.bits.split():
            if token[0] in "01":
                position -= len(token)
                base |= int(token, 2) << position
                continue
            name, _, width = token.partition(":")
            position -= int(width or 1)
            base |= constants.get(name, 0) << position
            fields[name] = position, int(width or 1)
        assert position == 0, f"a row of {32 - position} bits: {row.mnemonic} {row.bits}"
        return cls(row.mnemonic, (*row.features, "neon") if vector else row.features, row, binding, base, fields)

    def place(self, name: str) -> int:
        """Return the lowest bit of a field."""
        return self.fields[name][0]

    def has(self, name: str) -> bool:
        """Whether the row draws this field."""
        return name in self.fields

    @property
    def register_bits(self) -> int:
        """Width of the general registers that R stands for."""
        return 32 if self.binding.get("R") == "w" else 64

    @property
    def element_bits(self) -> int:
        """Width of one element of T or E."""
        return 8 * ELEMENT_BYTES[element(self.binding)]

    @property
    def transfer_bytes(self) -> int:
        """Bytes that one register of Y moves."""
        return {"w": 4, "x": 8}.get(self.binding["Y"]) or ELEMENT_BYTES[self.binding["Y"]]


def element(binding: Mapping[str, str]) -> str:
    """Return the letter of the element that a binding is about: of E, or of T."""
    return binding.get("E") or binding["T"][-1]


def _constants(binding: Mapping[str, str]) -> dict[str, int]:
    """Return the fields that the variables determine, under the names that rows give them."""
    made: dict[str, int] = {}
    if "R" in binding:
        made["sf"] = int(binding["R"] == "x")
        made["wf"] = 1 - made["sf"]
    if "F" in binding:
        made["type"] = made["sz"] = int(binding["F"] == "d")
    if "Y" in binding:
        made |= _TRANSFERS[binding["Y"]]
    if "T" in binding or "E" in binding:
        log = "bhsd".index(element(binding))
        made |= {"size": log, "imm5": 1 << log, "immhb": 8 << log, "lane": min(log, 2)}
        made |= {"sz": max(log - 2, 0), "sn": max(log - 1, 0)}
    if "T" in binding:
        made["Q"] = int(binding["T"] in ("16b", "8h", "4s", "2d"))
    return made


def parse_row(line: str) -> Row:
    """Return the row that a line of the tables says."""
    left, bits, options = (*line.split(" | "), "")[:3]
    mnemonic, *operands = left.split()
    chosen = {name: _values(name, text) for name, text in _pairs(options)}
    for name in _DEFAULTS:
        if name not in chosen and any(token[0] == name for token in operands):
            chosen[name] = _DEFAULTS[name]
    distinct = tuple((a, b) for a, _, b in (word.partition("!=") for word in options.split()) if b)
    features = tuple(word[1:] for word in options.split() if word[0] == "+")
    return Row(mnemonic, tuple(operands), bits, tuple(chosen.items()), distinct, features)


def _pairs(options: str) -> Iterator[tuple[str, str]]:
    for word in options.split():
        name, equals, text = word.partition("=")
        if equals and name[-1] != "!":
            yield name, text


def _values(name: str, text: str) -> tuple[str, ...]:
    if "," in text:
        return tuple(text.split(","))
    return tuple(value for letter in text for value in (_ARRANGEMENTS[letter] if name == "T" else (letter,)))
