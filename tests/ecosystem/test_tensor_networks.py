"""Tensor networks of cotengra and quimb, and autoray's dispatch, with einloom for the arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import einloom as el


def grid(side: int, extent: int) -> tuple[list[tuple[str, ...]], list[np.ndarray]]:
    """A square lattice of tensors, each bond shared by two neighbours: a PEPS norm, in small."""
    inputs = []
    for i in range(side):
        for j in range(side):
            bonds = [f"v{i}{j}", f"v{i - 1}{j}", f"h{i}{j}", f"h{i}{j - 1}"]
            there = [i < side - 1, i > 0, j < side - 1, j > 0]
            inputs.append(tuple(bond for bond, is_there in zip(bonds, there) if is_there))
    rng = np.random.default_rng(5)
    return inputs, [rng.standard_normal([extent] * len(term)) for term in inputs]


def test_cotengra_with_einloom_as_its_implementation() -> None:
    cotengra = pytest.importorskip("cotengra")
    inputs, arrays = grid(4, 3)
    expected = cotengra.array_contract(arrays, inputs, ())
    result = cotengra.array_contract(arrays, inputs, (), implementation=(el.einsum, el.tensordot))
    assert np.isclose(result, expected, rtol=1e-10)


def test_a_contraction_tree_of_cotengras_as_path() -> None:
    cotengra = pytest.importorskip("cotengra")
    inputs, arrays = grid(4, 2)
    sizes = {bond: 2 for term in inputs for bond in term}
    tree = cotengra.array_contract_tree(inputs, (), sizes, optimize="greedy")
    interleaved = [each for pair in zip(arrays, inputs) for each in pair]
    result = el.einsum(*interleaved, (), optimize=tree)
    assert np.isclose(result, tree.contract(arrays), rtol=1e-10)
    by_optimizer = el.einsum(*interleaved, (), optimize=cotengra.GreedyOptimizer())
    assert np.isclose(by_optimizer, result, rtol=1e-10)


def test_a_tree_that_cotengra_has_sliced_keeps_its_slices() -> None:
    """Intermediate tensors were as large as without them."""
    cotengra = pytest.importorskip("cotengra")
    inputs, arrays = grid(4, 3)
    sizes = {bond: 3 for term in inputs for bond in term}
    output = inputs[0][:1]
    tree = cotengra.array_contract_tree(inputs, output, sizes, optimize="greedy")
    tree = tree.remove_ind(tree.output[0]).remove_ind(tree.inputs[5][0])
    interleaved = [each for pair in zip(arrays, inputs) for each in pair]
    letters = {bond: chr(ord("a") + i) for i, bond in enumerate(sizes)}
    text = ",".join("".join(letters[bond] for bond in term) for term in inputs) + "->" + letters[output[0]]
    f = el.compile(text, *arrays, optimize=tree)
    assert f.slicing is not None
    bonds = {name: bond for names, term in zip(tree.inputs, inputs) for name, bond in zip(names, term)}
    assert {cut.label for cut in f.slicing.cuts} == {letters[bonds[name]] for name in tree.sliced_inds}
    assert len(f.slicing) == tree.multiplicity
    assert max(step.step.bytes for step in f._last().steps) <= 8 * tree.max_size()
    expected = tree.contract(arrays)
    assert np.allclose(f(*arrays), expected, rtol=1e-10)
    assert np.allclose(el.einsum(*interleaved, output, optimize=tree), expected, rtol=1e-10)
    held = el.compile(text, *arrays, optimize=tree, constants={0: arrays[0], 1: arrays[1]})
    assert np.allclose(held(*arrays[2:]), expected, rtol=1e-10)
    assert max(step.step.bytes for step in held._last().steps) <= 8 * tree.max_size()


def test_an_optimizer_of_cotengras_that_slices() -> None:
    cotengra = pytest.importorskip("cotengra")
    inputs, arrays = grid(4, 3)
    letters = {bond: chr(ord("a") + i) for i, bond in enumerate(dict.fromkeys(x for term in inputs for x in term))}
    text = ",".join("".join(letters[bond] for bond in term) for term in inputs) + "->"
    optimizer = cotengra.HyperOptimizer(
        methods=["greedy"], max_repeats=2, parallel=False, slicing_opts={"target_size": 20}, progbar=False
    )
    f = el.compile(text, *arrays, optimize=optimizer)
    assert f.slicing is not None and max(step.step.bytes for step in f._last().steps) <= 8 * 20
    assert np.isclose(f(*arrays), cotengra.array_contract(arrays, inputs, ()), rtol=1e-10)


@pytest.mark.parametrize("function", ["tensordot", "einsum", "matmul", "transpose"])
def test_autoray_finds_einloom(function: str) -> None:
    autoray = pytest.importorskip("autoray")
    a, b = np.random.default_rng(1).random((2, 3, 4)), np.random.default_rng(2).random((4, 5))
    given: dict[str, tuple[Any, ...]] = {
        "tensordot": (a, b, 1),
        "einsum": ("abc,cd->abd", a, b),
        "matmul": (a, b),
        "transpose": (a, (2, 0, 1)),
    }
    arguments = given[function]
    assert np.allclose(autoray.do(function, *arguments, like="einloom"), getattr(np, function)(*arguments))


def test_networks_of_one_tensor() -> None:
    """autoray found no `array`, so that no amplitude of a small circuit could be had."""
    cotengra, tensors = pytest.importorskip("cotengra"), pytest.importorskip("quimb.tensor")
    a = np.ones((2, 3))
    assert np.array_equal(cotengra.einsum("ab->ab", a, backend="einloom"), a)
    circuit = tensors.Circuit(3)
    circuit.h(0)
    circuit.cnot(0, 1)
    assert np.isclose(circuit.amplitude("110", backend="einloom"), 0.5**0.5, rtol=1e-6)


def test_quimb_contracts_with_einloom() -> None:
    tensors = pytest.importorskip("quimb.tensor")
    network = tensors.TN2D_rand(3, 3, D=3, seed=7)
    expected = network.contract(optimize="greedy")
    assert np.isclose(network.contract(optimize="greedy", backend="einloom"), expected, rtol=1e-10)
    state = tensors.MPS_rand_state(8, bond_dim=4, seed=3)
    assert np.isclose((state.H & state).contract(backend="einloom"), 1.0, rtol=1e-10)


@pytest.mark.filterwarnings("ignore::einloom.FallbackWarning")
def test_numpys_name_can_be_einlooms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np, "einsum", el.einsum)
    a = np.arange(6.0).reshape(2, 3)
    assert np.array_equal(np.einsum("ij,kj->ik", a, a), a @ a.T)
    assert np.einsum("i,i->", *[np.ones(3, np.longdouble)] * 2) == 3  # NumPy computes: no circle
