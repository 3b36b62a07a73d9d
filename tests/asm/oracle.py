"""An assembler by somebody else: the clang inside the ziglang package.

>>> assemble(["ret", "nop"], "x86_64")[0][:1].hex()
'c3'
"""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

SLOT = 16  # bytes: no instruction of either ISA is longer than 15
TARGETS = {
    "x86_64": (["-target", "x86_64-linux-gnu", "-march=sapphirerapids"], ".intel_syntax noprefix\n"),
    "aarch64": (["-target", "aarch64-linux-gnu", "-mcpu=generic+v9a+i8mm+bf16+sve2+sme2+sme_f64f64+fp16fml"], ""),
}


class Refused(AssertionError):
    """clang refused lines; `errors` maps their numbers in the given sequence to its words."""

    def __init__(self, errors: dict[int, str], lines: Sequence[str]) -> None:
        shown = [f"  {lines[n]}  <- {text}" for n, text in list(errors.items())[:20]]
        super().__init__(f"clang refuses {len(errors)} lines\n" + "\n".join(shown))
        self.errors = errors


def assemble(lines: Sequence[str], isa: str) -> list[bytes]:
    """Return for each line 16 bytes that start with its code, in one run of clang. Raises Refused."""
    options, header = TARGETS[isa]
    source = header + "".join(f"{line}\n.balign {SLOT}\n" for line in lines)
    with tempfile.TemporaryDirectory(prefix="einloom-oracle-") as folder:
        path = Path(folder, "lines.s")
        path.write_text(source)
        environment = os.environ | {"ZIG_GLOBAL_CACHE_DIR": folder, "ZIG_LOCAL_CACHE_DIR": folder}
        command = [sys.executable, "-m", "ziglang", "cc", *options, "-c", "lines.s", "-o", "lines.o"]
        run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        first = header.count("\n")
        errors = re.findall(r"^lines\.s:(\d+):\d+: error: (.*)$", run.stderr, re.MULTILINE)
        if errors:
            raise Refused({(int(number) - 1 - first) // 2: text for number, text in errors}, lines)
        if run.returncode:
            raise AssertionError(f"clang failed: {run.stderr}")
        text = _section(Path(folder, "lines.o").read_bytes(), b".text")
    return [text[start : start + SLOT] for start in range(0, SLOT * len(lines), SLOT)]


def _section(image: bytes, name: bytes) -> bytes:
    """Return a section of a 64-bit little-endian ELF file (System V ABI, chapter 4)."""
    (table,) = struct.unpack_from("<Q", image, 0x28)
    size, count, names = struct.unpack_from("<HHH", image, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", image, table + n * size) for n in range(count)]
    strings = headers[names][4]
    for header in headers:
        if image[strings + header[0] :].startswith(name + b"\0"):
            return image[header[4] : header[4] + header[5]]
    raise AssertionError(f"no section {name!r}")
