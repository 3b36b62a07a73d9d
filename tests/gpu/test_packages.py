"""No module of einloom imports a package for GPUs: they are asked for when a device is."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import pkgutil, sys
from importlib import import_module

ASKED = []

class Refusal:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pyopencl", "cuda", "cupy"):
            ASKED.append(name)
            raise ImportError(f"{name} is not installed")

sys.meta_path.insert(0, Refusal())
import einloom as el

# What needs other packages.
OTHERS = ("einloom.__main__", "einloom.bench.peers", "einloom.cluster", "einloom.frameworks")
names = [each.name for each in pkgutil.walk_packages(el.__path__, "einloom.") if not each.name.startswith(OTHERS)]
assert "einloom.jit.gpu.cuda" in names and len(names) > 300, len(names)
for name in names:
    import_module(name)
assert el.einsum("i,i->", [1.0, 2.0], [3.0, 4.0]) == 11
assert ASKED == [], ASKED
for target, package in (("opencl", "pyopencl"), ("cuda", "cuda.core")):
    try:
        el.einsum("i,i->", [1.0, 2.0], [3.0, 4.0], target=target)
    except el.EinloomError as error:
        assert f"pip install 'einloom[{target}]'" in str(error), error
    else:
        raise AssertionError(target)
assert [name.partition(".")[0] for name in ASKED] == ["pyopencl", "cuda"], ASKED
"""


def test_modules_are_imported_without_packages_for_gpus():
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=120)
