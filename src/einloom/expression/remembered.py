"""What `einsum` remembers: the expressions that it compiled, and for every equation the calls that it has seen.

A call with an equation, arrays, `out` and keywords enters the generated code of the expression that served its like
before; whatever else comes is looked up, or compiled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from einloom.arrays.chain import Chain
from einloom.arrays.library import Imported, array_of, element_strides, incoming, is_array, is_numpys
from einloom.config import current_settings
from einloom.errors import DTypeError, UnsupportedTarget
from einloom.expression.conversion import PLAIN, Conversion
from einloom.expression.expression import Expression
from einloom.expression.made import Compiled, device_operands, make_expression, on_device
from einloom.expression.options import DEFAULTS, Options
from einloom.expression.programs import forget_programs
from einloom.expression.repeats import Repeats
from einloom.expression.types import computed_type, numpy_type, operand_types, wider_results
from einloom.expression.weak import is_weak, taken
from einloom.frameworks import framework_of
from einloom.frameworks.call import Call, Types, path_of, provide
from einloom.jit.native import Native
from einloom.once import OnceTable
from einloom.plan.finish import Finish

__all__ = ["Equation", "Request", "evaluate", "forget", "key_of", "listed_operands", "remembered"]

EXPRESSIONS = 1024
EQUATIONS = 1024

_expressions: OnceTable[Compiled] = OnceTable(EXPRESSIONS)
_equations: dict[object, Equation] = {}


class Equation(Native):
    """The calls of one equation's text with the same keywords: with operands, and at most `out` beside them."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._chain = Chain(self, Equation.__call__)
        self._repeats = Repeats()

    def __call__(self, *operands: Any, out: Any = None) -> Any:
        """Evaluate the equation, and remember how."""
        repeat = self._repeats.find(operands, out)
        if repeat is not None:
            return repeat.evaluate(operands, out)
        arrays = self._arrays(operands)
        if arrays is operands:
            return self._evaluate(operands, out)
        return self(*arrays) if out is None else self(*arrays, out=out)  # Generated code may take them.

    def _arrays(self, operands: Sequence[Any]) -> Sequence[Any]:
        """Return operands as arrays if NumPy alone makes arrays of them, the same object where there is nothing to do.

        Operands of an epilogue stay: numbers among them are weak.
        """
        given = listed_operands(self._request.text, operands)
        kinds = set(map(type, given))
        if kinds <= {np.ndarray} or self._request.options.finish.operands or not all(map(is_numpys, kinds)):
            return given
        return [incoming(operand, f"operand {position}").array for position, operand in enumerate(given)]

    def _evaluate(self, operands: Sequence[Any], out: Any) -> Any:
        request = self._request
        framework = framework_of(operands)
        if framework is not None and not on_device(operands, request.options):
            return framework.compute(request, operands, out)
        if not request.is_plain:
            return _evaluate_as(request, operands, out, self, self._chain, self._repeats)
        expression = _expression(request.text, operands, None, DEFAULTS)
        assert isinstance(expression, Expression)  # The default target is no GPU.
        result = expression.compute(operands, out, self, self._chain)
        self._repeats.add(expression, PLAIN, operands, out)
        return result


remembered = _equations.get
"""`remembered(key)`: what takes the calls of an equation that was evaluated before, by its text or by `key_of`."""


def key_of(text: str, keywords: Mapping[str, object]) -> object:
    """Return what tells a call's words from others (True and 1 are not the same), None if one of them has no hash."""
    key = (text, *keywords.items(), *map(type, keywords.values()))
    try:
        hash(key)
    except TypeError:
        return None
    return key


def evaluate(request: Request, operands: Sequence[Any], out: Any, key: object = None) -> Any:
    """Evaluate an equation with an expression that is compiled on first use; `key` finds what takes its like.

    What is refused is not remembered by `key`, which may equal that of a call that is not: (0.0, 1.0) is (0, 1).
    """
    known = _equation(request)
    result = known(*operands) if out is None else known(*operands, out=out)
    if key is not None:
        _remember(key, known)
    return result


def _equation(request: Request) -> Equation:
    try:
        known = remembered(request.key)
    except TypeError:  # An optimiser, say, without a hash.
        return Equation(request)
    return known or _remember(request.key, Equation(request))


def _remember(key: object, equation: Equation) -> Equation:
    if len(_equations) >= EQUATIONS:
        _equations.clear()
    return _equations.setdefault(key, equation)


def _evaluate_as(
    request: Request, operands: Sequence[Any], out: Any, native: Native, chain: Chain, repeats: Repeats
) -> Any:
    """Evaluate an equation in a type (None: the operands' common one), with conversions around it, as options say.

    Where nothing is converted, the next call like this one of `native` enters generated code; else `repeats` knows it.
    """
    text, dtype, conversion, options = request
    if out is None:
        options.finish.check_fresh(text)
    if on_device((*operands, out), options):
        return _evaluate_in_place(text, operands, out, dtype, conversion, options)
    finish = options.finish
    inputs = len(operands) - len(finish.operands)
    computed = _type_beside(text, operands, inputs, dtype, finish)
    given = [incoming(operand, f"operand {position}") for position, operand in enumerate(operands[:inputs])]
    if out is not None and dtype is None and conversion.may_narrow and not finish.scales:
        computed = _type_with_out(text, given, computed, out)
    label = "float32" if finish.scales else numpy_type(computed)[0]
    scaled = inputs if finish.scales else None
    beside = [taken(each, label, place == scaled) or each for place, each in enumerate(operands[inputs:], inputs)]
    types = *operand_types(given, computed), *[label] * len(beside)
    converted = conversion.operands([*operands[:inputs], *beside], types, text)
    expression = _expression(text, converted, computed, options)
    if isinstance(expression, Expression) and conversion.leaves(label, operands, converted, out):
        return expression.compute(operands, out, native, chain)
    result = conversion.result(expression, label, operands, converted, out)
    if isinstance(expression, Expression) and not beside:
        repeats.add(expression, conversion, operands, out)
    return result


def _type_with_out(text: str, given: Sequence[Imported], computed: Any, out: Any) -> Any:
    """Return the type to compute in where `out` may have any: as for NumPy, it is an operand that promotes."""
    taker, label = array_of(out, "out", text), numpy_type(computed)[0]
    if taker.dtype in (label, *wider_results(label)):
        return computed
    return computed_type(text, [*given, taker], None)


def _evaluate_in_place(
    text: str, operands: Sequence[Any], out: Any, dtype: object, conversion: Conversion, options: Options
) -> Any:
    """Evaluate an equation of arrays that lie on a device; none is converted there."""
    label, shapes = device_operands(operands)
    if dtype is not None and numpy_type(dtype)[0] != label:
        raise DTypeError(f"dtype={dtype!r} of operands of {label} on a device\n  Convert them there before.")
    if conversion != PLAIN:
        raise UnsupportedTarget("casting= and order= of arrays on a device\n  Leave them out.")
    key = (text, tuple(shapes), label, "in place", options.key, current_settings().records)
    made = _expressions.get(key, lambda: make_expression(text, shapes, label, None, options, None, True))
    return made(*operands, out=out)


def _type_beside(text: str, operands: Sequence[Any], inputs: int, dtype: object, finish: Finish) -> Any:
    """Return the type to compute in: scales have their own, and weak numbers of an epilogue take it if they can."""
    given = [incoming(operand, f"operand {position}") for position, operand in enumerate(operands)]
    if finish.scales:
        return computed_type(text, given[:inputs], dtype)
    strong = [each for place, each in enumerate(given) if place < inputs or not is_weak(operands[place])]
    computed = computed_type(text, strong, dtype)
    label = numpy_type(computed)[0]
    if all(taken(each, label, False) for each in operands[inputs:] if is_weak(each)):
        return computed
    return computed_type(text, given, dtype)


class Request(NamedTuple):
    """A call of `einsum` without its operands, which a framework's arrays are given to."""

    text: str
    dtype: object = None
    conversion: Conversion = PLAIN
    options: Options = DEFAULTS

    @property
    def is_plain(self) -> bool:
        """Whether nothing is asked for but the equation."""
        return self.options is DEFAULTS and self.dtype is None and self.conversion is PLAIN

    @property
    def key(self) -> object:
        """Return what tells it from others; it may have no hash."""
        return self.text if self.is_plain else (*self[:-1], type(self.dtype), self.options.key)

    def carried(self, shapes: Sequence[tuple[int, ...]], types: Types) -> Call | str:
        """Return the einsum as operators of other frameworks carry it, or the option that none carries."""
        if self.dtype is not None and set(types()) != {numpy_type(self.dtype)[0]}:
            return f"dtype={self.dtype!r:.80}"
        if self.conversion.order not in ("K", "C"):
            return f"order={self.conversion.order!r}"
        if not self.conversion.may_widen and len(set(types())) > 1:
            return f"casting={self.conversion.casting!r}"
        return self.options.call(self.text)

    def on_arrays(self, operands: Sequence[Any], out: Any = None) -> Any:
        """Compute on NumPy arrays."""
        return evaluate(self, operands, out)


def _evaluate_call(call: Call, operands: Sequence[Any], onto: Any) -> Any:
    finish = Finish(conj=call.conj) if onto is None else Finish(beta=1, conj=call.conj)
    options = Options(path_of(call.optimize), schedule=call.schedule or None, threads=call.threads, finish=finish)
    return Request(call.equation, options=DEFAULTS if options == DEFAULTS else options).on_arrays(operands, onto)


provide(_evaluate_call)


def listed_operands(text: str, given: Sequence[Any]) -> Sequence[Any]:
    """Return the operands, also where they came in one list, as torch takes them.

    A list for the only operand of an equation is NumPy's nested sequence.
    """
    first: Sequence[Any] = given[0] if len(given) == 1 and type(given[0]) in (list, tuple) else ()
    return first if "," in text and first and all(map(is_array, first)) else given


def forget() -> None:
    """Forget every expression and every program."""
    _expressions.clear()
    forget_programs()
    _equations.clear()


def _expression(text: str, operands: Sequence[Any], dtype: object, options: Options) -> Compiled:
    given = [incoming(operand, f"operand {position}") for position, operand in enumerate(operands)]
    computed = computed_type(text, given, dtype)
    shapes = tuple(operand.array.shape for operand in given)
    strides = [element_strides(operand.array) for operand in given]
    types = operand_types(given, computed)

    def compiled() -> Compiled:
        return make_expression(text, shapes, computed, strides, options, types)

    key = (text, shapes, computed, types, options.key, current_settings().records)
    try:
        hash(key)
    except TypeError:
        return compiled()
    return _expressions.get(key, compiled)
