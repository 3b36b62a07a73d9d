"""Contractions beyond one machine: in slices on Dask or MPI, in blocks over a grid of ranks, and tuning on many hosts.

Engines run them, einloom hands them work: `pip install 'einloom[cluster]'` brings Dask and mpi4py. Nothing is imported
of either before it is asked for.

    result = el.cluster.einsum("ab,bc,cd->ad", A, B, C, client=client)     # on Dask
    result = el.cluster.einsum("ab,bc,cd->ad", A, B, C, comm=comm)         # on MPI
"""

from __future__ import annotations

from einloom.cluster.contraction import Contraction, compile, einsum
from einloom.cluster.distribution import Distribution
from einloom.cluster.planning import plan
from einloom.cluster.predicted import Plan
from einloom.cluster.run import Event, Run
from einloom.cluster.tuned import ClusterTuned, tune

__all__ = ["ClusterTuned", "Contraction", "Distribution", "Event", "Plan", "Run", "compile", "einsum", "plan", "tune"]
