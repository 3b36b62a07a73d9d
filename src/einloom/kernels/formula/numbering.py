"""From a formula to a recipe: every intermediate result gets a register's number, free from its last use on.

`recipe_of` also picks the form of each fused multiply-add, and says which constants stay in registers through the whole
function, as many as there is room for. It emits nothing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache

from einloom.errors import InternalError
from einloom.kernels.formula.formula import COMPARISONS, Bits, Formula, Node, nodes_of
from einloom.kernels.formula.recipe import Condition, Constant, Input, Location, Recipe, Slot, Step, Traits

__all__ = ["recipe_of"]

COMMUTATIVE = frozenset({"add", "mul", "bit_and", "bit_or", "bit_xor", "eq", "ne"})
MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


@lru_cache(1024)
def recipe_of(formula: Formula, traits: Traits, inputs: int, available: int, hold: bool = True) -> Recipe:
    """Return the recipe of a formula of so many inputs.

    Args:
        available: registers that there are for inputs, intermediate results and constants.
        hold: whether constants may stay in registers.
    """
    plain = _Numbering(formula, traits, inputs, frozenset()).recipe()
    room = available - plain.registers
    if room < 0:
        raise InternalError(f"the formula {formula!r} needs {plain.registers} registers, there are {available}")
    if not hold or not room:
        return plain
    # First the constants that would be loaded by an instruction of their own, each time.
    loads = Counter(bits for verb, (_, bits, *_) in plain.steps if verb == "load_constant" and isinstance(bits, int))
    uses = Counter(place.bits for _, arguments in plain.steps for place in arguments if isinstance(place, Constant))
    every = sorted({*loads, *uses}, key=lambda bits: (-loads[bits], -uses[bits], bits))
    return _Numbering(formula, traits, inputs, frozenset(every[:room])).recipe(tuple(every[:room]))


@dataclass
class _Numbering:
    """One pass over a formula: which nodes are still needed how often, and where they are."""

    formula: Formula
    traits: Traits
    inputs: int
    held: frozenset[int]
    steps: list[Step] = field(default_factory=list[Step])
    places: dict[int, Slot | Condition] = field(default_factory=dict[int, Slot | Condition])

    def recipe(self, held: tuple[int, ...] = ()) -> Recipe:
        order = list(nodes_of(self.formula))
        self.uses = Counter([id(self.formula), *(id(operand) for node in order for operand in node.operands)])
        self.places = {id(node): Slot(node.number) for node in order if node.operation == "argument"}
        single = {node.number for node in order if node.operation == "argument" and self.uses[id(node)] == 1}
        self.single = single if self.traits.memory_operand else set[int]()
        read = {place.number for place in self.places.values()}
        self.free = [number for number in range(self.inputs) if number not in read]
        self.most = self.inputs
        self.conditions = list(range(self.traits.conditions))
        for node in order:
            if node.operation != "argument":
                self.borrowed: list[Slot] = []
                self.places[id(node)] = self._place(node)
        result = self._result()
        direct = {place.number for _, arguments in self.steps for place in arguments if isinstance(place, Input)}
        return Recipe(tuple(self.steps), result, self.most, held, frozenset(direct))

    def _result(self) -> Slot | Constant:
        self.borrowed = []
        place = self.places[id(self.formula)] if isinstance(self.formula, Node) else self._register(self.formula)
        assert isinstance(place, Slot | Constant)
        return place

    # Registers

    def _new(self) -> Slot:
        if self.free:
            self.free.sort(reverse=True)
            return Slot(self.free.pop())
        self.most += 1
        return Slot(self.most - 1)

    def _take(self, node: Node) -> Slot | Condition:
        """Return a node's place at one of its uses; with the last one it is free."""
        place = self.places[id(node)]
        self.uses[id(node)] -= 1
        if self.uses[id(node)] == 0:
            (self.conditions if isinstance(place, Condition) else self.free).append(place.number)
        return place

    def _operand(self, operand: Formula) -> Location:
        """Return a last operand, which may be in memory where the ISA allows it."""
        if isinstance(operand, Node):
            place = self._take(operand)
            return Input(operand.number) if self._is_direct(operand) else place
        return Constant(self._bits(operand)) if self.traits.memory_operand else self._register(operand)

    def _is_direct(self, operand: Formula) -> bool:
        return isinstance(operand, Node) and operand.operation == "argument" and operand.number in self.single

    def _register(self, operand: Formula) -> Location:
        """Return an operand in a register; a constant's is free behind this step, or held."""
        if isinstance(operand, Node):
            return self._take(operand)
        bits = self._bits(operand)
        if bits in self.held:
            return Constant(bits)
        register = self._new()
        self.borrowed.append(register)
        self.steps.append(("load_constant", (register, bits)))
        return register

    def _both(self, first: Formula, last: Formula) -> tuple[Location, Location]:
        """Return an operand in a register and a last one; a constant is loaded before a node gives up its register."""
        if isinstance(last, Node):
            return self._register(first), self._operand(last)
        place = self._operand(last)
        return self._register(first), place

    def _target(self) -> Slot:
        """Return a register for the result: operands that are not needed any more are free by now."""
        self.free += [register.number for register in self.borrowed]
        return self._new()

    def _bits(self, constant: Formula) -> int:
        """Return the bits of a constant as an element."""
        if isinstance(constant, Bits):
            return constant.value
        assert not isinstance(constant, Node)
        return self.traits.bits(constant)

    def _is_last(self, operand: Formula, *others: Formula) -> bool:
        """Whether a node is used here for the last time, and once."""
        return isinstance(operand, Node) and self.uses[id(operand)] == 1 and all(operand is not one for one in others)

    # Operations

    def _place(self, node: Node) -> Slot | Condition:
        if node.operation in ("fma", "fnma"):
            return self._fused(node)
        if node.operation == "with_nan":
            value, source = node.operands
            target = self._overwritten(value) if self._is_last(value, source) else self._copied(value)
            self.steps.append(("fix_nan", (target, self._register(source), Constant(self.traits.nan_table))))
            return target
        if node.operation in COMPARISONS:
            return self._compared(node)
        if node.operation == "select":
            return self._selected(node)
        if len(node.operands) == 1:
            source = self._operand(node.operands[0]) if node.operation == "sqrt" else self._register(node.operands[0])
            target = self._target()
            number = () if node.operation == "sqrt" else (node.number,)
            self.steps.append((node.operation, (target, source, *number)))
            return target
        operation, a, b = self._ordered(node)
        first, second = self._both(a, b)
        target = self._target()
        self.steps.append((operation, (target, first, second)))
        return target

    def _ordered(self, node: Node) -> tuple[str, Formula, Formula]:
        """Return (operation, a, b), a constant last where the operation allows."""
        a, b = node.operands
        if node.operation in COMMUTATIVE and self._is_direct(a) and not self._is_direct(b) and self._is_in_register(b):
            return node.operation, b, a
        if isinstance(a, Node) or not isinstance(b, Node):
            return node.operation, a, b
        if self._is_direct(b) and self._is_in_register(a):
            return node.operation, a, b
        if node.operation in COMMUTATIVE:
            return node.operation, b, a
        return (MIRRORED[node.operation], b, a) if node.operation in MIRRORED else (node.operation, a, b)

    def _is_in_register(self, operand: Formula) -> bool:
        return isinstance(operand, Node) or self._bits(operand) in self.held

    def _compared(self, node: Node) -> Slot | Condition:
        operation, a, b = self._ordered(node)
        first, second = self._both(a, b)
        target = Condition(self.conditions.pop()) if self.traits.conditions else self._target()
        if self.traits.conditions:
            self.free += [register.number for register in self.borrowed]
        self.steps.append(("compare", (operation, target, first, second)))
        return target

    def _selected(self, node: Node) -> Slot:
        condition, a, b = node.operands
        assert isinstance(condition, Node)
        if not self.traits.conditions and not isinstance(b, Node) and self._bits(b) == 0:
            first, mask = self._operand(a), self._take(condition)  # A condition has all bits or none.
            target = self._target()
            self.steps.append(("bit_and", (target, mask, first)))
            return target
        second, first = self._both(b, a)
        mask = self._take(condition)
        target = self._target()
        self.steps.append(("select", (target, mask, first, second)))
        return target

    def _fused(self, node: Node) -> Slot:
        """dst = c + a * b or c - a * b, by a form that overwrites an operand that is not needed any more."""
        a, b, c = node.operands
        if not isinstance(a, Node):
            a, b = b, a
        if self._is_last(c, a, b):
            target = self._overwritten(c)
        elif node.operation == "fma" and self.traits.multiplies_in_place and self._multiplicand(a, b, c) is not None:
            a, b = (a, b) if self._is_last(a, b, c) else (b, a)
            target = self._overwritten(a)
            self.steps.append(("multiply_add", (target, *self._both(b, c))))
            self.free += [register.number for register in self.borrowed]
            return target
        else:
            target = self._copied(c)
        self.steps.append((node.operation, (target, *self._both(a, b))))
        self.free += [register.number for register in self.borrowed]
        return target

    def _multiplicand(self, a: Formula, b: Formula, c: Formula) -> Formula | None:
        return a if self._is_last(a, b, c) else b if self._is_last(b, a, c) else None

    def _overwritten(self, operand: Formula) -> Slot:
        """Return the register of a node that is used for the last time; it stays taken."""
        place = self.places[id(operand)]
        self.uses[id(operand)] = 0
        assert isinstance(place, Slot)
        return place

    def _copied(self, operand: Formula) -> Slot:
        """Return a new register that holds an operand."""
        if isinstance(operand, Node) or self._bits(operand) in self.held:
            source = self._take(operand) if isinstance(operand, Node) else Constant(self._bits(operand))
            target = self._new()
            self.steps.append(("copy", (target, source)))
            return target
        target = self._new()
        self.steps.append(("load_constant", (target, self._bits(operand))))
        return target
