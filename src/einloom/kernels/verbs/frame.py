"""The integers of one function: pointers, strides and counters in registers while there are some, else in slots.

A function says which names it uses all the time (`hot`) and which now and then (`cold`). Arguments stay where the
caller put them unless a hot name needs the register. One scratch register, `temporary`, is left to the caller.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from einloom.kernels.verbs.machine import KernelMachine

__all__ = ["Frame", "TooManyVariables"]

Register = Any


class TooManyVariables(Exception):
    """The hot names outnumber the registers; the generator tries a smaller tile."""


class Frame:
    """Places of the variables of a function, decided before its first instruction."""

    def __init__(
        self, km: KernelMachine, arguments: Sequence[str], hot: Sequence[str], cold: Sequence[str], extra_bytes: int = 0
    ) -> None:
        self.km = km
        self.temporary: Register = km.scratch[0]
        self._arguments = tuple(arguments)
        self._homes = dict(zip(arguments, km.arguments))
        self._registers: dict[str, Register] = {}
        self._slots: dict[str, int] = {}
        self._extra_bytes = extra_bytes
        self._place(tuple(dict.fromkeys(hot)), tuple(dict.fromkeys(cold)))

    def _place(self, hot: tuple[str, ...], cold: tuple[str, ...]) -> None:
        used = {*hot, *cold}
        kept = {name: home for name, home in self._homes.items() if name in used}
        free = [r for r in self.km.arguments if r not in kept.values()]
        free = [*self.km.scratch[1:], *free, *self.km.saved]
        stealable = [name for name in reversed(cold) if name in kept and name not in hot]
        for name in hot:
            if name not in kept and not free:
                if not stealable:
                    raise TooManyVariables(name)
                free.append(kept.pop(stealable.pop(0)))
            self._registers[name] = kept[name] if name in kept else free.pop(0)
        for name in cold:
            if name in self._registers:
                continue
            if name in kept:
                self._registers[name] = kept[name]
            elif free:
                self._registers[name] = free.pop(0)
            else:
                self._slots[name] = self._extra_bytes + 8 * len(self._slots)

    def enter(self) -> None:
        """Emit the prologue: save what must be, and bring every argument to its place."""
        saved = [register for register in self.km.saved if register in self._registers.values()]
        self.km.prologue(saved, self._extra_bytes + 8 * len(self._slots), calls=False)
        for name, slot in self._slots.items():  # First, while the arguments' registers still hold them.
            if name in self._homes:
                self.km.store_slot(slot, self._homes[name])
        for index, name in enumerate(self._arguments[len(self.km.arguments) :], len(self.km.arguments)):
            if name in self._registers:
                self.km.load_argument(self._registers[name], index)
            elif name in self._slots:
                self.km.load_argument(self.temporary, index)
                self.km.store_slot(self._slots[name], self.temporary)

    def leave(self) -> None:
        """Emit the epilogue."""
        self.km.epilogue()

    def read(self, name: str, into: Register = None) -> Register:
        """Return the register that holds a variable; one in a slot is loaded into `into`, else the temporary."""
        if name in self._registers:
            return self._registers[name]
        register = self.temporary if into is None else into
        self.km.load_slot(register, self._slots[name])
        return register

    def write(self, name: str, src: Register) -> None:
        """Assign a register to a variable."""
        if name in self._registers:
            self.km.move(self._registers[name], src)
        else:
            self.km.store_slot(self._slots[name], src)

    @contextmanager
    def changed(self, name: str) -> Iterator[Register]:
        """Give a register that holds the variable, and write it back."""
        register = self.read(name)
        yield register
        self.write(name, register)

    @contextmanager
    def assigned(self, name: str) -> Iterator[Register]:
        """Give a register to set, and write it to the variable."""
        register = self._registers.get(name, self.temporary)
        yield register
        self.write(name, register)

    def advance(self, name: str, stride: int | str, count: int) -> None:
        """Emit variable += stride * count; a stride is a number of bytes or a variable."""
        if count == 0 or stride == 0:
            return
        if isinstance(stride, int):
            with self.changed(name) as pointer:
                self.km.add_constant(pointer, stride * count)
            return
        step = self.read(stride)
        if name not in self._registers:
            self.km.multiply_constant(self.temporary, step, count)
            self.km.add_slot(self.temporary, self._slots[name])
            self.write(name, self.temporary)
        elif count == 1:
            self.km.add(self._registers[name], step)
        else:
            self.km.sum_multiple(self._registers[name], self._registers[name], step, count)

    def set_strides(self, constants: dict[str, int], scaled: Sequence[str], element: int) -> None:
        """Assign strides that are known, and bring those that are arguments from elements into bytes."""
        for name in scaled:
            with self.changed(name) as register:
                self.km.multiply_constant(register, register, element)
        for name, value in constants.items():
            with self.assigned(name) as register:
                self.km.constant(register, value)

    def add_multiple(self, register: Register, stride: int | str, count: int) -> None:
        """Emit register += stride * count; a stride is a number of bytes or a variable."""
        if isinstance(stride, int):
            self.km.add_constant(register, stride * count)
        elif stride in self._registers:
            self.km.sum_multiple(register, register, self._registers[stride], count)
        else:
            for _ in range(count):
                self.km.add_slot(register, self._slots[stride])

    @contextmanager
    def loop(self, count: int, name: str) -> Iterator[None]:
        """Run the body a known number of times; the variable counts down."""
        if name in self._registers or count == 1:
            with self.km.loop(count, self._registers.get(name)):
                yield
            return
        with self.assigned(name) as counter:
            self.km.constant(counter, count)
        top = self.km.asm.label("loop")
        yield
        with self.changed(name) as counter:
            self.km.add_constant(counter, -1)
        self.km.branch("ne", self.temporary, 0, top)
