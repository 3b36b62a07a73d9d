"""What is packed of inputs that stay the same: once, by a program of its own, to the same results."""

from __future__ import annotations

import random

import numpy as np
import pytest

from einloom.dtypes import COMPLEX64, FLOAT32, FLOAT64
from einloom.ir.bind import bind
from einloom.ir.held import packed_whole, packs_apart
from einloom.ir.interpret import interpret, interpret_nest
from einloom.ir.memory import Memory
from einloom.ir.nest import Pack, walk
from einloom.ir.operation import Operation
from einloom.ir.schedule import Schedule
from einloom.jit.host import host
from einloom.passes.contraction.choose import every_proposal
from einloom.passes.fuse import fuse
from einloom.passes.identify import identify_primitive
from einloom.passes.pack_once import pack_once
from einloom.passes.parallelise import parallelise
from einloom.passes.values import Context

from ..ir.strategies import random_contraction, random_memories, random_operation, random_product, random_schedule
from ..kernels.guarded import run_guarded
from ..soak import soak_count
from .programs import difference

OPERATIONS = 300


def _held_packs(operation: Operation, schedule: Schedule) -> tuple[Schedule, tuple[int, ...]]:
    """Return the schedule with packs of inputs made whole, where that is legal, and which inputs these are."""
    whole = pack_once(operation, schedule, tuple(range(operation.main.inputs)))
    return whole, tuple(pack.operand for pack in whole.packs if pack.loop == 0 and 0 <= pack.operand < 2)


@pytest.mark.soak
def test_every_proposal_computes_the_same_with_packs_before_all_calls(
    vector: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("einloom.passes.parallelise.LEAST_WORK", 1)
    monkeypatch.setattr("einloom.kernels.contraction.ahead.FEW", 1)
    monkeypatch.setattr("einloom.kernels.contraction.ahead.PIECE", 1)
    machine = host().with_vector(vector)

    def complaint(seed: int) -> str | None:
        rng = random.Random(seed)
        dtype = rng.choice((FLOAT32, FLOAT64, COMPLEX64))
        operation = (
            random_product(rng, dtype, points=3000)
            if dtype is COMPLEX64
            else random_contraction(rng, dtype, points=3000)
        )
        fused = fuse(operation)
        proposals = every_proposal(fused, Schedule((), identify_primitive(fused)), Context(machine))
        for proposal in rng.sample(proposals, min(len(proposals), 6)):
            schedule, held = _held_packs(fused, parallelise(fused, proposal.schedule, rng.choice((1, 2))))
            if held and (wrong := difference(operation, fused, schedule, machine, random.Random(seed), held)):
                return f"seed {seed}, {proposal.family}, held {held}\n{wrong}"
        return None

    assert run_guarded(range(soak_count(OPERATIONS, share=0.1)), complaint) is None


def _interpreted_apart(operation: Operation, schedule: Schedule, held: tuple[int, ...], memories: list[Memory]) -> None:
    rest, copies = packs_apart(bind(operation, schedule), held)
    given = list(memories)
    for position, copy in copies.items():
        buffer = rest.buffers[position]
        given[position] = Memory(np.full(buffer.size, np.nan, buffer.dtype.name))
        interpret_nest(copy, [*memories[:-1], given[position]])
    interpret_nest(rest, given)


def test_nests_apart_mean_what_the_operation_means() -> None:
    """Whatever the schedule; and of blocks that are used again, the nest says where they begin."""
    apart = marks = 0
    for seed in range(400):
        rng = random.Random(seed)
        operation = random_operation(rng, FLOAT32, points=2000)
        if not operation.main.is_contraction:
            continue
        schedule, held = _held_packs(operation, random_schedule(rng, operation))
        if not held:
            continue
        memories = random_memories(rng, operation)
        expected = [Memory(memory.elements.copy(), memory.origin) for memory in memories]
        interpret(operation, expected)
        _interpreted_apart(operation, schedule, held, memories)
        assert np.array_equal(memories[-1].elements, expected[-1].elements), (seed, str(schedule))
        rest, _ = packs_apart(bind(operation, schedule), held)
        marks += any(isinstance(node, Pack) and not node.body for node in walk(rest.body))
        apart += 1
    assert apart > 50 and marks > 10, (apart, marks)


def test_a_schedule_that_packs_nothing_stays() -> None:
    rng = random.Random(0)
    operation = random_contraction(rng, FLOAT32, points=3000)
    schedule = Schedule((), identify_primitive(fuse(operation)))
    assert packed_whole(fuse(operation), schedule, 0) == schedule
