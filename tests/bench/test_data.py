"""What an output holds before the work, and where it begins."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from einloom.bench.cases import Case, Kind
from einloom.bench.data import make_operands, make_output
from einloom.dtypes import COMPUTED
from einloom.errors import UnsupportedTarget

SIZES = {"m": 5, "k": 7, "n": 3}
ALONE = Case.contraction("mk,kn->mn", SIZES)
ADDED_TO = Case("kernel", "km,nk->nm", SIZES, kind=Kind.KERNEL)


@pytest.mark.parametrize(("case", "unwritten"), [(ALONE, True), (ADDED_TO, False)])
def test_outputs_begin_at_a_cache_line(case: Case, unwritten: bool) -> None:
    kept = [make_output(case) for _ in range(8)]  # NumPy would put some of them elsewhere.
    assert {output.ctypes.data % 64 for output in kept} == {0}
    assert all(bool(np.isnan(output).all()) is unwritten for output in kept)


@pytest.mark.parametrize("dtype", COMPUTED)
def test_operands_have_every_type_that_there_is_code_for(dtype: str) -> None:
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    (operand, _), output = make_operands(ALONE.of_type(dtype)), make_output(ALONE.of_type(dtype))
    assert operand.dtype.name == output.dtype.name == dtype
    assert len(np.unique(operand)) > (1 if dtype == "bool" else 20)


def test_bfloat16_needs_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(UnsupportedTarget, match=r"bfloat16 need the package ml_dtypes\n  pip install ml_dtypes"):
        make_operands(ALONE.of_type("bfloat16"))
