"""`Entry`: what a generated entry from Python checks and does, as a value; `emit_entry` writes it as machine code.

An entry is for one signature: arrays of exactly these types, extents and strides. What the rules of `check` say about
these was found out by Python when the signature came first; what depends on the arrays themselves (where they lie,
whether they may be written) the entry checks. Whatever is unexpected goes to the next entry, and at last to Python,
before anything has been written.

It is pure: functions and objects are addresses, the interpreter a description, so code for either ISA is made anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from einloom.asm import Assembler
from einloom.jit.entrycode import EntryCode, Number, Slot, SlotAddress, Value, entry_code
from einloom.jit.interpreter import Interpreter

__all__ = [
    "Apart",
    "ArrayArgument",
    "Call",
    "Data",
    "Entry",
    "Fresh",
    "IntegerArgument",
    "NoneArgument",
    "Scratch",
    "ThreadSettings",
    "emit_entry",
    "emit_handover",
]


@dataclass(frozen=True, slots=True)
class ArrayArgument:
    """An argument that is an array, no instance of a subclass.

    Attributes:
        array_type: address of the class of arrays.
        dtype: address of the object that is its type of elements.
        extents, strides: its own; strides in bytes, those of axes of extent 1 do not matter.
        alignment: what its address is a multiple of, a power of two.
        reach: the bytes that are read or written, relative to its first element: the first, and behind the last.
        written: whether it must be writable.
    """

    array_type: int
    dtype: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    alignment: int
    reach: tuple[int, int]
    written: bool = False


@dataclass(frozen=True, slots=True)
class IntegerArgument:
    """An argument that is an int of a certain value: its type's address, and its bytes (see `integer_image`)."""

    int_type: int
    image: tuple[int, int | None]


@dataclass(frozen=True, slots=True)
class NoneArgument:
    """An argument that is None, whose address this is."""

    none: int


Argument: TypeAlias = ArrayArgument | IntegerArgument | NoneArgument


@dataclass(frozen=True, slots=True)
class Data:
    """The address of the first element of an argument; of the fresh result for position -1."""

    position: int


@dataclass(frozen=True, slots=True)
class Scratch:
    """The address so many bytes into the scratch."""

    offset: int


@dataclass(frozen=True, slots=True)
class Call:
    """A function to call.

    Attributes:
        function: its address.
        values: `function(values…)`; or the words of the block if there are threads.
        threads: 0, or how many shares: `function(block, share, shares)` is called for each.
    """

    function: int
    values: tuple[Data | Scratch | Number, ...]
    threads: int = 0


@dataclass(frozen=True, slots=True)
class Fresh:
    """A result that is made: `make(*arguments)`; `index` takes the scalar out of an array without axes.

    Attributes:
        make: address of a callable.
        arguments: address of the tuple of its arguments.
        index: address of the empty tuple, or 0.
    """

    make: int
    arguments: int
    index: int = 0


@dataclass(frozen=True, slots=True)
class Apart:
    """Two arguments, by position, of which one is written: they must share no byte.

    Attributes:
        written, other: positions.
        unless_same: whether they may also begin at the same address, where their elements are the same ones.
    """

    written: int
    other: int
    unless_same: bool = False


@dataclass(frozen=True, slots=True)
class ThreadSettings:
    """What the number of threads followed from when the entry was made.

    Attributes:
        variable: address of the context variable, and value: of the object that it must hold.
        limit: address of the word that holds the process's limit, and limited: what it must be.
    """

    variable: int
    value: int
    limit: int
    limited: int


@dataclass(frozen=True, slots=True)
class Entry:
    """What an entry expects and does.

    Attributes:
        arguments: in order, the positional ones first.
        calls: functions to call.
        result: what is returned: something fresh, the argument of this position, or the object at this address.
        keywords: addresses of the names by which the last arguments come, in order.
        apart: pairs of arguments that must not overlap.
        launch: address of the function that starts a team; see `einloom.jit.threads`.
        settings: what must not have changed.
        scratch: address of the word that holds the address of the scratch, 0 while another call has it.
        releases_interpreter: whether other Python threads run meanwhile.
    """

    arguments: tuple[Argument, ...]
    calls: tuple[Call, ...]
    result: Fresh | Number | int
    keywords: tuple[int, ...] = ()
    apart: tuple[Apart, ...] = ()
    launch: int = 0
    settings: ThreadSettings | None = None
    scratch: int = 0
    releases_interpreter: bool = False


_CALLED, _ARGUMENTS, _COUNT, _NAMES, _RESULT, _SCRATCH, _STATE, _VALUE, _FIRST_WORD = range(9)


def emit_entry(isa: str, interpreter: Interpreter, entry: Entry, following: int) -> Assembler:
    """Return code for the entry; `following` is the address of the one that takes what it does not."""
    return _Emission(entry_code(isa), interpreter, entry, following).emit()


def emit_handover(isa: str, interpreter: Interpreter, function: int) -> Assembler:
    """Return code for the last entry of a chain: it calls the Python function at this address as a method."""
    code = entry_code(isa)
    failed = code.asm.forward("failed")
    code.enter(_SCRATCH + 1, 4)
    _store_arguments(code)
    code.call(interpreter.function("PyMethod_New"), [Number(function), Slot(_CALLED)])
    code.store_slot(_CALLED, code.result)
    code.if_zero(code.result, failed)
    forwarded = [Slot(_CALLED), Slot(_ARGUMENTS), Slot(_COUNT), Slot(_NAMES)]
    code.call(interpreter.function("PyObject_Vectorcall"), forwarded)
    code.store_slot(_RESULT, code.result)
    code.call(interpreter.function("Py_DecRef"), [Slot(_CALLED)])
    code.load_slot(code.result, _RESULT)
    code.asm.bind(failed)
    code.leave()
    code.return_()
    return code.asm


def _store_arguments(code: EntryCode) -> None:
    for slot, register in enumerate((code.called, code.arguments, code.count, code.names)):
        code.store_slot(slot, register)


class _Emission:
    """Working state of one `emit_entry`."""

    def __init__(self, code: EntryCode, interpreter: Interpreter, entry: Entry, following: int) -> None:
        self.code = code
        self.layout = interpreter
        self.entry = entry
        self.following = following
        self.miss, self.mismatch, self.refused, self.failed = (
            code.asm.forward(name) for name in ("miss", "mismatch", "refused", "failed")
        )

    def emit(self) -> Assembler:
        code, entry = self.code, self.entry
        self._check_count()
        for position, argument in enumerate(entry.arguments):
            self._check(position, argument)
        for pair in entry.apart:
            self._check_apart(pair)
        words = sum(len(call.values) for call in entry.calls)
        code.enter(_FIRST_WORD + words, max((len(call.values) for call in entry.calls if not call.threads), default=4))
        _store_arguments(code)
        self._check_settings()
        self._take_scratch()
        self._make_result()
        self._run()
        self._return()
        self._give_up()
        return code.asm

    # ---- checks: nothing has been taken yet ---------------------------------------------------------------------

    def _check_count(self) -> None:
        code, layout = self.code, self.layout
        keywords = self.entry.keywords
        code.unless_count(len(self.entry.arguments) - len(keywords), self.miss)
        if not keywords:
            code.unless_zero(code.names, self.miss)
            return
        code.if_zero(code.names, self.miss)
        code.unless_word(code.names, layout.tuple_size, len(keywords), self.miss)
        for index, keyword in enumerate(keywords):
            code.unless_word(code.names, layout.tuple_items + 8 * index, keyword, self.miss)

    def _check(self, position: int, argument: Argument) -> None:
        code, layout = self.code, self.layout
        thing = code.temporary[0]
        code.load(thing, code.arguments, 8 * position)
        match argument:
            case ArrayArgument():
                code.unless_word(thing, layout.type, argument.array_type, self.miss)
                self._check_array(thing, argument)
            case IntegerArgument(int_type, (word, digit)):
                code.unless_word(thing, layout.type, int_type, self.miss)
                code.unless_word(thing, layout.number, word, self.miss)
                if digit is not None:
                    code.unless_half(thing, layout.number + 8, digit, self.miss)
            case NoneArgument(none):
                code.unless_equal(thing, none, self.miss)

    def _check_array(self, array: Any, argument: ArrayArgument) -> None:
        code, layout = self.code, self.layout
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

    def _check_apart(self, pair: Apart) -> None:
        """Go to the next entry unless one argument lies wholly below the other, or they may be the same and are."""
        code = self.code
        fine = code.asm.forward("apart")
        first, second, low, high = code.temporary
        ends = (self._reach(pair.written), self._reach(pair.other))
        for register, position in ((first, pair.written), (second, pair.other)):
            code.load(register, code.arguments, 8 * position)
            code.load(register, register, self.layout.data)
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

    # ---- what a call takes --------------------------------------------------------------------------------------

    def _check_settings(self) -> None:
        settings, code = self.entry.settings, self.code
        if settings is None:
            return
        value = code.temporary[0]
        code.constant(value, 0)
        code.store_slot(_VALUE, value)
        arguments = [Number(settings.variable), Number(0), SlotAddress(_VALUE)]
        code.call(self.layout.function("PyContextVar_Get"), arguments)
        code.load_slot(value, _VALUE)
        code.if_zero(value, self.failed)
        code.call(self.layout.function("Py_DecRef"), [Slot(_VALUE)])
        code.load_slot(value, _VALUE)
        code.unless_equal(value, settings.value, self.mismatch)
        code.load_at(value, settings.limit)
        code.unless_equal(value, settings.limited, self.mismatch)

    def _take_scratch(self) -> None:
        code = self.code
        if self.entry.scratch:
            address, zero = code.temporary[:2]
            code.load_at(address, self.entry.scratch)
            code.if_zero(address, self.mismatch)
            code.store_slot(_SCRATCH, address)
            code.constant(zero, 0)
            code.store_at(self.entry.scratch, zero)

    def _return_scratch(self) -> None:
        if self.entry.scratch:
            self.code.load_slot(self.code.temporary[0], _SCRATCH)
            self.code.store_at(self.entry.scratch, self.code.temporary[0])

    def _make_result(self) -> None:
        code, result = self.code, self.entry.result
        if not isinstance(result, Fresh):
            return
        made = code.asm.forward("made")
        code.call(self.layout.function("PyObject_Call"), [Number(result.make), Number(result.arguments), Number(0)])
        code.store_slot(_RESULT, code.result)
        code.unless_zero(code.result, made)
        self._return_scratch()
        code.jump(self.failed)
        code.asm.bind(made)

    # ---- calls --------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        code, entry = self.code, self.entry
        slots = [self._store_words(call, first) for call, first in zip(entry.calls, self._first_words())]
        if entry.releases_interpreter:
            code.call(self.layout.function("PyEval_SaveThread"), [])
            code.store_slot(_STATE, code.result)
        for call, words in zip(entry.calls, slots):
            self._call(call, words)
        self._take_interpreter()
        self._return_scratch()

    def _first_words(self) -> list[int]:
        firsts = [_FIRST_WORD]
        for call in self.entry.calls:
            firsts.append(firsts[-1] + len(call.values))
        return firsts

    def _store_words(self, call: Call, first: int) -> list[Value]:
        """Store the values in slots from `first` on and return these."""
        word = self.code.temporary[0]
        for index, value in enumerate(call.values):
            self._load_word(word, value)
            self.code.store_slot(first + index, word)
        return [Slot(first + index) for index in range(len(call.values))]

    def _load_word(self, word: Any, value: Data | Scratch | Number) -> None:
        code = self.code
        match value:
            case Number(number):
                code.constant(word, number)
            case Scratch(offset):
                code.load_slot(word, _SCRATCH)
                code.add(word, word, offset)
            case Data(-1):
                code.load_slot(word, _RESULT)
                code.load(word, word, self.layout.data)
            case Data(position):
                code.load_slot(word, _ARGUMENTS)
                code.load(word, word, 8 * position)
                code.load(word, word, self.layout.data)

    def _call(self, call: Call, words: Sequence[Value]) -> None:
        code = self.code
        if not call.threads:
            code.call(call.function, words)
            return
        first = words[0]
        assert isinstance(first, Slot)
        block = SlotAddress(first.index)
        if call.threads == 1:
            code.call(call.function, [block, Number(0), Number(1)])
        else:
            code.call(self.entry.launch, [Number(call.function), block, Number(call.threads)])
            code.unless_zero(code.result, self.refused)

    def _take_interpreter(self) -> None:
        if self.entry.releases_interpreter:
            self.code.call(self.layout.function("PyEval_RestoreThread"), [Slot(_STATE)])

    # ---- ends ---------------------------------------------------------------------------------------------------

    def _return(self) -> None:
        code, result = self.code, self.entry.result
        if isinstance(result, Fresh):
            if result.index:
                self._take_scalar(result.index)
        else:
            returned = code.temporary[0]
            if isinstance(result, Number):
                code.constant(returned, result.value)
            else:
                code.load_slot(returned, _ARGUMENTS)
                code.load(returned, returned, 8 * result)
            code.store_slot(_RESULT, returned)
            code.call(self.layout.function("Py_IncRef"), [Slot(_RESULT)])
        code.load_slot(code.result, _RESULT)
        code.leave()
        code.return_()

    def _take_scalar(self, index: int) -> None:
        code = self.code
        code.call(self.layout.function("PyObject_GetItem"), [Slot(_RESULT), Number(index)])
        code.store_slot(_VALUE, code.result)
        code.call(self.layout.function("Py_DecRef"), [Slot(_RESULT)])
        code.load_slot(code.temporary[0], _VALUE)
        code.store_slot(_RESULT, code.temporary[0])

    def _give_up(self) -> None:
        """Hand over to the next entry: `refused` by the launcher, on a `mismatch` of settings, or a `miss` before."""
        code = self.code
        if any(call.threads > 1 for call in self.entry.calls):
            code.asm.bind(self.refused)
            self._take_interpreter()
            self._return_scratch()
            if isinstance(self.entry.result, Fresh):
                code.call(self.layout.function("Py_DecRef"), [Slot(_RESULT)])
        code.asm.bind(self.mismatch)
        for slot, register in enumerate((code.called, code.arguments, code.count, code.names)):
            code.load_slot(register, slot)
        code.leave()
        code.asm.bind(self.miss)
        code.jump_to(self.following)
        code.asm.bind(self.failed)
        code.constant(code.result, 0)
        code.leave()
        code.return_()
