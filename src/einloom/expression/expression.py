"""`Expression`: a compiled einsum. It compiles a variant for the strides that it meets and remembers each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from einloom.arrays.chain import Chain
from einloom.arrays.entry import Entry
from einloom.arrays.library import Array, array_of, element_strides, outgoing
from einloom.arrays.signature import signature_of
from einloom.config import LEAST_WORK, VERSION, WatchedSettings, current_settings, thread_count, watched_settings
from einloom.dtypes import BOOL
from einloom.expression.asked import Asked, asked_of
from einloom.expression.entries import describe_call
from einloom.expression.factors import factor_array
from einloom.expression.fallback import allow_fallback
from einloom.expression.operands import Expected
from einloom.expression.options import DEFAULTS, Options
from einloom.expression.planned import asked_path
from einloom.expression.recipe import Recipe, Strides
from einloom.expression.sliced import SlicedVariant
from einloom.expression.table import StepRow, rows_of, table_text
from einloom.expression.types import known_type, numpy_type, wider_results
from einloom.expression.variant import CompiledStep, Variant
from einloom.frameworks import framework_of
from einloom.frameworks.call import Call, Types
from einloom.ir.loop_text import parse_loop_string
from einloom.ir.schedule import Schedule
from einloom.jit.host import host
from einloom.jit.native import Native
from einloom.once import OnceTable
from einloom.plan.paths import is_unlimited
from einloom.plan.problem import contiguous_strides
from einloom.plan.slices import Slicing
from einloom.plan.steps import Plan
from einloom.search.records import readable_file

__all__ = ["Expression"]

Item = TypeVar("Item")

VARIANTS = 64
"""Compiled variants (sets of strides) that one expression remembers."""


class Expression(Native):
    """A compiled expression: call it with operands of the shapes that it was compiled for.

    Thread-safe. It pickles as the problem with its path, and compiles again when loaded.

    Args:
        equation: the text.
        shapes: of the operands.
        dtype: type that is computed in.
        strides: of the operands in elements, None for C-contiguous.
        options: how it is to be computed.
        types: of the operands; None: the one that is computed in.
        held: operands that stay the same, behind those that come with calls, with the strides given for them.

    Attributes:
        equation: as above.
        shapes: of the operands that come with calls.
        output_shape: shape of the result.
    """

    def __init__(
        self,
        equation: str,
        shapes: Sequence[tuple[int, ...]],
        dtype: object,
        strides: Sequence[tuple[int, ...] | None] | None = None,
        options: Options = DEFAULTS,
        types: Sequence[str] | None = None,
        held: tuple[Array, ...] = (),
    ) -> None:
        self._chain = Chain(self, Expression.__call__)
        self._arguments = (equation, tuple(shapes), dtype, strides, options, types, held)
        if numpy_type(dtype)[0] == BOOL.name:
            options = replace(options, finish=options.finish.of_truth)
        self._options = options
        asked = asked_of(equation, shapes, dtype, strides or [None] * len(shapes), options.finish, types)
        thread_count(options.threads, cores=1)  # Refuses what is no number of threads.
        self._threads = options.threads
        self._held, self._first_held = held, len(shapes) - len(options.finish.operands) - len(held)
        self.equation = asked.problem.equation.text
        self.shapes, self.output_shape = self._called(asked.problem.shapes), asked.problem.output_shape
        self._expected = self._expecting(asked)
        self._recipe = self._made(asked)
        plans = self._recipe.plans()
        self._plan, _ = plans[0]
        self._flops = sum(count * plan.flops for plan, count in plans)
        self._bytes = sum(count * plan.bytes for plan, count in plans)
        self._wider: OnceTable[Expression] = OnceTable(VARIANTS)
        self._is_small = max(self.flops, self.bytes) < 2 * LEAST_WORK
        self._variants: OnceTable[Variant | SlicedVariant] = OnceTable(VARIANTS)
        if options.target != "interpreter":
            self._recipe.machine()
            self._variant(asked.problem.strides, None, self._thread_count())

    def _expecting(self, asked: Asked) -> Expected:
        """Return what calls have to bring."""
        labels, unit = self._called(asked.labels), asked.travel.alignment
        return Expected(
            self.shapes, self.output_shape, labels, asked.label, asked.dtype, unit, asked.where, asked.finish
        )

    def _made(self, asked: Asked) -> Recipe:
        """Return how variants are made."""
        options = self._options
        path, slicing = asked_path(asked.problem, options.optimize, options.memory_limit)
        factors = options.finish.constants
        return Recipe(
            asked.problem,
            path,
            slicing,
            asked.travel.parts,
            _parsed(options.schedule) if isinstance(options.schedule, str) else options.schedule,
            options.target,
            asked.travel.by_numpy,
            readable_file(current_settings().records),
            tuple(factor_array(factor, asked.label, asked.dtype, asked.where) for factor in factors),
            dict(enumerate(self._held, self._first_held)),
        )

    def _called(self, of_operands: tuple[Item, ...]) -> tuple[Item, ...]:
        """Return what belongs to the operands that come with calls."""
        first = self._first_held
        return (*of_operands[:first], *of_operands[first + len(self._held) :])

    # ---- calling -----------------------------------------------------------------------------------------------

    def __call__(self, *operands: Any, out: Any = None) -> Any:
        """Compute.

        Calls like earlier ones never come here: generated code takes them.

        Args:
            operands: arrays of the compiled shapes.
            out: takes the result; of the type that is computed in, or of that which sums of it are kept in: float32 for
                bfloat16 and float16, int32 for narrower integers, also uint32 for unsigned ones. Then nothing is
                rounded or wraps before.

        Returns:
            A fresh C-contiguous array of the first operand's library, a scalar for no axes, or `out` itself.

        Raises:
            EquationError, ShapeError, DTypeError, StrideError, OverlapError: an argument does not fit; nothing has been
                written.
        """
        framework = framework_of(operands)
        if framework is not None:
            return framework.compute(self, operands, out)
        return self.compute(operands, out, self, self._chain)

    def carried(self, shapes: Sequence[tuple[int, ...]], types: Types) -> Call | str:
        """Return the einsum as operators of other frameworks carry it, or the option that none carries.

        Raises:
            EquationError, ShapeError: the shapes are not those that it was compiled for.
        """
        self._expected.check_shapes(shapes)
        return "constants=" if self._held else self._options.call(self.equation)

    def on_arrays(self, operands: Sequence[Any], out: Any = None) -> Any:
        """Compute on NumPy arrays, for a framework whose arrays have the same memory."""
        return self(*operands) if out is None else self(*operands, out=out)

    def compute(self, operands: Sequence[Any], out: Any, native: Native, chain: Chain) -> Any:
        """Compute, and let the next call like this one of `native` enter generated code."""
        expected = self._expected
        wider = None if out is None else self._summed_in(array_of(out, "out", expected.where).dtype)
        if wider is not None:
            return wider.compute(operands, out, native, chain)
        if self._recipe.by_numpy:
            allow_fallback(expected.label, expected.where)
        given = expected.operands(operands)
        arrays = [expected.readable(operand, position) for position, operand in enumerate(given)]
        in_place = all(operand is array for operand, array in zip(operands, arrays))
        if out is None and not in_place and not self._recipe.by_numpy:
            converted = expected.are_read(arrays) and not expected.are_read(operands)
            if converted:  # Generated code takes it, if it has met such arrays.
                return self.outgoing(self(*arrays), operands[0])
        own = expected.result_type(given)
        output = expected.output(out, given, own)
        threads = self._thread_count()
        read = [*arrays[: self._first_held], *self._held, *arrays[self._first_held :]]
        strides = tuple(_strides(array) for array in read)
        variant = self._variant(strides, None if out is None else _strides(output.written), threads)
        if in_place and (out is None or out is output.written):
            watched = watched_settings() if self._threads is None and not self._is_small else None
            signature = (watched, out is None, *map(signature_of, arrays if out is None else [*arrays, out]))
            chain.meet(native, signature, lambda: self._describe(variant, arrays, out, own, watched))
        variant.run(read, output.written)
        if out is not None:
            output.finish()
            return out
        return self.outgoing(output.written, operands[0])

    @property
    def label(self) -> str:
        """The name of the result's type."""
        return self._expected.label

    @property
    def travels_as(self) -> np.dtype[Any]:
        """NumPy type that the result's elements were compiled as: `uint16` may stand for bfloat16."""
        return self._expected.dtype

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the types that operands are read in."""
        return self._expected.labels

    @property
    def recipe(self) -> Recipe:
        """How its variants are made."""
        return self._recipe

    def readable(self, operands: Sequence[Any]) -> list[Array]:
        """Return C-contiguous operands in the types that code reads them in.

        Raises:
            EquationError, ShapeError, DTypeError: an operand does not fit.
        """
        given = self._expected.operands(operands)
        arrays = (self._expected.readable(operand, position) for position, operand in enumerate(given))
        return [array if array.flags.c_contiguous else array.copy("C") for array in arrays]

    def outgoing(self, result: Array, pattern: Any) -> Any:
        """Return a result that was computed elsewhere as calls return theirs, in the library that `pattern` is of."""
        return outgoing(result if self.output_shape else result[()], self._expected.label, pattern)

    def _summed_in(self, label: str) -> Expression | None:
        """Return the expression whose result has a type that sums are kept in, if `label` is such a wider one."""
        if label not in wider_results(self._expected.label):
            return None
        equation, shapes, _, strides, options, types, held = self._arguments
        own = tuple((types or self._expected.labels)[: len(shapes) - len(options.finish.operands)])
        return self._wider.get(label, lambda: Expression(equation, shapes, label, strides, options, own, held))

    def _describe(
        self,
        variant: Variant | SlicedVariant,
        arrays: Sequence[Array],
        out: Array | None,
        dtype: np.dtype[Any],
        watched: WatchedSettings | None,
    ) -> tuple[Entry, object] | None:
        if isinstance(variant, SlicedVariant):
            return None
        held = self._held, self._first_held
        return describe_call(variant, arrays, held, out, self.output_shape, self._expected.unit, dtype, watched)

    def _thread_count(self) -> int:
        return 1 if self._is_small else thread_count(self._threads, cores=host().cores)

    def _variant(
        self, strides: tuple[Strides, ...], output_strides: Strides | None, threads: int
    ) -> Variant | SlicedVariant:
        if output_strides == contiguous_strides(self.output_shape):
            output_strides = None
        make = self._recipe.compile
        return self._variants.get((strides, output_strides, threads), lambda: make(strides, output_strides, threads))

    # ---- looking -------------------------------------------------------------------------------------------------

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy type of operands and result; `uint16` for bfloat16 until `ml_dtypes` gives NumPy that type."""
        return known_type(self._expected.label, self._expected.dtype)

    @property
    def path(self) -> tuple[tuple[int, ...], ...]:
        """The contraction path, as `opt_einsum` writes it."""
        return self._plan.path

    @property
    def slicing(self) -> Slicing | None:
        """Where the contraction is cut so that intermediate tensors keep `memory_limit`; None: it is whole."""
        return self._recipe.slicing

    @property
    def flops(self) -> int:
        """Arithmetic of one call."""
        return self._flops

    @property
    def bytes(self) -> int:
        """Least traffic of one call, in bytes: every tensor read or written once."""
        return self._bytes

    @property
    def scratch_bytes(self) -> int:
        """Scratch that each thread needs beyond operands and intermediate tensors, in bytes."""
        return max((step.executable.image.scratch_bytes for step in self._last().steps if step.executable), default=0)

    @property
    def code(self) -> bytes:
        """The machine code of all steps, one behind the other; empty on the interpreter."""
        return b"".join(step.executable.image.code for step in self._last().steps if step.executable)

    @property
    def schedule(self) -> Schedule | None:
        """How the operation is computed: what `schedule=` takes for the same equation. None for several steps."""
        steps = self._last().steps
        state = self._recipe.decided(steps[0]) if len(steps) == 1 else None
        return None if state is None else state[1]

    @property
    def isa(self) -> str:
        """The vector ISA that the code is for: `"avx512"`, `"avx2"`, `"neon"`; `"none"` where there is no code."""
        return "none" if self._recipe.is_interpreted else self._recipe.machine().vector

    def show(self, what: str = "nest") -> str:
        """Return the expression as text, step by step.

        Args:
            what: `"tree"`, the slices if there are any, and the steps with arithmetic, least traffic and time, layouts,
                places in the arena and lanes (subtrees for a thread each, side by side); `"passes"`, what each pass of
                the optimiser did and why; `"nest"`, the operation, its costs, schedule and loop nest; `"asm"`, code.
        """
        from einloom.expression.show import variant_text  # Late: who only computes needs no passes and no nests.

        return variant_text(what, self._last_plan(), self._recipe, self._last().steps)

    def _last_plan(self) -> Plan:
        """The steps as the variant that was used last has them; of one of its slices, if there are any."""
        last = self._last()
        if isinstance(last, SlicedVariant):
            return self._plan
        return replace(self._plan, steps=tuple(compiled.step for compiled in last.steps), lanes=last.lanes)

    def _last(self) -> Variant | SlicedVariant:
        """The variant that was used last."""
        return self._variants.latest() or Variant(tuple(map(CompiledStep, self._plan.steps)), self._plan.arena, ())

    def __repr__(self) -> str:
        shapes = " ".join("x".join(map(str, shape)) or "scalar" for shape in self.shapes)
        result = "x".join(map(str, self.output_shape)) or "scalar"
        target = self._recipe.target if isinstance(self._recipe.target, str) else self._recipe.target.vector
        constants = f" and {len(self._held)} constant" + "s" * (len(self._held) > 1) if self._held else ""
        types = f"{self._expected.label}, {shapes}{constants} -> {result}"
        head = f"Expression({self.equation!r}, {types}, {self.flops:,} flop, {target})"
        return "\n".join([head, *table_text(self._rows(), self._recipe), f"  {self._place()}"])

    def _place(self) -> str:
        """With what, on what and how widely it computes."""
        recipe, threads = self._recipe, self._thread_count()
        slices = "" if recipe.slicing is None else f", {len(recipe.slicing):,} slices"
        arena = f", arena {self._last_plan().arena.size:,} bytes" if len(self._plan.steps) > 1 else ""
        on = "" if recipe.is_interpreted else f", {recipe.machine().name}"
        return f"einloom {VERSION}, {self.isa}{on}, {threads} thread{'s' * (threads > 1)}{arena}{slices}"

    def _rows(self) -> list[StepRow]:
        return rows_of(self._plan, self._last().steps)

    def _repr_html_(self) -> str:
        import html  # Late, with what follows: who only computes draws nothing.

        from einloom.expression.drawing import tree_svg

        text = f"<pre>{html.escape(repr(self))}</pre>"
        return f"{text}{tree_svg(self._rows())}" if len(self._plan.steps) > 1 else text

    def plot(self, path: str | None = None, seconds: float | None = None) -> Any:
        """Return a figure of the tree with the costs of its steps, and of their place under the machine's roofs.

        The roofs are the rates that `einloom info --measure` recorded, or typical ones, and the figure says which.

        Args:
            path: a file to write the figure to.
            seconds: the time of one call, if it was measured: its rate is drawn, too.

        Raises:
            UnsupportedTarget: matplotlib is not installed; `pip install 'einloom[plot]'`.
        """
        from einloom.expression.drawing import draw_expression

        machine = host() if self._recipe.is_interpreted else self._recipe.machine()
        figure = draw_expression(self.equation, self._rows(), machine, seconds)
        if path is not None:
            figure.savefig(path)
        return figure

    def __reduce__(self) -> tuple[Any, ...]:
        """The path goes along, for an optimiser may find another one, or be a function that does not pickle."""
        options = self._arguments[4]
        if self.slicing is None or not is_unlimited(options.memory_limit):
            options = replace(options, optimize=self._recipe.path)
        return Expression, (*self._arguments[:4], options, *self._arguments[5:])


def _strides(array: Array) -> Strides:
    strides = element_strides(array)
    assert strides is not None  # operands and outputs were checked
    return strides


def _parsed(text: str) -> Schedule | str:
    """A schedule, or a loop string, which is applied to the operation later.

    A loop string is one word, but for spaces in its clause; the only schedule of one word is `prim`.
    """
    from einloom.ir.text import parse_schedule  # Late: most schedules are chosen.

    words = text.split()
    loops = words and words != ["prim"] and (len(words) == 1 or "@" in words[0])
    return str(parse_loop_string(text.strip())) if loops else parse_schedule(text)
