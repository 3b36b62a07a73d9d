"""A small model of AMX: machine code, decoded by iced-x86, is carried out in Python, on memory whose bounds it knows.

It has the tiles as Intel SDM volume 2 describes them (LDTILECFG, TILELOADD, TILESTORED, TDPBF16PS, TDPBSSD, …), the few
scalar instructions around them, and refuses everything else: a kernel of another instruction fails. Tests thereby check
kernels that this processor may not be able to run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import iced_x86 as iced
import numpy as np

__all__ = ["Fault", "Memory", "TileProcessor"]

CODE, STACK, RETURN = 0x10000, 0x7FF000, 0xDEAD0000
MOST_ROWS, MOST_BYTES, TILES = 16, 64, 8
WORD = (1 << 64) - 1


class Fault(AssertionError):
    """What the processor would have refused, or what reads or writes beyond an operand."""


class Memory:
    """Operands at addresses of their own, far apart; whatever lies between them is not there."""

    def __init__(self) -> None:
        self._parts: list[tuple[int, np.ndarray[Any, np.dtype[np.uint8]]]] = []

    def place(self, address: int, values: Any) -> int:
        """Let an array lie at an address; return the address."""
        self._parts.append((address, values.view(np.uint8).reshape(-1)))
        return address

    def part(self, address: int, size: int) -> Any:
        """Return the bytes at an address, which may be written.

        Raises:
            Fault: they are no part of one operand.
        """
        for begin, content in self._parts:
            if begin <= address and address + size <= begin + len(content):
                return content[address - begin : address - begin + size]
        raise Fault(f"{size} bytes at {address:#x} belong to no operand")


class TileProcessor:
    """One run of a function.

    Args:
        code: the function and its constants.
        memory: what it may touch.
    """

    def __init__(self, code: bytes, memory: Memory) -> None:
        self.memory = memory
        self.registers = dict.fromkeys(range(16), 0)
        self.zero = False
        self.shapes: list[tuple[int, int]] | None = None
        self.tiles: list[Any] = []
        self.executed: set[str] = set()
        memory.place(CODE, np.frombuffer(code, np.uint8))
        memory.place(STACK - 4096, np.zeros(8192, np.uint8))
        self._code = code
        self._known: dict[int, iced.Instruction] = {}

    def call(self, *arguments: int) -> None:
        """Call the function at the beginning of the code, by the calling convention of System V."""
        for number, value in zip((7, 6, 2, 1, 8, 9), arguments):  # rdi, rsi, rdx, rcx, r8, r9
            self.registers[number] = value
        self.registers[4] = STACK
        self._push(RETURN)
        self.ip = CODE
        while self.ip != RETURN:
            instruction = self._decoded(self.ip)
            self.ip = instruction.next_ip
            name = _NAMES[instruction.mnemonic]
            self.executed.add(name)
            carry_out = _MEANINGS.get(name)
            if carry_out is None:
                raise Fault(f"the model does not know {instruction}")
            carry_out(self, instruction)
        if self.registers[4] != STACK or self.shapes is not None:
            raise Fault("the function left something on the stack, or tiles in use")

    def _decoded(self, address: int) -> iced.Instruction:
        if address not in self._known:
            decoder = iced.Decoder(64, self._code[address - CODE :], ip=address)
            self._known[address] = decoder.decode()
        return self._known[address]

    # Scalar operands

    def value(self, instruction: iced.Instruction, operand: int) -> int:
        """Return what an operand holds."""
        kind = instruction.op_kind(operand)
        if kind == iced.OpKind.REGISTER:
            return self.registers[_number(instruction.op_register(operand))]
        if kind == iced.OpKind.MEMORY:
            return int(self.memory.part(self.address(instruction), 8).view(np.uint64)[0])
        return int(instruction.immediate(operand)) & WORD

    def assign(self, instruction: iced.Instruction, operand: int, value: int) -> None:
        """Set an operand, all 64 bits of a register; the flag says whether it is 0."""
        value &= WORD
        self.zero = value == 0
        if instruction.op_kind(operand) == iced.OpKind.REGISTER:
            self.registers[_number(instruction.op_register(operand))] = value
        else:
            self.memory.part(self.address(instruction), 8).view(np.uint64)[0] = value

    def address(self, instruction: iced.Instruction) -> int:
        """Return the address of the operand in memory, without an index."""
        if instruction.is_ip_rel_memory_operand:
            return int(instruction.ip_rel_memory_address)
        return self.registers[_number(instruction.memory_base)] + instruction.memory_displacement & WORD

    def _push(self, value: int) -> None:
        self.registers[4] -= 8
        self.memory.part(self.registers[4], 8).view(np.uint64)[0] = value

    def _pop(self) -> int:
        value = int(self.memory.part(self.registers[4], 8).view(np.uint64)[0])
        self.registers[4] += 8
        return value

    def mov(self, instruction: iced.Instruction) -> None:
        """Copy; flags stay."""
        zero = self.zero
        self.assign(instruction, 0, self.value(instruction, 1))
        self.zero = zero

    def add(self, instruction: iced.Instruction) -> None:
        """Add."""
        self.assign(instruction, 0, self.value(instruction, 0) + self.value(instruction, 1))

    def sub(self, instruction: iced.Instruction) -> None:
        """Subtract."""
        self.assign(instruction, 0, self.value(instruction, 0) - self.value(instruction, 1))

    def dec(self, instruction: iced.Instruction) -> None:
        """Subtract 1."""
        self.assign(instruction, 0, self.value(instruction, 0) - 1)

    def compare(self, instruction: iced.Instruction) -> None:
        """Compare: `test` of a register with itself, `cmp` with 0 or another number."""
        first, second = self.value(instruction, 0), self.value(instruction, 1)
        is_test = instruction.mnemonic == iced.Mnemonic.TEST
        self.zero = (first & second if is_test else first - second) & WORD == 0

    def jump(self, instruction: iced.Instruction) -> None:
        """Jump, if the flag says so."""
        name = _NAMES[instruction.mnemonic]
        if name == "jmp" or self.zero == (name == "je"):
            self.ip = instruction.near_branch_target

    def pass_by(self, instruction: iced.Instruction) -> None:
        """Do nothing, as prefetches do, wherever they point."""

    def push(self, instruction: iced.Instruction) -> None:
        """Push a register."""
        self._push(self.value(instruction, 0))

    def pop(self, instruction: iced.Instruction) -> None:
        """Pop a register; flags stay."""
        self.registers[_number(instruction.op0_register)] = self._pop()

    def ret(self, instruction: iced.Instruction) -> None:
        """Return."""
        self.ip = self._pop()

    # Tiles

    def configure(self, instruction: iced.Instruction) -> None:
        """LDTILECFG: palette 1; rows and bytes of a row of eight tiles, all zero or neither; tiles become zero."""
        block = bytes(self.memory.part(self.address(instruction), 64))
        sizes = [int.from_bytes(block[16 + 2 * i : 18 + 2 * i], "little") for i in range(16)]
        shapes = list(zip(block[48:64], sizes))
        if block[0] != 1 or any(block[1:16]) or any(shape != (0, 0) for shape in shapes[TILES:]):
            raise Fault(f"no configuration of palette 1: {block.hex()}")
        if any(rows > MOST_ROWS or size > MOST_BYTES or (rows == 0) != (size == 0) for rows, size in shapes):
            raise Fault(f"tiles of these rows and bytes do not exist: {shapes}")
        self.shapes = shapes[:TILES]
        self.tiles = [np.zeros((MOST_ROWS, MOST_BYTES), np.uint8) for _ in range(TILES)]

    def release(self, instruction: iced.Instruction) -> None:
        """TILERELEASE: no tile has a shape any more."""
        self.shapes, self.tiles = None, []

    def tile(self, register: int) -> tuple[int, int, int]:
        """Return number, rows and bytes of a row of a tile register."""
        number = register - iced.Register.TMM0
        if self.shapes is None or self.shapes[number] == (0, 0):
            raise Fault(f"tile {number} is not configured")
        return number, *self.shapes[number]

    def clear(self, instruction: iced.Instruction) -> None:
        """TILEZERO."""
        number, _, _ = self.tile(instruction.op0_register)
        self.tiles[number][:] = 0

    def _rows(self, instruction: iced.Instruction, rows: int, size: int) -> list[Any]:
        """Return the rows of a tile in memory: the index register holds the distance between them."""
        stride = self.registers[_number(instruction.memory_index)] * instruction.memory_index_scale
        return [self.memory.part(self.address(instruction) + row * stride & WORD, size) for row in range(rows)]

    def load(self, instruction: iced.Instruction) -> None:
        """TILELOADD: bytes behind a row, and rows behind the tile's, become zero."""
        number, rows, size = self.tile(instruction.op0_register)
        self.tiles[number][:] = 0
        for row, content in enumerate(self._rows(instruction, rows, size)):
            self.tiles[number][row, :size] = content

    def store(self, instruction: iced.Instruction) -> None:
        """TILESTORED."""
        number, rows, size = self.tile(instruction.op1_register)
        for row, content in enumerate(self._rows(instruction, rows, size)):
            content[:] = self.tiles[number][row, :size]

    def multiply(self, instruction: iced.Instruction) -> None:
        """TDP…: an element of the first tile += the sums of products of groups of 4 bytes of the two others."""
        (total, m, n), (first, rows, depth), (second, groups, columns) = (
            self.tile(instruction.op_register(operand)) for operand in range(3)
        )
        if (m, n) != (rows, columns) or depth != 4 * groups or len({total, first, second}) != 3:
            raise Fault(f"tiles of {m} x {n}, {rows} x {depth} and {groups} x {columns} bytes do not multiply")
        types = _PRODUCTS[_NAMES[instruction.mnemonic]]
        sums = self.tiles[total][:m, :n].view(np.float32 if types is None else np.int32)
        left, right = self.tiles[first][:m, :depth], self.tiles[second][:groups, :n]
        if types is None:
            halves = (tile.view(np.uint16).astype(np.uint32) << 16 for tile in (left, right))
            numbers = [half.view(np.float32) for half in halves]
        else:
            numbers = [tile.view(dtype).astype(np.int32) for tile, dtype in zip((left, right), types)]
        group = 2 if types is None else 4
        a = numbers[0].reshape(m, groups, group)
        b = numbers[1].reshape(groups, n // 4, group)
        parts = [
            sum((a[:, k, None, g] * b[None, k, :, g] for k in range(groups)), np.zeros_like(sums)) for g in range(group)
        ]
        sums += sum(parts[1:], parts[0])


def _number(register: Any) -> int:
    """Return the number of a general register, whichever of its widths is named: writing 32 bits clears the others."""
    return iced.RegisterExt.number(register)


_NAMES = {value: name.lower() for name, value in vars(iced.Mnemonic).items() if isinstance(value, int)}
_SIGNED, _UNSIGNED = np.int8, np.uint8
_PRODUCTS = {
    "tdpbf16ps": None,
    "tdpbssd": (_SIGNED, _SIGNED),
    "tdpbsud": (_SIGNED, _UNSIGNED),
    "tdpbusd": (_UNSIGNED, _SIGNED),
    "tdpbuud": (_UNSIGNED, _UNSIGNED),
}
"""Types of the bytes of both factors; None: pairs of bfloat16."""

_MEANINGS: dict[str, Callable[[TileProcessor, iced.Instruction], None]] = {
    "mov": TileProcessor.mov,
    "add": TileProcessor.add,
    "sub": TileProcessor.sub,
    "dec": TileProcessor.dec,
    "test": TileProcessor.compare,
    "cmp": TileProcessor.compare,
    "jmp": TileProcessor.jump,
    "je": TileProcessor.jump,
    "jne": TileProcessor.jump,
    "push": TileProcessor.push,
    "pop": TileProcessor.pop,
    "ret": TileProcessor.ret,
    "ldtilecfg": TileProcessor.configure,
    "tilerelease": TileProcessor.release,
    "tilezero": TileProcessor.clear,
    "tileloadd": TileProcessor.load,
    "tileloaddt1": TileProcessor.load,
    **dict.fromkeys(("prefetcht0", "prefetcht1", "prefetchw"), TileProcessor.pass_by),
    "tilestored": TileProcessor.store,
    **dict.fromkeys(_PRODUCTS, TileProcessor.multiply),
}
