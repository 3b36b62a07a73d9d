"""The plan of the packages: the floor that each lies on, the order of the parts of large ones, and what is still open.

docs/explanation/architecture.md says it in words. A new package or part gets its line here.
"""

from __future__ import annotations

FLOORS: tuple[set[str], ...] = (
    {"errors", "dtypes", "config", "machine", "once", "asm", "csp"},
    {"ir", "jit"},
    {"arrays", "passes", "kernels"},
    {"loops", "space"},
    {"targets"},
    {"plan"},
    {"expression", "execution", "tensor_operation", "primitives", "threadpools", "api", "__init__"},
    {"bench", "cli", "__main__"},
)
"""What lies directly in `einloom`: everything imports from lower floors, and from its own floor without a circle."""

PURE = {"asm", "csp", "ir", "passes", "kernels", "loops", "space"}
"""Packages that run on any machine: they never import `jit`."""

ONLY_ERRORS = {"asm", "csp"}
"""Packages that know no tensors: besides themselves they import `errors` alone."""

REST = "*"
"""Stands for everything in a package that has no place of its own."""

PARTS: dict[str, tuple[set[str], ...]] = {
    "kernels": (
        {"verbs"},
        {"formula"},
        {"specs"},
        {"elementwise", "contraction"},
        {"emit"},
        {"repeat", "__init__"},
    ),
    "csp": (
        {"language"},
        {"compile"},
        {"layout"},
        {"propagators"},
        {"engine"},
        {"definition", "candidate"},
        {"problem"},
        {"instance", "search"},
        {"__init__"},
    ),
    "passes": ({"model", "__init__"}, {REST}, {"pipeline"}),
    "arrays": ({"region", "dlpack", "entry", "__init__"}, {"check", "library"}, {"signature", "chain"}),
    "expression": ({"types", "variant", "operands"}, {"show", "entries"}, {"expression"}, {"remembered", "__init__"}),
    "bench": (
        {"cases", "__init__"},
        {"data"},
        {"check", "process", "elementwise", "plot"},
        {"peers"},
        {"measure", "worker"},
        {"report"},
        {"table"},
    ),
    "cli": ({"sizes", "__init__"}, {REST}),
}
"""The parts of large packages, in the order of their imports; on one floor they import each other without a circle."""

OPEN_IMPORTS = {
    "einloom.kernels.verbs.neon imports contraction",
}
"""Imports against that order that are still there. Lines may only go; the set has to become empty."""

OPEN_CIRCLES = {
    "einloom.kernels.contraction.cursor",
    "einloom.kernels.contraction.microkernel",
    "einloom.kernels.contraction.neon_microkernel",
    "einloom.kernels.verbs.aarch64",
    "einloom.kernels.verbs.avx2",
    "einloom.kernels.verbs.avx512",
    "einloom.kernels.verbs.frame",
    "einloom.kernels.verbs.grouped",
    "einloom.kernels.verbs.machine",
    "einloom.kernels.verbs.moved",
    "einloom.kernels.verbs.neon",
    "einloom.kernels.verbs.neon_formula",
    "einloom.kernels.verbs.x86",
    "einloom.kernels.verbs.x86_formula",
}
"""Modules that still import each other in a circle. Lines may only go; the set has to become empty."""
