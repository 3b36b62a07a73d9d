"""The suite of element-wise kernels: its bound is loads and stores and nothing else, and it measures something."""

from __future__ import annotations

import json

import pytest

from einloom.asm import Assembler
from einloom.bench.elementwise import emit_transfers, load_cases, measure_case
from einloom.cli.bench_elementwise import run_elementwise
from einloom.errors import ScheduleError
from einloom.kernels import machine_for
from einloom.machine import MACHINES


@pytest.mark.parametrize("vector", MACHINES)
@pytest.mark.parametrize(
    ("name", "loads", "stores"), [("relu float32 col", 1, 1), ("muladd float64", 3, 1), ("sum float32", 1, 0)]
)
def test_the_bound_is_loads_and_stores(vector: str, name: str, loads: int, stores: int) -> None:
    asm = Assembler(MACHINES[vector].isa)
    emit_transfers(machine_for(asm, MACHINES[vector]), load_cases(name)[0])
    counts = asm.counts()
    if vector == "neon":  # Pointers are loaded by the same mnemonic.
        assert counts["ldr"] == 8 * loads + max(loads, 2) and counts.get("str", 0) == 8 * stores
    else:
        assert counts.get("vmovups", 0) + counts.get("vmovupd", 0) == 8 * (loads + stores)
    assert not [mnemonic for mnemonic in counts if "mul" in mnemonic or "max" in mnemonic]


def test_it_measures_something() -> None:
    result = measure_case(load_cases("relu float32 row")[0], 0.0)
    assert result.bound_seconds > 0 and result.seconds > 0 and result.bytes == 2 * 64 * 32 * 4


def test_the_command_writes_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_elementwise("max float32", 0.0, "-") == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["name"] for row in rows] == ["max float32", "max float32 along m", "max float32 along n"]
    assert run_elementwise("max float32 along n", 0.0, None) == 0
    assert "max float32 along n" in capsys.readouterr().out


def test_unknown_cases_are_refused_with_those_that_exist() -> None:
    with pytest.raises(ScheduleError, match="gelu_tanh"):
        load_cases("softmax")
