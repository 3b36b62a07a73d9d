"""Kernels for tensor cores: spaces whose elements are fragments, matrices that a warp holds and multiplies as one.

A space decides about fragments as it does about numbers: which ones blocks and threads share, how many lie in
registers, which wait in shared memory. A thread of such a space is a warp. `with_lanes` turns a leaf's launch into that
of its threads: every load, store and move of a fragment becomes one of each thread's elements, by PTX's tables, and
every multiply-add becomes an `mma`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import accumulate
from operator import mul

from einloom.errors import ScheduleError
from einloom.frozen import frozen
from einloom.ir.gpu.fragments import GROUPS, MEMBERS, MMA, WARP, Fragment, MmaShape
from einloom.ir.gpu.launch import Array, Launch, LaunchNode, Level, Mma, Repeat, Role, Space
from einloom.ir.statement import LoopKind, Place, Statement, Terms
from einloom.space.device import GpuDevice
from einloom.space.kernels import Grain, Kernel
from einloom.space.rates import GpuRates

__all__ = ["fitted", "thread_registers", "with_lanes"]

THREAD, GROUP = Level("lane.thread", MEMBERS), Level("lane.group", GROUPS)
"""The innermost hardware dimensions of a block: the threads of a group of four, and the groups of a warp."""


def fitted(device: GpuDevice, made: Kernel) -> GpuDevice:
    """Return a device as the space of a kernel sees it: for elements of its type, or for fragments and warps."""
    plain = device.of(made.backbone.dtype)
    if made.grain is None:
        return plain
    shape = MMA[made.grain.shape]
    sizes = [each.rows * each.columns * made.backbone.dtype.size for each in (shape.a, shape.b)]
    warps = plain.max_threads // WARP
    return replace(
        plain,
        max_threads=warps,
        max_thread_levels=1,
        max_thread_extents=(min(warps, plain.max_thread_extents[-1]),),
        vector_widths=(),
        element_bytes=max(sizes),
        stored_bytes=min(sizes),
        warp=1,
        rates=_rates(plain.rates, shape, max(sizes) / min(sizes)),
    )


def _rates(rates: GpuRates | None, shape: MmaShape, ratio: float) -> GpuRates | None:
    """Return what a device does with fragments: registers hold sums, and shared memory the smaller of both factors."""
    if rates is None or not rates.fragments:
        return None
    return replace(
        rates,
        arithmetic_lanes=rates.fragments,
        registers=rates.registers // (WARP * shape.c.registers),
        shared_words=ratio * rates.shared_words,
        shared_capacity=int(ratio * rates.shared_capacity),
    )


def thread_registers(rates: GpuRates, grain: Grain | None) -> int:
    """Return the registers of a processor, in words, from rates of warps or of threads."""
    return rates.registers * (1 if grain is None else WARP * MMA[grain.shape].c.registers)


def with_lanes(launch: Launch, grain: Grain, aligned: bool = True) -> Launch:
    """Return the launch of threads from the launch of warps.

    Args:
        launch: of warps, its elements being fragments.
        grain: which fragments.
        aligned: whether arrays in the device's memory begin at multiples of two elements.

    `r_mad[0] = mad(r_load_a[0], r_load_b[0], r_mad[0])` -> `mma m16n8k16 r_mad[0] += r_load_a[0] r_load_b[0]`
    """
    return _Expansion(launch, grain, aligned).launch_of_threads()


@frozen(slots=False)
class _Held:
    """How the fragments of an array lie: which matrix they are of, and their strides in the device's memory."""

    letter: str
    fragment: Fragment
    array: Array
    strides: tuple[int, int] = (0, 0)


class _Expansion:
    def __init__(self, launch: Launch, grain: Grain, aligned: bool) -> None:
        self.launch, self.grain, self.aligned = launch, grain, aligned
        self.shape: MmaShape = MMA[grain.shape]
        letters = dict(grain.letters)
        statements = list(_statements(launch.body))
        for _ in launch.arrays:  # A value passes through as many arrays at most.
            for each in statements:
                source = each.inputs[0]
                if each.operator in ("load", "store", "move") and isinstance(source, Place):
                    letters.setdefault(each.output.buffer, letters.get(source.buffer, ""))
                    letters = {name: letter for name, letter in letters.items() if letter}
        self.held = {each.name: self._held(each, letters.get(each.name, "c")) for each in launch.arrays}

    def _held(self, array: Array, letter: str) -> _Held:
        return _Held(letter, self.shape.fragments[letter], array, dict(self.grain.strides).get(array.name, (0, 0)))

    def launch_of_threads(self) -> Launch:
        """Return the whole launch."""
        arrays = tuple(self._array(held) for held in self.held.values())
        body = tuple(self._nodes(self.launch.body))
        return replace(self.launch, block=(THREAD, GROUP, *self.launch.block), arrays=arrays, body=body)

    def _array(self, held: _Held) -> Array:
        array, count = held.array, held.fragment.registers
        if array.space is Space.GLOBAL and array.role is not Role.LOCAL:
            return replace(array, size=dict(self.grain.sizes)[array.name])
        if array.space is Space.ARGUMENT:
            return array
        if held.letter != "c":
            array = replace(array, dtype=self.grain.plain.backbone.dtype)
        if array.space is Space.REGISTER:
            space = array.space if held.letter == "c" else Space.FRAGMENT
            return replace(array, space=space, size=count * array.size)
        return replace(array, size=count * WARP * array.size)

    def _nodes(self, nodes: Iterable[LaunchNode]) -> Iterator[LaunchNode]:
        for node in nodes:
            if isinstance(node, Repeat):
                yield replace(node, body=tuple(self._nodes(node.body)))
            elif isinstance(node, Statement):
                yield self._product(node) if node.operator == "mad" else self._of_elements(node)
            else:
                yield node

    def _product(self, statement: Statement) -> Mma:
        """Return the product that a multiply-add of fragments is."""
        places = [each for each in statement.inputs if isinstance(each, Place)]
        if statement.within or len(places) != 3 or places[2] != statement.output:
            raise ScheduleError(f"{statement} is no sum of products of fragments")
        first, second = sorted(places[:2], key=lambda place: self.held[place.buffer].letter)
        return Mma(self.grain.shape, *(self._registers(place) for place in (statement.output, first, second)))

    def _registers(self, place: Place) -> Place:
        """Return the first register of a fragment."""
        count = self.held[place.buffer].fragment.registers
        return Place(place.buffer, tuple((name, count * factor) for name, factor in place.terms))

    def _of_elements(self, statement: Statement) -> LaunchNode:
        """Return a statement for each element that a thread holds, in loops over the digits of its register.

        The first digit is a vector where both its elements lie side by side in memory, as factors do along the sum.
        """
        fragment = self.held[statement.output.buffer].fragment
        names = [f"digit.{place}" for place in range(len(fragment.digits))]
        inputs = tuple(self._element(each, names) if isinstance(each, Place) else each for each in statement.inputs)
        element = replace(statement, output=self._element(statement.output, names), inputs=inputs)
        node: LaunchNode = element
        for name, digit in zip(names, fragment.digits):
            is_vector = node is element and self._is_pair(element, name)
            node = Repeat(name, digit.extent, LoopKind.VECTOR if is_vector else LoopKind.UNROLL, (node,))
        return node

    def _is_pair(self, statement: Statement, digit: str) -> bool:
        """Whether the elements of a digit are neighbours in memory, the first of them at a multiple of two."""
        if statement.operator not in ("load", "store"):
            return False
        place = statement.output if statement.operator == "store" else statement.inputs[0]
        if not isinstance(place, Place):
            return False
        strides, array = dict(place.terms), self.launch.array[place.buffer]
        first = (array.origin, *(stride for name, stride in place.terms if name != digit))
        begins_anywhere = array.space is Space.GLOBAL and not self.aligned
        return strides.get(digit) == 1 and not begins_anywhere and all(each % 2 == 0 for each in first)

    def _element(self, place: Place, names: list[str]) -> Place:
        """Return a thread's element of a fragment: of its registers, of shared memory, or where the table says."""
        held = self.held[place.buffer]
        fragment, array = held.fragment, held.array
        if array.space is Space.ARGUMENT:
            return place
        if array.space is Space.GLOBAL and array.role is not Role.LOCAL:
            return Place(place.buffer, (*place.terms, *_by_table(held, names)))
        pair, *rest = fragment.digits
        lanes, unit = (), 1
        if array.space is not Space.REGISTER:  # A thread's pairs lie together, beside those of its neighbours.
            lanes, unit = ((THREAD.name, pair.extent), (GROUP.name, pair.extent * MEMBERS)), WARP
        sizes = accumulate((digit.extent for digit in rest[:-1]), mul, initial=unit * pair.extent)
        scaled = tuple((name, unit * fragment.registers * factor) for name, factor in place.terms)
        return Place(place.buffer, (*scaled, (names[0], 1), *zip(names[1:], sizes), *lanes))


def _by_table(held: _Held, names: list[str]) -> Terms:
    """Return what the table adds to where a fragment begins in memory."""
    row, column = held.strides

    def moved(by: tuple[int, int]) -> int:
        return by[0] * row + by[1] * column

    fragment = held.fragment
    digits = ((name, moved((digit.row, digit.column))) for name, digit in zip(names, fragment.digits))
    return ((GROUP.name, moved(fragment.group)), (THREAD.name, moved(fragment.thread)), *digits)


def _statements(nodes: Iterable[LaunchNode]) -> Iterator[Statement]:
    for node in nodes:
        if isinstance(node, Repeat):
            yield from _statements(node.body)
        elif isinstance(node, Statement):
            yield node
