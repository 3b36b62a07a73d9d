"""`Recipe`: how an expression's variants are made, for whatever strides and number of threads are met."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path as File

import numpy as np

from einloom.arrays.library import Array
from einloom.errors import ScheduleError, UnsupportedTarget
from einloom.expression.planned import planned
from einloom.expression.programs import decided, program_of
from einloom.expression.slice_calls import Kind
from einloom.expression.sliced import SlicedVariant
from einloom.expression.variant import CompiledStep, Variant
from einloom.frozen import frozen
from einloom.ir.operation import Operation
from einloom.ir.schedule import Schedule
from einloom.jit.host_for import host_for
from einloom.machine import Machine
from einloom.once import cached_property
from einloom.plan.carriers import widened
from einloom.plan.finish import Finish
from einloom.plan.lanes import in_lanes
from einloom.plan.names import with_plain_names
from einloom.plan.paths import Path
from einloom.plan.problem import Problem, contiguous_strides
from einloom.plan.slices import Lengths, Slicing
from einloom.plan.steps import Plan, Step
from einloom.search.records import problem_key, records_at
from einloom.targets.by_table import is_tiny, table_of, table_program

__all__ = ["Recipe", "Strides"]

Strides = tuple[int, ...]

MANY_STEPS = 3
"""Steps of a tree from which on its tiny ones share a program: fewer are worth code of their own."""


@frozen(slots=False)
class Recipe:
    """How an expression's variants are made: all that does not depend on strides and threads.

    Attributes:
        problem: what is asked for; its strides are those that were compiled first.
        path: which tensors are contracted together.
        slicing: where the contraction is cut, if intermediate tensors would be too large.
        parts: how many elements of the problem's type make one of the operands'.
        schedule: for the only step, instead of the heuristic one; a text is a loop string.
        target: `"cpu"`, `"interpreter"` or a `Machine`.
        by_numpy: whether there is no code for the type of the elements.
        records: the file of the schedules that problems were tuned to; None: none.
        constants: factors of the sums and of the output, an array each.
        held: operands that stay the same, by number.
    """

    problem: Problem
    path: Path
    slicing: Slicing | None
    parts: int
    schedule: Schedule | str | None
    target: str | Machine
    by_numpy: bool = False
    records: File | None = None
    constants: tuple[Array, ...] = ()
    held: Mapping[int, Array] = field(default_factory=dict[int, Array])

    @property
    def is_interpreted(self) -> bool:
        """Whether no code is generated: on the interpreter, and for types that there is none for."""
        return self.target == "interpreter" or self.by_numpy

    def plan(self, strides: tuple[Strides, ...], output_strides: Strides | None = None) -> Plan:
        """Return the steps for operands and an output (None: C-contiguous) of these strides in elements."""
        if strides == self.problem.strides and output_strides is None:
            return self._first_plan
        return self._planned(replace(self.problem, strides=strides), output_strides)

    @cached_property
    def _first_plan(self) -> Plan:
        return self._planned(self.problem, None)

    def _planned(self, problem: Problem, output_strides: Strides | None) -> Plan:
        return self._laid_out(problem, output_strides, self.path)

    def _laid_out(self, problem: Problem, output_strides: Strides | None, path: Path) -> Plan:
        machine = None if self.is_interpreted else self.machine()
        return widened(planned(problem, output_strides, path, machine), self.parts)

    def plans(self) -> list[tuple[Plan, int]]:
        """Return the steps for operands as they were compiled first, and how many slices take these; 1: the whole."""
        if self.slicing is None:
            return [(self.plan(self.problem.strides), 1)]
        cut = self.slicing
        return [(self._laid_out(cut.part(lengths), None, self.path), count) for lengths, count in cut.kinds]

    def compile(
        self, strides: tuple[Strides, ...], output_strides: Strides | None, threads: int
    ) -> Variant | SlicedVariant:
        """Return the variant for these strides and so many threads.

        Raises:
            ScheduleError: the given schedule does not fit.
        """
        if self.slicing is not None:
            return self._compile_slices(self.slicing, strides, output_strides, threads)
        plan = self.plan(strides, output_strides)
        if self.schedule is not None and len(plan.steps) != 1:
            text = self.problem.equation.text
            raise ScheduleError(
                f"a schedule is for a single operation; {text} takes {len(plan.steps)}\n"
                '  Compile the steps that `show("tree")` prints one by one, or leave schedule= out.'
            )
        return self._compile_plan(plan, threads, self.problem.finish)

    def _compile_plan(self, plan: Plan, threads: int, finish: Finish) -> Variant:
        constants = self.constants if finish.constants else ()
        if self.is_interpreted:
            steps = (CompiledStep(step, by_numpy=self.by_numpy) for step in plan.steps)
            return Variant(tuple(steps), plan.arena, constants)
        machine = self.machine()
        plan = in_lanes(plan, threads, machine.l2)
        by_table = len(plan.steps) >= MANY_STEPS
        steps = (
            self._by_table(step)
            if by_table and is_tiny(step.operation)
            else self._compile_step(step, threads if lane is None else 1)
            for step, lane in zip(plan.steps, plan.lane_of)
        )
        return Variant(tuple(steps), plan.arena, constants, plan.lanes, self.held)

    def _by_table(self, step: Step) -> CompiledStep:
        program = table_program(step.operation, self.machine())
        return CompiledStep(step, executable=program, table=table_of(step.operation))

    def _compile_slices(
        self,
        cut: Slicing,
        strides: tuple[Strides, ...],
        output_strides: Strides | None,
        threads: int,
        apart: bool = False,
    ) -> SlicedVariant:
        """Return slices for one thread each: then it is the same code, whoever runs it.

        `apart`: their results are tensors of their own, not parts of one.
        """
        problem = replace(self.problem, strides=strides)
        slicing = replace(cut, problem=problem)
        result = problem.output_term(output_strides)
        written = None if apart else result.strides
        kinds = {lengths: self._kind(slicing, lengths, written) for lengths, _ in slicing.kinds}
        terms = [problem.input_term(i) for i in range(len(problem.equation.inputs))] + problem.finish_terms()
        sizes = [problem.operand_type(i).size for i in range(len(terms))] + [problem.dtype.size]
        moves = slicing.steps_between([*terms, result]) * (np.array(sizes) * self.parts)
        return SlicedVariant(slicing, kinds, min(threads, len(slicing)), moves)

    def compile_units(self, threads: int) -> SlicedVariant:
        """Return slices of C-contiguous operands, with results of their own, for whoever computes some of them."""
        assert self.slicing is not None
        strides = tuple(contiguous_strides(shape) for shape in self.problem.shapes)
        variant = self._compile_slices(self.slicing, strides, None, threads, apart=True)
        variant.moves[:, -1] = 0
        return variant

    def _kind(self, slicing: Slicing, lengths: Lengths, output_strides: Strides | None) -> Kind:
        """Return what computes slices of one kind."""

        def compiled(problem: Problem, strides: Strides | None) -> Variant:
            path = self.path if problem.equation.inputs == self.problem.equation.inputs else ((0,),)
            return self._compile_plan(self._laid_out(problem, strides, path), 1, problem.finish)

        if slicing.leaves == 1:
            return Kind(compiled(slicing.part(lengths), output_strides))
        return Kind(
            compiled(slicing.part(lengths), None),
            compiled(slicing.addition(lengths), None),
            compiled(slicing.ending(lengths), output_strides),
        )

    def _compile_step(self, step: Step, threads: int) -> CompiledStep:
        schedule = self.schedule or self._recorded(step.operation, threads)
        held = self._held_by(step)
        how = (step.operation, schedule, self.machine(), threads, held)
        program = program_of(*how)
        copies = tuple((place, size, program_of(*how, place)) for place, size in program.image.panels)
        return CompiledStep(step, threads, program, schedule=schedule, held=held, copies=copies)

    def _held_by(self, step: Step) -> tuple[int, ...]:
        """Return which of a step's inputs are operands that stay the same; slices read parts of them."""
        factors = step.inputs[: step.operation.main.inputs] if self.slicing is None else ()
        return tuple(place for place, number in enumerate(factors) if number in self.held)

    def _recorded(self, operation: Operation, threads: int) -> Schedule | None:
        """Return the schedule that an operation was tuned to on this host."""
        if self.records is None or self.slicing is not None or isinstance(self.target, Machine):
            return None
        records = records_at(self.records)
        if not records.any_confirmed:
            return None
        machine = self.machine()
        key = problem_key(str(with_plain_names(operation)), machine, threads)
        if records.best(key) is None:
            return None
        from einloom.search.problems import recorded_schedule  # Late: with the binder, which few programs need.

        return recorded_schedule(operation, machine, threads, self.records)

    def decided(self, compiled: CompiledStep) -> tuple[Operation, Schedule] | None:
        """Return a step's operation with its axes fused, and its schedule; None where there is no code of its own."""
        if compiled.executable is None or compiled.table is not None:
            return None
        return decided(compiled.step.operation, compiled.schedule, self.machine(), compiled.threads, compiled.held)

    def machine(self) -> Machine:
        """Return the machine that code is generated for.

        Raises:
            UnsupportedTarget: there is no such target, or no code for it.
        """
        return self._machine

    @cached_property
    def _machine(self) -> Machine:
        types = (self.problem.operand_type(place) for place in range(len(self.problem.shapes)))
        machine = self.target if isinstance(self.target, Machine) else host_for(types)
        if machine is not self.target and self.target not in ("cpu", "interpreter"):
            raise UnsupportedTarget(
                f"target {self.target!r}\n  Targets: 'cpu', 'interpreter', 'opencl', 'cuda', 'gpu' or a Machine."
            )
        if not machine.has_vectors:
            raise UnsupportedTarget(
                f"{machine.name} has neither AVX2 with FMA and F16C, AVX-512 nor Neon\n  {self.problem.equation.text}\n"
                '  Use target="interpreter".'
            )
        return machine
