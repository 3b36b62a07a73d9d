"""`CallLowering`: the code that calls the kernel for the sizes of the block at hand, which `kernel_spec` names.

A kernel is a function of the program's own buffer with the C calling convention. What is in it: `einloom.kernels`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

from einloom.asm import Label
from einloom.dtypes import INT32, UINT32, DType, Kind, promoted
from einloom.errors import UnsupportedTarget
from einloom.ir.nest import Call, Iteration, Loop
from einloom.kernels import Brgemm, Spec, Stream
from einloom.kernels.contraction.pairs import takes_loops
from einloom.kernels.contraction.tiled import suits_tiles
from einloom.kernels.emit import emit_kernel
from einloom.kernels.specs import PairProduct, signature
from einloom.kernels.specs.calls import is_far, kernel_spec, one_by_one
from einloom.machine import Machine
from einloom.passes.model.microarchitectures import microarchitecture_of
from einloom.targets.absorbed import Around, absorbed
from einloom.targets.ahead import Asked
from einloom.targets.leaving import LeavingLowering
from einloom.targets.loops import LoopLowering, LoopState
from einloom.targets.positions import Positions, Register
from einloom.targets.program import Place

__all__ = ["CallLowering"]


class CallLowering:
    """Code for the calls of a nest; its kernels become functions of the same buffer, one for each different spec."""

    def __init__(
        self,
        positions: Positions,
        loops: LoopLowering,
        asked: Asked | None = None,
        leaving: LeavingLowering | None = None,
    ) -> None:
        self.positions = positions
        self._asked = asked
        self._leaving = leaving
        self._loops = loops
        self._kernels: dict[Spec, Label] = {}
        self.places: list[Place] = []

    def emit(self, call: Call, around: Around = ()) -> None:
        """Emit a call: branches to the kernel that fits the sizes of the block, and takes the loops around it."""
        done = self.positions.asm.forward("called")
        self._variants(call, around, [], done)
        self.positions.asm.bind(done)

    def take(self, loop: Loop) -> bool:
        """Emit a loop as part of the kernels that it calls; return whether they take it, else nothing is emitted."""
        found = absorbed(loop, self._loops.states)
        if found is None or not found.call.primitive.is_contraction or found.call.group > 1:
            return False
        call, types = found.call, self._types(found.call)
        if promoted(*types).accumulate.kind is not Kind.COMPLEX:
            return False
        for sizes in product(*((each.elements(size) for size in (each.size, *each.tails)) for each in call.blocks)):
            spec, _ = kernel_spec(call, sizes, types, 0)
            if not takes_loops(self.positions.vm, spec, found.around):
                return False
        self.emit(call, found.around)
        return True

    def emit_kernels(self) -> None:
        """Emit the functions that have been called."""
        asm = self.positions.asm
        for spec, label in self._kernels.items():
            asm.align(32)
            asm.bind(label)
            asm.comment(spec)
            emit_kernel(self.positions.vm, spec)

    def _types(self, call: Call) -> tuple[DType, ...]:
        return tuple(access.dtype or self.positions.dtypes[access.buffer] for access in call.accesses)

    def _variants(self, call: Call, around: Around, sizes: list[int], done: Label) -> None:
        """Choose the kernel for the block's sizes: a branch for every axis whose last block is short."""
        if len(sizes) == len(call.blocks):
            self._call_kernel(call, around, tuple(sizes))
            end = len(self.positions.asm.records)
            self.places.append(Place(call, end - 1, end, tuple(sizes)))
            if self._leaving and self._lets_leave(call):
                self._leaving.turn()
            return
        block = call.blocks[len(sizes)]
        *longer, shortest = (block.size, *block.tails)
        for size in longer:
            shorter = self.positions.asm.forward("short")
            self.positions.branch("lt", f"left {block.axis}", size, shorter)
            self._variants(call, around, [*sizes, block.elements(size)], done)
            self.positions.vm.jump(done)
            self.positions.asm.bind(shorter)
        self._variants(call, around, [*sizes, block.elements(shortest)], done)

    def _call_kernel(self, call: Call, around: Around, sizes: tuple[int, ...]) -> None:
        positions, vm = self.positions, self.positions.vm
        starts = [self._loops.states[name] for name in call.starts or ()]
        undecided = [state for state in starts if not state.is_single]
        beta = 1 if call.starts is None else None if undecided else 0
        types = self._types(call)
        spec, places = kernel_spec(call, sizes, types, beta)
        if isinstance(spec, PairProduct):
            spec = replace(spec, around=around)
        if isinstance(spec, Brgemm) and spec.grouped and not self._sums_groups(spec, types):
            call, sizes = one_by_one(call, sizes)
            spec, places = kernel_spec(call, sizes, _of_single_elements(types), beta)
        if isinstance(spec, Stream) and is_far(positions.nest.operation, call.accesses[-1], vm.machine):
            spec = replace(spec, far=True)
        asked = self._asked if isinstance(spec, Brgemm) and (not spec.grouped or vm.tiles) else None
        if isinstance(spec, Brgemm):
            spec = self._beyond_caches(spec, call, asked)
            if self._leaving:
                spec = replace(spec, leaving=self._leaving.block.leaves)
        if self._leaving and self._lets_leave(call):
            spec = self._leaving.block.behind(types[0], *sizes)
        for place, access in zip(places, call.accesses):
            positions.variables.load(vm.arguments[place], f"at {access.buffer}")
            if self._leaving:
                self._leaving.place(vm.arguments[place], access.buffer)
            if access.offset:
                vm.add_constant(vm.arguments[place], access.offset * positions.element(access.buffer))
        for place, offsets in enumerate(zip(*call.offsets), places[-1] + 1):
            table = b"".join((offset // call.group).to_bytes(8, "little", signed=True) for offset in offsets)
            vm.address_of(vm.arguments[place], positions.asm.data(table, 8))
        names = signature(spec)
        if undecided:
            self._set_flag(vm.arguments[names.index("beta")], undecided)
        if asked:
            positions.variables.address(vm.arguments[names.index("ahead")], asked.variables[0])
        self._call(spec)

    def _lets_leave(self, call: Call) -> bool:
        """Whether a call is the copy of the block that leaves while the next one is computed."""
        return self._leaving is not None and call is self._leaving.block.copy

    def let_leave(self) -> None:
        """Emit what stores all that has not left yet."""
        if self._leaving:
            self._call(self._leaving.block.behind(self._leaving.dtype, 0))

    def _call(self, spec: Spec) -> None:
        """Emit the call of a kernel whose other arguments are in place."""
        vm, names = self.positions.vm, signature(spec)
        if self._leaving and "leaving" in names:
            self._leaving.noted(vm.arguments[names.index("leaving")])
        label = self._kernels.get(spec)
        if label is None:
            label = self._kernels[spec] = self.positions.asm.forward(f"kernel{len(self._kernels)}")
        vm.call(label)

    def _beyond_caches(self, spec: Brgemm, call: Call, asked: Asked | None) -> Brgemm:
        """Return a product's kernel that knows which operands come from memory, and asks for the next block."""
        positions, (a, *_, c) = self.positions, call.accesses
        operation, machine = positions.nest.operation, positions.vm.machine
        onward = None
        is_asked = asked is not None and asked.source == a.buffer
        if is_far(operation, a, machine) and not is_asked and not (spec.n == 1 and _follows_rows(machine)):
            onward = self._loops.onward(a.buffer) * positions.element(a.buffer)
        far, ahead = is_far(operation, c, machine), asked.ahead if asked else None
        return replace(spec, far=far, onward=onward, ahead=ahead) if far or asked or onward is not None else spec

    def _sums_groups(self, spec: Brgemm, types: tuple[DType, ...]) -> bool:
        """Whether the machine multiplies such groups, some perhaps in tiles alone; of integers only such are packed."""
        vm, (first, second, total) = self.positions.vm, types
        if suits_tiles(spec, vm.tiles, vm.reach) if vm.tiles else first.kind is not Kind.FLOAT:
            return True
        try:
            vm.sums(total.accumulate, (first, second))
        except UnsupportedTarget:
            return False
        return True

    def _set_flag(self, register: Register, states: Sequence[LoopState]) -> None:
        """1 adds to the output, 0 starts from zero: when every reduced loop is in its first iteration."""
        vm, done = self.positions.vm, self.positions.asm.forward("flag")
        vm.constant(register, 1)
        for state in states:
            self._loops.unless(Iteration.FIRST, state, done)
        vm.constant(register, 0)
        self.positions.asm.bind(done)


def _follows_rows(machine: Machine) -> bool:
    """Whether cores see by themselves which rows of A are read next, if each meets a single column."""
    known = microarchitecture_of(machine)
    return known is not None and known.follows_rows


def _of_single_elements(types: tuple[DType, ...]) -> tuple[DType, ...]:
    """Return the types of a product of single elements: sums of signed numbers wrap as unsigned ones do."""
    *factors, total = (each.alone for each in types)
    return *factors, INT32 if total is UINT32 and any(each.kind is Kind.SIGNED for each in factors) else total
