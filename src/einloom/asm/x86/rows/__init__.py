"""The instructions of x86-64, one line a form, by family. The notation is explained in `einloom.asm.x86.forms`.

>>> rows()["vzeroupper"][0].split()
['vzeroupper', '|', 'VEX.0F.L0.WIG', '77', '|', 'avx']
"""

from __future__ import annotations

from functools import cache

from einloom.asm.x86.rows import (
    arithmetic,
    control,
    conversions,
    dot_products,
    fma,
    gathers,
    integer,
    masks,
    moves,
    shuffles,
    tiles,
    vector_integer,
)

_VECTORS = (moves, arithmetic, fma, vector_integer, conversions, shuffles, gathers, masks, dot_products)
FAMILIES = (integer, control, *_VECTORS, tiles)


@cache
def rows() -> dict[str, list[str]]:
    """Return the rows of each mnemonic in their order: earlier rows win."""
    table: dict[str, list[str]] = {}
    for family in FAMILIES:
        for line in family.ROWS.splitlines():
            if line[0] != "#":
                table.setdefault(line.partition(" ")[0], []).append(line)
    return table
