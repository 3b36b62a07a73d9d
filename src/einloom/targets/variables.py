"""`Variables`: named 64-bit integers of a generated function, in callee-saved registers or slots of its frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from einloom.kernels import KernelMachine

__all__ = ["Variables"]

Register = Any


class Variables:
    """Where each variable lives, and code that reads and writes it.

    Args:
        machine: emits the code.
        hot: names that deserve a register, hottest first. They still have to be declared.
    """

    def __init__(self, machine: KernelMachine, hot: Sequence[str]) -> None:
        self.machine = machine
        chosen = list(dict.fromkeys(hot))[: len(machine.saved)]
        self._register: dict[str, Register] = dict(zip(chosen, machine.saved))
        self._slot: dict[str, int] = {}

    @property
    def registers(self) -> tuple[Register, ...]:
        """Callee-saved registers that the function uses."""
        return tuple(self._register.values())

    @property
    def frame_bytes(self) -> int:
        """Size of the frame that holds the other variables, in bytes."""
        return 8 * len(self._slot)

    def declare(self, name: str) -> None:
        """Give the variable a place."""
        if name not in self._register:
            self._slot.setdefault(name, 8 * len(self._slot))

    def get(self, name: str, temporary: Register) -> Register:
        """Return a register that holds the variable: its own, or `temporary` after loading it."""
        if name in self._register:
            return self._register[name]
        self.machine.load_slot(temporary, self._slot[name])
        return temporary

    def load(self, register: Register, name: str) -> None:
        """Copy the variable into `register`."""
        source = self.get(name, register)
        if source is not register:
            self.machine.move(register, source)

    def store(self, name: str, register: Register, optional: bool = False) -> None:
        """Set the variable to `register`; a name that was never declared is an error unless `optional`."""
        if name in self._register:
            self.machine.move(self._register[name], register)
        elif not optional or name in self._slot:
            self.machine.store_slot(self._slot[name], register)

    def set(self, name: str, value: int) -> None:
        """Set the variable to a constant."""
        target = self._register.get(name, self.machine.scratch[0])
        self.machine.constant(target, value)
        if name not in self._register:
            self.machine.store_slot(self._slot[name], target)

    def copy(self, name: str, source: str) -> None:
        """Set the variable to the value of another."""
        self.store(name, self.get(source, self.machine.scratch[0]))

    def add(self, name: str, value: int) -> None:
        """Add a constant."""
        register = self.get(name, self.machine.scratch[0])
        self.machine.add_constant(register, value)
        if name not in self._register:
            self.machine.store_slot(self._slot[name], register)

    def add_register(self, name: str, addend: Register) -> None:
        """Add a register that is not `scratch[0]`."""
        register = self.get(name, self.machine.scratch[0])
        self.machine.add(register, addend)
        if name not in self._register:
            self.machine.store_slot(self._slot[name], register)
