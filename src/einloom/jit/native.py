"""`Native`: the base of classes whose instances are called straight into generated code.

A class's `__call__` costs some 250 ns before its first line. An instance of `Native` holds the address of a C function
besides (CPython calls that "vectorcall"): its entry, which handles the calls that it was generated for and hands all
others to `__call__`. Until it has one, and on an interpreter that is not known, `__call__` does everything.

>>> class Doubler(Native):
...     def __call__(self, number: int) -> int:
...         return 2 * number
>>> Doubler()(21)
42
"""

from __future__ import annotations

import ctypes
from typing import Any

from einloom.jit.interpreter import Interpreter, known_interpreter
from einloom.jit.kernel import Kernel

__all__ = ["Native"]

_T_PYSSIZET, _READ_ONLY = 19, 1
_TP_MEMBERS = 72
_DEFAULT, _BASETYPE = 1 << 18, 1 << 10

_word_at = ctypes.c_uint64.from_address


class _Member(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int),
        ("offset", ctypes.c_ssize_t),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class _Slot(ctypes.Structure):
    _fields_ = (("slot", ctypes.c_int), ("value", ctypes.c_void_p))


class _Spec(ctypes.Structure):
    """`PyType_Spec`: https://docs.python.org/3/c-api/type.html#c.PyType_Spec"""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("basicsize", ctypes.c_int),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.POINTER(_Slot)),
    )


def _type_with_entries(interpreter: Interpreter) -> type:
    """Return a type whose instances have room for the address of an entry, empty at first."""
    members = (_Member * 2)(_Member(b"__vectorcalloffset__", _T_PYSSIZET, interpreter.entry, _READ_ONLY, None))
    slots = (_Slot * 2)(_Slot(_TP_MEMBERS, ctypes.addressof(members)))
    size, flags = interpreter.entry + 8, _DEFAULT | _BASETYPE | interpreter.has_entries
    spec = _Spec(b"einloom.jit.native.WithEntry", size, 0, flags, slots)
    make = ctypes.pythonapi.PyType_FromSpec
    make.argtypes, make.restype = [ctypes.POINTER(_Spec)], ctypes.py_object
    return make(ctypes.byref(spec))


_interpreter = known_interpreter()
_Base: Any = object if _interpreter is None else _type_with_entries(_interpreter)


class Native(_Base):
    """See the module. A class that derives from it defines `__call__`; its instances `enter_at` generated code."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # Python's own classes have the flag taken away, for they may define another `__call__`. What defines one beside
        # entries that belong to it derives from here; a class that derives further loses its entries, not the flag's
        # meaning.
        if _interpreter is not None and Native in cls.__bases__:
            _word_at(id(cls) + _interpreter.type_flags).value |= _interpreter.has_entries

    def enter_at(self, kernel: Kernel, kept: object) -> None:
        """Let calls enter at the beginning of a kernel, `object *(self, arguments, count, names)`.

        The kernel, and what its code points to, stay as long as the object does: another thread may be inside.
        """
        assert _interpreter is not None
        entered: list[tuple[Kernel, object]] = self.__dict__.setdefault("_entered", [])
        entered.append((kernel, kept))
        _word_at(id(self) + _interpreter.entry).value = kernel.address

    def call_python(self) -> None:
        """Let calls go to `__call__` again, as those of a new object do: what its entries stand for has changed."""
        if _interpreter is not None:
            _word_at(id(self) + _interpreter.entry).value = 0
