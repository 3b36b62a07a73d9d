"""Fragments: how the threads of a warp hold the matrices that tensor cores multiply, by the tables of the PTX manual.

A matrix product is of m x k and k x n elements, into m x n; each of 32 threads holds a few elements of each matrix in
registers of its own. Which ones is a table (PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type" and
the ones for m16n8k8 and `.tf32`): rows and columns grow with the thread's number in its group of four (`thread`), with
the group's number (`group`), and with the register.

>>> MMA["m16n8k16"].a.elements[3][:2]
((0, 6), (0, 7))
"""

from __future__ import annotations

from einloom.frozen import frozen
from einloom.once import cached_property

__all__ = ["GROUPS", "MMA", "WARP", "Digit", "Fragment", "MmaShape"]

WARP, GROUPS, MEMBERS = 32, 8, 4
"""Threads of a warp; its groups of four threads."""


@frozen
class Digit:
    """A digit of a register's number: its values, and how far each step moves along rows and columns."""

    extent: int
    row: int
    column: int


@frozen(slots=False)
class Fragment:
    """How a matrix of rows x columns lies in the registers of a warp.

    Attributes:
        rows, columns: of the matrix.
        group: how far the next group of four threads lies along rows and columns.
        thread: the same of the next thread of a group.
        digits: of the register's number, the lowest first.
    """

    rows: int
    columns: int
    group: tuple[int, int]
    thread: tuple[int, int]
    digits: tuple[Digit, ...]

    @property
    def registers(self) -> int:
        """Elements that a thread holds."""
        return self.rows * self.columns // WARP

    def at(self, lane: int, register: int) -> tuple[int, int]:
        """Return the row and column of an element."""
        group, thread = divmod(lane, MEMBERS)
        row = group * self.group[0] + thread * self.thread[0]
        column = group * self.group[1] + thread * self.thread[1]
        for digit in self.digits:
            register, value = divmod(register, digit.extent)
            row, column = row + value * digit.row, column + value * digit.column
        return row, column

    @cached_property
    def elements(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """Row and column by thread and register."""
        return tuple(tuple(self.at(lane, each) for each in range(self.registers)) for lane in range(WARP))


@frozen(slots=False)
class MmaShape:
    """A product that tensor cores have: its sizes, and how its three matrices lie.

    Attributes:
        m, n, k: of the matrices.
        types: of the factors, by the project's names, with PTX's.
        a, b, c: the factors and the sum.
    """

    m: int
    n: int
    k: int
    types: dict[str, str]
    a: Fragment
    b: Fragment
    c: Fragment

    @property
    def fragments(self) -> dict[str, Fragment]:
        """The matrices by their letters."""
        return {"a": self.a, "b": self.b, "c": self.c}


_C = Fragment(16, 8, (1, 0), (0, 2), (Digit(2, 0, 1), Digit(2, 8, 0)))

MMA: dict[str, MmaShape] = {
    "m16n8k16": MmaShape(
        16, 8, 16,
        {"float16": "f16", "bfloat16": "bf16"},
        Fragment(16, 16, (1, 0), (0, 2), (Digit(2, 0, 1), Digit(2, 8, 0), Digit(2, 0, 8))),
        Fragment(16, 8, (0, 1), (2, 0), (Digit(2, 1, 0), Digit(2, 8, 0))),
        _C,
    ),
    "m16n8k8": MmaShape(
        16, 8, 8,
        {"float32": "tf32"},
        Fragment(16, 8, (1, 0), (0, 1), (Digit(2, 8, 0), Digit(2, 0, 4))),
        Fragment(8, 8, (0, 1), (1, 0), (Digit(2, 4, 0),)),
        _C,
    ),
}  # fmt: skip
"""The products by the names that PTX has for them. Factors of float32 are rounded to TF32."""
