"""Tests with Dask and MPI, which `make test-cluster` runs in an environment of its own; elsewhere they are left out."""

from __future__ import annotations

import os

if os.environ.get("EINLOOM_TEST_CLUSTER") != "1":
    collect_ignore_glob = ["test_*.py"]
