"""From the text forms of operations and schedules back to the values: `parse(str(x)) == x`.

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
`fuse cd=c*d seq cd:8 …`. So does a team of threads, `team 4 schedule(dynamic,1) seq k:8| shared m:32 …`, whose loops
may have ways, `shared m:32{R:2}`, and a barrier behind them, `seq k:8|`.
"""

from __future__ import annotations

import re

from einloom.dtypes import PAIRS, TYPES, data_type
from einloom.errors import ScheduleError
from einloom.ir.loop_text import parse_clause
from einloom.ir.operation import Axis, DimType, Operand, Operation, Primitive, Touch
from einloom.ir.schedule import OUTPUT, TURNED, Digit, ExecType, Fused, Prims, Schedule, ScheduledLoop, ScheduledPack
from einloom.ir.sharing import Clause, Dimension, Grid, Team, Ways

__all__ = ["parse_operation", "parse_schedule"]


def _parse_touch(text: str, names: list[str]) -> Touch:
    primitive, sign, name = re.fullmatch(r"(\w+)(?:([:>])(.+))?", text).groups()  # type: ignore[union-attr]
    return Touch(Primitive(primitive), names.index(name) if name else None, sign == ">")


def parse_operation(text: str) -> Operation:
    """Return the operation of a text that `str` wrote.

    Raises:
        ScheduleError: a line that is not of the form; it is quoted.
    """
    try:
        header, *lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
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
    name, *words = line.split()
    dtype, *strides = [word for word in words if word != "conj"]
    given = {axis: int(stride) for axis, stride in (item.split("=") for item in strides)}
    along = tuple(given.get(axis.name, 0) for axis in axes)
    return Operand(name, PAIRS.get(dtype) or data_type(dtype), along, "conj" in words)


_WORD = re.compile(r"\S+", re.ASCII)
_LOOPS = "Loops are axes with steps, such as seq m:4 k:1."
_WANTED = {
    "": "Begin with seq, shared, sfc, prim, pack, fuse or team.",
    "seq": _LOOPS,
    "shared": _LOOPS,
    "sfc": _LOOPS,
    "prim": "The primitive takes m=, n=, k= and batch=, each once and with the name of an axis.",
    "pack": "A pack is an operand at a loop, such as in0@2, and then axes, perhaps in panels: m:4 k m.",
    "fuse": "Axes are fused by a new name and their own ones, such as cd=c*d.",
    "team": "A team is a number of threads, and perhaps schedule(dynamic,1).",
}
"""What belongs behind each word that says what follows."""
_MODES = tuple(_WANTED)[1:]
_STEP = re.compile(r"([0-9]+)(?:\{([RCL]):([0-9]+)\})?(\|?)", re.ASCII)
_LETTERS = ("m", "n", "k", "batch")


def parse_schedule(text: str) -> Schedule:
    """Return the schedule of a text that `str` wrote (or a person, after its example).

    Raises:
        ScheduleError: a word that does not belong there, with a caret below it.
    """
    reader = _ScheduleReader()
    for match in _WORD.finditer(text):
        try:
            reader.read(match.group())
        except (ValueError, IndexError, KeyError) as error:
            raise ScheduleError(f"not a schedule: {_quoted(text, match)}\n  {_WANTED[reader.mode]}") from error
    return reader.schedule()


class _ScheduleReader:
    """What the words so far say. A word that does not belong there raises ValueError, IndexError or KeyError."""

    def __init__(self) -> None:
        self.mode = ""
        self.loops: list[ScheduledLoop] = []
        self.prims: dict[str, str] = {}
        self.packs: list[tuple[int, int, str, list[Digit]]] = []
        self.fused: list[Fused] = []
        self.threads: int | None = None
        self.clause = Clause()

    def read(self, word: str) -> None:
        if word in _MODES:
            self.mode = word
        elif self.mode == "prim":
            self._primitive(word)
        elif self.mode == "pack":
            self._pack(word)
        elif self.mode == "fuse":
            name, parts = word.split("=")
            self.fused.append(Fused(_named(name), tuple(map(_named, parts.split("*")))))
        elif self.mode == "team":
            self._team(word)
        else:
            self._loop(word)

    def _team(self, word: str) -> None:
        if self.threads is None:
            self.threads = int(word)
        else:
            self.clause = parse_clause(word)

    def _loop(self, word: str) -> None:
        axis, colon, rest = word.partition(":")
        match = _STEP.fullmatch(rest)
        if not colon or match is None:
            raise ValueError("no axis:step")
        step, dimension, count, bar = match.groups()
        ways = Ways(Dimension(dimension), int(count)) if dimension else None
        self.loops.append(ScheduledLoop(_named(axis), int(step), ExecType(self.mode), ways, bool(bar)))

    def _primitive(self, word: str) -> None:
        letter, name = word.split("=")
        if letter not in _LETTERS or letter in self.prims:
            raise ValueError(f"the primitive takes each of {' '.join(_LETTERS)} once")
        self.prims[letter] = _named(name)

    def _pack(self, word: str) -> None:
        if "@" in word:
            operand, place = word.split("@")
            loop, colon, kind = place.partition(":")
            if colon and kind != TURNED and kind not in TYPES:
                raise ValueError("no form of a pack")
            self.packs.append((_position(operand), int(loop), kind, []))
        else:
            axis, colon, step = word.partition(":")
            self.packs[-1][3].append(Digit(_named(axis), int(step) if colon else 1))

    def schedule(self) -> Schedule:
        packs = tuple(
            ScheduledPack(operand, loop, tuple(digits), TYPES.get(kind), kind == TURNED)
            for operand, loop, kind, digits in self.packs
        )
        ways = tuple(loop.ways for loop in self.loops if loop.ways is not None)
        team = None if self.threads is None else Team(self.threads, Grid.of(ways) if ways else None, self.clause)
        return Schedule(tuple(self.loops), Prims(**self.prims), packs, tuple(self.fused), team)


def _named(axis: str) -> str:
    if not axis:
        raise ValueError("an axis without a name")
    return axis


def _position(operand: str) -> int:
    if operand == "out":
        return OUTPUT
    name, digits = operand[:2], operand[2:]
    if name != "in" or not digits.isdigit():
        raise ValueError(f"no operand {operand}")
    return int(digits)


def _quoted(text: str, match: re.Match[str]) -> str:
    """The word of a match and its neighbourhood, with carets below it."""
    word = match.group()
    start = max(match.start() - 80, 0)
    place = match.start() - start
    carets = "^" * min(len(word), 80)
    return f"{word!r:.80} does not belong there\n  {text[start : start + 160]}\n  {' ' * place}{carets}"
