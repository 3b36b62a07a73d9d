"""NumPy's own tests of `einsum` pass with einloom's in its place, but for those below, which must go on to fail."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest

import einloom as el

with patch.object(np, "einsum", el.einsum):  # Some tests take it as a parameter when they are read.
    numpys = pytest.importorskip("numpy._core.tests.test_einsum", reason="this NumPy came without its tests")

EXCEPTED = {
    "test_einsum_views": "NumPy returns views of a single operand; einloom's results are always fresh",
    "test_output_order": "NumPy's order='K' follows the operands; einloom's results are C-contiguous unless asked",
    "test_subscript_range": "NumPy refuses labels beyond 51 and below 0; einloom takes any hashable ones",
    "test_einsum_0d_out": "`out` has the type that is computed in, unless casting= says that it may be converted",
    "test_einsum_all_contig_non_contig_output": "as above: float32 operands, and an `out` of float64",
    "test_out_is_res": "NumPy buffers operands that `out` overlaps; einloom raises OverlapError, and writes nothing",
    "test_overlap": "as above",
    "test_einsum_chunking_precision": "15 decimals of a sum of a million numbers: a property of NumPy's buffers",
}

pytestmark = pytest.mark.filterwarnings("ignore::einloom.FallbackWarning")

TestEinsum = numpys.TestEinsum
TestEinsumPath = numpys.TestEinsumPath
test_overlap = numpys.test_overlap
test_einsum_chunking_precision = numpys.test_einsum_chunking_precision


@pytest.fixture(autouse=True)
def in_numpys_place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np, "einsum", el.einsum)
    name = request.node.originalname
    if name in EXCEPTED:
        request.applymarker(pytest.mark.xfail(reason=EXCEPTED[name], strict=True))


def test_every_exception_is_a_test_of_numpys() -> None:
    known = {*dir(TestEinsum), *dir(TestEinsumPath), *dir(numpys)}
    assert EXCEPTED.keys() <= known
