"""Contestants do the work that they are asked for; the list of peers is what is installed."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from einloom.bench.cases import Case, load_suite
from einloom.bench.check import check_result
from einloom.bench.data import make_operands, make_output
from einloom.bench.peers import einloom as with_einloom
from einloom.bench.peers import numpy as with_numpy
from einloom.bench.peers.contestants import PEERS, Contestant, Variant, chosen_peers, kernel_repeats, variants_of
from einloom.errors import ScheduleError, UnsupportedTarget
from einloom.jit.host import host
from einloom.machine import AVX2, AVX512

EXPRESSIONS = [
    Case.contraction("mk,kn->mn", {"m": 5, "k": 6, "n": 7}),
    Case.contraction("km,nk->mn", {"m": 5, "k": 6, "n": 7}),
    Case.contraction("mk,nk->nm", {"m": 5, "k": 6, "n": 7}),
    Case.contraction("abc,cd->abd", {"a": 2, "b": 3, "c": 4, "d": 5}),
    Case.contraction("ab,bc,cd->ad", {"a": 2, "b": 3, "c": 4, "d": 5}),
    Case.contraction("abc->cab", {"a": 2, "b": 3, "c": 4}, dtype="float64"),
    Case.contraction("ii->i", {"i": 4}),
    Case.contraction("ab->b", {"a": 3, "b": 4}),
    Case.contraction("ab,ab->", {"a": 3, "b": 4}),
]
BUILT_IN = [load_suite("gemm_kernels", "9x9x56")[0], *load_suite("tensor_operations")]


@pytest.mark.parametrize("case", [*EXPRESSIONS, *BUILT_IN], ids=lambda case: case.name)
def test_numpy_does_every_kind_of_case(case: Case) -> None:
    operands, output = make_operands(case), make_output(case)
    start = output.copy()
    prepared = with_numpy.prepare(case, operands, output, 1, "cpu")
    assert check_result(case, operands, start, prepared.once()).right
    prepared.call()
    assert prepared.repeats == (kernel_repeats(case.flops) if case.kind == "kernel" else 1)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("case", [*EXPRESSIONS, *BUILT_IN], ids=lambda case: case.name)
def test_einloom_does_every_kind_of_case(case: Case, threads: int) -> None:
    operands, output = make_operands(case), make_output(case)
    start = output.copy()
    if host().vector == "none":
        with pytest.raises(UnsupportedTarget):
            with_einloom.prepare(case, operands, output, threads, "cpu")
        return
    prepared = with_einloom.prepare(case, operands, output, threads, "cpu")
    assert check_result(case, operands, start, prepared.once()).right
    prepared.call()
    assert prepared.compile_seconds is not None


@pytest.mark.parametrize("case", EXPRESSIONS, ids=lambda case: case.name)
def test_einloom_interprets_every_expression(case: Case) -> None:
    operands, output = make_operands(case), make_output(case)
    prepared = with_einloom.prepare(case, operands, output, 1, "interpreter")
    assert prepared.once() is output
    assert check_result(case, operands, output, output).right
    assert prepared.compile_seconds is not None


def test_only_expressions_are_interpreted() -> None:
    case = BUILT_IN[0]
    with pytest.raises(UnsupportedTarget, match="no kernel on target 'interpreter'"):
        with_einloom.prepare(case, make_operands(case), make_output(case), 1, "interpreter")


def test_operands_are_the_same_in_every_process() -> None:
    first, second = (make_operands(EXPRESSIONS[0]) for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(first, second))


def test_peers_that_are_not_installed_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "torch" else object())
    there, missing = chosen_peers("numpy, torch,etops,numpy")
    assert [peer.name for peer in there] == ["numpy", "etops"]
    assert missing == ["torch"]
    assert chosen_peers("") == ([], [])


def test_an_unknown_peer_is_an_error() -> None:
    with pytest.raises(ScheduleError, match=r"no peer 'jax'\n  Peers: numpy, torch, etops"):
        chosen_peers("numpy,jax")


def test_settings_that_a_machine_cannot_use_are_not_tried() -> None:
    assert [variant.name for variant in variants_of(PEERS["numpy"], AVX512)] == [
        "default",
        "OPENBLAS_CORETYPE=SKYLAKEX",
    ]
    assert [variant.name for variant in variants_of(PEERS["numpy"], AVX2)] == ["default"]
    assert variants_of(Contestant("a", "a"), AVX512) == (Variant("default"),)
