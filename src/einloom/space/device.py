"""What a GPU can hold and do, as data: the limits that the space's constraints read.

>>> K4000.max_threads
1024
"""

from __future__ import annotations

from dataclasses import field, replace

from einloom.dtypes import DType, Kind
from einloom.errors import ScheduleError
from einloom.frozen import frozen
from einloom.space.rates import H100_RATES, H200_RATES, K4000_RATES, GpuRates

__all__ = ["DEVICES", "H100", "H200", "K4000", "GpuDevice"]

VECTOR_BYTES = 16
"""What one vector load or store moves at most."""


@frozen
class GpuDevice:
    """The limits of one kind of GPU (CUDA's names for things).

    Attributes:
        name: what people call it.
        max_threads: threads of one block.
        max_thread_levels: hardware dimensions of a block of threads.
        max_thread_extents: largest extent of a block along each of them, innermost first; at least one for each.
        max_block_levels: hardware dimensions of the grid of blocks.
        max_blocks: largest extent of the grid along its first dimension, and along any other one.
        shared_bytes: shared memory of one block, in bytes.
        max_unroll: most copies of an instruction that unrolling may write.
        vector_widths: numbers of elements that one vector load or store moves.
        element_bytes: size of an element in registers and shared memory, in bytes.
        stored_bytes: size of an element in the device's memory, in bytes; 0: the same.
        caches_loads: whether loads of the device's memory may hit in L1 or in the cache for read-only data; where they
            never do, all go to L2 whatever their decision says.
        global_temporaries: whether temporary arrays may also lie in the device's memory, with a copy for each block;
            the paper's experiments (section 5.2) use shared memory only.
        warp: threads that run as one; what is held by a warp together counts as one thread.
        tensor_cores: whether warps multiply fragments (`mma`).
        rates: how fast it can be at best, which bounds need and constraints do not.
        aligned: whether arrays begin at multiples of a vector.
        emulated: whether a processor runs the kernels, its threads being iterations of loops: then the statements of
            all threads together say which kernel is fast, and no rate of a GPU's does.
    """

    name: str
    max_threads: int = 1024
    max_thread_levels: int = 3
    max_thread_extents: tuple[int, ...] = (1024, 1024, 64)
    max_block_levels: int = 3
    max_blocks: tuple[int, int] = (2**31 - 1, 65535)
    shared_bytes: int = 48 * 1024
    max_unroll: int = 512
    vector_widths: tuple[int, ...] = (2, 4)
    element_bytes: int = 4
    stored_bytes: int = 0
    caches_loads: bool = True
    global_temporaries: bool = False
    warp: int = field(default=32, repr=False)
    tensor_cores: bool = field(default=False, repr=False)
    rates: GpuRates | None = field(default=None, repr=False)
    aligned: bool = field(default=True, repr=False)
    emulated: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse thread levels without an extent."""
        if len(self.max_thread_extents) < self.max_thread_levels:
            raise ScheduleError(
                f"{self.name} has {self.max_thread_levels} thread levels and extents for {len(self.max_thread_extents)}"
                "\n  Give `max_thread_extents` one number for each level, innermost first."
            )

    @property
    def memory_bytes(self) -> int:
        """Size of an element in the device's memory, in bytes."""
        return self.stored_bytes or self.element_bytes

    def of(self, *dtypes: DType) -> GpuDevice:
        """Return this device for elements of types that are kept as one; vectors move 16 bytes, and no complex numbers.

        >>> from einloom.dtypes import FLOAT64
        >>> H200.of(FLOAT64).vector_widths
        (2,)
        """
        held, stored = dtypes[0].accumulate.size, min(dtype.size for dtype in dtypes)
        is_complex = dtypes[0].kind is Kind.COMPLEX
        widths = () if is_complex else tuple(width for width in self.vector_widths if width * held <= VECTOR_BYTES)
        return replace(self, element_bytes=held, stored_bytes=stored if stored != held else 0, vector_widths=widths)


K4000 = GpuDevice("Quadro K4000", caches_loads=False, rates=K4000_RATES)
"""The Kepler GPU of the paper's experiments (CUDA C programming guide, compute capability 3.0: L1 is for local memory
alone, and loads through the cache for read-only data begin with 3.2)."""

H100 = GpuDevice("H100", shared_bytes=227 * 1024, tensor_cores=True, rates=H100_RATES)
"""Compute capability 9.0; shared memory above 48 KiB has to be asked for at launch."""

H200 = GpuDevice("H200", shared_bytes=227 * 1024, tensor_cores=True, rates=H200_RATES)
"""The same limits, with faster memory."""

DEVICES = {"k4000": K4000, "h100": H100, "h200": H200}
