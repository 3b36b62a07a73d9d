"""The named integers of one function: pointers, strides and counters in registers while there are some, else in slots.

Places are decided before the first instruction, by `leaf_frame` for kernels and by `calling_frame` for what calls
them. One scratch register, `temporary`, is left to the caller of most methods.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Generic

from einloom.asm import Label
from einloom.kernels.verbs.scalar import A, Condition, R, ScalarVerbs

__all__ = ["Frame", "TooManyVariables", "calling_frame", "leaf_frame"]


_ONCE = nullcontext()


class TooManyVariables(Exception):
    """The hot names outnumber the registers; the generator tries a smaller tile."""


class Frame(Generic[R, A]):
    """Where each variable lives, and code that reads and writes it.

    Args:
        km: emits the code.
        registers, slots: the variables' places; slots are bytes of the frame.
        extra_bytes: of the frame, before the slots, for its owner.
        arguments: names of the function's arguments, those nobody uses included.
        calls: whether the function calls others.
    """

    def __init__(
        self,
        km: ScalarVerbs[R, A],
        registers: Mapping[str, R],
        slots: Mapping[str, int],
        extra_bytes: int = 0,
        arguments: Sequence[str] = (),
        calls: bool = False,
    ) -> None:
        self.km = km
        self.temporary = km.scratch[0]
        self._registers, self._slots = registers, slots
        self._bytes = extra_bytes + 8 * len(slots)
        self._arguments, self._calls = arguments, calls

    # The function

    def enter(self) -> None:
        """Emit the prologue: save what must be, and bring every argument to its place."""
        km, registers, slots = self.km, self._registers, self._slots
        used = [*registers.values()]
        km.prologue([register for register in km.saved if register in used], self._bytes, self._calls)
        homes = dict(zip(self._arguments, km.arguments))
        for name, slot in slots.items():  # First, while the arguments' registers still hold them.
            if name in homes:
                km.store_slot(slot, homes[name])
        for index, name in enumerate(self._arguments[len(km.arguments) :], len(km.arguments)):
            if name in registers:
                km.load_argument(registers[name], index)
            elif name in slots:
                km.load_argument(self.temporary, index)
                km.store_slot(slots[name], self.temporary)

    def leave(self) -> None:
        """Emit the epilogue."""
        self.km.epilogue()

    # Variables

    def read(self, name: str, into: R | None = None) -> R:
        """Return the register that holds a variable; one in a slot is loaded into `into`, else the temporary."""
        register = self._registers.get(name)
        if register is None:
            register = self.temporary if into is None else into
            self.km.load_slot(register, self._slots[name])
        return register

    def load(self, register: R, name: str) -> None:
        """register = a variable."""
        self.km.move(register, self.read(name, into=register))

    def address(self, register: R, name: str) -> None:
        """register = the address of a variable in a slot; those named behind it follow it."""
        self.km.slot_address(register, self._slots[name])

    def write(self, name: str, src: R) -> None:
        """A variable = a register."""
        register = self._registers.get(name)
        if register is None:
            self.km.store_slot(self._slots[name], src)
        elif register is not src:
            self.km.move(register, src)

    def copy(self, name: str, source: str) -> None:
        """A variable = another."""
        self.write(name, self.read(source))

    def set(self, name: str, value: int) -> None:
        """A variable = a constant."""
        register = self._registers.get(name)
        if register is None:
            self.km.set_slot(self._slots[name], value, self.temporary)
        else:
            self.km.constant(register, value)

    def add(self, name: str, addend: R | int) -> None:
        """A variable += a constant, or a register that is not the temporary."""
        register = self._registers.get(name)
        if register is None:
            self.km.increase_slot(self._slots[name], addend, self.temporary)
        elif isinstance(addend, int):
            self.km.add_constant(register, addend)
        else:
            self.km.add(register, addend)

    def count_down(self, name: str, label: Label) -> None:
        """A variable -= 1; go to the label unless it is 0 then."""
        register = self._registers.get(name)
        if register is None:
            self.km.count_down_slot(self._slots[name], label, self.temporary)
        else:
            self.km.count_down(register, label)

    def branch(self, condition: Condition, name: str, bound: int, label: Label) -> None:
        """Go to the label if a variable compares so with a constant."""
        register = self._registers.get(name)
        if register is None:
            self.km.branch_slot(condition, self._slots[name], bound, label, self.temporary)
        else:
            self.km.branch(condition, register, bound, label)

    @contextmanager
    def changed(self, name: str) -> Generator[R, None, None]:
        """Give a register that holds the variable, and write it back."""
        register = self.read(name)
        yield register
        self.write(name, register)

    @contextmanager
    def assigned(self, name: str) -> Generator[R, None, None]:
        """Give a register to set, and write it to the variable."""
        register = self._registers.get(name, self.temporary)
        yield register
        self.write(name, register)

    # Pointers and strides: a stride is a number of bytes or a variable

    def advance(self, name: str, stride: int | str, count: int) -> None:
        """Emit variable += stride * count."""
        if count == 0 or stride == 0:
            return
        if isinstance(stride, int):
            self.add(name, stride * count)
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

    def add_multiple(self, register: R, stride: int | str, count: int) -> None:
        """Emit register += stride * count."""
        if isinstance(stride, int):
            self.km.add_constant(register, stride * count)
        elif stride in self._registers:
            self.km.sum_multiple(register, register, self._registers[stride], count)
        else:
            for _ in range(count):
                self.km.add_slot(register, self._slots[stride])

    def set_strides(self, constants: Mapping[str, int], scaled: Mapping[str, int]) -> None:
        """Bring strides that are arguments from elements (of so many bytes) into bytes, and assign known ones."""
        for name, element in scaled.items():
            with self.changed(name) as register:
                self.km.multiply_constant(register, register, element)
        for name, value in constants.items():
            self.set(name, value)

    def walk(self, name: str, stride: int | str, count: int, reach: int) -> Iterator[tuple[R, int]]:
        """Yield (base, offset) of `count` places that lie a stride apart, the first where a pointer is.

        Offsets beyond `reach` are walked by the temporary: each place must be used before the next is asked for.
        """
        base = self.read(name)
        if isinstance(stride, int) and abs(stride) * count <= reach:
            yield from ((base, index * stride) for index in range(count))
            return
        self.km.move(self.temporary, base)
        for index in range(count):
            if index:
                self.add_multiple(self.temporary, stride, 1)
            yield self.temporary, 0

    # Loops

    def loop(self, count: int, name: str) -> AbstractContextManager[None]:
        """Run the body a known number of times, 1 at least; the variable counts down, but for a single time."""
        if count == 1:
            return _ONCE
        if name in self._registers:
            return self.km.loop(count, self._registers[name])
        return self._loop(count, name)

    @contextmanager
    def _loop(self, count: int, name: str) -> Generator[None, None, None]:
        """Count in a slot."""
        self.set(name, count)
        start, top = len(self.km.asm.records), self.km.asm.label("loop")
        yield
        self.count_down(name, top)
        self.km.asm.repeated(start, count)


def leaf_frame(
    km: ScalarVerbs[R, A], arguments: Sequence[str], hot: Sequence[str], cold: Sequence[str], extra_bytes: int = 0
) -> Frame[R, A]:
    """Return the frame of a function that calls no other.

    Arguments stay where the caller put them unless a hot name needs the register.

    Args:
        arguments: names of the function's arguments.
        hot: names that are used all the time and have to be in registers.
        cold: names that are used now and then.
        extra_bytes: of the frame, for its owner.

    Raises:
        TooManyVariables: there are too few registers for the hot names.
    """
    hot, cold = tuple(dict.fromkeys(hot)), tuple(dict.fromkeys(cold))
    used = {*hot, *cold}
    kept = {name: home for name, home in zip(arguments, km.arguments) if name in used}
    free = [*km.scratch[1:], *(r for r in km.arguments if r not in kept.values()), *km.saved]
    stealable = [name for name in reversed(cold) if name in kept and name not in hot]
    registers: dict[str, R] = {}
    slots: dict[str, int] = {}
    for name in hot:
        if name not in kept and not free:
            if not stealable:
                raise TooManyVariables(name)
            free.append(kept.pop(stealable.pop(0)))
        registers[name] = kept[name] if name in kept else free.pop(0)
    for name in cold:
        if name in registers:
            continue
        if name in kept:
            registers[name] = kept[name]
        elif free:
            registers[name] = free.pop(0)
        else:
            slots[name] = extra_bytes + 8 * len(slots)
    return Frame(km, registers, slots, extra_bytes, arguments)


def calling_frame(km: ScalarVerbs[R, A], hot: Sequence[str], cold: Sequence[str]) -> Frame[R, A]:
    """Return the frame of a function that calls others: the hottest names in the registers that calls preserve."""
    registers = dict(zip(dict.fromkeys(hot), km.saved))
    slots = {name: 8 * index for index, name in enumerate(n for n in dict.fromkeys(cold) if n not in registers)}
    return Frame(km, registers, slots, calls=True)
