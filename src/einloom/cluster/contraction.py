"""`einsum` and `compile` for contractions that several processes share. They are public, as `einloom.cluster`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from typing import Any

from einloom.api import compile as compile_here
from einloom.api import einsum as einsum_here
from einloom.arrays.library import incoming, is_array
from einloom.cluster.distribution import Distribution
from einloom.cluster.run import Run
from einloom.cluster.shared import Shared
from einloom.errors import ArgumentError
from einloom.expression.expression import Expression
from einloom.expression.units import UnitProgram, unit_program
from einloom.frameworks import framework_of
from einloom.plan.slices import Slicing

__all__ = ["Contraction", "compile", "einsum"]


def einsum(
    equation: str,
    *operands: Any,
    client: Any = None,
    comm: Any = None,
    distribution: Distribution | None = None,
    memory_limit: float | str | None = None,
    optimize: Any = "auto",
    dtype: object = None,
    conj: Sequence[int] = (),
    checkpoint: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> Any:
    """Evaluate an einsum on the workers of a Dask cluster, or on the ranks of an MPI communicator.

    The contraction is cut into slices; how it is cut and how slices are summed follows from the contraction alone. So
    the result has the same bits for any number of workers, whoever ends first, and whoever dies meanwhile.

    >>> client = distributed.Client(n_workers=2)                    # doctest: +SKIP
    >>> einsum("ab,bc,cd->ad", A, B, C, memory_limit=2**27)         # doctest: +SKIP

    Args:
        equation: as for `einloom.einsum`.
        operands: arrays; or arrays of Dask, which are used chunk by chunk.
        client: of Dask; the current one if None.
        comm: of mpi4py, instead: every rank calls this with the same operands, and gets the result.
        distribution: with `comm`: every rank passes its blocks of two operands, and gets its block of the result.
        memory_limit: most elements of an intermediate tensor, or `"max_input"`.
        optimize: what `opt_einsum` takes.
        dtype: type to compute in; the operands' common type if None.
        conj: positions of operands that are conjugated.
        checkpoint: a folder that every process reaches, where finished units are kept; a call that finds some of its
            own there does not compute them again.
        progress: whether to show how far it is.

    Returns:
        An array of the first operand's library, a scalar for a result without axes; from arrays of Dask a lazy one.

    Raises:
        EquationError, ShapeError, DTypeError, ArgumentError: an argument does not fit; on every rank.
        UnsupportedTarget: a process differs in einloom's version, architecture or vector ISA.
        DeviceError: workers died again and again, a rank failed, or the checkpoint's folder is full.
    """
    _check_comm(comm)
    if distribution is not None:
        if not isinstance(distribution, Distribution):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(f"distribution={distribution!r:.80}\n  Make one, el.cluster.Distribution(…).")
        others = (client, memory_limit, dtype, checkpoint, conj or None, None if optimize == "auto" else optimize)
        if progress or any(each is not None for each in others):
            raise ArgumentError(
                "distribution= takes comm= alone\n  Convert and conjugate the blocks, and leave the rest."
            )
        return _on_grid(equation, operands, distribution, comm)
    if framework_of(operands) is not None and not all(map(_has_memory, operands)):
        if checkpoint is not None or comm is not None:
            raise ArgumentError("arrays of Dask take neither comm= nor checkpoint=\n  Pass NumPy's, or leave it out.")
        return einsum_here(equation, *operands, memory_limit=memory_limit, optimize=optimize, dtype=dtype, conj=conj)

    def compiled() -> Contraction:
        arrays = [incoming(operand, f"operand {position}") for position, operand in enumerate(operands)]
        return compile(equation, *arrays, memory_limit=memory_limit, optimize=optimize, dtype=dtype, conj=conj)

    if comm is not None:
        from einloom.cluster.on_mpi import agreed

        return agreed(comm, compiled, "compile")(*operands, comm=comm, checkpoint=checkpoint, progress=progress)
    return compiled()(*operands, client=client, checkpoint=checkpoint, progress=progress)


def compile(
    equation: str,
    *shapes_or_arrays: Any,
    memory_limit: float | str | None = None,
    optimize: Any = "auto",
    dtype: object = None,
    conj: Sequence[int] = (),
) -> Contraction:
    """Return a contraction for operands of these shapes, cut into slices; the arguments are those of `einsum`."""
    expression = compile_here(
        equation, *shapes_or_arrays, memory_limit=memory_limit, optimize=optimize, dtype=dtype, conj=conj
    )
    return Contraction(expression)


class Contraction:
    """A contraction that processes share: call it with operands of the shapes that it was compiled for.

    Attributes:
        expression: the same on one machine.
        run: who did what in the last call; None before.
    """

    def __init__(self, expression: Expression) -> None:
        self.expression = expression
        self.run: Run | None = None
        self._program = unit_program(expression)

    def __call__(
        self,
        *operands: Any,
        client: Any = None,
        comm: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
        progress: bool = False,
    ) -> Any:
        """Compute; the arguments are those of `einsum`. What is too small to be shared is computed right here."""
        if client is not None and comm is not None:
            raise ArgumentError("client= and comm=\n  Pass a client of Dask or a communicator of MPI.")
        _check_comm(comm)
        begin = time.time()
        shared = Shared(self.expression, self._program, operands, checkpoint, progress)
        if comm is not None:
            from einloom.cluster.on_mpi import compute_on_ranks

            result, events = compute_on_ranks(shared, comm)
        elif self._program is None:
            return self.expression(*operands)
        else:
            from einloom.cluster.on_dask import compute_on_workers

            result, events = compute_on_workers(shared, client)
        self.run = Run(tuple(events), begin, time.time())
        return self.expression.outgoing(result, operands[0])

    @property
    def program(self) -> UnitProgram | None:
        """What computes units; None: it is too small to be shared."""
        return self._program

    @property
    def slicing(self) -> Slicing | None:
        """Where the contraction is cut."""
        return None if self._program is None else self._program.work.slicing

    def plot(self, path: str | None = None) -> Any:
        """Return a figure of who did what when in the last call.

        Raises:
            ArgumentError: there was none.
            UnsupportedTarget: matplotlib is not installed.
        """
        if self.run is None:
            raise ArgumentError("plot() shows the last call, and there was none\n  Call the contraction first.")
        return self.run.plot(path)

    def __repr__(self) -> str:
        program = self._program
        if program is None:
            return f"{self.expression!r}\n  too small to be shared"
        cuts = ", ".join(f"{cut.label} into {cut.count}" for cut in program.work.slicing.cuts)
        units = f"{len(program.work.slicing):,} slices in {len(program.work.units):,} units"
        return f"{self.expression!r}\n  cut {cuts}: {units}, {program.bytes:,} bytes a process"


def _on_grid(equation: str, blocks: Sequence[Any], distribution: Distribution, comm: Any) -> Any:
    if comm is None or equation != distribution.equation:
        raise ArgumentError(
            f"distribution= is of {distribution.equation} over the ranks of a communicator\n"
            "  Pass the same equation, and comm=."
        )
    from einloom.cluster.summa import compute_on_grid

    return compute_on_grid(distribution, [*blocks], comm)


def _check_comm(comm: Any) -> None:
    """Refuse what is no communicator; whoever has one has imported mpi4py."""
    if comm is None:
        return
    mpi: Any = sys.modules.get("mpi4py.MPI")
    if mpi is None or not isinstance(comm, mpi.Intracomm) or comm == mpi.COMM_NULL:
        raise ArgumentError(
            f"comm={comm!r:.80} is no communicator of ranks\n"
            "  Pass one of mpi4py, such as MPI.COMM_WORLD; a client of Dask is client=."
        )


def _has_memory(operand: object) -> bool:
    return is_array(operand)
