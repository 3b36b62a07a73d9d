"""Kernels: the four examples of an AArch64 tutorial and their x86-64 twins, arguments, results, life, refusals."""

from __future__ import annotations

import ctypes
import gc
import shutil
import struct
import subprocess
import threading
from typing import Any

import numpy as np
import pytest

from einloom.asm import Assembler
from einloom.errors import DTypeError, EncodingError, UnsupportedTarget
from einloom.jit import Kernel, host
from tests.jit.processes import permissions, python

FOREIGN = "aarch64" if host().isa == "x86_64" else "x86_64"
RETURN_5 = {"x86_64": bytes.fromhex("b805000000c3"), "aarch64": struct.pack("<2I", 0xD28000A0, 0xD65F03C0)}


def return_constant(asm: Any, value: int) -> None:
    asm.mov(asm.rax if asm.isa == "x86_64" else asm.x[0], value)
    asm.ret()


def add_5(asm: Any) -> None:
    if asm.isa == "x86_64":
        asm.lea(asm.rax, asm.mem(asm.rdi, 5))
    else:
        asm.add(asm.x[0], asm.x[0], 5)
    asm.ret()


def count_to_1024(asm: Any) -> None:
    """Count 512 down to 0 and add 2 to the result each time."""
    if asm.isa == "x86_64":
        counter, result = asm.rcx, asm.rax
        asm.mov(counter, 512)
        asm.mov(result, 0)
        loop = asm.label("loop")
        asm.add(result, 2)
        asm.sub(counter, 1)
        asm.jne(loop)
    else:
        counter, result = asm.x[0], asm.x[1]
        asm.mov(counter, 512)
        asm.mov(result, 0)
        loop = asm.label("loop")
        asm.sub(counter, counter, 1)
        asm.add(result, result, 2)
        asm.cbnz(counter, loop)
        asm.mov(asm.x[0], result)
    asm.ret()


EXAMPLES: list[tuple[Any, tuple[int, ...], int, list[int]]] = [
    (lambda asm: return_constant(asm, 5), (), 5, [0xD28000A0, 0xD65F03C0]),
    (lambda asm: return_constant(asm, 3), (), 3, [0xD2800060, 0xD65F03C0]),
    (add_5, (7,), 12, [0x91001400, 0xD65F03C0]),
    (
        count_to_1024,
        (),
        1024,
        [0xD2804000, 0xD2800001, 0xD1000400, 0x91000821, 0xB5FFFFC0, 0xAA0103E0, 0xD65F03C0],
    ),
]


def assembled(example: Any, isa: str) -> Assembler:
    asm = Assembler(isa)
    example(asm)
    return asm


@pytest.mark.parametrize(("example", "arguments", "result", "words"), EXAMPLES)
def test_examples_run_on_the_host(example, arguments, result, words):
    kernel = Kernel(assembled(example, host().isa))
    assert kernel.call(*arguments, restype=int) == result
    assert kernel.function(int, *[int] * len(arguments))(*arguments) == result


@pytest.mark.parametrize(("example", "arguments", "result", "words"), EXAMPLES)
def test_examples_have_these_aarch64_words(example, arguments, result, words, tmp_path):
    kernel = Kernel(assembled(example, "aarch64"))
    assert list(struct.unpack(f"<{len(words)}I", kernel.code)) == words
    kernel.write(tmp_path / "example.bin")
    assert (tmp_path / "example.bin").read_bytes() == kernel.code
    assert kernel.isa == "aarch64"


OBJDUMP = {"x86_64": ["i386:x86-64", "-M", "intel"], "aarch64": ["aarch64"]}


@pytest.mark.parametrize("isa", ["x86_64", "aarch64"])
def test_objdump_reads_what_is_written(isa, tmp_path):
    file = tmp_path / "example.bin"
    Kernel(RETURN_5[isa], isa).write(str(file))
    assert file.read_bytes() == RETURN_5[isa]
    text = disassembly(isa, file)
    if text is not None:
        assert "mov" in text and "ret" in text and "0x5" in text


def disassembly(isa: str, file: Any) -> str | None:
    """Return what objdump prints, or None where it is not installed or was built without this ISA."""
    if shutil.which("objdump") is None:
        return None
    command = ["objdump", "-D", "-b", "binary", "-m", *OBJDUMP[isa], str(file)]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


# Calling


def c_function(name: str) -> bytes:
    """Return code that jumps to a function of the C library, so that arguments and results can be told apart."""
    library = ctypes.CDLL("libm.so.6")
    address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
    assert address is not None
    asm: Any = Assembler(host().isa)
    target = asm.data(struct.pack("<Q", address))
    if host().isa == "x86_64":
        asm.jmp(asm.mem(target))
    else:
        asm.ldr(asm.x[16], target)
        asm.br(asm.x[16])
    return asm.bytes()


def test_integers_of_64_bits():
    kernel = Kernel(assembled(add_5, host().isa))
    for value in (0, -5, -6, 2**62, -(2**63), 2**63 - 6, True, np.int32(-7), np.uint8(255)):
        assert kernel.call(value, restype=int) == int(value) + 5
    assert kernel.call(2**64 - 5, restype=int) == 0
    assert kernel.call(1, restype=ctypes.c_uint8) == 6
    assert kernel.call(1) is None


def test_floats():
    assert Kernel(c_function("ldexp")).call(0.75, 4, restype=float) == 12.0
    assert Kernel(c_function("pow")).call(np.float64(3.0), 4.0, restype=float) == 81.0
    assert Kernel(c_function("powf")).call(np.float32(3.0), np.float32(2.0), restype=np.float32) == 9.0
    assert Kernel(c_function("fma")).function(float, float, float, float)(2.0, 3.0, 4.0) == 10.0


def test_arrays_are_the_address_of_their_first_element():
    array = np.arange(12.0).reshape(3, 4)
    kernel = Kernel(assembled(add_5, host().isa))
    for view in (array, array[1:, ::2], array[::-1], array.T):
        assert kernel.call(view, restype=int) == view.ctypes.data + 5
    parts = Kernel(c_function("modf"))
    assert parts.call(2.25, array, restype=float) == 0.25 and array[0, 0] == 2.0
    buffer = (ctypes.c_double * 1)()
    assert parts.call(3.5, buffer, restype=float) == 0.5 and buffer[0] == 3.0
    assert parts.call(4.5, ctypes.c_void_p(ctypes.addressof(buffer)), restype=float) == 0.5 and buffer[0] == 4.0


@pytest.mark.parametrize("wrong", ["7", None, [1], 1j, np.float16(1), object(), 2**64, -(2**63) - 1])
def test_wrong_arguments_are_named(wrong):
    with pytest.raises(DTypeError, match="argument 1"):
        Kernel(assembled(add_5, host().isa)).call(1, wrong)


def test_several_entries():
    asm: Any = Assembler(host().isa)
    return_constant(asm, 1)
    second = asm.label("second")
    return_constant(asm, 2)
    constant = asm.data(b"abcd", name="constant")
    kernel = Kernel(asm)
    assert kernel.call(restype=int) == 1 and kernel.call(restype=int, at=second) == 2
    assert kernel.function(int, at=second)() == 2 and kernel.call(restype=int, at=second.position) == 2
    assert kernel.address_of(second) == kernel.address + second.position
    for wrong in (-1, len(kernel.code), constant, asm.forward("nowhere"), Assembler(host().isa).label("other")):
        with pytest.raises(EncodingError):
            kernel.address_of(wrong)


def test_code_is_taken_as_it_is_now():
    asm = assembled(add_5, host().isa)
    kernel = Kernel(asm)
    before = kernel.code
    add_5(asm)
    assert kernel.code == before and len(asm.bytes()) == 2 * len(before)


def test_interpreter_runs_meanwhile_unless_it_is_held():
    """A loop that ends when another Python thread writes a 1 would never end if the interpreter were held."""
    asm: Any = Assembler(host().isa)
    top = asm.label("top")
    if host().isa == "x86_64":
        asm.mov(asm.rax, asm.mem(asm.rdi))
        asm.test(asm.rax, asm.rax)
        asm.je(top)
    else:
        asm.ldr(asm.x[1], asm.mem(asm.x[0]))
        asm.cbz(asm.x[1], top)
    asm.ret()
    flag = (ctypes.c_int64 * 1)()
    waiting = threading.Thread(target=Kernel(asm).call, args=(flag,), daemon=True)
    waiting.start()
    flag[0] = 1
    waiting.join(30)
    assert not waiting.is_alive()


def test_the_interpreter_can_be_held():
    kernel = Kernel(assembled(add_5, host().isa))
    held, free = kernel.function(int, int, release_gil=False), kernel.function(int, int)
    keeps_interpreter = 4  # FUNCFLAG_PYTHONAPI of ctypes
    assert held(1) == free(1) == kernel.call(1, restype=int, release_gil=False) == 6
    assert type(held)._flags_ & keeps_interpreter and not type(free)._flags_ & keeps_interpreter


# Life


def test_a_function_keeps_the_code_mapped():
    kernel = Kernel(assembled(add_5, host().isa))
    function, address = kernel.function(int, int), kernel.address
    del kernel
    gc.collect()
    assert function(1) == 6 and permissions(address) == "r-xp"
    del function
    gc.collect()
    assert permissions(address) is None


def test_a_kernel_goes_without_the_garbage_collector():
    gc.disable()
    try:
        kernel = Kernel(assembled(add_5, host().isa))
        kernel.call(1, restype=int)
        address = kernel.address
        del kernel
        assert permissions(address) is None
    finally:
        gc.enable()


def test_threads_that_map_at_once_get_one_address():
    for _ in range(20):
        kernel = Kernel(assembled(add_5, host().isa))
        seen: list[int] = []
        gate = threading.Barrier(4)

        def ask(kernel=kernel, seen=seen, gate=gate) -> None:
            gate.wait()
            seen.append(kernel.address)

        askers = [threading.Thread(target=ask) for _ in range(4)]
        for asker in askers:
            asker.start()
        for asker in askers:
            asker.join()
        assert len(set(seen)) == 1 and permissions(seen[0]) == "r-xp"


# Refusals


def test_foreign_code_is_held_and_listed_but_not_run():
    kernel = Kernel(RETURN_5[FOREIGN], FOREIGN)
    assert kernel.code == RETURN_5[FOREIGN] and kernel.listing()
    for use in (lambda: kernel.call(restype=int), lambda: kernel.address, lambda: kernel.function(int)):
        with pytest.raises(UnsupportedTarget, match=f"{FOREIGN}.*cannot run on this {host().isa} host"):
            use()


def test_missing_features_are_named():
    kernel = Kernel(RETURN_5[host().isa], features={"warp", "neon", "avx2", "quantum"})
    with pytest.raises(UnsupportedTarget, match="quantum, warp, which this host lacks"):
        kernel.call()
    assert Kernel(RETURN_5[host().isa]).call(restype=int) == 5


def test_masked_features_count_as_missing():
    script = """
    from einloom.errors import UnsupportedTarget
    from einloom.jit import Kernel, host
    kernel = Kernel(bytes.fromhex("c3"), "x86_64", {"avx2"})
    try:
        kernel.call()
    except UnsupportedTarget as error:
        print(error)
    """
    assert "host" in python(script, EINLOOM_ISA="none")


def test_assemblers_bring_their_isa_and_features():
    asm: Any = Assembler("x86_64")
    asm.vfmadd231ps(asm.zmm[0], asm.zmm[1], asm.zmm[2])
    assert Kernel(asm).isa == "x86_64" and "avx512f" in Kernel(asm).features
    assert Kernel(asm, features=()).features == frozenset()
    with pytest.raises(UnsupportedTarget, match="emits x86_64, not 'aarch64'"):
        Kernel(asm, "aarch64")


def test_repr_and_listing():
    kernel = Kernel(RETURN_5["aarch64"], "aarch64", {"neon"}, name="five")
    assert repr(kernel) == "Kernel(five, aarch64 neon, 8 bytes)"
    assert kernel.listing() == "     0    a00080d2 c0035fd6"
    asm = assembled(add_5, "aarch64")
    assert Kernel(asm).listing() == asm.listing() and "ret" in Kernel(asm).listing()
