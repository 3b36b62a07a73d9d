"""The independent checker: each rule catches an assignment that breaks it, and only then."""

from __future__ import annotations

import pytest

from einloom.space.assignment import Assignment
from einloom.space.backbone import Backbone
from einloom.space.checker import violations
from einloom.space.decode import decode
from einloom.space.device import GpuDevice
from einloom.space.kernels import Kernel, kernel
from tests.space.implementations import Meaning, assignment

DEVICE = GpuDevice("test", max_threads=16, max_unroll=8, shared_bytes=64, max_blocks=(2**31 - 1, 3))
AXPY = kernel("axpy", n=16, tiles={"n": (4, 2)})
SIZES = {("n", 1): 4, ("n", 2): 2}
NESTS = ("load_x", "load_y", "main", "store_z")
INSTRUCTIONS = ("load_x", "load_y", "mad", "store_z")


def dimension(nest: str, level: int) -> str:
    """Return the name of a tile of a nest."""
    return f"n.{level}" if nest == "main" else f"{nest}.n.{level}"


OUTER = tuple(dimension(nest, 1) for nest in NESTS)
INNER = [((dimension(nest, 2),), [inst]) for nest, inst in zip(NESTS, INSTRUCTIONS)]
UNROLLED = {dimension(nest, 2): "UNROLL" for nest in NESTS}
TREE = [(("n.0",), [(OUTER, INNER)])]


def decisions(tree: list | None = None, kinds: dict[str, str] | None = None, **changes: str | int) -> dict:
    """Return axpy with fused outer tiles and unrolled inner ones, changed somewhere."""
    return assignment(AXPY.backbone, tree or TREE, UNROLLED | (kinds or {}), SIZES) | changes


def found(given: dict, backbone: Backbone = AXPY.backbone) -> str:
    """Return what the checker says."""
    return "\n".join(violations(Assignment(backbone, given), DEVICE))


def test_the_example_is_legal():
    assert found(decisions()) == ""
    assert Meaning(AXPY).is_that_of(decode(Assignment(AXPY.backbone, decisions())))


def test_vectors_and_blocks_are_legal_where_they_fit():
    assert found(decisions(kinds={"load_x.n.2": "VECTOR", "store_z.n.2": "VECTOR", "n.0": "BLOCK"})) == ""


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"dim_kind(n.0)": "UNROLL"}, "n.0 is UNROLL, but its extent is no constant"),
        ({"dim_kind(n.2)": "VECTOR"}, "vector n.2 holds mad instead of one load or store"),
        ({"dim_kind(n.2)": "LOOP"}, "no register carries load_x from load_x.n.2 to n.2"),
        ({"dim_kind(n.1)": "UNROLL"}, "fuses dimensions of different kinds"),
        ({"size(n.2)": 4}, "n.2 cannot have size 4"),
        ({"size(n.1)": 2}, "another one than the same tile in another nest"),
        ({"tiling(n)": 4}, "the tiles of n cover"),
        ({"tail(n)": "PREDICATED"}, "the tail of n is EXACT"),
        ({"cache(store_z)": "L1"}, "store_z cannot use cache L1"),
        ({"mem_space(x)": "SHARED"}, "x lies in SHARED memory"),
        ({"thread_level(n.1, n.2)": "OUTER"}, "but the others make it NOT_THREADS"),
        ({"dim_mapping(load_x.n.2, n.2)": "FUSED"}, "values flow from load_x.n.2 to n.2 through UNROLLED"),
        ({"order(load_x, mad)": "AFTER"}, "the other orders make it BEFORE"),
    ],
)
def test_one_wrong_decision_is_found(changes, sentence):
    assert sentence in found(decisions(**changes))


@pytest.mark.parametrize(
    ("tree", "sentence"),
    [
        ([(("n.0",), [(OUTER, [INNER[2], INNER[0], INNER[1], INNER[3]])])], "mad reads load_x before it is computed"),
        (
            [(("n.0",), [(OUTER, [*INNER[:3], (("store_z.n.2",), []), "store_z"])])],
            "store_z stands outside its dimension",
        ),
        (
            [(("n.0",), [(OUTER, [(("load_x.n.2",), ["load_x", INNER[1], INNER[2], INNER[3]])])])],
            "repeated by the foreign loop",
        ),
        ([(("n.0", "load_x.n.1"), [(OUTER[1:], INNER)])], "fuses dimensions of different axes or levels"),
    ],
)
def test_wrong_loops_are_found(tree, sentence):
    assert sentence in found(decisions(tree))


def test_a_loop_inside_an_unrolled_one_is_found():
    tree = [(("n.0",), [(tuple(UNROLLED), [((name,), [inst]) for name, inst in zip(OUTER, INSTRUCTIONS)])])]
    assert "a LOOP loop around load_x stands inside an unrolled one" in found(decisions(tree))


def test_blocks_enclose_everything():
    blocked = dict.fromkeys(OUTER, "BLOCK")
    assert "block loop n.1 stands inside another loop" in found(decisions(kinds=blocked))
    assert found(decisions(kinds=blocked | {"n.0": "BLOCK"})) == ""


def test_too_many_copies_are_found():
    unrolled = dict.fromkeys(OUTER, "UNROLL")
    assert found(decisions(kinds=unrolled)) == ""
    tiny = GpuDevice("tiny", max_unroll=4)
    assert violations(Assignment(AXPY.backbone, decisions(kinds=unrolled)), tiny) == tuple(
        f"{name} is unrolled 8 times" for name in INSTRUCTIONS
    )


def test_thread_levels_are_checked():
    levels = {name: "MAPPED" for name in decisions() if name.startswith("thread_level(") and name.count("n.1") == 2}
    threads = decisions(kinds=dict.fromkeys(OUTER, "THREAD"))
    assert "thread_level(load_x.n.1, load_y.n.1) is NOT_THREADS" in found(threads)
    assert found(threads | levels) == ""
    small = GpuDevice("small", max_threads=2)
    assert violations(Assignment(AXPY.backbone, threads | levels), small) == ("a block has 4 threads",)


def test_misaligned_vectors_are_found():
    odd: Kernel = kernel("mv", m=9, n=8, tiles={"m": (3,), "n": ()}, tails=True)
    backbone = odd.backbone
    tree = [
        (
            ("m.0",),
            [
                (("init.m.1",), ["init"]),
                (("n.0",), [(("load_a.m.1",), ["load_a"]), "load_x", (("m.1",), ["mad"])]),
                (("store_y.m.1",), ["store_y"]),
            ],
        )
    ]
    kinds = {d.name: "UNROLL" for d in backbone.dimensions if d.static} | {"load_a.m.1": "VECTOR"}
    given = assignment(backbone, tree, kinds, {("m", 1): 2})
    assert "vector load_a.m.1 is not aligned: n.0 moves by 9 elements" in found(given, backbone)
    assert "vector load_a.m.1 may stick out of axis m" in found(given, backbone)
