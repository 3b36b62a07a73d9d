"""Features of an x86-64 processor: CPUID and XGETBV, asked by a few bytes of machine code.

A feature counts only where the operating system saves the registers that it works on.
Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2A "CPUID", volume 1 sections 13.2 to 13.3.

>>> "sse2" in processor_features()
True
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator

from einloom.jit.pages import ExecutablePages

__all__ = ["CPUID_CODE", "ROWS", "XGETBV_CODE", "parse_rows", "processor_features"]

# void cpuid(uint64 leaf, uint64 subleaf, uint32 registers[4]): eax, ebx, ecx, edx
CPUID_CODE = bytes.fromhex(
    "53"  # push rbx
    "4989d0"  # mov r8, rdx
    "89f8"  # mov eax, edi
    "89f1"  # mov ecx, esi
    "0fa2"  # cpuid
    "418900"  # mov [r8], eax
    "41895804"  # mov [r8 + 4], ebx
    "41894808"  # mov [r8 + 8], ecx
    "4189500c"  # mov [r8 + 12], edx
    "5b"  # pop rbx
    "c3"  # ret
)
# uint64 xgetbv(): XCR0, one bit for each kind of register state that the operating system saves
XGETBV_CODE = bytes.fromhex(
    "31c9"  # xor ecx, ecx
    "0f01d0"  # xgetbv
    "48c1e220"  # shl rdx, 32
    "4809d0"  # or rax, rdx
    "c3"  # ret
)

# Bits of XCR0, all set: SSE 1, AVX 2, opmask 5, upper halves of zmm 6 and 7, tile configuration 17, tiles 18.
_STATES = {"-": 0, "ymm": 0x6, "zmm": 0xE6, "tile": 0x60000}

# leaf.subleaf register state: bit name, …; xsave is the bit that says that the system has enabled it (OSXSAVE)
ROWS = """
1.0        ecx -    : 0 sse3, 1 pclmulqdq, 9 ssse3, 19 sse4_1, 20 sse4_2, 22 movbe, 23 popcnt, 25 aes, 27 xsave
1.0        ecx ymm  : 12 fma, 28 avx, 29 f16c
1.0        edx -    : 4 tsc, 15 cmov, 25 sse, 26 sse2
7.0        ebx -    : 3 bmi, 8 bmi2, 9 erms, 19 adx, 23 clflushopt, 24 clwb, 29 sha
7.0        ebx ymm  : 5 avx2
7.0        ebx zmm  : 16 avx512f, 17 avx512dq, 21 avx512ifma, 28 avx512cd, 30 avx512bw, 31 avx512vl
7.0        ecx -    : 8 gfni, 22 rdpid, 25 cldemote, 27 movdiri, 28 movdir64b
7.0        ecx ymm  : 9 vaes, 10 vpclmulqdq
7.0        ecx zmm  : 1 avx512vbmi, 6 avx512vbmi2, 11 avx512vnni, 12 avx512bitalg, 14 avx512vpopcntdq
7.0        edx zmm  : 8 avx512vp2intersect, 23 avx512fp16
7.0        edx tile : 22 amxbf16, 24 amxtile, 25 amxint8
7.1        eax ymm  : 4 avxvnni, 23 avxifma
7.1        eax zmm  : 5 avx512bf16
7.1        eax tile : 21 amxfp16
7.1        edx ymm  : 4 avxvnniint8, 5 avxneconvert, 10 avxvnniint16
80000001.0 ecx -    : 5 lzcnt, 8 prefetchw
80000001.0 edx -    : 27 rdtscp
"""
_REGISTERS = ("eax", "ebx", "ecx", "edx")


def parse_rows(text: str = ROWS) -> Iterator[tuple[int, int, int, int, int, str]]:
    """Yield (leaf, subleaf, register number, bits of XCR0 needed, bit, feature) for every entry of the rows."""
    for row in text.strip().splitlines():
        place, entries = row.split(":")
        leaf, register, state = place.split()
        number, subleaf = leaf.split(".")
        for entry in entries.split(","):
            bit, name = entry.split()
            yield int(number, 16), int(subleaf), _REGISTERS.index(register), _STATES[state], int(bit), name


def processor_features() -> frozenset[str]:
    """Return the names of the features that the processor has and the operating system lets programs use."""
    with ExecutablePages(CPUID_CODE) as pages:
        leaves = _LeafReader(pages.address)
        saved = _saved_state() if leaves(1, 0)[2] >> 27 & 1 else 0
        return frozenset(
            name
            for leaf, subleaf, register, state, bit, name in parse_rows()
            if leaves(leaf, subleaf)[register] >> bit & 1 and saved & state == state
        )


class _LeafReader:
    """CPUID leaves, each asked once; a leaf or subleaf that the processor does not have reads as zeros."""

    def __init__(self, address: int) -> None:
        self._ask = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(address)
        self._known: dict[tuple[int, int], tuple[int, ...]] = {}

    def __call__(self, leaf: int, subleaf: int) -> tuple[int, ...]:
        key = leaf, subleaf
        if key not in self._known:
            self._known[key] = self._read(leaf, subleaf) if self._exists(leaf, subleaf) else (0, 0, 0, 0)
        return self._known[key]

    def _exists(self, leaf: int, subleaf: int) -> bool:
        if leaf & 0x7FFFFFFF == 0:
            return True
        if leaf > self(leaf & 0x80000000, 0)[0]:  # leaf 0 of either range tells the range's last
            return False
        return not subleaf or leaf != 7 or subleaf <= self(7, 0)[0]

    def _read(self, leaf: int, subleaf: int) -> tuple[int, ...]:
        registers = (ctypes.c_uint32 * 4)()
        self._ask(leaf, subleaf, registers)
        return tuple(registers)


def _saved_state() -> int:
    """Return XCR0. Only where CPUID says that the operating system has enabled XGETBV."""
    with ExecutablePages(XGETBV_CODE) as pages:
        ask: Callable[[], int] = ctypes.CFUNCTYPE(ctypes.c_uint64)(pages.address)
        return ask()
