"""Wrong kinds of arguments to public names end as the error of einloom that `hostile_calls.txt` says."""

from __future__ import annotations

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


def names() -> dict[str, Any]:
    """What the calls of the table speak of, made anew for each."""
    config = el.TensorOperationConfig(
        dtype="float32",
        prim_main="gemm",
        dim_types=("m", "n", "k"),
        exec_types=("prim", "prim", "prim"),
        dim_sizes=(4, 6, 5),
        strides_in0=(1, 0, 4),
        strides_in1=(0, 5, 1),
        strides_out=(1, 4, 0),
    )
    a, b, c = (np.ones(shape, np.float32) for shape in ((4, 5), (5, 6), (6, 7)))
    x86, aarch64 = el.asm.Assembler("x86_64"), el.asm.Assembler("aarch64")
    x86.ret()
    aarch64.ret()
    space = el.space.gpu("axpy", n=64)
    return {
        "el": el,
        "np": np,
        "A": a,
        "B": b,
        "C": c,
        "AB": np.full((4, 6), 7, np.float32),
        "SQUARE": np.ones((5, 5), np.float32),
        "BIG": np.ones(100, np.float32),
        "F": el.compile("ab,bc->ac", a, b),
        "CONFIG": config,
        "OPERATION": el.TensorOperation(config),
        "SCHEDULE": config.schedule,
        "changed": lambda **fields: replace(config, **fields),
        "read_only": read_only,
        "BRGEMM": el.primitives.brgemm(m=4, n=6, k=5),
        "X86": x86,
        "AARCH64": aarch64,
        "unbound": unbound,
        "KERNEL": el.jit.Kernel(x86 if el.jit.host().isa == "x86_64" else aarch64),
        "SPACE": space,
        "CHOICE": next(iter(space.root.open)),
    }


def read_only(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    array.flags.writeable = False
    return array


def unbound() -> Any:
    assembler = el.asm.Assembler("x86_64")
    assembler.jmp(assembler.forward("nowhere"))
    return assembler


@pytest.mark.parametrize(("kind", "call"), rows(), ids=[call for _, call in rows()])
def test_hostile_call(kind: str, call: str) -> None:
    known = names()
    with pytest.raises(el.EinloomError) as caught:
        eval(call, known)
    assert isinstance(caught.value, getattr(el, kind)), repr(caught.value)
    assert str(caught.value)
    assert (known["AB"] == 7).all() and (known["SQUARE"] == 1).all() and (known["BIG"] == 1).all()


def test_the_table_is_long_enough_and_names_every_entry_once() -> None:
    calls = [call for _, call in rows()]
    assert len(calls) == len(set(calls)) >= 173
    told = {"Expression": "F(", "Machine": "with_vector", "Schedule": "el.Schedule("}
    entries = ("einsum", "compile", "contract_path", "settings", "TensorOperationConfig", "TensorOperation", "optimize")
    entries += ("primitives.brgemm", "primitives.unary", "primitives.binary", "primitives.ternary", "primitives.reduce")
    entries += ("asm.Assembler", "jit.Kernel", "space.gpu", "space.estimate", *told)
    for entry in entries:
        assert any(told.get(entry, f"el.{entry}") in call for call in calls), entry
