"""The text of launches: `write_launch` and `read_launch`, which gives back an equal launch.

A line a thing, what stands inside a loop indented by two spaces. Levels and arrays come first:

    launch copy
      block n.0 2
      thread n.1 4 also init.n.1
      global in float32 a 8
      global out float32 b 8
      register float32 r 1
      r[0] = a[4 n.0 + n.1] global cache=l1
      b[4 n.0 + n.1] = r[0] global if 4 n.0 + n.1 < 7
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from einloom.dtypes import TYPES
from einloom.errors import ScheduleError
from einloom.ir.gpu.launch import Array, Launch, LaunchNode, Level, Mma, Repeat, Role, Space
from einloom.ir.statement import Barrier, LoopKind, Place, Statement, Terms

__all__ = ["read_launch", "write_launch"]

DEEPEST = 200
"""Loops inside of each other, at most."""

_STATEMENT = re.compile(
    r"(?P<output>[^=]+\]) = (?P<value>.*?)(?P<flags>(?: (?:global|shared|cache=\w+))*)(?: if (?P<limits>.*))?"
)
_MMA = re.compile(r"mma (\w+) ([^]]+\]) \+= ([^]]+\]) ([^]]+\])")
_PLACE = re.compile(r"([\w.]+)\[(.*)\]")
_CALL = re.compile(r"(\w+)\((.*)\)")
_INPUT = re.compile(r"[\w.]+\[[^]]*\]|[^,\s][^,]*")


def write_launch(launch: Launch) -> str:
    """Return the text of a launch."""
    lines = [f"launch {launch.name}"]
    lines += [_level_line("block", level) for level in launch.grid]
    lines += [_level_line("thread", level) for level in launch.block]
    for each in launch.arrays:
        role = f"{each.role} " if each.role is not Role.LOCAL else ""
        origin = f" from {each.origin}" if each.origin else ""
        lines.append(f"  {each.space} {role}{each.dtype} {each.name} {each.size}{origin}")
    return "\n".join([*lines, *_body_lines(launch.body, 1)])


def read_launch(text: str) -> Launch:
    """Return the launch that a text describes.

    Raises:
        ScheduleError: a line is none of a launch's; the message names it.
    """
    return _Reader(text).launch()


def _is_number(word: str) -> bool:
    """Whether a word is a number that machines count by; Python takes other digits for digits, too."""
    return bool(re.fullmatch("[0-9]{1,19}", word))


def _level_line(kind: str, level: Level) -> str:
    return f"  {kind} {level.name} {level.extent}" + (f" also {' '.join(level.also)}" if level.also else "")


def _body_lines(nodes: Iterable[LaunchNode], depth: int) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, Repeat):
            yield f"{'  ' * depth}{node.kind} {node.name} {node.trips}"
            yield from _body_lines(node.body, depth + 1)
        else:
            yield f"{'  ' * depth}{node}"


class _Reader:
    """Reads line by line; `at` is the next line's position."""

    def __init__(self, text: str) -> None:
        self.lines = [line.rstrip() for line in text.splitlines() if line.strip()]
        self.at = 0
        self.spaces: dict[str, Space] = {}

    def launch(self) -> Launch:
        """Read everything."""
        first = self._words(0)
        if len(first) != 2 or first[0] != "launch":
            raise self._error("a launch begins with its name, as in `launch matmul`")
        self.at = 1
        grid = tuple(self._levels("block"))
        block = tuple(self._levels("thread"))
        arrays = tuple(self._arrays())
        self.spaces = {each.name: each.space for each in arrays}
        body = tuple(self._nodes(1))
        if self.at < len(self.lines):
            raise self._error("this line stands outside everything before it")
        return Launch(first[1], grid, block, arrays, body)

    def _words(self, at: int) -> list[str]:
        return self.lines[at].split() if at < len(self.lines) else []

    def _levels(self, kind: str) -> Iterator[Level]:
        while self._words(self.at)[:1] == [kind]:
            _, name, extent, *also = self._counted(3)
            yield Level(name, int(extent), tuple(also[1:]))
            self.at += 1

    def _arrays(self) -> Iterator[Array]:
        spaces, roles = {each.value for each in Space}, {each.value for each in Role}
        while (words := self._words(self.at)) and words[0] in spaces:
            role = Role(words.pop(1)) if words[1:2] and words[1] in roles else Role.LOCAL
            if len(words) not in (4, 6) or words[1] not in TYPES or not all(map(_is_number, words[3::2])):
                raise self._error("an array is a memory, its role, a type, a name and a number of elements")
            origin = int(words[5]) if len(words) == 6 else 0
            yield Array(words[2], TYPES[words[1]], Space(words[0]), int(words[3]), role, origin)
            self.at += 1

    def _nodes(self, depth: int) -> Iterator[LaunchNode]:
        if depth > DEEPEST:
            raise self._error(f"this line stands inside of {DEEPEST} loops")
        kinds = {each.value for each in LoopKind}
        while self.at < len(self.lines) and self._depth() == depth:
            words = self._words(self.at)
            if words == ["barrier"]:
                self.at += 1
                yield Barrier()
            elif words[0] in kinds and len(words) == 3:
                _, name, trips = self._counted(3)
                self.at += 1
                yield Repeat(name, int(trips), LoopKind(words[0]), tuple(self._nodes(depth + 1)))
            else:
                yield self._mma() if words[0] == "mma" else self._statement()
                self.at += 1

    def _depth(self) -> int:
        line = self.lines[self.at]
        return (len(line) - len(line.lstrip())) // 2

    def _counted(self, least: int) -> list[str]:
        words = self._words(self.at)
        if len(words) < least or not _is_number(words[2]):
            raise self._error("here stands a name and how many iterations it has")
        return words

    def _mma(self) -> Mma:
        match = _MMA.fullmatch(self.lines[self.at].strip())
        if match is None:
            raise self._error("this is no product of fragments, as in `mma m16n8k16 c[0] += a[8 i] b[0]`")
        return Mma(match[1], *(self._place(match[group]) for group in (2, 3, 4)))

    def _statement(self) -> Statement:
        match = _STATEMENT.fullmatch(self.lines[self.at].strip())
        if match is None:
            raise self._error("this is no statement, as in `c[i] = mad(a[2 i], 3, c[i])`")
        output, flags = self._place(match["output"]), tuple(match["flags"].split())
        call = _CALL.fullmatch(match["value"])
        operator = call[1] if call else self._moved(output, flags)
        inputs = tuple(self._input(each) for each in _INPUT.findall(call[2] if call else match["value"]))
        return Statement(operator, output, inputs, tuple(self._limits(match["limits"])), flags)

    def _moved(self, output: Place, flags: tuple[str, ...]) -> str:
        if not flags:
            return "move"
        return "store" if self.spaces.get(output.buffer) in (Space.GLOBAL, Space.SHARED) else "load"

    def _input(self, text: str) -> Place | float:
        if "[" in text:
            return self._place(text)
        try:
            return float(text)
        except ValueError:
            raise self._error(f"{text!r} is neither an element nor a number") from None

    def _place(self, text: str) -> Place:
        match = _PLACE.fullmatch(text)
        if match is None:
            raise self._error(f"{text!r} is no element of an array")
        return Place(match[1], self._terms(match[2]))

    def _limits(self, text: str | None) -> Iterator[tuple[Terms, int]]:
        for part in text.split(" and ") if text else ():
            terms, _, limit = part.rpartition(" < ")
            if not _is_number(limit):
                raise self._error(f"{part!r} is no limit, as in `4 k.0 + k.1 < 6`")
            yield self._terms(terms), int(limit)

    def _terms(self, text: str) -> Terms:
        found: list[tuple[str, int]] = []
        for part in text.split(" + ") if text != "0" else ():
            factor, _, name = part.rpartition(" ")
            if not re.fullmatch(r"[A-Za-z_][\w.]*", name) or not re.fullmatch(r"(-?[0-9]{1,19})?", factor):
                raise self._error(f"{part!r} is no multiple of a loop's index, as in `4 k.0`")
            found.append((name, int(factor or 1)))
        return tuple(found)

    def _error(self, what: str) -> ScheduleError:
        line = self.lines[self.at] if self.at < len(self.lines) else "(the end)"
        return ScheduleError(f"the text of a launch, line {self.at + 1}: {line.strip()!r}\n  {what}.")
