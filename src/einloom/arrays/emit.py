"""`emit_entry`: an `Entry` as machine code: guards, what the call takes, the calls into programs, and every way out.

Once the guards have passed, the entry makes a frame, looks at the settings, takes scratch and makes the result. Only
then are functions called. Until one has written anything the next entry can still take the call.

It is pure: functions and objects are addresses, the interpreter a description, so code for either ISA is made anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from einloom.arrays.entry import Call, Data, Entry, Fresh, Scratch
from einloom.arrays.guards import emit_guards
from einloom.jit.entrycode import EntryCode, Number, Register, Slot, SlotAddress, Value, entry_code
from einloom.jit.interpreter import Interpreter

if TYPE_CHECKING:
    from einloom.asm import Assembler

__all__ = ["emit_entry", "emit_handover"]

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
        self.interpreter = interpreter
        self.entry = entry
        self.following = following
        self.miss, self.mismatch, self.refused, self.failed = (
            code.asm.forward(name) for name in ("miss", "mismatch", "refused", "failed")
        )

    def emit(self) -> Assembler:
        code, entry = self.code, self.entry
        emit_guards(code, self.interpreter, entry, self.miss)
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

    # ---- what a call takes --------------------------------------------------------------------------------------

    def _check_settings(self) -> None:
        settings, code = self.entry.settings, self.code
        if settings is None:
            return
        value = code.temporary[0]
        code.constant(value, 0)
        code.store_slot(_VALUE, value)
        arguments = [Number(settings.variable), Number(0), SlotAddress(_VALUE)]
        code.call(self.interpreter.function("PyContextVar_Get"), arguments)
        code.load_slot(value, _VALUE)
        code.if_zero(value, self.failed)
        code.call(self.interpreter.function("Py_DecRef"), [Slot(_VALUE)])
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
        code.call(
            self.interpreter.function("PyObject_Call"), [Number(result.make), Number(result.arguments), Number(0)]
        )
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
            code.call(self.interpreter.function("PyEval_SaveThread"), [])
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

    def _load_word(self, word: Register, value: Data | Scratch | Number) -> None:
        code = self.code
        match value:
            case Number(number):
                code.constant(word, number)
            case Scratch(offset):
                code.load_slot(word, _SCRATCH)
                code.add(word, word, offset)
            case Data(-1):
                code.load_slot(word, _RESULT)
                code.load(word, word, self.interpreter.data)
            case Data(position):
                code.load_slot(word, _ARGUMENTS)
                code.load(word, word, 8 * position)
                code.load(word, word, self.interpreter.data)

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
            self.code.call(self.interpreter.function("PyEval_RestoreThread"), [Slot(_STATE)])

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
            code.call(self.interpreter.function("Py_IncRef"), [Slot(_RESULT)])
        code.load_slot(code.result, _RESULT)
        code.leave()
        code.return_()

    def _take_scalar(self, index: int) -> None:
        code = self.code
        code.call(self.interpreter.function("PyObject_GetItem"), [Slot(_RESULT), Number(index)])
        code.store_slot(_VALUE, code.result)
        code.call(self.interpreter.function("Py_DecRef"), [Slot(_RESULT)])
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
                code.call(self.interpreter.function("Py_DecRef"), [Slot(_RESULT)])
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
