"""The notation of rows: what an operand's token takes, place by place of its letter group, and how it is encoded.

    vfmadd231ps  xyz{kz}  xyz  xyz/m/b4{er}  | EVEX.66.0F38.W0 B8 /r RVM  | avx512f

Operands, the first column:
- Letters stand for registers: b w d q general ones of 8 to 64 bits, x y z vectors, k masks, t tiles. A group of letters
  makes one form for each of its places: `xyz xxy` is `x x`, `y x` and `z y`.
- `/m` memory of the register's size, `/m32` of 32 bits, `/mh /mq /me` of a half, quarter, eighth of the vector; `b4`
  one broadcast element of 4 bytes; `@8` says that EVEX displacements count in 8 bytes, where the access has another
  size; `m0` an address that is not read; `vxyz` a vector of addresses.
- `{k}` may merge, `{kz}` may merge or zero, `{k!}` must merge; `{er}` and `{sae}` embedded rounding, at 512 bits or
  for scalars.
- `i8` and `i16` any 8 or 16 bits, `s8` and `s32` sign-extended, `iz` as wide as the operands up to 32 bits, `i64`;
  `rel8` and `rel32` a label; `cl` and `1` stand for themselves.

Encoding, the second: as in Intel's manual (SDM volume 2A, 3.1.1), closed by one letter for each operand: R modrm.reg,
V vvvv, M modrm.rm, S bits 7 to 4 of the last byte, I immediate, O low bits of the opcode, D label, C implied. `W`
instead of W0, W1 or WIG: the letter q sets it. In legacy encodings w stands for prefix 66 and q for REX.W, except
after D64.

Features, the third: alternatives by place behind `/`, `-` for none. AVX-512VL follows from a short place of a group.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

GENERAL = {"b": 1, "w": 2, "d": 4, "q": 8}
VECTORS = {"x": 16, "y": 32, "z": 64}
REGISTER_SIZES = GENERAL | VECTORS | {"k": 8, "t": 0}
REGISTER_NAMES = {
    "b": "r8",
    "w": "r16",
    "d": "r32",
    "q": "r64",
    "x": "xmm",
    "y": "ymm",
    "z": "zmm",
    "k": "k",
    "t": "tmm",
}
FRACTIONS = {"h": 2, "q": 4, "e": 8}
IMMEDIATES = {
    "i8": (-(1 << 7), (1 << 8) - 1),
    "s8": (-(1 << 7), (1 << 7) - 1),
    "i16": (-(1 << 15), (1 << 16) - 1),
    "i32": (-(1 << 31), (1 << 32) - 1),
    "s32": (-(1 << 31), (1 << 31) - 1),
    "i64": (-(1 << 63), (1 << 64) - 1),
}
IZ = {2: "i16", 4: "i32", 8: "s32"}
# A row's mark for a write mask, and what it lets follow the kind of a register; of memory, which is never zeroed.
MASKS = {"": ("",), "{k}": ("", "{k}"), "{kz}": ("", "{k}", "{kz}"), "{k!}": ("{k}",)}
STORES = {"": ("",), "{k}": ("", "{k}"), "{kz}": ("", "{k}"), "{k!}": ("{k}",)}
ROUNDINGS = ("{er}", "{sae}")
ANYWHERE = -1  # a set of places, as bits, with all of them


class Slot(NamedTuple):
    """One operand of a form: the kinds it takes, and how they are encoded. Sizes in bytes."""

    notation: str  # as errors show it: xmm/m128
    kinds: frozenset[str]
    role: str  # the letter of the encoding: R V M S I O D C
    memory: int = 0  # bytes that the instruction reaches; 0 for an address that is not read
    element: int = 0  # bytes of one broadcast element
    unit: int = 1  # what an EVEX disp8 counts in
    low: int = 0  # least and greatest immediate
    high: int = 0
    width: int = 0  # bytes of the immediate or of the jump's distance
    literal: str = ""  # the one register or number that it takes


class Shape(NamedTuple):
    """The operands of a form: of one place of a row."""

    slots: tuple[Slot, ...]
    letters: str  # of the registers, one each
    length: int  # of the longest vector in bytes; 0 without vectors
    short: bool  # whether the row has longer vectors too
    rounding: str  # "{er}", "{sae}" or ""


@cache
def letters_of(token: str) -> str:
    """Return the register letters of an operand's token, "" if it names no register."""
    body = token.partition("{")[0].partition("@")[0].partition("/")[0].removeprefix("v")
    return body if body.strip("bwdqxyzkt") == "" else ""


@cache
def places_of(token: str, kind: str) -> int:
    """Return the places (bits) at which a token may take an operand of this kind; `Form.accepts` knows the rest."""
    first = kind[0]
    if first == "i":
        return ANYWHERE if token in IMMEDIATES or token == "iz" or token.isdigit() else 0
    if first == "m":
        registers, memory, size = token.partition("/m")
        if kind[1:].isdigit() and memory and size[:1] in ("", "/", "{"):  # Memory of the register's size.
            return _places_where([8 * REGISTER_SIZES[letter] == int(kind[1:]) for letter in letters_of(registers)])
        return ANYWHERE if token[0] == "m" or memory else 0
    if kind == "rel" or token == "cl":
        return ANYWHERE if token.startswith("rel") or (token, kind) == ("cl", "b") else 0
    if (first == "v") != (token[0] == "v"):
        return 0
    letter, letters = kind[first == "v"], letters_of(token)
    return _places_where([candidate == letter for candidate in letters])


def _places_where(fits: list[bool]) -> int:
    """Return the places (bits) of a group of letters that fit; a letter by itself stands for all places."""
    return ANYWHERE if fits == [True] else sum(1 << place for place, fit in enumerate(fits) if fit)


@cache
def shape_of(tokens: tuple[str, ...], roles: str, place: int) -> Shape:
    """Return the operands of one form of a row."""
    groups = [letters_of(token) for token in tokens]
    letters = [group and group[place if len(group) > 1 else 0] for group in groups]
    length = max([VECTORS.get(letter, 0) for letter in letters], default=0)
    size = length or max([GENERAL.get(letter, 0) for letter in letters], default=0)
    short = length < 64 and any(len(group) > 1 and group[0] in VECTORS for group in groups)
    rounding = "" if short else next((mark for mark in ROUNDINGS if mark in " ".join(tokens)), "")
    slots = tuple(_slot(token, letter, size, role) for token, letter, role in zip(tokens, letters, roles))
    return Shape(slots, "".join(letters), length, short, rounding)


@cache
def _slot(token: str, letter: str, size: int, role: str) -> Slot:
    """Return one operand; `size` is that of the form's vectors or, without vectors, its general registers."""
    if role == "C":
        return Slot(token, frozenset(["i" if token.isdigit() else "b"]), role, literal=token)
    if role == "I":
        token = IZ[size] if token == "iz" else token
        low, high = IMMEDIATES[token]
        return Slot(token, frozenset("i"), "I", low=low, high=high, width=int(token[1:]) // 8)
    if role == "D":
        return Slot(token, frozenset(["rel"]), role, width=int(token[3:]) // 8)
    mask = next((mark for mark in MASKS if mark and mark in token), "")
    return _place(token.replace(mask, "").partition("{")[0].split("/"), mask, letter, size, role)


def _place(parts: list[str], mask: str, letter: str, size: int, role: str) -> Slot:
    """Return the operand for a register, a memory access, or either."""
    kinds: list[str] = []
    names: list[str] = []
    memory = element = unit = 0
    for part in parts:
        if part[0] == "m":
            bits, _, stated = part[1:].partition("@")
            memory = _memory_bytes(bits, letter, size)
            unit = int(stated or memory)
            names.append(f"m{8 * memory}" if memory else "m")
            kinds += (base + decoration for base in ("m", f"m{8 * memory}") for decoration in STORES[mask])
        elif part[0] == "v":
            memory = unit = int(part.partition("@")[2] or 0)
            names.append(f"vm{letter}mm")
            kinds.append(f"v{letter}{'{k}' if mask else ''}")
        elif part[1:].isdigit():
            element = int(part[1:])
            names.append(f"m{8 * element}bcst")
            kinds += ["mb", f"m{8 * memory}b"]
        else:
            names.append(REGISTER_NAMES[letter])
            kinds += (letter + decoration for decoration in MASKS[mask])
    notation = "/".join(names) + (f" {mask.replace('kz', 'k}{z').replace('!', '')}" if mask else "")
    return Slot(notation, frozenset(kinds), role, memory=memory, element=element, unit=unit or 1)


def _memory_bytes(bits: str, letter: str, size: int) -> int:
    if bits.isdigit():
        return int(bits) // 8
    return size // FRACTIONS[bits] if bits else REGISTER_SIZES.get(letter, size)
