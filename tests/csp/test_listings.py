"""Listings 1 to 13 of the paper, with the parts that it leaves out completed: they parse, compile and behave.

Listings 8 and 12 are loop nests, not definitions; they are checked as behaviour of the spaces that they illustrate.
"""

from __future__ import annotations

import pytest

from einloom.csp import Extension, Instance, SpaceError, parse_space, solutions
from einloom.errors import DeadEnd

LISTING_1 = """
set Instructions:
  type = "Instruction"
  iterator = "kernel.instructions"
  item_getter = "$id"
end
set MemAccesses subsetof Instructions:
  type = "MemAccess"
  from_superset = "$item.memory"
end
set Regions: end
set AccessedRegions($inst in MemAccesses) subsetof Regions:
  iterator = "$inst.regions"
end
"""

LISTING_2 = """
choice enum cache($inst in MemAccesses):
  value L1: // Use L1+L2 caches
  value L2: // Use L2 cache
  value READ_ONLY: // Use read-only cache
  value NONE: // Do not use caches
end
"""

LISTING_3 = """
choice enum order($lhs in Instructions,
    $rhs in Instructions):
  value BEFORE:
  value AFTER:
  antisymmetric:
    BEFORE -> AFTER
end
"""

LISTING_4 = """
require forall $a in Instructions:
  forall $b in Instructions:
    forall $c in Instructions:
      order($a, $c) is AFTER
      || order($a, $b) is not AFTER
      || order($b, $c) is not AFTER
"""

LISTING_5 = """
set MemBlocks: end
choice enum mem_space($mem in MemBlocks): value GLOBAL: value LOCAL: end
choice counter local_mem():
  forall $mem_block in MemBlocks:
    sum "$mem_block.size()" when
      mem_space($mem_block) is LOCAL
end
require local_mem() < "gpu.local_mem_size"
"""

LISTING_6 = """
set Dimensions: end
choice enum dim_kind($dim in Dimensions): value LOOP: value THREAD: end
choice integer size($dim in Dimensions): "[4, 8]" end
choice enum fused($lhs in Dimensions,
    $rhs in Dimensions):
  symmetric
  value TRUE:
  value FALSE:
end
quotient ThreadDims of $dim in Dimensions:
  is_thread_dim = dim_kind($dim) is THREAD
    / fused is TRUE
end
choice counter num_threads():
  forall $dim in Dimensions:
    mul size($dim) when:
      is_thread_dim($dim) is TRUE
end
"""

LISTING_7 = """
set Statements: end
set Insts subsetof Statements: end
set Dimensions subsetof Statements: end
choice enum order($lhs in Statements,
    $rhs in Statements):
  // $lhs is executed before $rhs
  value BEFORE:
  // $rhs is executed before $lhs
  value AFTER:
  // $lhs is nested inside $rhs
  value INNER:
  // $rhs is nested inside $lhs
  value OUTER:
  // $lhs and $rhs are fused dimensions
  value MERGED:
  antisymmetric:
    BEFORE -> AFTER
    INNER -> OUTER
end
quotient IterationDims($inst in Insts)
    of $dim Dimensions:
  is_outer_dim = order($dim, $inst) is
    OUTER / order is MERGED
end
"""

TRIANGLES = """
require forall $a in Statements: forall $b in Statements: forall $c in Statements:
  order($a, $c) is BEFORE || order($a, $b) is not BEFORE || order($b, $c) is not BEFORE
  order($a, $c) is INNER || order($a, $b) is not INNER || order($b, $c) is not INNER
  order($a, $c) == order($a, $b) || order($a, $b) is not BEFORE | AFTER || order($b, $c) is not OUTER
  order($a, $b) is not OUTER || order($c, $b) is not OUTER || order($a, $c) is INNER | OUTER | MERGED
  order($a, $c) is not MERGED || order($c, $b) == order($a, $b)
require forall $i in Insts: forall $s in Statements: order($i, $s) is INNER | BEFORE | AFTER
"""

LISTING_9 = """
choice enum dim_kind($dim in Dimensions):
  // $dim is a regular for loop.
  value LOOP:
  // $dim is a hardware block dimension.
  value BLOCK:
  // $dim is a hardware thread dimension.
  value THREAD:
  // $dim is totally unrolled.
  value UNROLL:
  // $dim is vectorized.
  value VECTOR:
end
"""

LISTING_10 = """
set StaticDims subsetof Dimensions: end
choice integer size($dim in StaticDims):
  "$dim.possible_sizes()"
end
set LogicalDims: end
set TilingDims($logical in LogicalDims)
  subsetof StaticDims: end
set TiledDim($logical in LogicalDims)
  subsetof Dimensions: end
"""

LISTING_11 = """
set MemRegions: end
set MemInsts subsetof Insts: end
set AccessedRegions($mem in MemInsts) subsetof MemRegions: end
choice enum mem_space($mem in MemRegions):
  // $mem is stored in RAM.
  value GLOBAL:
  // $mem is stored in the memory shared
  // by a group of threads.
  value SHARED:
end
choice enum cache($inst in MemInsts): value L1: value L2: value READ_ONLY: value NONE: end
require forall $i in MemInsts: forall $r in AccessedRegions($i):
  mem_space($r) is not SHARED || cache($i) is NONE
"""

LISTING_12 = """
choice enum mapping($a in StaticDims, $b in StaticDims):
  symmetric
  value NOT_MAPPED:
  value REGISTERS: requires dim_kind($a) is UNROLL | VECTOR || order($a, $b) is MERGED
                   requires dim_kind($b) is UNROLL | VECTOR || order($a, $b) is MERGED
end
require forall $a in StaticDims: forall $b in StaticDims:
  order($a, $b) is not MERGED || dim_kind($a) == dim_kind($b)
  "not kernel.sends($a, $b)" || order($a, $b) is BEFORE | MERGED
trigger forall $a in StaticDims: forall $b in StaticDims:
  "kernel.lower($a, $b)" when mapping($a, $b) is NOT_MAPPED && "kernel.sends($a, $b)"
"""

LISTING_13 = """
choice enum thread_level($x in StaticDims,
    $y in StaticDims):
  // maps $x and $y to the same level.
  value MAPPED:
  // maps $x to an inner level than $y.
  value INNER:
  // maps $y to an inner level than $x.
  value OUTER:
  // $x or $y is not a thread dimension.
  value NOT_THREADS:
  antisymmetric: INNER -> OUTER
end
quotient HwThreadDims of $d in StaticDims:
  is_thread_dim = dim_kind($d) is THREAD
    / thread_level is MAPPED
end
"""

THREADS = """
require forall $x in StaticDims: forall $y in StaticDims:
  thread_level($x, $y) is NOT_THREADS || dim_kind($x) is THREAD
  thread_level($x, $y) is not NOT_THREADS || dim_kind($x) is not THREAD || dim_kind($y) is not THREAD
choice half counter levels(): forall $d in HwThreadDims: sum "1" end
require levels() <= "2"
"""


class Thing(str):
    """An object with attributes; it compares by name."""

    memory = False
    regions: tuple = ()

    def size(self) -> int:
        return 16

    def possible_sizes(self) -> tuple[int, ...]:
        return (2, 4)


class Host:
    """A bag of attributes."""

    def __init__(self, **names) -> None:
        self.__dict__.update(names)


def problem(text, host=None, /, **members):
    instance = Instance(parse_space(text), host)
    for name, items in members.items():
        for item in items:
            instance.add(name, Thing(item) if isinstance(item, str) else item)
    return instance.freeze()


def instruction(name: str, *regions: str) -> Thing:
    thing = Thing(name)
    thing.memory, thing.regions = bool(regions), tuple(map(Thing, regions))
    return thing


def test_listings_1_and_2_sets_and_the_choice_of_caches():
    kernel = Host(instructions=[instruction("a", "A"), instruction("b", "A", "B"), instruction("c")])
    text = LISTING_1 + LISTING_2
    frozen = problem(text, {"kernel": kernel, "Instruction": Thing, "MemAccess": Thing})
    assert frozen.objects("Instructions") == ("a", "b", "c")
    assert frozen.objects("MemAccesses") == ("a", "b")
    assert frozen.objects("AccessedRegions", "b") == ("A", "B")
    caches = ("L1", "L2", "READ_ONLY", "NONE")
    assert frozen.root.open == {"cache(a)": caches, "cache(b)": caches}


def test_listing_1_as_printed_names_a_set_that_does_not_exist():
    with pytest.raises(SpaceError, match=r"there is no set 'MemAccess' \(did you mean MemAccesses\?\)"):
        parse_space("set MemAccesses: end\nset AccessedRegions($inst in MemAccess): end")


def test_listings_3_and_4_the_order_is_transitive_and_stored_once():
    text = "set Instructions: end" + LISTING_3 + LISTING_4
    frozen = problem(text, Instructions=["a", "b", "c", "d"])
    assert len(frozen.variables) == 6
    assert sum(1 for _ in solutions(frozen)) == 24
    candidate = frozen.root.restrict("order(a, b)", "BEFORE").restrict("order(c, b)", "AFTER")
    assert candidate.domain("order(a, c)") == ("BEFORE",) and candidate.domain("order(c, a)") == ("AFTER",)
    with pytest.raises(DeadEnd):
        candidate.restrict("order(c, a)", "BEFORE")


def test_listing_5_local_memory_is_limited():
    root = problem(LISTING_5, {"gpu": Host(local_mem_size=48)}, MemBlocks=["x", "y", "z"]).root
    assert root.domain("local_mem()") == (0, 47)
    candidate = root.restrict("mem_space(x)", "LOCAL").restrict("mem_space(z)", "LOCAL")
    assert candidate.domain("mem_space(y)") == ("GLOBAL",) and candidate.domain("local_mem()") == (32, 32)
    assert 'local_mem() < "gpu.local_mem_size"' in candidate.why("mem_space(y)", "LOCAL").constraint


def test_listing_6_one_dimension_counts_for_each_class_of_fused_ones():
    root = problem(LISTING_6, Dimensions=["i", "j", "k"]).root
    threads = root.apply({f"dim_kind({d})": "THREAD" for d in "ijk"} | {f"size({d})": 8 for d in "ijk"})
    assert threads.objects("ThreadDims") == ("i",) and threads.maybe("ThreadDims") == ("j", "k")
    fused = threads.restrict("fused(i, j)", "TRUE").restrict("fused(j, k)", "FALSE").restrict("fused(i, k)", "FALSE")
    assert fused.objects("ThreadDims") == ("i", "k") and fused.domain("num_threads()") == (64, 64)


OUTER_PRODUCT = (
    LISTING_7
    + TRIANGLES
    + """
require forall $i in Insts: forall $d in Dimensions: "not kernel.nested($i, $d)" || order($d, $i) is OUTER
require forall $i in Insts: forall $d in Dimensions: "kernel.nested($i, $d)" || order($d, $i) is not OUTER
  || "$i in ('a', 'b')"
require forall $i in Insts: forall $j in Insts: "not kernel.before($i, $j)" || order($i, $j) is BEFORE
require forall $d in Dimensions: forall $e in Dimensions: order($d, $e) is not MERGED
"""
)


def outer_product():
    dims = {"a": "m", "b": "n", "c": "mn", "store": "mn"}
    kernel = Host(
        nested=lambda i, d: d in dims[i],
        before=lambda i, j: j == "store" or (j == "c" and i in ("a", "b")) or (i, j) == ("a", "b"),
    )
    return problem(OUTER_PRODUCT, {"kernel": kernel}, Insts=["a", "b", "c", "store"], Dimensions=["m", "n"])


def test_listings_7_and_8_the_nestings_of_an_outer_product():
    """Either n and b are nested inside m, or m and a are nested inside n; both stay open until one is chosen."""
    frozen = outer_product()
    assert frozen.root.domain("order(m, n)") == ("INNER", "OUTER")
    first = frozen.root.restrict("order(m, n)", "OUTER")
    assert first.domain("order(n, b)") == ("OUTER",) and first.domain("order(m, b)") == ("OUTER",)
    second = frozen.root.restrict("order(m, n)", "INNER")
    assert second.domain("order(m, a)") == ("OUTER",) and second.domain("order(n, a)") == ("OUTER",)
    slot = frozen.variable("order(m, n)").slot
    assert {state.domains[slot] for state in solutions(frozen)} == {1 << 2, 1 << 3}
    assert set(first.objects("IterationDims", "b")) == {"m", "n"}
    assert set(frozen.root.objects("IterationDims", "a")) == {"m"}


def test_listing_9_kinds():
    frozen = problem("set Dimensions: end" + LISTING_9, Dimensions=["d"])
    assert frozen.root.domain("dim_kind(d)") == ("LOOP", "BLOCK", "THREAD", "UNROLL", "VECTOR")


def test_listing_10_tilings():
    text = (
        "set Dimensions: end"
        + LISTING_10
        + """
    choice counter tile($l in LogicalDims): forall $d in TilingDims($l): mul size($d) end
    require forall $l in LogicalDims: tile($l) <= "4" """
    )
    instance = Instance(parse_space(text))
    axis, inner, middle, outer = (Thing(name) for name in ("n", "n.2", "n.1", "n.0"))
    instance.add("LogicalDims", axis)
    for each in (inner, middle):
        instance.add("TilingDims", each, of=(axis,))
    instance.add("TiledDim", outer, of=(axis,))
    frozen = instance.freeze()
    assert frozen.objects("StaticDims") == (inner, middle) and frozen.objects("Dimensions") == (inner, middle, outer)
    assert frozen.root.is_leaf and frozen.root.domain("size(n.1)") == (2,)


def test_listing_11_shared_memory_has_no_cache_directives():
    instance = Instance(parse_space("set Insts: end" + LISTING_11))
    load, region = Thing("load"), Thing("tmp")
    instance.add("MemInsts", load)
    instance.add("AccessedRegions", region, of=(load,))
    root = instance.freeze().root
    assert root.restrict("cache(load)", "L1").domain("mem_space(tmp)") == ("GLOBAL",)
    assert root.restrict("mem_space(tmp)", "SHARED").domain("cache(load)") == ("NONE",)


def point_to_point():
    """y = 4 * x[d0_a -> d0_b, d1_a -> d1_b]: each pair that is not mapped brings the array and its two accesses."""
    pairs = [("d0_a", "d0_b"), ("d1_a", "d1_b")]

    def lower(a, b):
        low = Extension("TMP")
        low.add("MemRegions", Thing("TMP"))
        for name in ("store", "load"):
            low.add("MemInsts", Thing(name))
            low.add("AccessedRegions", Thing("TMP"), of=(Thing(name),))
        return low

    kernel = Host(sends=lambda a, b: (a, b) in pairs, lower=lower)
    text = LISTING_7 + TRIANGLES + LISTING_9 + LISTING_10.replace('"$dim.possible_sizes()"', '"[4]"')
    text += LISTING_11 + LISTING_12
    return problem(text, {"kernel": kernel}, Insts=["x", "y"], StaticDims=[d for pair in pairs for d in pair])


def test_listing_12_point_to_point_communication():
    frozen = point_to_point()
    assert list(frozen.extensions) == ["TMP"] and frozen.objects("MemInsts") == ()
    fused = frozen.root.restrict("order(d0_a, d0_b)", "MERGED").restrict("mapping(d0_a, d0_b)", "REGISTERS")
    assert fused.alive == () and "mem_space(TMP)" not in fused.open
    stored = fused.restrict("order(d1_a, d1_b)", "BEFORE").restrict("dim_kind(d1_b)", "LOOP")
    assert stored.domain("mapping(d1_a, d1_b)") == ("NOT_MAPPED",)
    assert stored.alive == ("TMP",) and stored.objects("MemInsts") == ("store", "load")
    assert stored.open["mem_space(TMP)"] == ("GLOBAL", "SHARED")
    other = frozen.root.restrict("order(d1_a, d1_b)", "BEFORE").restrict("dim_kind(d1_b)", "LOOP")
    other = other.restrict("mapping(d0_a, d0_b)", "REGISTERS").restrict("order(d0_a, d0_b)", "MERGED")
    assert other == stored
    unrolled = frozen.root.apply({f"dim_kind({d})": "UNROLL" for d in ("d0_a", "d0_b", "d1_a", "d1_b")})
    unrolled = unrolled.apply({"mapping(d0_a, d0_b)": "REGISTERS", "mapping(d1_a, d1_b)": "REGISTERS"})
    assert unrolled.alive == () and unrolled.domain("order(d0_a, d0_b)") == ("BEFORE", "MERGED")


def test_listing_13_thread_dimensions_share_hardware_levels():
    text = "set Dimensions: end" + LISTING_9 + LISTING_10 + LISTING_13 + THREADS
    root = problem(text, StaticDims=["x", "y", "z"]).root
    threads = root.apply({f"dim_kind({d})": "THREAD" for d in "xyz"})
    assert threads.domain("thread_level(x, y)") == ("MAPPED", "INNER", "OUTER")
    full = threads.apply({"thread_level(x, y)": "INNER", "thread_level(y, z)": ["MAPPED", "OUTER"]})
    assert full.objects("HwThreadDims") == ("x", "y")
    only = full.restrict("thread_level(x, z)", "OUTER")
    assert only.domain("thread_level(y, z)") == ("MAPPED",)
    reason = only.why("thread_level(z, y)", "INNER")
    assert "HwThreadDims" in reason.constraint and any("levels() <=" in line for line in reason.chain)
    loops = root.restrict("dim_kind(x)", "LOOP")
    assert loops.domain("thread_level(x, y)") == ("NOT_THREADS",) and loops.domain("thread_level(z, x)") == (
        "NOT_THREADS",
    )
