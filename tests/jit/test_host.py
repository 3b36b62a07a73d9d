"""The host's description: against what the operating system says, masked by EINLOOM_ISA, with nothing to go by."""

from __future__ import annotations

import importlib
import math
import os
import pkgutil
import platform

import pytest
from iced_x86 import Decoder, Formatter, FormatterSyntax

from einloom.errors import DeviceError, UnsupportedTarget
from einloom.jit import cpuid, host, hwcap
from einloom.jit.resources import cache_sizes, quota_of, usable_cores
from einloom.machine import AVX2, AVX512, NEON, Machine, vector_of
from tests.jit.processes import python

host_module = importlib.import_module("einloom.jit.host")  # the package's attribute of this name is the function

# The names of /proc/cpuinfo where they are not ours with other underscores.
LINUX_NAMES = {"sse3": "pni", "lzcnt": "abm", "prefetchw": "3dnowprefetch", "sha": "sha_ni", "bmi": "bmi1"}
LINUX_ARM_NAMES = {"neon": "asimd", "lse": "atomics", "fp16": "asimdhp", "dotprod": "asimddp"} | {
    name: name for name in ("aes", "crc32", "sve", "sve2", "bf16", "i8mm", "sme", "sme2")
}
VECTOR_FEATURES = ("avx", "fma", "amx", "vaes", "vpclmulqdq", "neon", "sve", "sme")


def cpuinfo_flags() -> set[str]:
    with open("/proc/cpuinfo") as file:
        return {flag for line in file if line.startswith(("flags", "Features")) for flag in line.split(":")[1].split()}


def test_features_are_those_of_the_operating_system():
    flags = cpuinfo_flags()
    if platform.machine() == "aarch64":
        assert "neon" in host().features
        if "asimd" in flags:  # an emulator shows the flags of another processor
            assert {name for name, flag in LINUX_ARM_NAMES.items() if flag in flags} == host().features & set(
                LINUX_ARM_NAMES
            )
        return
    plain = {flag.replace("_", "") for flag in flags}
    shown = {name for *_, name in cpuid.parse_rows() if LINUX_NAMES.get(name, name).replace("_", "") in plain}
    assert shown - host().features == set()
    assert host().features - shown <= {"prefetchw"}


def test_host_is_plausible_and_asked_once():
    machine = host()
    assert machine.isa == platform.machine()
    assert 4096 <= machine.l1d <= machine.l2 <= machine.l3
    assert 1 <= machine.cores <= len(os.sched_getaffinity(0))
    assert machine.vector == vector_of(machine.isa, machine.features)
    assert machine.name and "\n" not in machine.name
    assert host() is machine


def text_of(code: bytes) -> list[str]:
    formatter = Formatter(FormatterSyntax.INTEL)
    return [formatter.format(instruction) for instruction in Decoder(64, code)]


def test_the_bytes_that_ask_are_the_instructions_in_the_comments():
    assert text_of(cpuid.CPUID_CODE) == [
        "push rbx", "mov r8,rdx", "mov eax,edi", "mov ecx,esi", "cpuid",
        "mov [r8],eax", "mov [r8+4],ebx", "mov [r8+8],ecx", "mov [r8+0Ch],edx", "pop rbx", "ret",
    ]  # fmt: skip
    assert text_of(cpuid.XGETBV_CODE) == ["xor ecx,ecx", "xgetbv", "shl rdx,20h", "or rax,rdx", "ret"]


def test_every_cpuid_bit_is_named_once():
    rows = list(cpuid.parse_rows())
    assert len({name for *_, name in rows}) == len(rows) == len({(*row[:3], row[4]) for row in rows})
    for *_, state, _, name in rows:
        wants_zmm, wants_tiles = name.startswith("avx512"), name.startswith("amx")
        assert (state & 0xE0 == 0xE0, state >> 17 == 3) == (wants_zmm, wants_tiles), name


def lines_of(package: str) -> list[str]:
    """Return the rows of an ISA's instructions as they stand in its tables."""
    folder = importlib.import_module(package)
    modules = [importlib.import_module(f"{package}.{entry.name}") for entry in pkgutil.iter_modules(folder.__path__)]
    return [line for module in modules for line in module.ROWS.splitlines() if line and line[0] != "#"]


def test_features_that_instructions_need_have_names_here():
    columns = [line.split("|")[2] for line in lines_of("einloom.asm.x86.rows")]
    x86 = {name for column in columns for name in column.replace("/", " ").split()} - {"-"}
    assert "fma" in x86 and x86 <= {name for *_, name in cpuid.parse_rows()}
    arm = {word[1:] for line in lines_of("einloom.asm.aarch64.rows") for word in line.split() if word[0] == "+"}
    assert arm and arm <= hwcap.features_of(2**64 - 1, 2**64 - 1)


def features_with(registers: dict[tuple[int, int], tuple[int, int, int, int]], saved: int) -> frozenset[str]:
    """Return what a processor with these CPUID leaves, on a system that saves these registers, is said to have."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cpuid, "_saved_state", lambda: saved)
        patch.setattr(cpuid, "ExecutablePages", NoPages)
        patch.setattr(cpuid._LeafReader, "_read", lambda self, leaf, subleaf: registers.get((leaf, subleaf), (0,) * 4))
        return cpuid.processor_features()


class NoPages:
    address = 0

    def __init__(self, code: bytes) -> None: ...
    def __enter__(self):
        return self

    def __exit__(self, *error) -> None: ...


EVERYTHING = {(0, 0): (7, 0, 0, 0), (1, 0): (0, 0, 2**32 - 1, 2**32 - 1), (7, 0): (1, *[2**32 - 1] * 3)}


def test_features_need_the_state_that_the_system_saves():
    everything = EVERYTHING | {(7, 1): (2**32 - 1,) * 4}
    assert {"avx512f", "avx512bf16", "amxtile", "avx2", "sse2"} <= features_with(everything, 0x600E7)
    without_tiles = features_with(everything, 0xE7)
    assert "avx512f" in without_tiles and "amxtile" not in without_tiles
    without_zmm = features_with(everything, 0x7)
    assert "avx2" in without_zmm and "fma" in without_zmm and "avx512f" not in without_zmm
    without_ymm = features_with(everything, 0x3)
    assert "sse2" in without_ymm and not without_ymm & {"avx", "avx2", "fma", "f16c", "vaes"}


def test_leaves_that_do_not_exist_have_no_features():
    no_leaf_7 = EVERYTHING | {(0, 0): (1, 0, 0, 0)}
    assert "bmi2" not in features_with(no_leaf_7, 0xE7) and "avx" in features_with(no_leaf_7, 0xE7)
    no_subleaf = EVERYTHING | {(7, 0): (0, *[2**32 - 1] * 3), (7, 1): (2**32 - 1,) * 4}
    assert "avxvnni" not in features_with(no_subleaf, 0xE7) and "avx512f" in features_with(no_subleaf, 0xE7)
    no_xgetbv = EVERYTHING | {(1, 0): (0, 0, 2**32 - 1 - 2**27, 2**32 - 1)}
    assert "avx" not in features_with(no_xgetbv, 0xE7)


def test_arm_bits():
    assert hwcap.features_of(0, 0) == frozenset()
    assert hwcap.features_of(1 << 1, 0) == {"neon"}
    assert {"neon", "sve", "dotprod"} <= hwcap.features_of(2**32 - 1, 0)
    assert hwcap.features_of(0, 1 << 37 | 1 << 13) == {"sme2", "i8mm"}


SHOW = """
from einloom.jit import host
machine = host()
print(machine.vector, *sorted(machine.features))
"""


def test_environment_takes_features_away():
    vector, *features = python(SHOW, EINLOOM_ISA="none").split()
    assert vector == "none" and not [name for name in features if name.startswith(VECTOR_FEATURES)]
    if vector_of("x86_64", host().features) != "none":
        vector, *features = python(SHOW, EINLOOM_ISA="avx2").split()
        assert vector == "avx2" and {"avx2", "fma"} <= set(features)
        assert not [name for name in features if name.startswith(("avx512", "amx"))]
        assert ("bmi2" in features) == ("bmi2" in host().features)


def test_a_machine_whose_vectors_were_taken_away_is_called_so():
    if not host().has_vectors:
        return
    name = "from einloom.jit import host; print(host().name)"
    for setting in ("none", "-fma,-neon"):
        said = python(name, EINLOOM_ISA=setting).strip()
        assert said.startswith(f"{host().name} with EINLOOM_ISA={setting!r} (unset it, or set ")
        assert host().vector in said.rpartition("set ")[2] and "none" not in said.rpartition("set ")[2]
    assert python(name).strip() == host().name


def test_environment_takes_single_features_away():
    vector, *features = python(SHOW, EINLOOM_ISA="-movbe,-popcnt").split()
    assert vector == host().vector and set(features) == host().features - {"movbe", "popcnt"}
    if host().vector == "avx512":
        vector, *features = python(SHOW, EINLOOM_ISA="-avx512bw").split()
        assert vector == "avx2" and "avx512bw" not in features


ERROR = """
from einloom.errors import UnsupportedTarget
from einloom.jit import host
try:
    host()
except UnsupportedTarget as error:
    print(error)
"""


def test_environment_cannot_add_features():
    foreign = "neon" if platform.machine() == "x86_64" else "avx2"
    assert "take features away" in python(ERROR, EINLOOM_ISA=foreign)
    assert "avx512, avx2, sve2048, sve1024, sve512, sve256, neon, sve128, none" in python(ERROR, EINLOOM_ISA="avx9")
    plain = Machine("x86_64", "avx2", AVX2.features)
    with pytest.raises(UnsupportedTarget, match="has only avx2"):
        host_module._masked(plain, host_module.IsaSetting("avx512"))


def test_machines_of_other_platforms_have_no_vectors(monkeypatch):
    for system, processor, isa in [("darwin", "arm64", "aarch64"), ("linux", "riscv64", "riscv64")]:
        monkeypatch.setattr("sys.platform", system)
        monkeypatch.setattr("platform.machine", lambda processor=processor: processor)
        machine = host_module.host.__wrapped__()
        assert (machine.isa, machine.vector, machine.features) == (isa, "none", frozenset())
        assert (machine.vector_bits, machine.registers) == (0, 0)


def test_refused_machine_code_leaves_the_interpreter(monkeypatch):
    def refuse() -> frozenset[str]:
        raise DeviceError("no machine code: Permission denied\n  hint")

    monkeypatch.setitem(host_module._FEATURES, platform.machine(), refuse)
    machine = host_module.host.__wrapped__()
    assert machine.vector == "none" and machine.name.endswith("Permission denied")


def test_vectors_of_a_machine():
    wide = Machine("x86_64", "avx512", AVX512.features | {"bmi2", "avx512bf16", "amxtile"}, l2=12345, cores=3)
    narrow = wide.with_vector("avx2")
    assert narrow == Machine("x86_64", "avx2", AVX2.features | {"bmi2"}, l2=12345, cores=3)
    assert narrow.with_vector("avx512").features == AVX512.features | {"bmi2"}
    assert wide.with_vector("none").features == {"bmi2"}
    assert wide.with_vector(None) is wide and wide.with_vector("avx512") is wide
    assert wide.with_vector("neon") is NEON
    with pytest.raises(UnsupportedTarget, match="avx512, avx2, sve2048, sve1024, sve512, sve256, neon, sve128, none"):
        wide.with_vector("sse")


def test_cache_sizes(tmp_path):
    assert cache_sizes(str(tmp_path)) == (32 * 1024, 1024 * 1024, 16 * 1024 * 1024)

    def cache(index: int, level: str, kind: str, size: str) -> None:
        folder = tmp_path / f"index{index}"
        folder.mkdir()
        for name, text in [("level", level), ("type", kind), ("size", size)]:
            (folder / name).write_text(f"{text}\n")

    cache(0, "1", "Data", "48K")
    cache(1, "1", "Instruction", "64K")
    cache(2, "2", "Unified", "2M")
    assert cache_sizes(str(tmp_path)) == (48 * 1024, 2 * 2**20, 2 * 2**20)
    cache(3, "3", "Unified", "491520K")
    cache(4, "4", "Unified", "?")
    assert cache_sizes(str(tmp_path)) == (48 * 1024, 2 * 2**20, 480 * 2**20)


def test_quota_of_control_groups(tmp_path):
    assert quota_of("0::/\n", str(tmp_path)) == math.inf
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (inner / "cpu.max").write_text("max 100000\n")
    (tmp_path / "a" / "cpu.max").write_text("150000 100000\n")
    assert quota_of("0::/a/b\n", str(tmp_path)) == 1.5
    assert quota_of("0::/elsewhere\n", str(tmp_path)) == math.inf
    old = tmp_path / "cpu" / "job"
    old.mkdir(parents=True)
    (old / "cpu.cfs_quota_us").write_text("-1\n")
    (old / "cpu.cfs_period_us").write_text("100000\n")
    assert quota_of("4:cpuacct,cpu:/job\n3:cpuset:/job\n", str(tmp_path)) == math.inf
    (old / "cpu.cfs_quota_us").write_text("50000\n")
    assert quota_of("4:cpuacct,cpu:/job\n", str(tmp_path)) == 0.5


def test_cores_follow_the_affinity():
    first = min(os.sched_getaffinity(0))
    shown = python(f"import os; os.sched_setaffinity(0, [{first}]); from einloom.jit import host; print(host().cores)")
    assert shown == "1"
    assert usable_cores() >= 1
