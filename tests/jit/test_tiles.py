"""Matrix tiles in a process that did not choose them itself."""

from __future__ import annotations

import base64
import subprocess
import sys

import pytest

from einloom.jit.tiles import host_with_tiles
from einloom.machine import TILES

PROGRAM = """
import base64, sys
from einloom.jit import Kernel
code = base64.b64decode(sys.argv[1])
Kernel(code, "x86_64", ["amxtile", "amxint8"]).call()
print("right")
"""


@pytest.mark.skipif(TILES not in host_with_tiles().features, reason="tiles may not be used here")
def test_code_with_tiles_that_was_sent_asks_for_them() -> None:
    """A worker that is given a program of another process has never looked whether it may use tiles."""
    from einloom.asm import Assembler
    from einloom.asm.x86.operands import mem, tmm

    asm = Assembler("x86_64")
    asm.ldtilecfg(mem(asm.data(bytes([1, 0]) + bytes(14) + bytes([4, 0]) + bytes(30) + bytes([1]) + bytes(15))))
    asm.tilezero(tmm[0])
    asm.tilerelease()
    asm.ret()
    text = base64.b64encode(asm.bytes()).decode()
    done = subprocess.run([sys.executable, "-c", PROGRAM, text], capture_output=True, text=True, check=False)
    assert done.stdout == "right\n", (done.returncode, done.stderr)
