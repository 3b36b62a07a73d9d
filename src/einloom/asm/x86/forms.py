"""Rows of x86-64 instructions read into forms: operands, encoding, feature, in the notation of Intel's manual.

    vfmadd231ps  xyz{kz}  xyz  xyz/m/b4{er}  | EVEX.66.0F38.W0 B8 /r RVM  | avx512f

- Letters stand for registers: b w d q general ones of 8 to 64 bits, x y z vectors, k masks. A group of letters makes one
  form for each of its places: `xyz xxy` is `x x`, `y x` and `z y`.
- `/m` memory of the register's size, `/m32` of 32 bits, `/mh /mq /me` of a half, quarter, eighth of the vector; `b4` one
  broadcast element of 4 bytes; `@8`: displacements count in 8 bytes where that is not the access's size (EVEX's disp8*N);
  `m0` an address that is not read; `vxyz` a vector of addresses.
- `{k}` may merge, `{kz}` may merge or zero, `{k!}` must merge; `{er}`, `{sae}` embedded rounding, on 512 bits or scalars.
- `i8` and `i16` any 8 or 16 bits, `s8`, `s32` sign-extended, `iz` as wide as the operands up to 32 bits, `i64`; `rel8`,
  `rel32` a label; `cl` and `1` stand for themselves.
- The encoding ends with a letter an operand: R modrm.reg, V vvvv, M modrm.rm, S bits 7 to 4 of the immediate byte, I immediate,
  O low bits of the opcode, D label, C implied. Where the manual has no W0, W1 or WIG but `W`, the letter q sets it; in
  legacy encodings w stands for prefix 66 and q for REX.W, unless D64 says that 64 bits are the default.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from einloom.asm.x86.addresses import Address
from einloom.errors import EncodingError

GENERAL = {"b": 1, "w": 2, "d": 4, "q": 8}
VECTORS = {"x": 16, "y": 32, "z": 64}
REGISTER_SIZES = GENERAL | VECTORS | {"k": 8}
FRACTIONS = {"h": 2, "q": 4, "e": 8}
IMMEDIATES = {
    "i8": (-(1 << 7), (1 << 8) - 1),
    "s8": (-(1 << 7), (1 << 7) - 1),
    "i16": (-(1 << 15), (1 << 16) - 1),
    "i32": (-(1 << 31), (1 << 32) - 1),
    "s32": (-(1 << 31), (1 << 31) - 1),
    "i64": (-(1 << 63), (1 << 64) - 1),
}
# A row's mark for a write mask, and what it lets follow the kind of a register; of memory, which is never zeroed.
MASKS = {"": ("",), "{k}": ("", "{k}"), "{kz}": ("", "{k}", "{kz}"), "{k!}": ("{k}",)}
STORES = {"": ("",), "{k}": ("", "{k}"), "{kz}": ("", "{k}"), "{k!}": ("{k}",)}
REGISTER_NAMES = {"b": "r8", "w": "r16", "d": "r32", "q": "r64", "x": "xmm", "y": "ymm", "z": "zmm", "k": "k"}


@dataclass(frozen=True, slots=True)
class Slot:
    """One operand of a form: the kinds it takes, and how they are encoded. Sizes in bytes."""

    notation: str  # as errors show it: xmm/m128
    kinds: frozenset[str]
    role: str = ""  # the letter of the encoding: R V M S I O D C
    memory: int = 0  # bytes that the instruction reaches; 0 for an address that is not read
    element: int = 0  # bytes of one broadcast element
    unit: int = 1  # what an EVEX disp8 counts in
    low: int = 0  # least and greatest immediate
    high: int = 0
    width: int = 0  # bytes of the immediate or of the jump's distance
    literal: str = ""  # the one register or number that it takes


@dataclass(frozen=True, slots=True)
class Form:
    """One form of an instruction: one vector length or register width of a row."""

    mnemonic: str
    slots: tuple[Slot, ...]
    encoding: Encoding
    features: tuple[str, ...]
    length: int  # of the longest vector in bytes; 0 without vectors
    letters: str  # of the operands' first alternatives
    rounding: str = ""  # "{er}" or "{sae}" where the form takes one

    @property
    def notation(self) -> str:
        """The form as errors list it: `vaddps xmm, xmm, xmm/m128`."""
        operands = [slot.notation for slot in self.slots]
        return f"{self.mnemonic} {', '.join(operands)}{self.rounding}".rstrip()

    def accepts(self, kinds: tuple[str, ...]) -> bool:
        """Whether operands of these kinds belong to this form; values of immediates are looked at later."""
        if self.rounding and len(kinds) == len(self.slots) + 1:
            registers = not any(kind[0] in "mv" for kind in kinds)
            return registers and kinds[-1] == self.rounding and self.accepts(kinds[:-1])
        return len(kinds) == len(self.slots) and all(kind in slot.kinds for kind, slot in zip(kinds, self.slots))

    def text(self, operands: tuple[Any, ...]) -> str:
        """Return the instruction in Intel's notation."""
        parts = [self._operand(slot, operand) for slot, operand in zip(self.slots, operands)]
        if len(operands) > len(self.slots):
            last = self.slots[-1]
            vector = last.role != "I" and not last.kinds & {"d", "q"}
            parts.insert(len(parts) - (not vector), str(operands[-1]))
        return f"{self.mnemonic} {', '.join(parts)}".rstrip()

    def _operand(self, slot: Slot, operand: Any) -> str:
        if not isinstance(operand, Address):
            return getattr(operand, "name", None) or str(operand)
        broadcast = "b" in operand.kind
        text = operand.text(slot.element if broadcast else slot.memory)
        if broadcast:
            text += f"{{1to{slot.memory // slot.element}}}"
        return f"{text} {{{operand.mask}}}" if operand.mask else text


@dataclass(frozen=True, slots=True)
class Encoding:
    """The second column of a row."""

    space: str  # "" (legacy), "VEX" or "EVEX"
    prefix: str  # "", "66", "F3", "F2"
    map: str  # "0F", "0F38", "0F3A"; "" in legacy rows, whose opcode has these bytes
    wide: str  # "W0", "W1", "WIG"; "W" or "" for "from the letter q"
    length: int  # L as the row states it, or -1
    opcode: bytes
    extension: int  # /0 to /7, or -1
    default64: bool
    immediate: str  # ib, iw, id, iq, iz, cb, cd
    roles: str


ENCODING = re.compile(
    r"(?:(?P<space>E?VEX)\.(?:(?P<prefix>66|F3|F2)\.)?(?P<map>0F(?:38|3A)?)\.(?:L(?P<length>[012])\.)?(?P<wide>W[01]?|WIG) )?"
    r"(?P<opcode>[0-9A-F]{2}(?: [0-9A-F]{2})*)(?:\+r)?(?: /(?P<extension>[0-7r]))?(?P<default64> D64)?"
    r"(?: (?P<immediate>i[bwdqz]|c[bd]|/is4))?(?: (?P<roles>[RVMSIODC]+))?"
)


@cache
def parse_encoding(text: str) -> Encoding:
    """Return the second column of a row, parsed."""
    match = ENCODING.fullmatch(text)
    if match is None:
        raise EncodingError(f"no encoding: {text!r}")
    part = match.groupdict()
    opcode, prefix = bytes.fromhex(part["opcode"]), part["prefix"] or ""
    if not part["space"] and len(opcode) > 1 and opcode[0] in (0x66, 0xF2, 0xF3):
        prefix, opcode = f"{opcode[0]:02X}", opcode[1:]
    return Encoding(
        space=part["space"] or "",
        prefix=prefix,
        map=part["map"] or "",
        wide=part["wide"] or "",
        length=int(part["length"] or -1),
        opcode=opcode,
        extension=-1 if part["extension"] in (None, "r") else int(part["extension"]),
        default64=bool(part["default64"]),
        immediate=part["immediate"] or "",
        roles=part["roles"] or "",
    )


def parse_row(row: str) -> list[Form]:
    """Return the forms of a row, one for each place of its letter groups."""
    left, encoding_text, features = (column.strip() for column in row.split("|"))
    mnemonic, *tokens = left.split()
    encoding = parse_encoding(encoding_text)
    count = max((len(group) for group in map(_letters, tokens)), default=1) or 1
    return [_form(mnemonic, tokens, encoding, features, place) for place in range(count)]


def _form(mnemonic: str, tokens: list[str], encoding: Encoding, features: str, place: int) -> Form:
    groups = [_letters(token) for token in tokens]
    letters = [group and group[place if len(group) > 1 else 0] for group in groups]
    length = max((VECTORS.get(letter, 0) for letter in letters), default=0)
    width = max((GENERAL.get(letter, 0) for letter in letters), default=0)
    # A vector whose length the row leaves open may need AVX-512VL; a scalar, written `x`, does not.
    short = length < 64 and any(len(group) > 1 and group[0] in VECTORS for group in groups)
    needed = tuple(features.split("/")[place if "/" in features else 0].replace("-", "").split())
    if encoding.space == "EVEX" and short:
        needed += ("avx512vl",)
    rounding = "" if short else next((mark for mark in ("{er}", "{sae}") if any(mark in token for token in tokens)), "")
    slots = tuple(
        _slot(token, letter, length or width, role) for token, letter, role in zip(tokens, letters, encoding.roles)
    )
    return Form(mnemonic, slots, encoding, needed, length, "".join(letters), rounding)


@cache
def _letters(token: str) -> str:
    """Return the register letters of an operand's token, "" if it names no register."""
    body = token.partition("{")[0].partition("@")[0].split("/")[0].removeprefix("v")
    return body if all(letter in REGISTER_SIZES for letter in body) else ""


@cache
def _slot(token: str, letter: str, size: int, role: str) -> Slot:
    """Return one operand of a form; `size` is that of the form's vectors or, without vectors, its general registers."""
    if role == "C":
        return Slot(token, frozenset(["i" if token.isdigit() else "b"]), role, literal=token)
    if role == "I":
        return _immediate_slot({2: "i16", 4: "i32", 8: "s32"}[size] if token == "iz" else token)
    if role == "D":
        return Slot(token, frozenset(["rel"]), role, width=int(token[3:]) // 8)
    body, mask = token, ""
    for mark in MASKS:
        if mark in body:
            body, mask = body.replace(mark, ""), mark
    return _place_slot(body.partition("{")[0].split("/"), mask, letter, size, role)


def _immediate_slot(token: str) -> Slot:
    low, high = IMMEDIATES[token]
    return Slot(token, frozenset("i"), "I", low=low, high=high, width=int(token[1:]) // 8)


def _place_slot(parts: list[str], mask: str, letter: str, size: int, role: str) -> Slot:
    """Return the slot of a register, a memory access, or either."""
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
