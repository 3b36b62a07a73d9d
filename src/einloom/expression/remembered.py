"""What `einsum` remembers: the expressions that it compiled, and for every equation the calls that it has seen.

A call with an equation, arrays and at most `out` enters the generated code of the expression that served its like
before; whatever else comes is looked up, or compiled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from einloom.arrays.chain import Chain
from einloom.arrays.library import Imported, array_of, element_strides, incoming, is_array
from einloom.config import current_settings
from einloom.errors import DTypeError, UnsupportedTarget
from einloom.expression.conversion import PLAIN, Conversion
from einloom.expression.expression import Expression
from einloom.expression.made import Compiled, device_operands, make_expression, on_device
from einloom.expression.options import DEFAULTS, Options
from einloom.expression.programs import forget_programs
from einloom.expression.types import computed_type, numpy_type, operand_types, wider_results
from einloom.expression.weak import is_weak, taken
from einloom.frameworks import framework_of
from einloom.frameworks.call import Call, path_of, provide
from einloom.jit.native import Native
from einloom.once import OnceTable
from einloom.plan.finish import Finish

__all__ = ["Equation", "Request", "evaluate", "evaluate_as", "forget", "listed_operands", "remembered"]

EXPRESSIONS = 1024
EQUATIONS = 1024

_expressions: OnceTable[Compiled] = OnceTable(EXPRESSIONS)
_equations: dict[str, Equation] = {}


class Equation(Native):
    """The calls of one equation's text with nothing but operands and `out`."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._chain = Chain(self, Equation.__call__)

    def __call__(self, *operands: Any, out: Any = None) -> Any:
        """Evaluate the equation, and remember how."""
        operands = tuple(listed_operands(self._text, operands))
        framework = framework_of(operands)
        if framework is not None:
            return framework.compute(Request(self._text), operands, out)
        expression = _expression(self._text, operands, None, DEFAULTS)
        assert isinstance(expression, Expression)  # The default target is no GPU.
        return expression.compute(operands, out, self, self._chain)


remembered = _equations.get
"""`remembered(text)`: what takes the calls of an equation that was evaluated before, else None."""


def evaluate(text: str, operands: Sequence[Any], out: Any) -> Any:
    """Evaluate an equation with an expression that is compiled on first use."""
    known = remembered(text)
    if known is not None:
        return known(*operands) if out is None else known(*operands, out=out)
    if len(_equations) >= EQUATIONS:
        _equations.clear()
    return _equations.setdefault(text, Equation(text))(*operands, out=out)


def evaluate_as(
    text: str, operands: Sequence[Any], out: Any, dtype: object, conversion: Conversion, options: Options
) -> Any:
    """Evaluate an equation in a type (None: the operands' common one), with conversions around it, as options say."""
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
    return conversion.result(_expression(text, converted, computed, options), label, operands, converted, out)


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

    def carried(self, shapes: Sequence[tuple[int, ...]]) -> Call | None:
        """Return the einsum as operators of other frameworks carry it; None where none does."""
        return self.options.call(self.text) if self.dtype is None and self.conversion == PLAIN else None

    def on_arrays(self, operands: Sequence[Any], out: Any = None) -> Any:
        """Compute on NumPy arrays."""
        if self.options is DEFAULTS and self.dtype is None and self.conversion is PLAIN:
            return evaluate(self.text, operands, out)
        return evaluate_as(self.text, operands, out, self.dtype, self.conversion, self.options)


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
