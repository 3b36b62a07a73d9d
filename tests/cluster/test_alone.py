"""What `einloom.cluster` does without Dask and MPI: it imports neither, keeps units in files, and tells runs apart."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import einloom as el
from einloom.cluster.checkpoint import opened_checkpoint
from einloom.cluster.peers import Peer, check_peers, this_peer
from einloom.cluster.run import Event, Run
from einloom.plan.units import Unit

WITHOUT = """
import sys
sys.modules.update(dict.fromkeys(["dask", "distributed", "mpi4py", "zarr"]))  # imports of them fail
import numpy as np, einloom as el
a = np.ones((4, 4))
assert el.cluster.einsum("ab,bc->ac", a, a)[0, 0] == 4 == el.einsum("ab,bc->ac", a, a)[0, 0]
f = el.cluster.compile("ab,bc,cd->ad", (512, 512), (512, 512), (512, 512), memory_limit=2**14)
print(len(f.slicing), f)
"""


def test_nothing_imports_the_extra() -> None:
    """`make test` runs without it: this holds where it is installed, too."""
    told = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True).stdout
    assert "slices in" in told


def test_units_are_kept_whole_or_not_at_all(tmp_path: Path) -> None:
    kept = opened_checkpoint(tmp_path, "ab", [np.arange(3.0)], 4)
    assert kept.load(Unit(0, 4)) is None
    for value in (np.arange(6, dtype=np.int8).reshape(2, 3), np.array(1 + 2j), np.empty((0, 3), np.float32)):
        kept.save(Unit(0, 4), value)
        again = kept.load(Unit(0, 4))
        assert again is not None and again.dtype == value.dtype and np.array_equal(again, value)
    assert kept.finished() == 1
    (file,) = tmp_path.glob("*.unit")
    kept.save(Unit(0, 4), np.ones((2, 3)))
    whole = file.read_bytes()
    others = whole.replace(b"[2, 3]", b"[3, 2]"), whole.replace(b"<f8", b"<i8")
    assert whole not in others
    for damaged in (whole[:-1] + b"x", b"", b"{}\n", whole[:70], *others):
        kept.save(Unit(0, 4), np.arange(3))
        file.write_bytes(damaged)
        assert kept.load(Unit(0, 4)) is None


def test_a_checkpoint_belongs_to_a_contraction_of_these_operands(tmp_path: Path) -> None:
    first = opened_checkpoint(tmp_path, "ab", [np.arange(3.0)], 4)
    assert opened_checkpoint(tmp_path, "ab", [np.arange(3.0)], 1) == first  # its units have the size that they had
    for digest, operand in (("ab", np.arange(3.0) + 1), ("cd", np.arange(3.0))):
        assert opened_checkpoint(tmp_path, digest, [operand], 4).name != first.name


def test_a_checkpoint_belongs_to_one_vector_isa(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others compute other bits."""
    first = opened_checkpoint(tmp_path, "ab", [np.arange(3.0)], 4)
    monkeypatch.setattr("einloom.cluster.checkpoint.this_peer", lambda: Peer("1", "x86-64", "another"))
    assert opened_checkpoint(tmp_path, "ab", [np.arange(3.0)], 4).name != first.name


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "{}", '{"grain": "x"}', '{"grain": 0}', '{"grain": 3}'])
def test_a_damaged_size_of_units_counts_as_none(text: str, tmp_path: Path) -> None:
    kept = opened_checkpoint(tmp_path, "ab", [], 4)
    (tmp_path / f"{kept.name}.json").write_text(text)
    assert opened_checkpoint(tmp_path, "ab", [], 4) == kept


def test_a_full_disk_ends_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = opened_checkpoint(tmp_path, "ab", [], 4)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(el.DeviceError, match=r"No space left on device\n  Make room"):
        kept.save(Unit(0, 4), np.ones(4))
    assert not list(tmp_path.glob("*.unit*"))


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(el.DeviceError, match="Name a folder"):
        opened_checkpoint(tmp_path / "file", "ab", [], 4)


def test_processes_that_differ_are_named() -> None:
    own = this_peer()
    check_peers({"a": own, "b": own}, own)
    with pytest.raises(el.UnsupportedTarget, match=r"1 of 2 processes differ[^\n]*\n  b: einloom 0.0 on"):
        check_peers({"a": own, "b": Peer("0.0", own.architecture, own.vector)}, own)


def test_runs_say_who_did_what() -> None:
    run = Run((Event("a", "0:4", 0.0, 2.0), Event("b", "kept 4:8", 0.5, 1.5)), 0.0, 2.0)
    assert run.workers == ("a", "b") and run.computed == 1 and run.efficiency == 0.75
    assert "a " in run.table() and "75%" in run.table()


def test_runs_as_figures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    run = Run((Event("a", "0:4", 0.0, 2.0), Event("b", "kept 4:8", 0.5, 1.5)), 0.0, 2.0)
    figure = run.plot(str(tmp_path / "run.svg"))
    assert len(figure.axes[0].patches) == 2 and (tmp_path / "run.svg").stat().st_size > 1000


def test_a_contraction_that_was_not_called_has_no_run() -> None:
    f = el.cluster.compile("ab,bc->ac", (4, 4), (4, 4))
    with pytest.raises(el.ArgumentError, match="Call the contraction first"):
        f.plot()
    with pytest.raises(el.ArgumentError, match="client= and comm="):
        f(np.ones((4, 4)), np.ones((4, 4)), client=1, comm=2)


def test_what_is_no_communicator_and_no_distribution() -> None:
    a, d = np.ones((4, 4)), el.cluster.Distribution("ab,bc->ac", (4, 4), (4, 4), grid=(1, 1))
    wrong: tuple[dict[str, Any], ...] = ({"comm": 5}, {"comm": 5, "distribution": d})
    for options in wrong:
        with pytest.raises(el.ArgumentError, match=r"comm=5 is no communicator of ranks\n  Pass one of mpi4py"):
            el.cluster.einsum("ab,bc->ac", a, a, **options)
    with pytest.raises(el.ArgumentError, match="comm=5 is no communicator"):
        el.cluster.compile("ab,bc->ac", a, a)(a, a, comm=5)
    unknown: Any = "x"
    with pytest.raises(el.ArgumentError, match=r"distribution='x'\n  Make one"):
        el.cluster.einsum("ab,bc->ac", a, a, distribution=unknown)


def test_a_checkpoint_that_is_no_path() -> None:
    number: Any = 5
    with pytest.raises(el.ArgumentError, match="checkpoint=5 is no path"):
        opened_checkpoint(number, "ab", [], 4)
