"""Wrong kinds of arguments to public names end as the error of einloom that `hostile_calls.txt` says."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import einloom as el

TABLE = Path(__file__).with_name("hostile_calls.txt")


def rows() -> list[tuple[str, str]]:
    lines = (line.strip() for line in TABLE.read_text().splitlines())
    return [
        (kind, call.strip()) for kind, _, call in (line.partition(" ") for line in lines if line[:1] not in ("", "#"))
    ]


def config() -> el.TensorOperationConfig:
    return el.TensorOperationConfig(
        dtype="float32",
        prim_main="gemm",
        dim_types=("m", "n", "k"),
        exec_types=("prim", "prim", "prim"),
        dim_sizes=(4, 6, 5),
        strides_in0=(1, 0, 4),
        strides_in1=(0, 5, 1),
        strides_out=(1, 4, 0),
    )


def assembled(isa: str) -> el.asm.Assembler:
    assembler = el.asm.Assembler(isa)
    assembler.ret()
    return assembler


NAMES: dict[str, Callable[[], Any]] = {
    "A": lambda: np.ones((4, 5), np.float32),
    "B": lambda: np.ones((5, 6), np.float32),
    "C": lambda: np.ones((6, 7), np.float32),
    "AB": lambda: np.full((4, 6), 7, np.float32),
    "SQUARE": lambda: np.ones((5, 5), np.float32),
    "BIG": lambda: np.ones(100, np.float32),
    "F": lambda: el.compile("ab,bc->ac", NAMES["A"](), NAMES["B"]()),
    "CONFIG": config,
    "OPERATION": lambda: el.TensorOperation(config()),
    "SCHEDULE": lambda: config().schedule,
    "changed": lambda: lambda **fields: replace(config(), **fields),
    "read_only": lambda: read_only,
    "BRGEMM": lambda: el.primitives.brgemm(m=4, n=6, k=5),
    "X86": lambda: assembled("x86_64"),
    "AARCH64": lambda: assembled("aarch64"),
    "unbound": lambda: unbound,
    "KERNEL": lambda: el.jit.Kernel(assembled(el.jit.host().isa)),
    "SPACE": lambda: el.space.gpu("axpy", n=64),
    "CHOICE": lambda: next(iter(NAMES["SPACE"]().root.open)),
}
"""What the calls of the table speak of, and how it is made."""

WATCHED = {"AB": 7, "SQUARE": 1, "BIG": 1}
"""What nothing is written to."""


def names(call: str) -> dict[str, Any]:
    """What a call speaks of, made anew, and what is watched."""
    spoken = {name for name in NAMES if re.search(rf"\b{name}\b", call)}
    return {"el": el, "np": np} | {name: NAMES[name]() for name in NAMES if name in spoken | WATCHED.keys()}


def read_only(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    array.flags.writeable = False
    return array


def unbound() -> Any:
    assembler = el.asm.Assembler("x86_64")
    assembler.jmp(assembler.forward("nowhere"))
    return assembler


@pytest.mark.parametrize(("kind", "call"), rows(), ids=[call for _, call in rows()])
def test_hostile_call(kind: str, call: str) -> None:
    known = names(call)
    with pytest.raises(el.EinloomError) as caught:
        eval(call, known)
    assert isinstance(caught.value, getattr(el, kind)), repr(caught.value)
    assert str(caught.value)
    assert all((known[name] == value).all() for name, value in WATCHED.items())


def test_the_table_is_long_enough_and_names_every_entry_once() -> None:
    calls = [call for _, call in rows()]
    assert len(calls) == len(set(calls)) >= 173
    told = {"Expression": "F(", "Machine": "with_vector", "Schedule": "el.Schedule("}
    entries = ("einsum", "compile", "contract_path", "settings", "TensorOperationConfig", "TensorOperation", "optimize")
    entries += ("primitives.brgemm", "primitives.unary", "primitives.binary", "primitives.ternary", "primitives.reduce")
    entries += ("asm.Assembler", "jit.Kernel", "space.gpu", "space.estimate", *told)
    for entry in entries:
        assert any(told.get(entry, f"el.{entry}") in call for call in calls), entry
