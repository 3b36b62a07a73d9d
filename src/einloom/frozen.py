"""`frozen`: classes of values that do not change, quicker to make than those of `dataclass(frozen=True, slots=True)`.

They are dataclasses all the same: `field`, `fields`, `replace` and `asdict` of the standard library know them.
`dataclass` compiles six methods of each class, for half a millisecond, and `import einloom` makes more than a hundred
classes. Here two functions are compiled together: the constructor, which has parameters of its own, and what takes the
fields that count in comparisons off an object. The other methods are the same functions for all classes. Parameters by
keyword alone, `InitVar` and defaults of fields that are no parameters are left to the standard library.

>>> from dataclasses import replace
>>> @frozen
... class Span:
...     first: int
...     count: int = 1
>>> Span(3)
Span(first=3, count=1)
>>> replace(Span(3), count=2) == Span(3, 2)
True
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from typing import Any, TypeVar, dataclass_transform, overload

__all__ = ["frozen"]

Class = TypeVar("Class", bound=type[Any])
Method = Callable[..., Any]
Values = Callable[[Any], tuple[Any, ...]]


@overload
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: Class, /) -> Class: ...
@overload
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(*, slots: bool = True, eq: bool = True, repr: bool = True) -> Callable[[Class], Class]: ...
def frozen(cls: Any = None, /, *, slots: bool = True, eq: bool = True, repr: bool = True) -> Any:
    """Make a class of values of one that lists its fields; methods that it has of its own stay.

    Args:
        cls: the class, of which a new one is returned if it gets slots.
        slots: whether its objects have these fields and nothing else; a `cached_property` needs a place of its own.
        eq: whether objects with equal fields are equal; else each one is equal to itself alone.
        repr: whether its objects show their fields; else as a class that it is derived from does.
    """

    def made(given: Any) -> Any:
        return _made(given, slots, eq, repr)

    return made if cls is None else made(cls)


def _made(cls: Any, slots: bool, eq: bool, repr: bool) -> Any:
    made: Any = dataclass(init=False, repr=False, eq=False, slots=slots)(cls)
    constructor, values = _compiled(made)
    methods = {"__init__": constructor, "__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
    if slots:  # What copies and pickles objects would set their slots one by one.
        methods |= {"__getstate__": _state, "__setstate__": _set_state}
    if eq:
        methods |= _comparison(values)
    if repr:
        methods["__repr__"] = _representation([each.name for each in fields(made) if each.repr])
    for name, method in methods.items():
        if made.__dict__.get(name) is None:  # Python puts None for `__hash__` where a class has an `__eq__` of its own.
            setattr(made, name, method)
    return made


def _compiled(cls: Any) -> tuple[Method, Values]:
    """Compile `__init__`, a parameter for each field, whose value is set past the refusal to set anything.

    Beside it what returns the fields of an object that are compared.
    """
    known: dict[str, Any] = {"MISSING": MISSING, "_object": object}
    parameters = ["self"]
    body: list[str] = []
    for each in fields(cls):
        name, is_made, is_optional = each.name, each.default_factory is not MISSING, each.default is not MISSING
        if not each.init:
            assert not is_made and not is_optional, f"nothing sets {name}"
            continue
        assert not each.kw_only, f"{name} would have a place"
        value = f"_make_{name}() if {name} is MISSING else {name}" if is_made else name
        parameters.append(f"{name}=_default_{name}" if is_made or is_optional else name)
        body.append(f"_object.__setattr__(self, {name!r}, {value})")  # As `torch.compile` reads in the library's own.
        known |= {f"_make_{name}": each.default_factory, f"_default_{name}": each.default}
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    compared = "".join(f"self.{each.name}, " for each in fields(cls) if each.compare)
    text = "\n ".join([f"def __init__({', '.join(parameters)}):", *(body or ["pass"])])
    exec(f"{text}\ndef values(self): return ({compared})", known)
    constructor = known["__init__"]
    constructor.__module__, constructor.__qualname__ = cls.__module__, f"{cls.__qualname__}.__init__"
    constructor.__annotations__ = {each.name: each.type for each in fields(cls) if each.init} | {"return": None}
    return constructor, known["values"]


def _comparison(values: Values) -> dict[str, Method]:
    def equal(self: Any, other: Any) -> bool:
        return values(self) == values(other) if type(other) is type(self) else NotImplemented

    def hashed(self: Any) -> int:
        return hash(values(self))

    return {"__eq__": equal, "__hash__": hashed}


def _representation(names: Sequence[str]) -> Method:
    def shown(self: Any) -> str:
        return f"{type(self).__qualname__}({', '.join([f'{name}={getattr(self, name)!r}' for name in names])})"

    return shown


def _refuse_to_set(self: Any, name: str, value: Any) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, each.name) for each in fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for each, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)
