"""Names of generated code reach `perf` and gdb when they are asked for, and nobody otherwise."""

from __future__ import annotations

import gc
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from einloom.asm import Assembler
from einloom.errors import UnsupportedTarget
from einloom.jit import Kernel, host
from einloom.jit.debug import Tool, code_symbols, requested_tools
from einloom.jit.gdb import GdbInterface

PROGRAM = """
import os
from einloom.asm import Assembler
from einloom.jit import Kernel, host
asm = Assembler(host().isa)
asm.label("begin")
{skip}
asm.label("rest")
asm.ret()
kernel = Kernel(asm, name="two parts")
kernel.call()
print(os.getpid(), hex(kernel.address), flush=True)
{then}
"""
SKIP = {"x86_64": "asm.nop()", "aarch64": "asm.mov(asm.x[0], asm.x[0])"}
GO_ON = "os.kill(os.getpid(), 5)"


def run_program(debug: str, then: str = "", *front: str) -> str:
    code = PROGRAM.format(skip=SKIP[host().isa], then=then)
    environment = {**os.environ, "EINLOOM_DEBUG": debug}
    done = subprocess.run(
        [*front, sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if front else subprocess.PIPE,  # what a debugger refuses is part of its output
        text=True,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def perf_map(process: str) -> Path:
    return Path(f"/tmp/perf-{process}.map")


def test_perf_reads_a_line_for_every_label() -> None:
    process, address = run_program("perf").split()
    lines = [line.split() for line in perf_map(process).read_text().splitlines()]
    perf_map(process).unlink()
    first = next(line for line in lines if line[2] == "einloom:two_parts:begin")
    second = next(line for line in lines if line[2] == "einloom:two_parts:rest")
    assert int(first[0], 16) == int(address, 16)
    assert int(second[0], 16) == int(first[0], 16) + int(first[1], 16)
    assert int(second[1], 16) > 0


def test_nothing_is_written_without_the_request() -> None:
    process, _ = run_program("").split()
    assert not perf_map(process).exists()


@pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed")
def test_gdb_knows_the_names() -> None:
    """In gdb, what the program's address is called, before and after the kernel is gone."""
    commands = [
        *("-ex", "set language c"),  # not the language of whatever the thread that took the signal was in
        *("-ex", "run", "-ex", "info functions einloom:two_parts", "-ex", "x/1i &'einloom:two_parts:rest'"),
        *("-ex", "signal 0", "-ex", "info functions einloom:two_parts"),
    ]
    then = f"{GO_ON}\ndel kernel\nimport gc; gc.collect()\n{GO_ON}"
    printed = run_program("gdb", then, "gdb", "-q", "-nx", "-batch", *commands, "--args")
    if "einloom" not in printed and "ptrace" in printed:
        pytest.skip("gdb may not trace processes here")
    address = int(re.findall(r"^\d+ (0x[0-9a-f]+)$", printed, re.M)[0], 16)
    named = re.findall(r"^(0x[0-9a-f]+)  (einloom:two_parts\S*)$", printed, re.M)
    assert int(named[0][0], 16) == address
    assert [name for _, name in named] == ["einloom:two_parts:begin", "einloom:two_parts:rest"], "it is gone at the end"
    assert "ret" in printed


def test_the_list_is_linked_both_ways_and_shrinks() -> None:
    interface = GdbInterface(host().isa)
    entries = [interface.register(bytes([number])) for number in range(3)]
    assert interface.images() == [b"\2", b"\1", b"\0"]
    interface.withdraw(entries[1])
    assert interface.images() == [b"\2", b"\0"]
    interface.withdraw(entries[2])
    interface.withdraw(entries[0])
    assert interface.images() == []


def test_a_kernel_is_forgotten_with_its_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    from einloom.jit.gdb import gdb_interface

    monkeypatch.setenv("EINLOOM_DEBUG", "gdb")
    asm = Assembler(host().isa)
    asm.ret()
    kernel = Kernel(asm)
    kernel.call()
    interface = gdb_interface(host().isa)
    assert len(interface.images()) == 1
    del kernel
    gc.collect()
    assert interface.images() == []


def test_names_of_code_without_labels_and_of_labels_at_one_place() -> None:
    assert [(s.name, s.offset, s.size) for s in code_symbols([], "a kernel", 7)] == [("einloom:a_kernel", 0, 7)]
    asm = Assembler("x86_64")
    asm.label("first")
    asm.label("second")
    asm.ret()
    asm.label("end")
    assert [s.name for s in code_symbols(asm.labels, "k", asm.size)] == ["einloom:k:first"]


def test_a_wrong_request_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EINLOOM_DEBUG", "perf, gdb")
    assert requested_tools() == set(Tool)
    monkeypatch.setenv("EINLOOM_DEBUG", "lldb")
    with pytest.raises(UnsupportedTarget, match="names 'lldb'\n  Set it to perf, gdb"):
        requested_tools()
