"""The tables that a space compiles to: names resolved, values as masks, variables as positions.

Variables of a row are numbered: the parameters of its definition first, then its quantifiers.

>>> ValueLiteral("order", (0, 1), 0b00001)
ValueLiteral(choice='order', arguments=(0, 1), mask=1)
"""

from __future__ import annotations

from einloom.frozen import frozen

__all__ = [
    "BoundLiteral",
    "ClauseRow",
    "CounterLiteral",
    "CounterRow",
    "EnumRow",
    "HostCall",
    "IntegerRow",
    "Literal",
    "PairLiteral",
    "Quantifier",
    "QuotientRow",
    "RelationRow",
    "SetRow",
    "TriggerRow",
    "ValueLiteral",
]

FALSE, TRUE = 1, 2
BOOLEANS = ("FALSE", "TRUE")


@frozen
class Quantifier:
    """`$variable in set(owners)`; owners are positions of earlier variables."""

    variable: str
    set: str
    owners: tuple[int, ...] = ()


@frozen
class HostCall:
    """A host expression applied to variables; `host` is its index in the table of expressions."""

    host: int
    arguments: tuple[int, ...] = ()


@frozen
class ValueLiteral:
    """The choice has a value of `mask`."""

    choice: str
    arguments: tuple[int, ...]
    mask: int


@frozen
class BoundLiteral:
    """`name OP code` for an integer choice or a counter."""

    name: str
    arguments: tuple[int, ...]
    operator: str
    call: HostCall


@frozen
class PairLiteral:
    """`left OP right` for two enumerations with the same values (`==`, `!=`) or two integer choices."""

    left: str
    left_arguments: tuple[int, ...]
    operator: str
    right: str
    right_arguments: tuple[int, ...]


@frozen
class CounterLiteral:
    """`counter OP integer choice`."""

    counter: str
    counter_arguments: tuple[int, ...]
    operator: str
    choice: str
    choice_arguments: tuple[int, ...]


Literal = ValueLiteral | BoundLiteral | PairLiteral | CounterLiteral


@frozen
class SetRow:
    """A set; `superset` is `(name, owner positions)` among its own parameters.

    Attributes:
        iterator, item_getter, namer, filter: host expressions of the set's parameters; the last three also read, as
            their last variable, what the iterator gave (`$id`) or the object (`$item`).
        item_type: a type's name in the host, checked with `isinstance`; empty if there is none.
        quotient: the choice that marks the members of a quotient; empty for a plain set.
    """

    name: str
    parameters: tuple[Quantifier, ...] = ()
    superset: tuple[str, tuple[int, ...]] | None = None
    disjoint: tuple[str, ...] = ()
    iterator: HostCall | None = None
    item_getter: HostCall | None = None
    namer: HostCall | None = None
    filter: HostCall | None = None
    item_type: str = ""
    prefix: str = ""
    quotient: str = ""
    place: str = ""


@frozen
class EnumRow:
    """An enumeration.

    Attributes:
        masks: values and aliases as bit masks; bit i is `values[i]`.
        converse: for a symmetric or antisymmetric choice, the value seen from the other side; else None.
        hidden: whether it is kept out of the decisions (it follows from the others).
    """

    name: str
    parameters: tuple[Quantifier, ...]
    values: tuple[str, ...]
    masks: dict[str, int]
    converse: tuple[int, ...] | None = None
    hidden: bool = False


@frozen
class IntegerRow:
    """An integer choice over the universe that a host expression gives."""

    name: str
    parameters: tuple[Quantifier, ...]
    universe: HostCall


@frozen
class CounterRow:
    """A counter; `increment` is a host call, or an integer choice or counter with its arguments."""

    name: str
    parameters: tuple[Quantifier, ...]
    operation: str
    half: bool
    internal: bool
    base: HostCall | None
    quantifiers: tuple[Quantifier, ...]
    increment: HostCall | tuple[str, tuple[int, ...]]
    guards: tuple[HostCall, ...]
    literals: tuple[Literal, ...]
    place: str = ""


@frozen
class ClauseRow:
    """For all distinct objects: one of the guards holds, or one of the literals."""

    text: str
    quantifiers: tuple[Quantifier, ...]
    guards: tuple[HostCall, ...]
    literals: tuple[Literal, ...]
    place: str = ""


@frozen
class RelationRow:
    """The clauses over three objects of one set that mention one binary choice only, as a composition table.

    Attributes:
        context: quantifiers that come before the three objects (the leading parameters of the choice).
        members: the set of the three objects.
        composition: `composition[r][s]` is the mask of what `f(a, c)` may be when `f(a, b)` is r and `f(b, c)` is s.
    """

    choice: str
    context: tuple[Quantifier, ...]
    members: Quantifier
    composition: tuple[tuple[int, ...], ...]
    texts: tuple[str, ...]
    place: str = ""

    @property
    def triples(self) -> int:
        """How many triples of values are consistent."""
        return sum(mask.bit_count() for row in self.composition for mask in row)


@frozen
class QuotientRow:
    """`representative(x)` is TRUE iff x meets the conditions and no lower y that meets them is equivalent to x."""

    name: str
    parameters: tuple[Quantifier, ...]
    item: Quantifier
    representative: str
    guards: tuple[HostCall, ...]
    literals: tuple[Literal, ...]
    equivalence: str
    mask: int
    place: str = ""


@frozen
class TriggerRow:
    """When all literals are entailed, the extension that `callback` gave while freezing wakes."""

    text: str
    quantifiers: tuple[Quantifier, ...]
    callback: HostCall
    guards: tuple[HostCall, ...]
    literals: tuple[Literal, ...]
    place: str = ""
