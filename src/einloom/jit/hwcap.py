"""Features of an AArch64 processor under Linux: the bits of AT_HWCAP and AT_HWCAP2.

The width of scalable vectors is a feature too: `sve256`, and `sme512` in streaming mode.

Source: Linux `Documentation/arch/arm64/{elf_hwcaps,sve,sme}.rst` and `arch/arm64/include/uapi/asm/hwcap.h`.

>>> sorted(features_of(1 << 1 | 1 << 22, 1 << 14))
['bf16', 'neon', 'sve']
"""

from __future__ import annotations

import ctypes

__all__ = ["features_of", "processor_features"]

_AT_HWCAP, _AT_HWCAP2 = 16, 26
_GET_LENGTH = {"sve": 51, "sme": 64}
"""Options of `prctl` that return bytes of a vector, beside flags."""

# bit name, …
_HWCAP = """1 neon, 3 aes, 4 pmull, 6 sha2, 7 crc32, 8 lse, 10 fp16, 12 rdm, 13 jscvt, 14 fcma, 15 rcpc, 17 sha3,
20 dotprod, 22 sve, 23 fp16fml, 26 rcpc2, 27 flagm"""
_HWCAP2 = """1 sve2, 2 sve_aes, 4 sve_bitperm, 9 sve_i8mm, 10 f32mm, 11 f64mm, 12 sve_bf16, 13 i8mm, 14 bf16, 17 bti,
23 sme, 24 sme_i16i64, 25 sme_f64f64, 30 sme_fa64, 32 ebf16, 34 cssc, 36 sve2p1, 37 sme2, 38 sme2p1, 42 sme_f16f16,
43 mops, 47 lse128"""


def features_of(hwcap: int, hwcap2: int) -> frozenset[str]:
    """Return the names of the features whose bits are set in the two words."""
    rows = [(hwcap, entry) for entry in _HWCAP.split(",")] + [(hwcap2, entry) for entry in _HWCAP2.split(",")]
    return frozenset(name for word, entry in rows for bit, name in [entry.split()] if word >> int(bit) & 1)


def processor_features() -> frozenset[str]:
    """Return the names of the features that the kernel lets programs use."""
    getauxval = ctypes.CDLL(None).getauxval
    getauxval.argtypes = [ctypes.c_ulong]
    getauxval.restype = ctypes.c_ulong
    features = features_of(getauxval(_AT_HWCAP), getauxval(_AT_HWCAP2))
    return features | {f"{name}{_vector_bits(option)}" for name, option in _GET_LENGTH.items() if name in features}


def _vector_bits(option: int) -> int:
    """Return the width of this thread's scalable vectors, of one mode."""
    return 8 * (ctypes.CDLL(None).prctl(option, 0, 0, 0, 0) & 0xFFFF)
