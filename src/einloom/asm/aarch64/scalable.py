"""How rows write the operands of SVE and SME, and where their numbers go.

`Zd.E` `Zn,m.d` `{Zt.s*1}`   a vector of elements, in one field or two, or as a list
`=Zd.E`                      the vector that an earlier operand is, once more
`Pd.E` `Pg` `Pg/z` `Pg/m`    a predicate of elements, or one that governs
`ZAa.s` `ZAah.s[w,o]` `{ZA}` a tile; its row by the fields of w12 to w15 and an offset; all tiles
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from einloom.asm.aarch64 import scalable_operands as o
from einloom.asm.aarch64.registers import Kind, Put
from einloom.asm.aarch64.row import Form
from einloom.errors import EncodingError

__all__ = ["ScalableSpec", "scalable_spec"]


class ScalableSpec(NamedTuple):
    """A register of a kind that `view` picks; E stands for the variable's element.

    Attributes:
        classes: the kinds of register by view.
        fields: that take its number.
        view: of the register.
        row: fields of a tile's row number.
        listed: whether it is a list of one.
        repeats: whether an earlier operand has set the field, to the same number.
    """

    classes: Mapping[str, type]
    fields: tuple[str, ...]
    view: str
    row: tuple[str, ...] = ()
    listed: bool = False
    repeats: bool = False

    def accepts(self, kind: Kind, binding: Mapping[str, str]) -> bool:
        """Whether an operand of this kind goes here."""
        wanted = self.classes[self.view.replace("E", binding.get("E", ""))]
        return kind == ((wanted, 1) if self.listed else wanted)

    def put(self, form: Form, kind: Kind) -> Put:
        """Return what sets the fields."""
        places = [form.fields[field] for field in self.fields]
        rows = [form.fields[field] for field in self.row]

        def put(word: int, operand: Any) -> int:
            register = operand[0] if self.listed else operand
            if self.repeats and word >> places[0][0] & 31 != register.number:
                raise EncodingError(f"{register}: only the first operand goes here once more")
            for shift, width in places:
                word |= _fitting(register, register.number, width) << shift
            for (shift, width), value in zip(rows, (register.index, register.offset) if rows else ()):
                word |= _fitting(register, value, width) << shift
            return word

        return put


def _fitting(register: Any, value: int, width: int) -> int:
    if 0 <= value < 1 << width:
        return value
    raise EncodingError(f"{register}: {value} is not 0 to {(1 << width) - 1}")


_VECTOR = re.compile(r"(=?)Z([a-z](?:,[a-z])*)\.([Ebhsd])")
_LIST = re.compile(r"\{Z([a-z])\.([sd])\*1\}")
_PREDICATE = re.compile(r"P([a-z])(\.[Ebsd]|/[zm])?")
_TILE = re.compile(r"ZA([a-z])\.([sd])")
_ROW = re.compile(r"ZA([a-z])h\.([sd])\[([a-z]),([a-z])\]")


def scalable_spec(token: str) -> ScalableSpec | None:
    """Return what a row's token says, or None if it speaks of something else."""
    if token == "{ZA}":
        return ScalableSpec({"": type(o.za)}, (), "", listed=True)
    if match := _VECTOR.fullmatch(token):
        return ScalableSpec(o.SCALABLE, tuple(match[2].split(",")), match[3], repeats=bool(match[1]))
    if match := _LIST.fullmatch(token):
        return ScalableSpec(o.SCALABLE, (match[1],), match[2], listed=True)
    if match := _PREDICATE.fullmatch(token):
        return ScalableSpec(o.PREDICATES, (match[1],), match[2] or "")
    if match := _TILE.fullmatch(token):
        return ScalableSpec(o.TILES, (match[1],), match[2])
    if match := _ROW.fullmatch(token):
        return ScalableSpec(o.TILE_ROWS, (match[1],), match[2], (match[3], match[4]))
    return None
