"""The suites load, say what they say in their files, and each case describes itself rightly."""

from __future__ import annotations

import json
import math
import runpy
import tomllib
from pathlib import Path

import pytest

from einloom.bench.cases import SUITES, Case, Ceiling, case_folder, load_suite
from einloom.bench.loops import load_loop_cases
from einloom.errors import ScheduleError

CHECKOUT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("suite", "count"),
    [
        ("tensor_operations", 3),
        ("gemm_kernels", 23),
        ("gemm_large", 21),
        ("tccg24", 24),
        ("permutations", 7),
        ("small_batches", 18),
        ("memory_bound", 12),
        ("reported", 13),
        ("users", 48),
        ("small", 24),
        ("random", 30),
    ],
)
def test_suites_load(suite: str, count: int) -> None:
    cases = load_suite(suite)
    assert len(cases) == count
    assert len({case.name for case in cases}) == count
    for case in cases:
        assert Case.from_json(json.loads(json.dumps(case.to_json()))) == case
        assert case.amount > 0
        assert set("".join(case.terms)) == set(case.sizes)


def test_every_suite_is_tested() -> None:
    assert set(SUITES) <= {path.stem for path in case_folder().glob("*.json")}


def test_random_contractions_are_what_their_script_draws() -> None:
    drawn = runpy.run_path(str(CHECKOUT / "benchmarks" / "random_cases.py"))["drawn_cases"]
    assert drawn(2026, 30) == json.loads((case_folder() / "random.json").read_text())
    assert drawn(2027, 1)["cases"] != drawn(2026, 1)["cases"]


def test_a_substring_chooses() -> None:
    assert [case.name for case in load_suite("gemm_kernels", "64x64x")] == ["64x64x64", "64x64x1"]
    assert [case.name for case in load_suite("gemm_large", "512x512x512 A Bᵀ")] == ["512x512x512 A Bᵀ"]


def test_what_is_not_there_is_named() -> None:
    with pytest.raises(ScheduleError, match="no suite 'tccg25'"):
        load_suite("tccg25")
    with pytest.raises(ScheduleError, match="no case of permutations contains 'xyz'"):
        load_suite("permutations", "xyz")


def test_expressions_are_there_in_other_types() -> None:
    case = load_suite("tccg24")[0]
    other = case.of_type("complex64")
    assert (other.flops, other.bytes, other.shapes) == (4 * case.flops, 2 * case.bytes, case.shapes)
    for suite in ("gemm_kernels", "tensor_operations", "memory_bound"):
        with pytest.raises(ScheduleError, match="is a case of float"):
            load_suite(suite)[0].of_type("complex64")


def test_no_share_of_a_peak_is_told_of_types_whose_peak_is_not_measured() -> None:
    product = Case.contraction("ab,bc->ac", {"a": 2, "b": 3, "c": 4})
    copy = Case.contraction("ab->ba", {"a": 2, "b": 3})
    assert Ceiling.PEAK in product.of_type("complex64").ceilings
    assert product.of_type("int8").ceilings == product.of_type("bfloat16").ceilings == ()
    assert copy.of_type("int8").ceilings == copy.ceilings


def test_a_kernel_is_a_row_major_product_with_reversed_axes() -> None:
    (case,) = load_suite("gemm_kernels", "31x17x13")
    assert case.shapes == ((13, 31), (17, 13), (17, 31))
    assert case.accumulates
    assert case.flops == 2 * 31 * 17 * 13


def test_tensors_of_a_configuration_have_the_shapes_of_its_strides() -> None:
    for case in load_suite("tensor_operations"):
        assert case.shapes == ((32, 8, 32, 32), (32, 8, 32, 32), (32, 32, 32, 32))
        assert case.flops == 2 * 32 * 32 * 8 * 32 * 32 * 32
        config = case.configuration
        assert config is not None
        assert case.accumulates == (config.prim_first_touch == "none")
        assert case.last_touch == config.prim_last_touch


def test_layouts_of_a_large_product() -> None:
    shapes = [case.shapes[:2] for case in load_suite("gemm_large", "4000x4000x200")]
    assert shapes == [((4000, 200), (200, 4000)), ((200, 4000), (200, 4000)), ((4000, 200), (4000, 200))]


def test_a_permutation_is_measured_in_bytes() -> None:
    case = Case.contraction("ab->ba", {"a": 5, "b": 7})
    assert case.is_permutation
    assert (case.unit, case.amount) == ("GB/s", 2 * 5 * 7 * 4)
    assert not Case.contraction("ii->i", {"i": 3}).is_permutation
    assert not Case.contraction("ab->a", {"a": 3, "b": 4}).is_permutation


def test_several_operands_count_the_flops_of_their_path() -> None:
    case = Case.contraction("ab,bc,cd->ad", {"a": 2, "b": 300, "c": 300, "d": 2})
    assert case.flops == 2 * (2 * 300 * 300) + 2 * (2 * 300 * 2)
    assert case.summed == math.prod((300, 300))


def test_the_wheel_carries_cases_and_samples() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert included == {"benchmarks/cases": "einloom/bench/cases", "examples": "einloom/bench/examples"}
    assert (CHECKOUT / "benchmarks" / "cases" / "tccg24.json").is_file()
    assert all((CHECKOUT / "examples" / f"{case.sample}.py").is_file() for case in load_loop_cases())
