"""The plan of the packages: the floor that each lies on, and the order of the parts of large ones.

docs/explanation/architecture.md says it in words. A new package or part gets its line here.
"""

from __future__ import annotations

FLOORS: tuple[set[str], ...] = (
    {"errors", "frozen", "dtypes", "config", "machine", "group_products", "forks", "once", "asm", "csp"} | {"figures"},
    {"ir", "jit"},
    {"arrays", "passes", "kernels"},
    {"plan"},
    {"frameworks", "loops", "space"},
    {"targets"},
    {"search"},
    {"expression", "execution", "tensor_operation", "primitives", "threadpools", "api", "products", "__init__"}
    | {"threaded_loop", "traced_body", "loop_tuning", "body_tuning", "tuning"},
    {"bench", "cli", "cluster", "__main__"},
)
"""What lies directly in `einloom`: everything imports from lower floors, and from its own floor without a circle."""

PURE = {"asm", "csp", "ir", "passes", "kernels", "loops", "space"}
"""Packages that run on any machine: they never import `jit`."""

KNOW_NO_TENSORS = {"asm", "csp"}
"""Packages that besides themselves import `errors`, `frozen` and `once` alone."""

REST = "*"
"""Stands for everything in a package that has no place of its own."""

PARTS: dict[str, tuple[set[str], ...]] = {
    "kernels": (
        {"verbs"},
        {"formula"},
        {"specs", "fetch", "parts"},
        {"elementwise", "contraction"},
        {"select", "emit"},
        {"repeat", "work", "__init__"},
    ),
    "csp": (
        {"language"},
        {"compile"},
        {"layout"},
        {"propagators"},
        {"engine"},
        {"definition", "domains"},
        {"problem"},
        {"instance", "search"},
        {"__init__"},
    ),
    "passes": ({"model", "__init__"}, {REST}, {"pipeline"}),
    "arrays": (
        {"region", "dlpack", "entry", "fresh", "__init__"},
        {"check", "library", "guards"},
        {"device"},
        {"emit"},
        {"signature", "chain"},
    ),
    "expression": (
        {"programs", "types", "weak", "factors", "options", "planned"},
        {"fallback", "interpreted"},
        {"variant", "operands", "asked"},
        {"on_gpu"},
        {"slice_calls"},
        {"sliced"},
        {"recipe"},
        {"table", "predicted"},
        {"show", "entries", "drawing"},
        {"expression"},
        {"made", "units"},
        {"conversion", "constants"},
        {"repeats"},
        {"remembered", "__init__"},
    ),
    "bench": (
        {"cases", "__init__"},
        {"data"},
        {"check", "choice", "contestant", "elementwise", "plot", "tuned"},
        {"peers"},
        {"measure", "memory", "worker"},
        {"loops", "strings", "report"},
        {"table"},
    ),
    "search": (
        {"__init__", "file_lock"},
        {"limits", "process", "records", "tree"},
        {"strategy", "claims"},
        {"descents", "tree_search", "sweeps"},
        {"strategies", "problems", "ranking", "hints", "ordering"},
        {"search"},
        {"worker", "measure", "progress", "result", "log"},
        {"tune", "replay", "on_gpu"},
    ),
    "cli": ({"sizes", "__init__"}, {REST}),
    "cluster": (
        {"drawing", "peers", "checkpoint", "progress", "distribution", "sentinel"},
        {"run", "predicted", "watch"},
        {"shared"},
        {"on_dask", "on_mpi", "grid_planning", "chunk_planning"},
        {"summa", "planning", "tuning"},
        {"tuned"},
        {"contraction"},
        {"__init__"},
    ),
}
"""The parts of large packages, in the order of their imports; on one floor they import each other without a circle."""
