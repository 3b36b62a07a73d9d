"""`CallLowering`: the code that calls the kernel for the sizes of the block at hand; `kernel_spec` says which that is.

A kernel is a function of the program's own buffer with the C calling convention. What is in it: `einloom.kernels`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from einloom.asm import Label
from einloom.dtypes import FLOAT32, FLOAT64, INT32, LOWERED, RAISED, DType, Kind, promoted
from einloom.errors import InternalError, UnsupportedTarget
from einloom.ir.nest import Access, Call, Iteration, Turned
from einloom.ir.operation import Primitive
from einloom.kernels import Binary, Brgemm, Interleave, Spec, Stream, Unary
from einloom.kernels.emit import emit_kernel
from einloom.kernels.formula.functions import pair_name
from einloom.kernels.specs import BatchBy, PairCopy, PairProduct, signature
from einloom.targets.ahead import Asked
from einloom.targets.loops import LoopLowering, LoopState
from einloom.targets.positions import Positions, Register

__all__ = ["CallLowering", "kernel_spec"]


class CallLowering:
    """Code for the calls of a nest; its kernels become functions of the same buffer, one for each different spec."""

    def __init__(self, positions: Positions, loops: LoopLowering, asked: Asked | None = None) -> None:
        self.positions = positions
        self._asked = asked
        self._loops = loops
        self._kernels: dict[Spec, Label] = {}

    def emit(self, call: Call) -> None:
        """Emit a call: branches to the kernel that fits the sizes of the block."""
        done = self.positions.asm.forward("called")
        self._variants(call, [], done)
        self.positions.asm.bind(done)

    def emit_kernels(self) -> None:
        """Emit the functions that have been called."""
        asm = self.positions.asm
        for spec, label in self._kernels.items():
            asm.align(32)
            asm.bind(label)
            asm.comment(spec)
            emit_kernel(self.positions.vm, spec)

    def _variants(self, call: Call, sizes: list[int], done: Label) -> None:
        """Choose the kernel for the block's sizes: a branch for every axis whose last block is short."""
        if len(sizes) == len(call.blocks):
            self._call_kernel(call, tuple(sizes))
            return
        block = call.blocks[len(sizes)]
        *longer, shortest = (block.size, *block.tails)
        for size in longer:
            shorter = self.positions.asm.forward("short")
            self.positions.branch("lt", f"left {block.axis}", size, shorter)
            self._variants(call, [*sizes, block.elements(size)], done)
            self.positions.vm.jump(done)
            self.positions.asm.bind(shorter)
        self._variants(call, [*sizes, block.elements(shortest)], done)

    def _call_kernel(self, call: Call, sizes: tuple[int, ...]) -> None:
        positions, vm = self.positions, self.positions.vm
        starts = [self._loops.states[name] for name in call.starts or ()]
        undecided = [state for state in starts if not state.is_single]
        beta = 1 if call.starts is None else None if undecided else 0
        types = tuple(access.dtype or positions.dtypes[access.buffer] for access in call.accesses)
        if call.group > 1 and call.primitive.is_contraction and not self._sums_groups(types):
            call, sizes, types = *one_by_one(call, sizes), tuple(each.alone for each in types)
        spec, places = kernel_spec(call, sizes, types, beta)
        if isinstance(spec, Brgemm) and self._is_far(call.accesses[-1]):
            spec = replace(spec, far=True)
        asked = self._asked if isinstance(spec, Brgemm) and (not spec.grouped or vm.tiles) else None
        if asked and isinstance(spec, Brgemm):
            spec = replace(spec, ahead=asked.ahead)
        for place, access in zip(places, call.accesses):
            positions.variables.load(vm.arguments[place], f"at {access.buffer}")
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
        label = self._kernels.get(spec)
        if label is None:
            label = self._kernels[spec] = positions.asm.forward(f"kernel{len(self._kernels)}")
        vm.call(label)

    def _sums_groups(self, types: tuple[DType, ...]) -> bool:
        """Whether the machine multiplies groups of such types; of integers only such are packed."""
        vm, (first, second, total) = self.positions.vm, types
        if first.kind is not Kind.FLOAT or (vm.tiles and vm.tiles.multiplies(second, first)):
            return True
        try:
            vm.sums(total.accumulate, (first, second))
        except UnsupportedTarget:
            return False
        return True

    def _is_far(self, access: Access) -> bool:
        """Whether an access goes to a tensor that the second-level cache does not hold."""
        operation, machine = self.positions.nest.operation, self.positions.vm.machine
        tensors = {each.name: operation.elements(each) * each.dtype.size for each in operation.operands}
        return tensors.get(access.buffer, 0) > machine.l2

    def _set_flag(self, register: Register, states: Sequence[LoopState]) -> None:
        """1 adds to the output, 0 starts from zero: when every reduced loop is in its first iteration."""
        vm, done = self.positions.vm, self.positions.asm.forward("flag")
        vm.constant(register, 1)
        for state in states:
            self._loops.unless(Iteration.FIRST, state, done)
        vm.constant(register, 0)
        self.positions.asm.bind(done)


def kernel_spec(
    call: Call, sizes: tuple[int, ...], types: tuple[DType, ...], beta: int | None
) -> tuple[Spec, tuple[int, ...]]:
    """Return the kernel for blocks of the given sizes, and which of its arguments each access of the call is.

    `types` are those of the elements that each access finds in memory.
    `beta` says whether a contraction adds to its output (1), starts from zero (0) or decides at run time (None); then
    the argument behind the last pointer is the flag.
    """
    strides = [access.strides for access in call.accesses]
    if call.group > 1:
        return _spec_of_groups(call, sizes, types, beta)
    dtype = promoted(*types).accumulate
    if call.primitive.is_contraction and dtype.kind is Kind.COMPLEX:
        m, n, k, batch = sizes
        a, b, c = _four(strides[0]), _four(strides[1]), _two(strides[2])
        return PairProduct(dtype.real, m, n, k, batch, a, b, c, beta, call.conjugated), (0, 1, 2)
    if call.primitive.is_contraction:
        m, n, k, batch = sizes
        a, b = _four(strides[0]), _four(strides[1]) if len(strides) == 3 else None
        memory = types if b is not None else (types[0], types[0], types[1])
        by = BatchBy.OFFSETS if call.offsets else BatchBy.STRIDE
        spec = Brgemm(dtype, m, n, k, batch, a=a, b=b, c=_two(strides[-1]), beta=beta, memory=memory, batch_by=by)
        return spec, (0, 1, 2) if b is not None else (0, 2)
    m, n = sizes
    if call.pair is not None:
        return _spec_of_pair(call.pair, sizes, types[0], *(_two(_divided(along, 2)) for along in strides)), (0, 1)
    if call.primitive is Primitive.IDENTITY and dtype.kind is Kind.COMPLEX:
        parts = Turned(0), Turned(1, call.conjugated[0])
        return _spec_of_pair(parts, sizes, dtype.real, *map(_two, strides)), (0, 1)
    if call.primitive.is_binary:
        a, b, c = (_two(s) for s in strides)
        dtype = FLOAT32 if (types[0], types[-1]) == (INT32, FLOAT32) else dtype  # sums that are rounded
        return Binary(call.primitive.value, dtype, m, n, a=a, b=b, c=c, memory=types), (0, 1, 2)
    if call.primitive is Primitive.ZERO:
        return Unary("zero", types[-1], m, n, a=(0, 0), b=_two(strides[-1])), (1,)
    if call.streams and types[0] == types[1]:
        return Stream(types[0], m, n, a=_two(strides[0]), b=_two(strides[-1])), (0, 1)
    if call.primitive.is_unary:
        a, b = _two(strides[0]), _two(strides[-1])
        return Unary(call.primitive.value, types[0], m, n, a=a, b=b, output=types[1]), (0, 1)
    raise InternalError(f"no kernel computes {call.primitive}; please report this with the nest's text:\n{call}")


def one_by_one(call: Call, sizes: tuple[int, ...]) -> tuple[Call, tuple[int, ...]]:
    """Return a product of whole groups, and its sizes, as one of single elements: right everywhere, but slower.

    before -> after, the i-th elements of all groups being a matrix of the batch:

        k=32 batch=1 in groups of 2       k=16 batch=2 at +0,+0 +1,+1
    """
    (m, n, k, batch), group, steps = sizes, call.group, [access.strides[-1] for access in call.accesses]
    places = call.offsets or tuple((number * steps[0], number * steps[1]) for number in range(batch))
    offsets = tuple((a + place, b + place) for a, b in places for place in range(group))
    return replace(call, group=1, offsets=offsets), (m, n, -(-k // group), len(offsets))


def _spec_of_groups(
    call: Call, sizes: tuple[int, ...], types: tuple[DType, ...], beta: int | None
) -> tuple[Spec, tuple[int, ...]]:
    """The kernel that multiplies or copies groups: strides are counted in groups but those of single elements."""
    group, (first, *others) = call.group, [access.strides for access in call.accesses]
    if not call.primitive.is_contraction:
        m, n = sizes
        a, b = _two(first), _two(_divided(others[0], group))
        keeps_bits = types[0].is_integer and types[1].is_integer and types[0].size == types[1].size
        output = None if keeps_bits and types[1] not in (RAISED, LOWERED) and not types[1].of else types[1]
        return Interleave(types[0], m, n, a=a, b=b, output=output), (0, 1)
    m, n, k, batch = sizes
    a, b = _four(_divided(first, group)), _four(_divided(others[0], group))
    c, dtype = _two(others[1]), types[-1].accumulate
    by = BatchBy.OFFSETS if call.offsets else BatchBy.STRIDE
    k = -(-k // group)
    spec = Brgemm(dtype, m, n, k, batch, a=a, b=b, c=c, beta=beta, memory=types, batch_by=by, grouped=True)
    return spec, (0, 1, 2)


def _divided(strides: tuple[int, ...], group: int) -> tuple[int, ...]:
    return tuple(stride // group for stride in strides)


def _spec_of_pair(
    pair: tuple[Turned, Turned], sizes: tuple[int, ...], dtype: DType, a: tuple[int, int], b: tuple[int, int]
) -> Spec:
    """The kernel that copies pairs; of two float32 one element of 8 bytes is made, which registers transpose."""
    (first, second), (m, n) = pair, sizes
    swapped, negative = (first.part, second.part) == (1, 0), (first.negative, second.negative)
    if dtype == FLOAT32 and not a[0] == b[0] == 1:
        return Unary(pair_name(swapped, *negative), FLOAT64, m, n, a=a, b=b)
    return PairCopy(dtype, m, n, a, b, swapped, negative)


def _two(strides: tuple[int, ...]) -> tuple[int, int]:
    return strides[0], strides[1]


def _four(strides: tuple[int, ...]) -> tuple[int, int, int, int]:
    return strides[0], strides[1], strides[2], strides[3]
