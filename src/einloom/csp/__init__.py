"""Finite-domain constraint solving over sets of objects, with a small language for it. Knows no tensors.

A space (`parse_space`, `load_space`, `Definition`) says which decisions there are for the objects of an instance and
which constraints tie them. `Instance` holds the objects; `freeze` gives a `Problem`; its `root` is a
`Domains`: those of a candidate, a vector that `restrict` narrows and propagation keeps consistent. Decisions commute.

>>> space = parse_space('''
...     set Nodes: end
...     choice enum colour($node in Nodes): value RED: value GREEN: end
...     require forall $a in Nodes: forall $b in Nodes: "abs($a - $b) != 1" || colour($a) != colour($b)
... ''')
>>> instance = Instance(space)
>>> for node in range(4):
...     instance.add("Nodes", node, name=f"n{node}")
>>> problem = instance.freeze()
>>> problem.root.restrict("colour(n0)", "RED").domain("colour(n3)")
('GREEN',)
"""

from einloom.csp.compile.compiler import Space, load_space, parse_space
from einloom.csp.definition import Definition
from einloom.csp.domains import Domains
from einloom.csp.engine.explain import Reason
from einloom.csp.engine.state import State
from einloom.csp.engine.view import Sizes, View
from einloom.csp.instance import Instance
from einloom.csp.language.printer import show
from einloom.csp.language.source import SpaceError, UnknownChoice
from einloom.csp.layout.additions import Extension
from einloom.csp.layout.names import Variable
from einloom.csp.problem import Problem
from einloom.csp.propagators.store import Moment
from einloom.csp.search import complete, descend, probe, single_values, solutions

__all__ = [
    "Definition",
    "Domains",
    "Extension",
    "Instance",
    "Moment",
    "Problem",
    "Reason",
    "Sizes",
    "Space",
    "SpaceError",
    "State",
    "UnknownChoice",
    "Variable",
    "View",
    "complete",
    "descend",
    "load_space",
    "parse_space",
    "probe",
    "show",
    "single_values",
    "solutions",
]
