"""Imports go downwards: among the packages of `einloom`, and among the parts of large ones. Nothing in a circle."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.architecture.imports import ROOT, Graph, circles, import_graph, modules, part_graph, part_of
from tests.architecture.plan import FLOORS, KNOW_NO_TENSORS, PARTS, PURE, REST

GRAPH = import_graph()
ORDERS = {"einloom": FLOORS, **{f"einloom.{package}": order for package, order in PARTS.items()}}


def parts_in(package: str) -> set[str]:
    """What lies directly in a package: the names of its modules and of its packages."""
    return {part for module in modules() if (part := part_of(module, package))}


def floor_of(part: str, order: Sequence[set[str]]) -> int:
    """The floor of a part: its own, or that of the rest."""
    chosen = part if any(part in floor for floor in order) else REST
    return next(number for number, floor in enumerate(order) if chosen in floor)


def upward_imports(graph: Graph, package: str, order: Sequence[set[str]]) -> set[str]:
    """The imports of a package's modules from a higher floor of it, as "module imports part"."""
    found = set()
    for module, others in graph.items():
        here = part_of(module, package)
        for there in {part_of(other, package) for other in others}:
            if here and there and floor_of(there, order) > floor_of(here, order):
                found.add(f"{module} imports {there}")
    return found


@pytest.mark.parametrize("package", ORDERS)
def test_everything_has_a_floor_and_the_plan_names_nothing_else(package: str) -> None:
    named = [part for floor in ORDERS[package] for part in floor]
    assert len(named) == len(set(named))
    assert set(named) - {REST} <= parts_in(package), "the plan names what does not exist"
    if REST not in named:
        assert parts_in(package) <= set(named), "give it a floor in tests/architecture/plan.py"


def test_imports_go_downwards() -> None:
    assert set().union(*(upward_imports(GRAPH, package, order) for package, order in ORDERS.items())) == set()


def test_the_architecture_page_says_the_same() -> None:
    """Floor by floor, and part by part in the same order."""
    page = (ROOT.parents[1] / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
    floors = [set[str]() for _ in FLOORS]
    for number, names in re.findall(r"^\| (\d) \| (.*?) \|", page, re.MULTILINE):
        floors[int(number)] |= _names_in(names)
    assert floors == [floor - {"__init__", "__main__"} for floor in FLOORS]
    for package, order in PARTS.items():
        (row,) = re.findall(rf"^\| `{package}/` \| (`.*) \|$", page, re.MULTILINE)
        named = [_names_in(part) for part in re.sub(r"\(.*?\)", "", row).split(", ")]
        ordered = [floor - {"__init__", REST} for floor in order]
        assert [part for part in named if part] == [part for part in ordered if part]


def _names_in(text: str) -> set[str]:
    return {name.strip("/") for name in re.findall(r"`(.*?)`", text)}


def test_what_is_pure_never_touches_the_host() -> None:
    imports = part_graph(GRAPH, "einloom")
    assert [part for part in PURE if "jit" in imports[part]] == []
    assert [part for part in KNOW_NO_TENSORS if imports[part] - {"errors", "frozen", "once"}] == []


@pytest.mark.parametrize("package", ORDERS)
def test_parts_import_each_other_in_no_circle(package: str) -> None:
    """A circle of folders need not be one of modules."""
    assert circles(part_graph(GRAPH, package)) == []


def test_modules_import_each_other_in_no_circle() -> None:
    assert circles(GRAPH) == []


def test_the_checks_see_what_is_wrong(tmp_path: Path) -> None:
    root = tmp_path / "einloom"
    (root / "ir").mkdir(parents=True)
    for name, text in {
        "__init__": "",
        "passes": "",
        "ir/__init__": "if TYPE_CHECKING:\n    from einloom import passes\nelse:\n    import einloom.ir.late",
        "ir/late": "def f():\n    from einloom.ir import early\n    return early",
        "ir/early": "from einloom.ir.late import f\nfrom einloom.passes import fuse",
    }.items():
        (root / f"{name}.py").write_text(text)
    graph = import_graph(root)
    assert graph["einloom.ir"] == {"einloom.ir.late"}
    assert graph["einloom.ir.early"] == {"einloom.ir.late", "einloom.passes"}
    assert circles(graph) == [["einloom.ir.early", "einloom.ir.late"]]
    assert upward_imports(graph, "einloom", FLOORS) == {"einloom.ir.early imports passes"}
    assert part_graph(graph, "einloom") == {"__init__": set(), "ir": {"passes"}, "passes": set()}
