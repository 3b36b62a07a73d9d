"""The reference page of primitives, made from the tables that kernels are made from.

`python -m einloom.primitives.reference > docs/reference/primitives.md` brings the page up to date.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from einloom import dtypes, machine, primitives
from einloom.dtypes import Kind
from einloom.ir import meanings
from einloom.kernels.formula import functions

__all__ = ["reference_page"]

INTRODUCTION = """\
# Primitives

<!-- Made by `python -m einloom.primitives.reference`; change the tables that it reads, not this page. -->

A primitive is a kernel for matrices of fixed size, compiled to machine code when it is made and called as a function:

```python
import numpy as np
import einloom as el

k = el.primitives.unary("gelu", m=32, n=48)
a, b = np.ones(32 * 48, np.float32), np.empty(32 * 48, np.float32)
k(a, b, 32, 32)
```

Matrices are column-major unless said: element (i, j) of A lies at `a + i + j * ld_a`. Sizes, leading dimensions and
strides are in elements. Arguments are NumPy arrays, whose type, writability, reach and overlap are checked before
anything is written, or addresses, which are taken as they are. Element-wise primitives may write over an input, element
for element; any other overlap raises `OverlapError`. A word that does not exist raises `ArgumentError` and says which
do; an operator that a type lacks, and an ISA without kernels, raise `UnsupportedTarget`.

Kernels are kept by their full description, the least recently used forgotten: equal ones are compiled once, from
whichever thread.
"""

SPECIAL_VALUES = """\
## Special values

NaN, infinities, denormal numbers and signed zeros give what NumPy gives for the formula in the tables, with these
exceptions:

- Of two zeros of different sign `relu`, `min` and `max` may return either; so may the reductions by `min` and `max`.
- A sum whose terms are all -0 may be 0 instead: accumulators may begin with 0, and columns that share a register are
  completed by zeros before they are added.
- Which NaN comes out, by its bits, is not defined.
- `muladd` rounds once, after the addition; NumPy's `c + a * b` rounds twice.
- Sums and products are combined in another order than NumPy's. The order depends on sizes, type and vector ISA alone,
  so the same call gives the same bits.
- No exception of IEEE 754 is reported.

In tensor operations (`prim_main`, `prim_first_touch`, `prim_last_touch`) the operators have the same names, and their
parameters the usual values.
"""


def reference_page() -> str:
    """Return the text of the page."""
    parts = [INTRODUCTION, *_common(), *_brgemm(), *_unary(), *_binary(), *_others(), SPECIAL_VALUES]
    return "\n".join(parts)


def _common() -> list[str]:
    rows = [
        (f"`{one.vector}`", one.name, f"{one.vector_bits}", f"{one.vector_bits // 32}", f"{one.vector_bits // 64}")
        for one in machine.MACHINES.values()
    ]
    types = ", ".join(f"`{name}`" for name in dtypes.DTYPES)
    return [
        "## Types and vector ISAs\n",
        _paragraph(
            f"Every primitive exists for {types} on every vector ISA below. `isa=None` is the host's best; code "
            "for another one is compiled anywhere and runs where the processor has what it needs. The last two "
            "columns are the elements of a register."
        ),
        _paragraph(
            "Integers are computed modulo 2**bits. Those of 1 and 2 bytes, and `bool`, are widened to 4 bytes as they "
            "are read and wrap as they are stored; of truth values the sum and the greatest are or, the product and "
            f"the least are and. Of integers there are the operators {_names(Kind.SIGNED)}; of `bool` "
            f"{_names(Kind.BOOL)}; ternary ones take elements of 4 and 8 bytes."
        ),
        _table(("isa", "processor", "bits", "float32", "float64"), rows),
    ]


def _names(kind: Kind) -> str:
    tables = (functions.UNARY, functions.BINARY)
    return ", ".join(f"`{name}`" for table in tables for name, each in table.items() if kind in each.kinds)


def _brgemm() -> list[str]:
    layouts = " or ".join(f'`"{name}"`' for name in primitives.LAYOUTS)
    batches = ", ".join(f'`"{name}"`' for name in primitives.BATCHES)
    return [
        "## brgemm: C := beta C + alpha sum of A B over a batch\n",
        "`brgemm(m=, n=, k=, batch_size=1, dtype=, a=, b=, c=, alpha=1, beta=1, batch=)`, called with\n"
        "`(a, b, c, ld_a, ld_b, ld_c, br_stride_a, br_stride_b)`.\n",
        _paragraph(
            "`dtype` is one type, a pair (inputs, output) or a triple (a, b, c): it computes in what they promote to. "
            f"The layouts `a`, `b` and `c` are {layouts} each. `beta` is 0 (C is not read) or 1. The matrices of "
            f"the batch are found by `batch`: {batches}. With offsets the last two arguments are arrays of "
            "64-bit offsets in elements; with addresses they are left out, and `a` and `b` are arrays of "
            "addresses. A batch of one needs no batch strides."
        ),
    ]


def _unary() -> list[str]:
    rows = []
    for name, meaning in meanings.UNARY.items():
        function = functions.UNARY[name]
        alpha = "" if meaning.alpha is None else f"; `alpha` is {meaning.alpha:g} unless said"
        rows.append((f"`{name}`", meaning.text + alpha, _error(function, "float32"), _error(function, "float64")))
    layouts = " or ".join(f'`"{name}"`' for name in primitives.LAYOUTS)
    return [
        "## unary: B := op(A)\n",
        "`unary(op, m=, n=, dtype=, b=, alpha=None)`, called with `(a, b, ld_a, ld_b)`.\n",
        _paragraph(
            f"A is column-major, the layout of B is {layouts}; a row-major B transposes. `zero` reads no A, its "
            "`a` is None. With a pair of types `(in, out)` an operator computes in the wider one; float64 to float32 "
            "rounds to nearest. `identity` also moves `uint8` and `uint16`, which stand for "
            "any type of 1 or 2 bytes; wider elements move as float32 or float64 of the same bits."
        ),
        _table(("op", "computes", "float32", "float64"), rows),
        _paragraph(
            "The last two columns are the largest errors in units of the last place of the exact result, or of "
            "x where that is said: there the exact result may cancel to less than what x is known to. Without a "
            "number an operator is exact, or rounds each of its operations as NumPy does. The numbers bound "
            "what 8 million arguments showed, every 509th float32 among them (`python -m tests.kernels.accuracy "
            "509`); a test holds every build to them."
        ),
    ]


def _binary() -> list[str]:
    broadcasts = {
        "none": "a matrix (m, n)",
        "row": "n elements, `ld_b` apart: one for each column",
        "col": "m elements side by side: one for each row",
        "scalar": "one element",
    }
    return [
        "## binary: C := op(A, B)\n",
        "`binary(op, m=, n=, dtype=, broadcast=)`, called with `(a, b, c, ld_a, ld_b, ld_c)`.\n",
        _table(("broadcast", "B is"), [(f'`"{name}"`', broadcasts[name]) for name in primitives.BROADCASTS]),
        _table(("op", "computes"), _texts(meanings.BINARY)),
    ]


def _others() -> list[str]:
    return [
        "## ternary: D := op(A, B, C)\n",
        "`ternary(op, m=, n=, dtype=)`, called with `(a, b, c, d, ld_a, ld_b, ld_c, ld_d)`.\n",
        _table(("op", "computes"), _texts(meanings.TERNARY)),
        "## reduce: b := op over one axis of A\n",
        _paragraph(
            '`reduce(op, m=, n=, axis=, dtype=)`, called with `(a, b, ld_a)`. `axis="n"` combines the columns '
            'and leaves m results, `axis="m"` the rows and leaves n; they lie side by side.'
        ),
        _table(("op", "computes"), _texts(meanings.REDUCE)),
        "A NaN makes its result NaN. The greatest or least of nothing raises `ShapeError`.\n",
    ]


def _texts(table: dict[str, meanings.Meaning]) -> list[tuple[str, str]]:
    return [(f"`{name}`", meaning.text) for name, meaning in table.items()]


def _error(function: functions.Function, dtype: str) -> str:
    error = getattr(function, dtype)
    return "" if error is None else f"{error:g}{' of x' if function.error_of == 'argument' else ''}"


def _paragraph(text: str) -> str:
    return textwrap.fill(text, 120, break_on_hyphens=False) + "\n"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


if __name__ == "__main__":
    print(reference_page(), end="")
