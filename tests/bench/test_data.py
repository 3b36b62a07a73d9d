"""What an output holds before the work, and where it begins."""

from __future__ import annotations

import numpy as np
import pytest

from einloom.bench.cases import Case, Kind
from einloom.bench.data import make_output

SIZES = {"m": 5, "k": 7, "n": 3}
ALONE = Case.contraction("mk,kn->mn", SIZES)
ADDED_TO = Case("kernel", "km,nk->nm", SIZES, kind=Kind.KERNEL)


@pytest.mark.parametrize(("case", "unwritten"), [(ALONE, True), (ADDED_TO, False)])
def test_outputs_begin_at_a_cache_line(case: Case, unwritten: bool) -> None:
    kept = [make_output(case) for _ in range(8)]  # NumPy would put some of them elsewhere.
    assert {output.ctypes.data % 64 for output in kept} == {0}
    assert all(bool(np.isnan(output).all()) is unwritten for output in kept)
