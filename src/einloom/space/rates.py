"""How fast a GPU can be at best: what no implementation can exceed, from vendors' documents.

A bound is only as sound as these numbers. So each is an upper limit (a rate) or a lower one (a latency), never a mean
of what some compiled program reached; where a document gives a range, the optimistic end stands here.

>>> round(K4000_RATES.clock * K4000_RATES.processors * K4000_RATES.arithmetic_lanes * 2 / 1e12, 2)
1.24
"""

from __future__ import annotations

from dataclasses import replace

from einloom.frozen import frozen

__all__ = ["H100_RATES", "H200_RATES", "K4000_RATES", "GpuRates", "gpu_rates"]


@frozen
class GpuRates:
    """The best rates of a GPU. A processor is a streaming multiprocessor; per cycle means per processor and cycle.

    Attributes:
        clock: highest frequency, in Hz.
        processors: how many.
        issue: instructions of warps that start per cycle.
        warp_issue: instructions of one warp that start per cycle.
        arithmetic_lanes: 32-bit floating-point operations per cycle (a multiply-add is one).
        fragments: products of fragments (`mma`) per cycle; 0: it has no tensor cores.
        memory_lanes: threads whose load or store starts per cycle, each of a word; requests of wider ones are split.
        shared_words: 32-bit words per cycle that shared memory delivers without conflicts.
        l2_bytes: bytes per cycle between L2 and all processors together.
        memory_bandwidth: bytes per second between L2 and the device's memory.
        l2_capacity: bytes that L2 holds, and may hold already when a kernel starts.
        max_warps: warps that a processor holds at a time.
        max_blocks: blocks that it holds.
        registers: 32-bit registers that it has.
        shared_capacity: bytes of shared memory that it has.
        arithmetic_latency: cycles from the start of an arithmetic operation to that of one that reads its result.
        shared_latency: the same of a load from shared memory.
        cached_latency: the same of a load from global memory that may hit in L1 or the read-only cache.
        l2_latency: the same of a load that goes past them.
    """

    clock: float
    processors: int
    issue: float
    warp_issue: float
    arithmetic_lanes: float
    memory_lanes: float
    shared_words: float
    l2_bytes: float
    memory_bandwidth: float
    l2_capacity: int
    max_warps: int
    max_blocks: int
    registers: int
    shared_capacity: int
    arithmetic_latency: float
    shared_latency: float
    cached_latency: float
    l2_latency: float
    fragments: float = 0.0


K4000_RATES = GpuRates(
    clock=810e6,
    processors=4,
    issue=8,
    warp_issue=2,
    arithmetic_lanes=192,
    memory_lanes=32,
    shared_words=64,
    l2_bytes=384,
    memory_bandwidth=134.8e9,
    l2_capacity=384 * 1024,
    max_warps=64,
    max_blocks=16,
    registers=65536,
    shared_capacity=48 * 1024,
    arithmetic_latency=9,
    shared_latency=23,
    cached_latency=23,
    l2_latency=160,
)
"""Quadro K4000 (GK106, compute capability 3.0).

Its data sheet: 768 CUDA cores, 134.8 GB/s, 1.24 TFLOP/s, hence 810 MHz. Kepler GK110 white paper: 192 cores, 32
load/store units, four schedulers that start two instructions each, and 64 warps a processor; shared memory delivers 64
bits a bank. L2: three memory partitions of 128 KiB and 128 bytes a cycle each, as in the GTX 680 white paper (512 bytes
for four). CUDA C programming guide: about 11 cycles of arithmetic latency, 200 to 400 of global memory. The paper's
authors measured 10, 24 (shared memory) and 164 (L2) on theirs. The latencies here are below all of them.
"""

ANY = GpuRates(
    clock=3.5e9,
    processors=1,
    issue=20,
    warp_issue=4,
    arithmetic_lanes=256,
    memory_lanes=64,
    shared_words=64,
    l2_bytes=128,
    memory_bandwidth=22e12,
    l2_capacity=408 * 2**20,
    max_warps=80,
    max_blocks=80,
    registers=3 * 65536,
    shared_capacity=228 * 1024,
    arithmetic_latency=2,
    shared_latency=16,
    cached_latency=16,
    l2_latency=100,
    fragments=2,
)
"""One processor of a GPU that nothing is known of: of each rate the most, of each latency the least that any has.

Clock: above the 3.3 GHz of Radeon RX 9060 XT cards. Memory: NVIDIA Rubin. L2: Intel Data Center GPU Max 1550. AMD's
RDNA 3 work-group processors, which are one processor to some drivers and two to others: four schedulers that start an
instruction of each of five kinds, of 32 lanes and up to two multiply-adds each; twice 32 banks of shared memory; 20
wavefronts and 192 KiB of registers a scheduler. Warps of 64 threads that are two here double what one warp starts.
Shared memory: Hopper. Apple's GPUs have results after some two cycles. Fragments: Blackwell.
"""

_HOPPER = replace(
    ANY,
    clock=2.1e9,
    issue=4,
    warp_issue=1,
    arithmetic_lanes=128,
    memory_lanes=32,
    shared_words=32,
    l2_bytes=64,
    max_warps=64,
    max_blocks=32,
    registers=65536,
    arithmetic_latency=4,
    shared_latency=20,
    cached_latency=20,
    fragments=1,
)
_BLACKWELL = replace(_HOPPER, clock=2.2e9, fragments=2)
_A100 = replace(_HOPPER, arithmetic_lanes=64, shared_capacity=164 * 1024, fragments=0.5)
_VOLTA = replace(_A100, shared_capacity=96 * 1024, shared_latency=19, cached_latency=19, fragments=0)
_GRAPHICS = replace(_HOPPER, max_warps=48, max_blocks=24, shared_capacity=100 * 1024, fragments=0.25)

CAPABILITIES = {
    "sm_70": _VOLTA,
    "sm_72": _VOLTA,
    "sm_75": replace(_VOLTA, clock=2.3e9, max_warps=32, max_blocks=16, shared_capacity=64 * 1024),
    "sm_80": _A100,
    "sm_86": replace(_GRAPHICS, clock=2.3e9, max_blocks=16),
    "sm_87": replace(_GRAPHICS, max_blocks=16, shared_capacity=164 * 1024, fragments=0.5),
    "sm_89": replace(_GRAPHICS, clock=3.3e9),
    "sm_90": _HOPPER,
    "sm_100": _BLACKWELL,
    "sm_103": _BLACKWELL,
    "sm_110": replace(_BLACKWELL, max_warps=48, max_blocks=24),
    "sm_120": replace(_GRAPHICS, clock=3.4e9),
    "sm_121": replace(_GRAPHICS, clock=3.4e9),
}
"""One processor of each compute capability.

CUDA C++ programming guide, throughput of native arithmetic instructions: 64 multiply-adds of 32 bits a cycle up to 8.0,
128 from 8.6 on; arithmetic results after 4 cycles. Its technical specifications: warps, blocks, registers and shared
memory. White papers of V100, A100 and H100: four schedulers, 32 load/store units, and 64 bytes a cycle that a processor
takes from L2. Loads of shared memory take 19 cycles on Volta and Turing (Jia et al., Dissecting the NVIDIA Volta GPU
Architecture via Microbenchmarking) and more on later ones. Fragments are the float16 rates of data sheets, in products
of 16 x 8 x 16: 2,048 multiply-adds a cycle are H100's 989 TFLOP/s at the 1,830 MHz of that figure. A100 has half of
that, B200 and Thor twice; graphics cards, as RTX 6000 Ada and RTX PRO 6000, a quarter. Clocks lie some percent above
the highest that `nvidia-smi -q -d CLOCK` gives of any GPU of that capability: 1,912 MHz (7.0, Titan V), 2,100 (7.5 and
8.6), 1,980 (9.0), 2,062 (10.0, GB200), 3,105 (8.9) and 3,090 (12.0); cards are sold that run a little faster.
"""


def gpu_rates(
    architecture: str, processors: int, clock: float = 0, memory_bandwidth: float = 0, l2_capacity: int = 0
) -> GpuRates:
    """Return the rates of a GPU; what is 0, not known, is the most that any has, or any of the architecture.

    Args:
        architecture: NVIDIA's, as in `sm_90`; anything else has processors that are better than any.
        processors: how many.
        clock: highest frequency, in Hz.
        memory_bandwidth: bytes per second.
        l2_capacity: bytes.

    >>> gpu_rates("sm_90", 132, clock=1980e6, memory_bandwidth=4.8e12, l2_capacity=60 * 2**20) == H200_RATES
    True
    """
    one = CAPABILITIES.get(architecture, ANY)
    return replace(
        one,
        clock=clock or one.clock,
        processors=processors,
        l2_bytes=processors * one.l2_bytes,
        memory_bandwidth=memory_bandwidth or one.memory_bandwidth,
        l2_capacity=l2_capacity or one.l2_capacity,
    )


H100_RATES = gpu_rates("sm_90", 132, clock=1980e6, memory_bandwidth=3.35e12, l2_capacity=50 * 2**20)
"""H100 SXM. Its data sheet: 3.35 TB/s, 67 TFLOP/s of FP32, hence 132 processors of 128 cores at 1,980 MHz. H100 white
paper: 50 MB of L2, on ten of the twelve memory controllers."""

H200_RATES = gpu_rates("sm_90", 132, clock=1980e6, memory_bandwidth=4.8e12, l2_capacity=60 * 2**20)
"""H200 SXM: the same at 4.8 TB/s by its data sheet, and L2 on all twelve memory controllers, as its driver says."""
