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
    "tests/targets/test_proposals.py::test_every_proposal_equals_the_interpreter",
)
"""A representative part, of which each processor takes a minute or two."""

FULL = (
    ("tests/aarch64/emulated.py", "tests/aarch64/scalable.py", "tests/aarch64/instructions.py"),
    ("tests/asm/aarch64", "tests/asm/test_core.py", "tests/ir/test_turned.py", "tests/arrays", "tests/jit"),
    ("tests/kernels", "tests/primitives"),
    ("tests/targets/test_optimised.py",),  # Its children start threads, which QEMU allows while the parent has none.
    ("tests/targets", "tests/tensor_operations"),
    ("tests/einsum",),
)
"""The tests of encoder, jit, kernels, tensor operations and einsum, in parts of which each says what it found."""

LEFT_OUT = {
    "tests/asm/aarch64/test_oracle.py": "the oracle is a program for this machine",
    "tests/primitives/test_elementwise.py::test_kernels_stay_small[avx2]": "code for x86-64",
    "tests/primitives/test_elementwise.py::test_kernels_stay_small[avx512]": "code for x86-64",
    "tests/jit/test_store.py": "QEMU takes the folder of the C library for /, from where files are opened",
    "tests/jit/test_linked.py::test_later_processes_need_no_emitter": "as above",
    "tests/jit/test_debug.py::test_gdb_knows_the_names": "gdb sees the emulator",
    "tests/jit/test_pages.py::test_memory_limit_of_the_process": "QEMU sets no limit",
    "tests/jit/test_threads.py::test_a_forked_child_makes_its_own_workers": "threads in a forked child",
    "tests/jit/test_threads.py::test_a_fork_while_the_pool_is_busy": "threads in a forked child",
    "tests/jit/test_together.py::test_a_forked_child_meets_too": "threads in a forked child",
    "tests/einsum/test_interface.py::test_a_forked_child_computes": "threads in a forked child",
}
"""What does not run under emulation, and why. QEMU 7.2 aborts when a forked child of several threads starts another."""

SME_ALONE = "max,sve=off", ("tests/aarch64/instructions.py", "tests/aarch64/scalable.py")
"""A processor that has SME and no SVE, as Apple's M4, and what runs on it."""

QUICK_PART = 6
"""Of so many cases of the largest tests the quick part takes one."""


def run_suite(emulator: Emulator, cpus: Sequence[str], quick: bool, rest: Sequence[str] = ()) -> int:
    """Run the tests part by part, each on every processor at once; print what each said; return 0 if all passed."""
    begin = time.monotonic()
    parts = [list(rest)] if rest else [_selection(part) for part in ((QUICK,) if quick else FULL)]
    runs = [[(cpu, part) for cpu in cpus] for part in parts]
    if not quick and not rest and emulator.has_sme_alone:
        runs.append([(SME_ALONE[0], [*SME_ALONE[1]])])
    failed = [cpu for at_once in runs for cpu in _failed(emulator, at_once, quick)]
    print(
        f"AArch64 on {', '.join(cpus)}: {time.monotonic() - begin:.0f} s" + (f"; FAILED on {failed}" if failed else "")
    )
    return int(bool(failed))


def _failed(emulator: Emulator, at_once: Sequence[tuple[str, Sequence[str]]], quick: bool) -> list[str]:
    """Run tests on processors at once, print what each said, and return those on which some failed."""
    begin, failed = time.monotonic(), []
    arguments = ["-m", "pytest", "-p", "no:cacheprovider", "-p", PLUGIN, "--tb=short"]
    runs = [(cpu, _start(emulator.command(cpu, [*arguments, *part]), cpu, quick)) for cpu, part in at_once]
    for cpu, (process, output) in runs:
        status = process.wait()
        output.seek(0)
        said = "passed" if status == 0 else f"status {status}"
        print(f"---- AArch64 {cpu}: {said}, {time.monotonic() - begin:.0f} s\n{output.read()}", flush=True)
        if status:
            failed.append(cpu)
    return failed


def _selection(part: Sequence[str]) -> list[str]:
    """Return a part's tests and what of them is left out: what a folder holds, but not what is a part itself."""
    alone = [name for other in FULL for name in other if name not in part and name.endswith(".py")]
    left_out = [name for name in (*LEFT_OUT, *alone) if any(name.startswith(f"{folder}/") for folder in part)]
    left_out += [name for name in LEFT_OUT if name.partition("::")[0] in part]
    return [*part, *(word for name in left_out for word in ("--deselect" if "::" in name else "--ignore", name))]


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
