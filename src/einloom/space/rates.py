"""How fast a GPU can be at best: what no implementation can exceed, from vendors' documents.

A bound is only as sound as these numbers. So each is an upper limit (a rate) or a lower one (a latency), never a mean
of what some compiled program reached; where a document gives a range, the optimistic end stands here.

>>> round(K4000_RATES.clock * K4000_RATES.processors * K4000_RATES.arithmetic_lanes * 2 / 1e12, 2)
1.24
"""

from __future__ import annotations

from einloom.frozen import frozen

__all__ = ["H200_RATES", "K4000_RATES", "GpuRates"]


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

H200_RATES = GpuRates(
    clock=1980e6,
    processors=132,
    issue=4,
    warp_issue=1,
    arithmetic_lanes=128,
    memory_lanes=32,
    shared_words=32,
    l2_bytes=132 * 64,
    memory_bandwidth=4.8e12,
    l2_capacity=50 * 1024 * 1024,
    max_warps=64,
    max_blocks=32,
    registers=65536,
    shared_capacity=228 * 1024,
    arithmetic_latency=4,
    shared_latency=20,
    cached_latency=20,
    l2_latency=100,
    fragments=1,
)
"""H200 SXM (GH100, compute capability 9.0).

Its data sheet: 4.8 TB/s, 67 TFLOP/s of FP32, hence 132 processors of 128 cores at 1,980 MHz. H100 white paper: four
schedulers, 32 load/store units, 64 warps, 32 blocks and 228 KiB of shared memory a processor, 50 MB of L2. A processor
takes at most 64 bytes a cycle from L2. CUDA C programming guide: arithmetic results after 4 cycles. 989 TFLOP/s of
float16 on tensor cores, at the 1,830 MHz of that figure, are 2,048 multiply-adds a cycle: one product of 16 x 8 x 16.
"""
