"""The protocols of vector verbs: copying, arithmetic on top of it, formulas on top of that.

A verb writes its first operand: `add(dst, a, b)`. What only some ISAs have is a field that may be None. One class a
vector ISA has all of them; elements that are only copied (1 and 2 bytes) have a class with the verbs of copying.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

from einloom.asm import Assembler, Label
from einloom.dtypes import DType
from einloom.group_products import takes_scalable
from einloom.kernels.verbs.abilities import (
    BlockVerbs,
    ElementVerbs,
    GroupingVerbs,
    HalfVerbs,
    OuterVerbs,
    PackVerbs,
    TileVerbs,
)
from einloom.kernels.verbs.products import scalable_sums
from einloom.kernels.verbs.scalar import A, R, ScalarVerbs
from einloom.machine import Machine

__all__ = [
    "ArithmeticVerbs",
    "Block",
    "CopyVerbs",
    "FormulaVerbs",
    "KernelMachine",
    "LastOperand",
    "Mask",
    "NarrowVerbs",
    "Pick",
    "StrideIndex",
    "V",
    "Verb",
]

V = TypeVar("V")
"""A vector register of the assembler."""

Mask: TypeAlias = int | None
"""The bits of the lanes that an access touches; None: all of them. It comes from `CopyVerbs.mask`."""

StrideIndex: TypeAlias = Any
"""What `CopyVerbs.stride_index` returned: only the verbs of the same ISA look into it."""

Verb: TypeAlias = Callable[..., None]
"""An instruction of the assembler. The last operand may be a place, where `ArithmeticVerbs.memory_operand`."""

LastOperand: TypeAlias = Any
"""What arithmetic takes last: a register, where the ISA has it also a place or one lane of a register."""

Block: TypeAlias = tuple[list[V], list[V]]
"""Where a block of registers is now, and the registers that are free now."""

Pick: TypeAlias = Callable[[V, Sequence[V], Sequence[int], Sequence[V]], None]

TransposedLoad: TypeAlias = Callable[[Iterable[tuple[R, int]], list[V], list[V]], Block[V]]


class CopyVerbs(ABC, Generic[R, V, A]):
    """Verbs that move elements of one type between memory and registers.

    Attributes:
        dtype: the type.
        lanes: elements of a register.
        registers: all vector registers.
        scalable: whether registers are of vectors that processors have in several widths.
        index_bytes: bytes of the frame that `stride_index` needs for a stride in a register.
        part: elements that shuffles exchange most cheaply, a divisor of `lanes`.
        load_transposed: loads a block from up to `lanes` places (base, offset), transposed, into as many registers as
            it has rows, a multiple of `part`; 0 in lanes without a place. None: loading and `transpose` are as good.
        pick: `pick(dst, sources, lanes, temporaries)`: dst = lanes of other registers, by their numbers among the lanes
            of all; needs two temporaries. None: there are no shuffles that take any lane from anywhere.
        copy_bytes: `copy_bytes(target, source, count, before)`: copies fewer bytes than a cache line has, those from
            two places on or those `before` them, and touches no others; the target is where a line begins. It needs
            the first two registers. None: there are no masks of bytes.
        store_half: `store_half(place, src, high, mask, temporary)`: the lanes at a place = the low or high half of src,
            masked as those of `store`. None: vectors are no longer than half a cache line.
    """

    dtype: DType
    lanes: int
    registers: tuple[V, ...]
    index_bytes: int
    scalable = False
    part = 1
    load_transposed: TransposedLoad[R, V] | None
    pick: Pick[V] | None = None
    copy_bytes: Callable[[R, R, R, bool], None] | None = None
    store_half: Callable[[A, V, bool, Mask, V], None] | None = None

    def mask(self, count: int) -> Mask:
        """Return the mask of the first `count` lanes; emits what sets it up, once."""
        return None if count == self.lanes else (1 << count) - 1

    def lane_mask(self, lanes: int) -> int:
        """Return the mask of the lanes whose bit is set, where the ISA has them; emits what sets it up, once."""
        return lanes

    @abstractmethod
    def load(self, dst: V, place: A, mask: Mask = None) -> None:
        """dst = the lanes at a place, 0 where masked; masked bytes are not touched."""

    @abstractmethod
    def store(self, place: A, src: V, mask: Mask = None, nontemporal: bool = False, temporary: V | None = None) -> None:
        """The lanes at a place = src; masked bytes are not touched. A mask may need a free register.

        A non-temporal store of a whole vector needs a place that is a multiple of the vector's size.
        """

    @abstractmethod
    def broadcast(self, dst: V, place: A) -> None:
        """Every lane of dst = the element at a place."""

    @abstractmethod
    def zero(self, dst: V) -> None:
        """dst = 0."""

    @abstractmethod
    def copy(self, dst: V, src: V) -> None:
        """dst = src."""

    @abstractmethod
    def transpose(self, block: list[V], free: list[V]) -> Block[V]:
        """Transpose a block of `lanes` registers with as many free ones."""

    def stride_index(self, stride: R | int, slot: int, temporary: V) -> StrideIndex:
        """Return what strided accesses need to know of a stride in bytes; it may use the frame from `slot` on."""
        return stride

    @abstractmethod
    def load_strided(
        self, dst: V, base: R, offset: int, index: StrideIndex, count: int, temporaries: Sequence[V]
    ) -> None:
        """dst = `count` elements that lie a stride apart, the first at base + offset; 0 in the other lanes.

        Needs two free registers.
        """

    @abstractmethod
    def store_strided(
        self, base: R, offset: int, src: V, index: StrideIndex, count: int, temporaries: Sequence[V]
    ) -> None:
        """`count` elements that lie a stride apart, the first at base + offset, = the first lanes of src."""

    def begin(self) -> None:
        """Begin a function that uses vectors, before its first branch."""

    def finish(self) -> None:
        """End a function that used vectors."""


class NarrowVerbs(CopyVerbs[R, V, A]):
    """Verbs for elements of 1 and 2 bytes, 8 of them a register: as many as fill half of one, or all of it."""

    @abstractmethod
    def zip_low(self, dst: V, first: V, second: V) -> None:
        """dst = the elements of the low halves of two registers, one after the other."""

    @abstractmethod
    def zip_high(self, dst: V, first: V, second: V) -> None:
        """dst = the elements of the high halves of two registers, one after the other."""


class ArithmeticVerbs(CopyVerbs[R, V, A]):
    """Verbs of sums and products.

    Attributes:
        working: the registers that hold values between arithmetic; those behind them are the verbs' own.
        memory_operand: whether arithmetic takes a place as its last operand.
        fma: dst += a * b, rounded once.
        product: dst = a * b, the first product of a sum, which `fma` goes on with.
        add, sub, mul, div: of two.
        min, max: of two; b if either is NaN or both are zeros (on x86).
        element: makes of a place a last operand that is one element for all lanes; None: there are no such operands.
        grouping: verbs for several products of k in one register, where the ISA has them.
        elements: verbs for products with one lane of a register, where the ISA has them.
        halves: verbs for products of float16 that are summed in float32, where the ISA has them.
        blocks: verbs for blocks of two rows by two columns, where these are such.
        bias: where the element lies that the second factors of products of groups are more than what they stand for:
            the sums of its products are to be taken off. None: they are what they stand for.
        branch_if_all: `branch_if_all(registers, temporary, label)`: go to the label if no lane of any of them is 0,
            where sums are of truth values, which change no more then; None: there is no such test.
        branch_if_none: `branch_if_none(register, label)`: go to the label if all its lanes are 0, likewise.
    """

    bias: A | None = None
    branch_if_all: Callable[[Sequence[V], V, Label], None] | None = None
    branch_if_none: Callable[[V, Label], None] | None = None
    halves: HalfVerbs[V, A] | None = None
    blocks: BlockVerbs[V, A] | None = None
    working: tuple[V, ...]
    memory_operand: bool
    fma: Verb
    product: Verb
    add: Verb
    sub: Verb
    mul: Verb
    div: Verb
    min: Verb
    max: Verb
    element: Callable[[A], A] | None
    grouping: GroupingVerbs[V, A] | None
    elements: ElementVerbs[V, A] | None

    @abstractmethod
    def broadcast_constant(self, dst: V, value: float) -> None:
        """Every lane of dst = a number."""

    @abstractmethod
    def add_memory(self, dst: V, place: A, mask: Mask = None, temporary: V | None = None) -> None:
        """dst += the lanes at a place; masked bytes are not touched. It may need a free register."""

    @abstractmethod
    def sum_lanes(self, registers: list[V], temporary: V, group: int = 1) -> None:
        """registers[0] = in group i the sum over the groups of lanes of registers[i], which are all clobbered.

        A group is one lane, or some next to each other of up to 16 bytes; there are at most as many registers.
        """

    # Neighbours of even and odd lanes: the parts of complex numbers

    @abstractmethod
    def swap_neighbours(self, dst: V, src: V) -> None:
        """dst = src with neighbours exchanged."""

    @abstractmethod
    def repeat_neighbour(self, dst: V, src: V, odd: bool) -> None:
        """dst = the even or the odd ones of neighbours, twice."""

    @abstractmethod
    def load_lanes(self, dst: V, bits: Sequence[int]) -> None:
        """Lane i of dst = the element of bits[i]."""

    def load_signs(self, dst: V, even: bool, odd: bool) -> None:
        """dst = what `bit_xor` changes the signs of even or odd lanes with."""
        self.load_lanes(dst, [sign << 8 * self.dtype.size - 1 for sign in (even, odd)] * (self.lanes // 2))

    @abstractmethod
    def exchange_lanes(self, dst: V, src: V, distance: int) -> None:
        """dst = src, in which lanes whose numbers differ in the bit of `distance`, 2 and more, trade places."""

    @abstractmethod
    def split_lanes(self, level: int, first: V, second: V, temporary: V, group: int = 1) -> None:
        """temporary, first = the even and the odd ones of neighbours, those of first before those of second.

        What neighbours are depends on the level; after log2(lanes / group) levels every group of lanes has met every
        other.
        """


class FormulaVerbs(ArithmeticVerbs[R, V, A]):
    """Verbs for `einloom.kernels.formula.recipe`. They may write to a register that they read.

    Constants are given by the bits of one element.

    Attributes:
        conditions: registers for conditions; none: they are vectors.
        keeps_nan: whether min and max are NaN if either operand is; otherwise they return the second operand then.
        fnma: dst -= a * b, rounded once.
        sqrt: the square root of an operand.
        bit_and, bit_or, bit_xor: of two.
        shift_left, shift_right: dst = a shifted by a number of bits, zeros coming in.
        multiply_add: dst = dst * factor + addend, rounded once; None: a sum is overwritten, never a factor.
        scale: dst = a * 2**b for whole numbers b, rounded once; None: by multiplying with powers of two.
        fix_nan: lanes of dst = src where src is NaN, given the constant `nan_table`; None: by other verbs.
        constant_operand: makes of a constant a last operand, where `memory_operand`.
    """

    conditions: tuple[Any, ...]
    keeps_nan: bool
    nan_table: int
    fnma: Verb
    sqrt: Verb
    bit_and: Verb
    bit_or: Verb
    bit_xor: Verb
    shift_left: Verb
    shift_right: Verb
    multiply_add: Verb | None
    scale: Verb | None
    fix_nan: Verb | None
    constant_operand: Callable[[int], A] | None

    @abstractmethod
    def compare(self, operation: str, dst: Any, a: V, b: LastOperand) -> None:
        """Condition dst = in each lane whether a `operation` b; `ne` is true for NaN, the others false."""

    @abstractmethod
    def select(self, dst: V, condition: Any, a: LastOperand, b: V) -> None:
        """dst = a where the condition holds, else b."""

    @abstractmethod
    def load_constant(self, dst: V, bits: int) -> None:
        """Every lane of dst = the element of these bits."""

    @abstractmethod
    def keep_lanes(self, dst: V, other: V, mask: int, temporary: V) -> None:
        """Lanes of dst that are masked = those of another register."""

    # Elements of float64 that are float32 in memory

    @abstractmethod
    def load_single(self, dst: V, place: A, mask: Mask = None) -> None:
        """Lanes of float64 = as many float32 at a place; 0 where masked; masked bytes are not touched."""

    @abstractmethod
    def store_single(self, place: A, src: V, mask: Mask = None) -> None:
        """float32 at a place = lanes of float64, rounded to nearest; src is clobbered."""

    @abstractmethod
    def widen(self, register: V) -> None:
        """Lanes of float64 = the first lanes of float32."""

    @abstractmethod
    def narrow(self, register: V) -> None:
        """The first lanes of float32 = lanes of float64, rounded to nearest."""


class KernelMachine(ScalarVerbs[R, A], Generic[R, V, A]):
    """All verbs of an ISA: the abstract machine that kernels and loop nests are written on.

    Args:
        asm: takes the instructions.
        machine: what they are for.
        vectors: makes the vector verbs of a type that is computed in from this machine and the type.
        narrow: makes the verbs of copying for a type of 1 or 2 bytes.
        converted: makes the verbs of copying between memory of a type and the registers of other verbs.
        dot_products: makes the vector verbs whose products are those of groups, from the types of their members.
        scalable: makes the verbs of scalable vectors of a type, or of groups, where the machine computes with them.

    Attributes:
        tiles: verbs of matrix tiles, where the machine has them.
        packs: makes the verbs of packs that change bytes, where products of groups want them changed.
        outer: verbs of outer products, where the machine has them.
    """

    packs: PackVerbs | None = None

    def __init__(
        self,
        asm: Assembler,
        machine: Machine,
        vectors: Callable[..., FormulaVerbs[R, V, A]],
        narrow: Callable[..., NarrowVerbs[R, V, A]],
        converted: Callable[..., CopyVerbs[R, V, A]],
        dot_products: Callable[..., FormulaVerbs[R, V, A]],
        tiles: TileVerbs[R] | None = None,
        scalable: Callable[..., ArithmeticVerbs[R, V, A]] | None = None,
    ) -> None:
        self.asm = asm
        self.machine = machine
        self._make_vectors, self._make_narrow, self._make_converted = vectors, narrow, converted
        self._make_dot_products, self._make_scalable = dot_products, scalable
        self.tiles = tiles
        self.outer: OuterVerbs[R] | None = None

    def vectors(self, dtype: DType) -> FormulaVerbs[R, V, A]:
        """Return the vector verbs for a type of elements that there is arithmetic for."""
        return self._make_vectors(self, dtype)

    def sums(
        self, dtype: DType, groups: tuple[DType, DType] | None, in_order: bool = False
    ) -> ArithmeticVerbs[R, V, A]:
        """Return the vector verbs for sums of products, of groups of these types if there are such.

        Where elements lie in memory as in registers, they have scalable vectors if the machine computes with them.

        Raises:
            UnsupportedTarget: this machine has no instruction for them.
        """
        scalable = scalable_sums(dtype) if groups is None else takes_scalable(groups, self.machine)
        if self._make_scalable and in_order and scalable:
            return self._make_scalable(self, dtype, groups)
        return self.vectors(dtype) if groups is None else self._make_dot_products(self, dtype, groups)

    def view(self, memory: DType, vec: CopyVerbs[R, V, A]) -> CopyVerbs[R, V, A]:
        """Return the verbs that copy between memory of one type and the registers of `vec`."""
        return vec if memory == vec.dtype else self._make_converted(self, memory, vec)

    def copies(self, dtype: DType) -> CopyVerbs[R, V, A]:
        """Return the verbs of copying for a type of elements."""
        return self.narrow(dtype) if dtype.size < 4 else self.vectors(dtype)

    def narrow(self, dtype: DType) -> NarrowVerbs[R, V, A]:
        """Return the verbs for a type of elements of 1 or 2 bytes."""
        return self._make_narrow(self, dtype)
