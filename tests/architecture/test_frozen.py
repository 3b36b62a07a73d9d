"""`frozen` makes what `dataclass(frozen=True)` makes."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, replace
from typing import Any, Generic, TypeVar

import pytest

from einloom.frozen import frozen
from tests.architecture.imports import modules

T = TypeVar("T")
Decorator = Callable[[Any], Any]


@frozen
class Span:
    """What can be pickled: a class of a module."""

    first: int
    count: int = 1


@frozen(slots=False)
class Place:
    """The same without slots."""

    first: int
    names: dict[str, int] = field(default_factory=dict)


def classes(decorate: Decorator, slots: bool) -> list[Any]:
    """Return one class of every sort that einloom has."""

    @decorate
    class Plain:
        """Fields with and without defaults."""

        a: int
        b: tuple[int, ...] = (1, 2)
        c: list[int] = field(default_factory=list, compare=False)
        d: str = field(default="d", repr=False)

    @decorate
    class Derived(Plain):
        """More fields, and one that gets another default."""

        b: tuple[int, ...] = (3,)
        e: float = 0.5

    @decorate
    class Single:
        """One field."""

        only: int

    @decorate
    class Nothing:
        """None at all."""

    @decorate
    class Own(Generic[T]):
        """Methods of its own, and a field that is derived."""

        a: T
        doubled: Any = field(init=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "doubled", (self.a, self.a))

        def __eq__(self, other: object) -> bool:
            return isinstance(other, type(self)) and self.a == other.a

        def __repr__(self) -> str:
            return "own"

    @decorate
    class Hashed:
        """A hash of its own."""

        a: int

        def __hash__(self) -> int:
            return 7

    found: list[Any] = [Plain, Derived, Single, Nothing, Own, Hashed]
    assert all(("__slots__" in vars(each)) == slots for each in found)
    return found


ARGUMENTS: list[tuple[Any, ...]] = [
    (),
    (1,),
    (2,),
    (1, (1, 2)),
    (1, (1, 2), [5]),
    (1, (), [], "f"),
    (1, 2, [], "f", 9.0),
]


def made(cls: Any, arguments: tuple[Any, ...]) -> Any:
    try:
        return cls(*arguments)
    except TypeError:
        return TypeError


@pytest.mark.parametrize("slots", [True, False])
def test_classes_are_those_of_the_standard_library(slots: bool) -> None:
    for ours, theirs in zip(classes(frozen(slots=slots), slots), classes(dataclass(frozen=True, slots=slots), slots)):
        assert list(inspect.signature(ours).parameters) == list(inspect.signature(theirs).parameters)
        assert inspect.signature(ours).return_annotation == inspect.signature(theirs).return_annotation
        assert [each.name for each in fields(ours)] == [each.name for each in fields(theirs)]
        assert ours.__match_args__ == theirs.__match_args__
        objects = [(made(ours, some), made(theirs, some)) for some in ARGUMENTS]
        pairs = [(our, their) for our, their in objects if our is not TypeError]
        assert [our is TypeError for our, _ in objects] == [their is TypeError for _, their in objects]
        for our, their in pairs:
            assert repr(our) == repr(their)
            assert asdict(our) == asdict(their)
            assert hash(our) == hash(their) or len(fields(our)) > 1
            for other, its in pairs:
                assert (our == other) == (their == its)
                assert our != other or hash(our) == hash(other)
            assert our != their


@pytest.mark.parametrize("value", [Span(3), Span(3, count=4), Place(1, {"a": 2}), Place(0)])
def test_values_are_copied_replaced_and_pickled(value: Any) -> None:
    for same in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value)), replace(value)):
        assert type(same) is type(value)
        assert same == value
    assert replace(value, first=9).first == 9


@pytest.mark.parametrize("value", [Span(3), Place(3)])
def test_values_do_not_change(value: Any) -> None:
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'first'"):
        value.first = 4
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'first'"):
        del value.first
    assert value.first == 3


def test_objects_own_what_a_factory_makes() -> None:
    one, other = Place(1), Place(1)
    assert one.names == other.names == {}
    assert one.names is not other.names


def test_objects_without_equality_are_equal_to_themselves_alone() -> None:
    @frozen(eq=False)
    class Thing:
        """A thing."""

        name: str

    one, other = Thing("a"), Thing("a")
    assert one == one and one != other and len({one, other}) == 2


def test_a_representation_is_inherited_on_request() -> None:
    class Shown:
        def __repr__(self) -> str:
            return "shown"

    @frozen(slots=False, repr=False)
    class Quiet(Shown):
        """Shows what its base class does."""

        name: str

    assert repr(Quiet("a")) == "shown"


@pytest.mark.parametrize("given", [{"kw_only": True}, {"init": False, "default": 1}])
def test_fields_that_the_constructor_does_not_know_are_refused(given: dict[str, Any]) -> None:
    class Thing:
        """A thing."""

        name: str
        other: int = field(**given)

    with pytest.raises(AssertionError, match="other"):
        frozen(Thing)


def test_einloom_makes_values_in_one_way() -> None:
    others = (path.read_text() for name, path in modules().items() if name != "einloom.frozen")
    assert not any("dataclass(frozen" in text for text in others)
