"""Which tests run on the emulated processors, and how: one pytest process for each processor, side by side.

They are the ordinary tests, which ask the host what it is, and `emulated`, which knows where it runs. What is left out
needs a program for arm64 that is not packaged (`ziglang`), looks at x86 code only, or measures the emulator.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from tests.aarch64.emulator import Emulator

__all__ = ["FULL", "QUICK", "run_suite"]

REPOSITORY = Path(__file__).resolve().parents[2]
PLUGIN = "tests.aarch64.fewer_examples"

QUICK = (
    "tests/aarch64/emulated.py",
    "tests/aarch64/scalable.py",
    "tests/aarch64/instructions.py",
    "tests/kernels/test_listings.py",
    "tests/kernels/test_brgemm.py::test_every_edge",
    "tests/kernels/test_brgemm.py::test_lists_of_matrices",
    "tests/kernels/test_dot_products.py",
    "tests/primitives/test_elementwise.py::test_unary",
    "tests/primitives/test_elementwise.py::test_binary",
)
"""A representative part, of which each processor takes a minute or two."""

FULL = (
    "tests/aarch64/emulated.py",
    "tests/aarch64/scalable.py",
    "tests/aarch64/instructions.py",
    "tests/arrays",
    "tests/ir/test_turned.py",
    "tests/asm/aarch64",
    "tests/asm/test_core.py",
    "tests/jit",
    "tests/kernels",
    "tests/primitives",
    "tests/targets",
    "tests/tensor_operations",
    "tests/einsum",
)
"""The tests of encoder, jit, kernels, tensor operations and einsum."""

LEFT_OUT = {
    "tests/asm/aarch64/test_oracle.py": "the oracle is a program for this machine",
    "tests/jit/test_pages.py::test_memory_limit_of_the_process": "QEMU sets no limit",
    "tests/jit/test_threads.py::test_helpers_of_the_parent_are_replaced_in_a_forked_child": "threads in a forked child",
    "tests/jit/test_threads.py::test_forked_child_uses_the_pool": "threads in a forked child",
    "tests/einsum/test_interface.py::test_a_forked_child_computes": "threads in a forked child",
}
"""What does not run under emulation, and why. QEMU 7.2 aborts when a forked child of several threads starts another."""

SME_ALONE = "max,sve=off", ("tests/aarch64/instructions.py", "tests/aarch64/scalable.py")
"""A processor that has SME and no SVE, as Apple's M4, and what runs on it."""

QUICK_PART = 6
"""Of so many cases of the largest tests the quick part takes one."""

ALONE = "tests/targets/test_optimised.py"
"""Its children start threads, which QEMU allows while the parent has none: it needs a process of its own."""


def run_suite(emulator: Emulator, cpus: Sequence[str], quick: bool, rest: Sequence[str] = ()) -> int:
    """Run the tests on every processor at once; print what each said; return 0 if all passed."""
    arguments = ["-m", "pytest", "-p", "no:cacheprovider", "-p", PLUGIN, "--tb=short"]
    parts = [list(rest)] if rest else [_selection(quick), *([] if quick else [[ALONE]])]
    begin = time.monotonic()
    wanted = [(cpu, part) for part in parts for cpu in cpus]
    if not quick and not rest and emulator.has_sme_alone:
        wanted.append((SME_ALONE[0], [*SME_ALONE[1]]))
    runs = [(cpu, _start(emulator.command(cpu, [*arguments, *part]), cpu, quick)) for cpu, part in wanted]
    failed = []
    for cpu, (process, output) in runs:
        status = process.wait()
        output.seek(0)
        print(f"---- AArch64 {cpu}: {'passed' if status == 0 else f'status {status}'}")
        print(output.read(), flush=True)
        if status:
            failed.append(cpu)
    print(
        f"AArch64 on {', '.join(cpus)}: {time.monotonic() - begin:.0f} s" + (f"; FAILED on {failed}" if failed else "")
    )
    return int(bool(failed))


def _selection(quick: bool) -> list[str]:
    left_out = [part for name in (*LEFT_OUT, ALONE) for part in (("--deselect" if "::" in name else "--ignore"), name)]
    return [*(QUICK if quick else FULL), *left_out]


def _start(command: Sequence[str], cpu: str, quick: bool) -> tuple[subprocess.Popen[str], IO[str]]:
    output = tempfile.TemporaryFile("w+", prefix=f"einloom-{cpu}-")  # noqa: SIM115
    process = subprocess.Popen(
        command,
        cwd=REPOSITORY,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"EINLOOM_EMULATED_PART": str(QUICK_PART)} if quick else None,
    )
    if sys.stdout.isatty():
        print(f"running on {cpu}", flush=True)
    return process, output
