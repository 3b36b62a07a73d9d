"""Contestants do the work that they are asked for; the list of peers is what is installed."""

from __future__ import annotations

import importlib.util
from dataclasses import replace

import numpy as np
import pytest

from einloom.bench.cases import Case, Kind, load_suite
from einloom.bench.check import check_result
from einloom.bench.data import make_operands, make_output
from einloom.bench.peers import einloom as with_einloom
from einloom.bench.peers import numpy as with_numpy
from einloom.bench.peers.contestants import (
    PEERS,
    Contestant,
    Variant,
    chosen_peers,
    isa_environment,
    kernel_repeats,
    restricted_machine,
    variants_of,
)
from einloom.bench.peers.numpy_ways import numpy_ways
from einloom.errors import InternalError, ScheduleError, UnsupportedTarget
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
WAYS = [
    Case.contraction("abcd,dbe->ace", {"a": 2, "b": 3, "c": 4, "d": 5, "e": 6}),
    Case.contraction("bij,bjk->kbi", {"b": 3, "i": 4, "j": 5, "k": 6}),
    Case.contraction("cab,dbc->cda", {"a": 3, "b": 4, "c": 5, "d": 6}),
    Case.contraction("bij,bij->b", {"b": 3, "i": 4, "j": 5}),
    Case.contraction("ij,j->i", {"i": 7, "j": 5}, dtype="float64"),
    Case.contraction("abc->ac", {"a": 3, "b": 4, "c": 5}),
    Case.contraction("abc->ca", {"a": 3, "b": 4, "c": 5}),
    Case.contraction("a,b->ba", {"a": 3, "b": 4}),
]
BUILT_IN = [load_suite("gemm_kernels", "9x9x56")[0], *load_suite("tensor_operations")]


@pytest.mark.parametrize("case", [*EXPRESSIONS, *BUILT_IN], ids=lambda case: case.name)
def test_numpy_does_every_kind_of_case(case: Case) -> None:
    operands, output = make_operands(case), make_output(case)
    start = output.copy()
    prepared = with_numpy.prepare(case, operands, output, 1, "cpu")
    assert check_result(case, operands, start, prepared.once()).right
    prepared.call()
    assert prepared.repeats == (kernel_repeats(case.flops) if case.kind is Kind.KERNEL else 1)


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


TYPES = ("float16", "bfloat16", "int8", "uint16", "int32", "uint64", "bool", "complex64")
REFUSED = {("numpy", "bfloat16"), ("torch", "uint16"), ("torch", "uint64"), ("torch", "bool")}


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", ["einloom", "numpy", "torch"])
def test_every_type_is_computed_or_refused_by_name(name: str, dtype: str) -> None:
    pytest.importorskip(name)
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    contestant = importlib.import_module(f"einloom.bench.peers.{name}")
    if name == "einloom" and host().vector == "none":
        pytest.skip("no kernels for this machine")
    case = EXPRESSIONS[2].of_type(dtype)
    operands, output = make_operands(case), make_output(case)
    if (name, dtype) in REFUSED:
        with pytest.raises(UnsupportedTarget, match=f"products of {dtype}|einsum of {dtype}"):
            contestant.prepare(case, operands, output, 1, "cpu")
        return
    prepared = contestant.prepare(case, operands, output, 1, "cpu")
    assert check_result(case, operands, output, prepared.once()).right
    prepared.call()


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


def ways_of(case: Case) -> dict[str, np.ndarray]:
    operands, output = make_operands(case), make_output(case)
    results = {}
    for number, (name, call) in enumerate(numpy_ways(case, operands, output)):
        output[...] = np.nan
        results[f"{name} {number}"] = np.array(call())
    return results


@pytest.mark.parametrize("case", [*EXPRESSIONS, *WAYS], ids=lambda case: case.name)
def test_every_way_of_numpy_is_right(case: Case) -> None:
    for name, result in ways_of(case).items():
        assert check_result(case, make_operands(case), make_output(case), result).right, name


@pytest.mark.parametrize(
    ("equation", "expected"),
    [
        ("mk,kn->mn", {"einsum", "einsum with out", "tensordot", "matmul"}),
        ("bmk,bkn->bmn", {"einsum", "einsum with out", "matmul"}),
        ("abc->ab", {"einsum", "einsum with out", "einsum without a path", "sum"}),
        ("ab->ba", {"copyto"}),
        ("ij,j->i", {"einsum", "einsum with out", "einsum without a path", "tensordot", "matmul"}),
        ("ab,bc,cd->ad", {"einsum", "einsum with out", "opt_einsum"}),
        ("aij,jk->k", {"einsum", "einsum with out", "einsum without a path"}),
    ],
)
def test_numpy_is_tried_in_every_way_that_a_case_has(equation: str, expected: set[str]) -> None:
    case = Case.contraction(equation, dict.fromkeys(sorted(set(equation) - set(",->")), 16))
    assert {name.rpartition(" ")[0] for name in ways_of(case)} == expected


def test_trees_with_a_path_are_contracted_by_cotengra_too() -> None:
    pytest.importorskip("cotengra")
    case = replace(Case.contraction("ab,bc,cd->da", dict(zip("abcd", (5, 6, 7, 8)))), path=((1, 2), (0, 1)))
    ways = {name.rpartition(" ")[0]: result for name, result in ways_of(case).items()}
    assert "cotengra" in ways
    assert check_result(case, make_operands(case), make_output(case), ways["cotengra"]).right


def test_a_wrong_way_is_an_error_and_not_a_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    case = EXPRESSIONS[0]
    monkeypatch.setattr(with_numpy, "numpy_ways", lambda *_: [("einsum", lambda: np.zeros((5, 7), np.float32))])
    with pytest.raises(InternalError, match="NumPy's einsum is not the result"):
        with_numpy.prepare(case, make_operands(case), make_output(case), 1, "cpu")


def test_everybody_is_put_on_the_same_vector_isa() -> None:
    environment = isa_environment("avx2")
    assert environment["EINLOOM_ISA"] == "avx2"
    assert set(environment) > {"OPENBLAS_CORETYPE", "MKL_ENABLE_INSTRUCTIONS", "LIBXSMM_TARGET", "ATEN_CPU_CAPABILITY"}
    assert isa_environment(None) == {}
    assert restricted_machine(AVX512, "avx2").vector == "avx2"
    assert [variant.name for variant in variants_of(PEERS["numpy"], restricted_machine(AVX512, "avx2"))] == ["default"]
    with pytest.raises(UnsupportedTarget, match="has avx2, not avx512"):
        restricted_machine(AVX2, "avx512")
