"""The text forms of operations and schedules, and their parsers: `parse(show(x)) == x`.

An operation, one line an axis and an operand (strides are in elements, zero strides are left out):

    gemm first=zero last=relu
    axis m 64 m
    axis k 16 k
    in0 float32 m=1 k=64
    …

A touch with an operand is `primitive:name`, `primitive>name` where it writes the operand: `first=identity:bias
last=add:residual,relu,sign>mask`.

A schedule, one line: `shared m:32 seq k:8 prim m=m n=n k=k pack in0@1 m:16 k m`. A packed layout lists its digits,
outermost first; a digit without a step has step 1. Axes that are walked as one stand in front:
`fuse cd=c*d seq cd:8 …`.
"""

from __future__ import annotations

import re

from einloom.dtypes import data_type
from einloom.errors import ScheduleError
from einloom.ir.operation import Axis, DimType, Operand, Operation, Primitive, Touch
from einloom.ir.schedule import OUTPUT, Digit, ExecType, Fused, Loop, Pack, Prims, Schedule

__all__ = ["parse_operation", "parse_schedule", "show_operation", "show_schedule"]


def show_operation(operation: Operation) -> str:
    """Return the text form of an operation."""
    names = [operand.name for operand in operation.operands]
    last = ",".join(_show_touch(touch, names) for touch in operation.last_touches) or "none"
    lines = [f"{operation.main} first={_show_touch(operation.first_touch, names)} last={last}"]
    lines += [f"axis {axis.name} {axis.extent} {axis.role}" for axis in operation.axes]
    for operand in operation.operands:
        strides = "".join(f" {name}={stride}" for name, stride in operation.strides(operand).items() if stride)
        lines.append(f"{operand.name} {operand.dtype}{strides}")
    return "\n".join(lines)


def _show_touch(touch: Touch, names: list[str]) -> str:
    beside = "" if touch.operand is None else f"{'>' if touch.writes else ':'}{names[touch.operand]}"
    return f"{touch.primitive}{beside}"


def _parse_touch(text: str, names: list[str]) -> Touch:
    primitive, sign, name = re.fullmatch(r"(\w+)(?:([:>])(.+))?", text).groups()  # type: ignore[union-attr]
    return Touch(Primitive(primitive), names.index(name) if name else None, sign == ">")


def parse_operation(text: str) -> Operation:
    """Return the operation of a text that `show_operation` wrote.

    Raises:
        ScheduleError: a line that is not of the form; it is quoted.
    """
    header, *lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    try:
        main, first, last = header.split()
        axes = tuple(
            Axis(name, int(extent), DimType(role))
            for _, name, extent, role in (line.split() for line in lines if line.startswith("axis "))
        )
        operands = tuple(_parse_operand(line, axes) for line in lines if not line.startswith("axis "))
        names = [operand.name for operand in operands]
        touches = [_parse_touch(text, names) for text in last.removeprefix("last=").split(",") if text != "none"]
        first_touch = _parse_touch(first.removeprefix("first="), names)
        return Operation(axes, operands, Primitive(main), first_touch, tuple(touches))
    except (ValueError, AttributeError) as error:
        raise ScheduleError(f"not the text of an operation: {error}\n{text}") from error


def _parse_operand(line: str, axes: tuple[Axis, ...]) -> Operand:
    name, dtype, *strides = line.split()
    given = {axis: int(stride) for axis, stride in (item.split("=") for item in strides)}
    return Operand(name, data_type(dtype), tuple(given.get(axis.name, 0) for axis in axes))


def show_schedule(schedule: Schedule) -> str:
    """Return the text form of a schedule."""
    parts = [f"fuse {fused.name}={'*'.join(fused.parts)}" for fused in schedule.fused]
    parts += [f"{loop.kind} {loop.axis}:{loop.step}" for loop in schedule.loops]
    prims = schedule.prims
    taken = (("m", prims.m), ("n", prims.n), ("k", prims.k), ("batch", prims.batch))
    parts.append(" ".join(["prim", *(f"{role}={name}" for role, name in taken if name is not None)]))
    for pack in schedule.packs:
        digits = " ".join(f"{d.axis}:{d.step}" if d.step != 1 else d.axis for d in pack.layout)
        operand = "out" if pack.operand == OUTPUT else f"in{pack.operand}"
        parts.append(f"pack {operand}@{pack.loop} {digits}")
    return " ".join(parts)


_WORD = re.compile(r"\S+")


def parse_schedule(text: str) -> Schedule:
    """Return the schedule of a text that `show_schedule` wrote (or a person, after its example).

    Raises:
        ScheduleError: a word that does not belong there, with a caret below it.
    """
    loops: list[Loop] = []
    packs: list[Pack] = []
    prims: dict[str, str] = {}
    fused: list[Fused] = []
    mode = ""
    for match in _WORD.finditer(text):
        word = match.group()
        try:
            if word in ("seq", "shared", "sfc", "prim", "pack", "fuse"):
                mode = word
            elif mode == "fuse":
                name, parts = word.split("=")
                fused.append(Fused(name, tuple(parts.split("*"))))
            elif mode == "prim":
                role, name = word.split("=")
                prims[role] = name
            elif mode == "pack" and "@" in word:
                operand, loop = word.split("@")
                position = OUTPUT if operand == "out" else int(operand.removeprefix("in"))
                packs.append(Pack(position, int(loop), ()))
            elif mode == "pack":
                last = packs.pop()
                axis, _, step = word.partition(":")
                packs.append(Pack(last.operand, last.loop, (*last.layout, Digit(axis, int(step or 1)))))
            else:
                axis, step = word.split(":")
                loops.append(Loop(axis, int(step), ExecType(mode)))
        except (ValueError, IndexError) as error:
            caret = " " * match.start() + "^" * len(word)
            raise ScheduleError(f"not a schedule: {word!r} does not belong there\n  {text}\n  {caret}") from error
    if unknown := set(prims) - {"m", "n", "k", "batch"}:
        raise ScheduleError(f"the primitive has no {', '.join(sorted(unknown))}; it takes m, n, k and batch\n  {text}")
    return Schedule(tuple(loops), Prims(**prims), tuple(packs), tuple(fused))
