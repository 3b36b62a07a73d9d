"""`Peer`: what processes that share a contraction must have in common, so that everyone computes the same bits."""

from __future__ import annotations

from collections.abc import Mapping

from einloom.config import VERSION
from einloom.errors import UnsupportedTarget
from einloom.frozen import frozen
from einloom.jit.host import host

__all__ = ["Peer", "check_peers", "this_peer"]


@frozen
class Peer:
    """A process: einloom's version, the architecture, and the vector ISA that code is generated for."""

    version: str
    architecture: str
    vector: str

    def __str__(self) -> str:
        return f"einloom {self.version} on {self.architecture} with {self.vector}"


def this_peer() -> Peer:
    """Return this process's description."""
    return Peer(VERSION, host().isa, host().vector)


def check_peers(found: Mapping[str, Peer], own: Peer) -> None:
    """Refuse processes that would compute other bits.

    Raises:
        UnsupportedTarget: with the names of those that differ.
    """
    other = {name: peer for name, peer in found.items() if peer != own}
    if other:
        lines = "\n".join(f"  {name}: {peer}" for name, peer in list(other.items())[:8])
        raise UnsupportedTarget(
            f"{len(other)} of {len(found)} processes differ from this one, {own}\n{lines}\n"
            "  Install one version everywhere, use one architecture, or set EINLOOM_ISA to what all have."
        )
