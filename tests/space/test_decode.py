"""From full assignments to nests: the text of one nest, its meaning, and assignments that describe no loops."""

from __future__ import annotations

import pytest

from einloom.errors import ScheduleError
from einloom.ir.nest import walk
from einloom.ir.statement import LoopKind, Statement
from einloom.space.assignment import Assignment
from einloom.space.checker import violations
from einloom.space.decode import decode
from einloom.space.device import K4000
from einloom.space.kernels import kernel
from tests.space.implementations import Meaning, assignment

MATMUL = kernel("matmul", m=8, n=8, k=6, tiles={"m": (4,), "n": (4,), "k": (4,)}, tails=True)
SIZES = {("m", 1): 2, ("n", 1): 2, ("k", 1): 4}
TREE = [
    (
        ("m.0",),
        [
            (
                ("n.0",),
                [
                    (("init.m.1",), [(("init.n.1",), ["init"])]),
                    (
                        ("k.0",),
                        [
                            (
                                ("load_a.k.1", "load_b.k.1", "k.1"),
                                [
                                    (("load_a.m.1",), ["load_a"]),
                                    (("load_b.n.1",), ["load_b"]),
                                    (("m.1",), [(("n.1",), ["mad"])]),
                                ],
                            )
                        ],
                    ),
                    (("store_c.m.1",), [(("store_c.n.1",), ["store_c"])]),
                ],
            )
        ],
    )
]
UNROLLED = {d.name: "UNROLL" for d in MATMUL.backbone.dimensions if d.static and d.axis != "k"}
KINDS = UNROLLED | {"m.0": "BLOCK"}

TEXT = """\
block m.0 0:4:1
  loop n.0 0:4:1
    unroll init.m.1 0:2:1
      unroll init.n.1 0:2:1
        r_mad[init.m.1 + 2 init.n.1] = 0
    loop k.0 0:2:1
      loop k.1 0:4:1
        unroll load_a.m.1 0:2:1
          r_load_a[load_a.m.1] = A[2 m.0 + load_a.m.1 + 32 k.0 + 8 k.1] global if 4 k.0 + k.1 < 6
        unroll load_b.n.1 0:2:1
          r_load_b[load_b.n.1] = B[4 k.0 + k.1 + 12 n.0 + 6 load_b.n.1] global if 4 k.0 + k.1 < 6
        unroll m.1 0:2:1
          unroll n.1 0:2:1
            r_mad[m.1 + 2 n.1] = mad(r_load_a[m.1], r_load_b[n.1], r_mad[m.1 + 2 n.1]) if 4 k.0 + k.1 < 6
    unroll store_c.m.1 0:2:1
      unroll store_c.n.1 0:2:1
        C[2 m.0 + store_c.m.1 + 16 n.0 + 8 store_c.n.1] = r_mad[store_c.m.1 + 2 store_c.n.1] global"""


def decisions(**changes):
    return assignment(MATMUL.backbone, TREE, KINDS, SIZES) | changes


def test_a_register_tiled_product_with_tails():
    nest = decode(Assignment(MATMUL.backbone, decisions()))
    assert "\n".join(line.rstrip() for line in str(nest).splitlines()) == TEXT
    assert Meaning(MATMUL).is_that_of(nest)
    assert violations(Assignment(MATMUL.backbone, decisions()), K4000) == ()


def test_the_nest_holds_statements_and_gpu_loops_only():
    nodes = list(walk(decode(Assignment(MATMUL.backbone, decisions())).body))
    assert sum(isinstance(node, Statement) for node in nodes) == 5
    assert {node.kind for node in nodes if not isinstance(node, Statement)} == {
        LoopKind.BLOCK,
        LoopKind.LOOP,
        LoopKind.UNROLL,
    }


def test_orders_that_describe_no_loops_are_refused():
    with pytest.raises(ScheduleError, match="the other orders make it BEFORE"):
        decode(Assignment(MATMUL.backbone, decisions(**{"order(load_a, mad)": "AFTER"})))
    with pytest.raises(ScheduleError, match=r"order\(m.0, n.0\) is decided in both directions"):
        decode(Assignment(MATMUL.backbone, decisions(**{"order(m.0, n.0)": "INNER"})))


def test_a_missing_decision_is_named():
    incomplete = decisions()
    del incomplete["dim_kind(n.1)"]
    with pytest.raises(ScheduleError, match=r"dim_kind\(n.1\) is not decided"):
        decode(Assignment(MATMUL.backbone, incomplete))


def test_a_wrong_implementation_has_another_meaning():
    """The comparison can fail: a restart inside the reduction loses sums."""
    wrong = [(("m.0",), [(("n.0",), [(("k.0",), TREE[0][1][0][1][:1] + TREE[0][1][0][1][1][1]), TREE[0][1][0][1][2]])])]
    broken = assignment(MATMUL.backbone, wrong, KINDS, SIZES)
    assert not Meaning(MATMUL).is_that_of(decode(Assignment(MATMUL.backbone, broken)))
    assert "init restarts mad inside its reduction loop k.0" in violations(Assignment(MATMUL.backbone, broken), K4000)
