"""`comment_of`: what stands above a kernel, whoever prints it: what it computes, what was decided, its bound."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping

from einloom.space.candidate import Candidate

__all__ = ["comment_of"]

WIDTH = 110


def comment_of(leaf: Candidate) -> str:
    """Return the lines above a leaf's kernel, without the signs that make a comment of them.

    The orders of loops, what is fused and where elements lie stand in the kernel itself.
    """
    groups: dict[str, list[str]] = {}
    for told, name in _decisions(leaf.assignment):
        groups.setdefault(told, []).append(name)
    lines = [leaf.space.name]
    for told, names in groups.items():
        lines += textwrap.wrap(f"{told}: {', '.join(names)}", WIDTH, subsequent_indent="  ")
    device = leaf.space.device
    if device.rates is not None:
        lines.append(f"on {device.name}: {leaf.bound()}")
    return "\n".join(lines)


def _decisions(assignment: Mapping[str, str | int]) -> Iterator[tuple[str, str]]:
    """Yield what was decided, and about what: of dimensions kind and size, of arrays the memory, of accesses the cache.

    `dim_kind(m.1) THREAD, size(m.1) 8` -> `thread 8`, `m.1`
    """
    for choice, word in (("dim_kind", ""), ("mem_space", ""), ("cache", "cache ")):
        for decision, value in assignment.items():
            kind, _, name = decision.removesuffix(")").partition("(")
            if kind == choice:
                size = assignment.get(f"size({name})") if choice == "dim_kind" else None
                yield f"{word}{str(value).lower()}" + (f" {size}" if size else ""), name
