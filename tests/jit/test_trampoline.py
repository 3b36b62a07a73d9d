"""The trampolines of both ISAs as code. That they work is tested where they run, by `test_threads`."""

from __future__ import annotations

import struct

import pytest

from einloom.errors import UnsupportedTarget
from einloom.jit.trampoline import Addresses, front, launcher

ADDRESSES = Addresses(state=0x1122334455667788, parallel=2, thread_number=3, team_size=4)

# The words that `test_threads` ran on AArch64 with. If you change the code, run that test there and then these.
LAUNCHER = """
a9bd7bfd f100045f 5400022d 58000629 f9400129 b40002c9 a90107e0 f90013e2 100002c0 910043e1 d2800609
eb09005f 9a89b042 d2800003 58000510 d63f0200 d2800000 a8c37bfd d65f03c0 aa0003f0 aa0103e0 d2800001
d2800022 d63f0200 d2800000 a8c37bfd d65f03c0 d2800020 a8c37bfd d65f03c0 a9bd7bfd a90153f3 f90013f5
aa0003f3 58000310 d63f0200 2a0003f5 58000270 d63f0200 2a0003f4 f9400a62 eb02029f 540000ca a9400270
aa1403e1 d63f0200 8b150294 17fffff9 a94153f3 f94013f5 a8c37bfd d65f03c0 55667788 11223344 00000002
00000000 00000003 00000000 00000004 00000000
"""
FRONT_OF_7 = """
a9bf7bfd d10103ff f90003e2 f90007e3 f9000be4 f9000fe5 f90013e6 f90017e7 f9402be9 f9001be9 aa0103e2
910003e1 580000d0 d63f0200 910103ff a8c17bfd d65f03c0 00000000 55667788 11223344
"""


def words(code: bytes) -> list[str]:
    return [f"{word:08x}" for word in struct.unpack(f"<{len(code) // 4}I", code)]


def test_aarch64_words():
    asm, launch = launcher("aarch64", ADDRESSES, most=48)
    assert words(asm.bytes()) == LAUNCHER.split() and launch.position == 0
    assert words(front("aarch64", ADDRESSES.state, 7).bytes()) == FRONT_OF_7.split()


@pytest.mark.parametrize("isa", ["x86_64", "aarch64"])
def test_trampolines_need_no_feature_and_are_small(isa):
    asm, _ = launcher(isa, ADDRESSES, most=48)
    assert not asm.features and len(asm.bytes()) < 256
    for count in range(20):
        assert not front(isa, 1, count).features


def test_other_isas_are_refused():
    with pytest.raises(UnsupportedTarget, match="not for riscv64"):
        launcher("riscv64", ADDRESSES, 2)
    with pytest.raises(UnsupportedTarget, match="not for riscv64"):
        front("riscv64", 1, 2)
