"""`emit_guards`: what an entry checks before anything is taken or written, as code that goes to a label otherwise.

The guards of an `Entry`: how many arguments came, by which names, that each is of the signature, that what is written
shares no byte with the rest. Nothing is on the stack yet and no register of the caller's has changed, so whatever takes
over at the label finds the call as it came. What depends on more than the arguments, settings and scratch, is checked
by `einloom.arrays.emit`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from einloom.arrays.entry import Apart, Argument, ArrayArgument, Entry, IntegerArgument, NoneArgument
from einloom.frozen import frozen
from einloom.jit.entrycode import EntryCode, Register
from einloom.jit.interpreter import Interpreter

if TYPE_CHECKING:
    from einloom.asm import Label

__all__ = ["emit_guards"]


def emit_guards(code: EntryCode, interpreter: Interpreter, entry: Entry, miss: Label) -> None:
    """Emit the guards of an entry; they go to `miss` if the arguments are not what it expects."""
    _Guards(code, interpreter, entry, miss).emit()


@frozen
class _Guards:
    """Working state of one `emit_guards`."""

    code: EntryCode
    interpreter: Interpreter
    entry: Entry
    miss: Label

    def emit(self) -> None:
        self._count()
        for position, argument in enumerate(self.entry.arguments):
            self._argument(position, argument)
        for pair in self.entry.apart:
            self._apart(pair)

    def _count(self) -> None:
        code, entry = self.code, self.entry
        code.unless_count(len(entry.arguments) - len(entry.keywords), self.miss)
        if entry.keywords:
            code.if_zero(code.names, self.miss)
            self._names(*entry.keywords)
        elif entry.may_be_none is not None:
            unnamed = code.asm.forward("unnamed")
            code.if_zero(code.names, unnamed)
            self._names(entry.may_be_none.name)
            self._argument(len(entry.arguments), entry.may_be_none.none)
            code.asm.bind(unnamed)
        else:
            code.unless_zero(code.names, self.miss)

    def _names(self, *names: int) -> None:
        self.code.unless_word(self.code.names, self.interpreter.tuple_size, len(names), self.miss)
        for index, name in enumerate(names):
            self.code.unless_word(self.code.names, self.interpreter.tuple_items + 8 * index, name, self.miss)

    def _argument(self, position: int, argument: Argument) -> None:
        code, layout = self.code, self.interpreter
        thing = code.temporary[0]
        code.load(thing, code.arguments, 8 * position)
        match argument:
            case ArrayArgument():
                code.unless_word(thing, layout.type, argument.array_type, self.miss)
                self._array(thing, argument)
            case IntegerArgument(int_type, (word, digit)):
                code.unless_word(thing, layout.type, int_type, self.miss)
                code.unless_word(thing, layout.number, word, self.miss)
                if digit is not None:
                    code.unless_half(thing, layout.number + 8, digit, self.miss)
            case NoneArgument(none):
                code.unless_equal(thing, none, self.miss)

    def _array(self, array: Register, argument: ArrayArgument) -> None:
        code, layout = self.code, self.interpreter
        table, data = code.temporary[1:3]
        code.unless_word(array, layout.dtype, argument.dtype, self.miss)
        code.unless_half(array, layout.axes, len(argument.extents), self.miss)
        if argument.extents:
            code.load(table, array, layout.extents)
        for axis, extent in enumerate(argument.extents):
            code.unless_word(table, 8 * axis, extent, self.miss)
        used = [axis for axis, extent in enumerate(argument.extents) if extent > 1]
        if used:
            code.load(table, array, layout.strides)
        for axis in used:
            code.unless_word(table, 8 * axis, argument.strides[axis], self.miss)
        if argument.written:
            code.unless_bit(array, layout.flags, layout.writeable, self.miss)
        if argument.alignment > 1:
            code.load(data, array, layout.data)
            code.if_any_bit(data, argument.alignment - 1, self.miss)

    def _apart(self, pair: Apart) -> None:
        """Go to the next entry unless one argument lies wholly below the other, or they may be the same and are."""
        code = self.code
        fine = code.asm.forward("apart")
        first, second, low, high = code.temporary
        ends = (self._reach(pair.written), self._reach(pair.other))
        for register, position in ((first, pair.written), (second, pair.other)):
            code.load(register, code.arguments, 8 * position)
            code.load(register, register, self.interpreter.data)
        if pair.unless_same:
            code.if_equal(first, second, fine)
        code.add(low, first, ends[0][0])
        code.add(high, second, ends[1][1])
        code.unless_below(low, high, fine)
        code.add(low, second, ends[1][0])
        code.add(high, first, ends[0][1])
        code.unless_below(low, high, fine)
        code.jump(self.miss)
        code.asm.bind(fine)

    def _reach(self, position: int) -> tuple[int, int]:
        argument = self.entry.arguments[position]
        assert isinstance(argument, ArrayArgument)
        return argument.reach
